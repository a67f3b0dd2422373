package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// planned has the agent plan branches: no Git provider is needed for that.
const planned = `apiVersion: fairlead.dev/v1alpha1
kind: Fleet
metadata: {name: bench}
spec:
  pullRequests: {refs: [refs/heads/proposals/*]}
`

// plan measures the plan of a branch that upgrades all of n clusters by a minor, from its push to its file on
// the status branch.
func (b *bench) plan(ctx context.Context, s shape, n int) ([]figure, error) {
	if err := b.repo.write("plan branches", map[string]string{"fleet.yaml": planned}, false); err != nil {
		return nil, err
	}
	machines := n * (s.controlPlanes + s.workers)
	if _, err := b.create(ctx, s, n); err != nil {
		return nil, err
	}
	if err := wait(ctx, 5*time.Second); err != nil {
		return nil, err
	}
	s.version = newVersion
	return b.spent(func() error {
		if err := b.repo.push("proposals/upgrade", "upgrade", overlays(s, 0, n), false); err != nil {
			return err
		}
		for {
			text, err := exec.CommandContext(ctx, "git", "-C", b.repo.dir, "show", "fairlead/status:plans/refs/heads/proposals/upgrade.md").Output()
			if want := fmt.Sprintf("replace %d machines", machines); err == nil {
				if headline, _, _ := strings.Cut(string(text), "\n"); !strings.Contains(headline, want) {
					return fmt.Errorf("the plan does not %s: %s", want, headline)
				}
				return nil
			}
			if err := wait(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
	})
}
