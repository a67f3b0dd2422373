package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
	programs "fairlead.dev/test/run/needs"
)

// TestApprove: an approval is of what the flags say, by the person who gives it, with the signature of their key; and
// none is written where no agent reads it.
func TestApprove(t *testing.T) {
	folder := t.TempDir()
	for name, value := range map[string]string{
		"HOME": folder, "XDG_CONFIG_HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": filepath.Join(folder, "none"), "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com",
		"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com",
	} {
		t.Setenv(name, value)
	}
	key := filepath.Join(folder, "identity")
	keygen := programs.Program(t, "ssh-keygen", "apt-get install openssh-client")
	if out, err := exec.CommandContext(t.Context(), keygen, "-q", "-t", "ed25519", "-N", "", "-C", "ada@example.com", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	at := filepath.Join(folder, "status")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"commit", "--quiet", "--allow-empty", "--message", "first"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args[0], err, out)
		}
	}
	head, source := strings.Repeat("a", 40), "file://"+folder
	approve := func(args ...string) (string, error) {
		var out bytes.Buffer
		root := New(program("dev"), Streams{Out: &out, Err: &out})
		root.SetArgs(append([]string{"approve", "12", "--head", head, "--source", source, "--status-repository", at}, args...))
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	b, err := wiring.Settings{Source: source, StatusRepository: at}.OpenBranch("")
	if err != nil {
		t.Fatal(err)
	}
	q := status.NewApprovals(b)
	if _, err := approve("--changes"); err == nil || !strings.Contains(err.Error(), "no agent has ever written the status") {
		t.Errorf("without an agent: %v", err)
	}
	if list, err := q.List(t.Context()); err != nil || len(list) > 0 {
		t.Fatalf("without an agent: %+v, %v", list, err)
	}
	if _, err := status.NewArbiter(b).Claim(t.Context(), "me", "here"); err != nil {
		t.Fatal(err)
	}
	for flag, kind := range map[string]fleet.ApprovalKind{"--plan": fleet.ApprovePlan, "--changes": fleet.ApproveChanges} {
		if out, err := approve(flag, "--reason", "eu-1 moves", "--signing-key", key); err != nil || !strings.Contains(out, "approved the "+string(kind)+" of pull request 12 at aaaaaaaaaaaa") {
			t.Errorf("%s: %v: %s", flag, err, out)
		}
		list, err := q.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a := list[0]
		if len(list) == 2 && list[1].Kind == kind {
			a = list[1]
		}
		if a.Kind != kind || a.Head != head || a.PullRequest != 12 || a.By != "Ada <ada@example.com>" || a.Reason != "eu-1 moves" || !strings.Contains(a.Signature, "SSH SIGNATURE") {
			t.Errorf("%s: %+v", flag, a)
		}
	}
}
