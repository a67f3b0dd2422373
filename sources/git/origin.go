package git

import (
	"context"
	"os/exec"
	"strings"
)

// Origin returns the URL of the remote origin of the clone at folder, as `git remote
// get-url origin` does. It is empty where there is none.
func Origin(ctx context.Context, folder string) string {
	out, err := exec.CommandContext(ctx, "git", "-C", folder, "remote", "get-url", "origin").Output()
	if err != nil {
		return "" // no clone, no such remote, or no git
	}
	return strings.TrimSpace(string(out))
}
