package adopt_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/agent/console/cli"
)

// asProgram makes the test binary run as the program fairlead.
const asProgram = "FAIRLEAD_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(program(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
}

// blocks matches the commands of a page, in their order.
var blocks = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")

// TestDocs runs every command of docs/guides/fleet/migrate-from-cluster-api.md. Only the addresses of
// the example are replaced. Then an agent follows what the commands pushed.
func TestDocs(t *testing.T) {
	s := newStack(t)
	s.serveGit()
	page, err := os.ReadFile("../../../docs/guides/fleet/migrate-from-cluster-api.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(s.folder)
	s.secrets = filepath.Join(dir, "secrets")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(s.management.kube.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"mgmt.kubeconfig": string(kubeconfig),
		"fairlead":        fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", asProgram, program),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "FAIRLEAD_NAMESPACE="+s.ns,
		"FAIRLEAD_OPENSTACK_TICK=50ms", "FAIRLEAD_OPENSTACK_SETTLE=300ms", "FAIRLEAD_OPENSTACK_RATE=10000", "FAIRLEAD_PAUSE_GRACE=0s",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=push.autoSetupRemote", "GIT_CONFIG_VALUE_0=true")
	here := strings.NewReplacer("https://git.example.com/fleet.git", s.source, "prod/eu-1", s.ns+"/eu-1")
	script := "set -e\n"
	steps := blocks.FindAllSubmatch(page, -1)
	if len(steps) < 4 {
		t.Fatalf("the page has %d blocks of commands, want 4", len(steps))
	}
	for i, b := range steps {
		block := here.Replace(string(b[1]))
		cmd := exec.Command("sh", "-c", script+block)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v of %s: %s", err, block, out)
		}
		if strings.Contains(block, "export ") {
			script += block // variables are set for the blocks that follow
		}
		if adopts := strings.Contains(block, "fairlead adopt") && !strings.Contains(block, "--dry-run"); i < 2 && s.paused() || adopts != (i == 2) || i == 2 && !s.paused() {
			t.Fatalf("after block %d the Cluster is paused: %t\n%s", i, s.paused(), block)
		}
	}
	s.agent(s.flags()...)
	s.waitProvisioned(3)
}
