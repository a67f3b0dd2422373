//go:build linux

package gitea_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/test/lab/gitea"
	"fairlead.dev/test/run/ports"
	"fairlead.dev/test/run/waits"
)

// program builds Fairlead and returns how to run it in dir, with a cloud in memory.
func program(t *testing.T, dir string) func(args ...string) *exec.Cmd {
	t.Helper()
	binary := filepath.Join(dir, "fairlead")
	if out, err := exec.Command("go", "build", "-o", binary, "../../../agent/cmd/fairlead").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cloud := freeAddress(t)
	run := func(args ...string) *exec.Cmd {
		c := exec.Command(binary, args...)
		c.Dir = dir
		c.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "FAIRLEAD_INMEMORY_URL=http://" + cloud}
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return c
	}
	start(t, dir, "cloud", run("inmemory", "--listen", cloud))
	return run
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// start starts c, which ends with the test. What it said is shown where the test fails.
func start(t *testing.T, dir, name string, c *exec.Cmd) {
	t.Helper()
	file := filepath.Join(dir, name+".log")
	log, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			b, _ := os.ReadFile(file)
			t.Logf("%s:\n%s", name, b[max(0, len(b)-5000):])
		}
	})
}

// TestAgent: a fleet lives on Gitea. A push, which Gitea's webhook alone tells of, becomes
// clusters and commits of status there, and what people ask for is answered.
func TestAgent(t *testing.T) {
	s := gitea.Start(t)
	s.Call("POST", "/user/repos", m{"name": "harbour", "auto_init": true, "default_branch": "main"}, nil)
	dir := t.TempDir()
	credentials := filepath.Join(dir, "credentials")
	for name, content := range map[string]string{"credentials/username": s.User, "credentials/password": s.Token, "secret": "s3cret\n", ".gitconfig": "[user]\nname = You\nemail = you@example.com\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	push := func(message string, files map[string]string) {
		t.Helper()
		var changes []m
		for name, content := range files {
			changes = append(changes, m{"operation": "create", "path": name, "content": base64.StdEncoding.EncodeToString([]byte(content))})
		}
		s.Call("POST", "/repos/ann/harbour/contents", m{"branch": "main", "message": message, "files": changes}, nil)
	}
	example, manifests := inmemory.Files(), map[string]string{}
	err := fs.WalkDir(example, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "README.md" || strings.HasPrefix(name, "clusters/prod") {
			return err
		}
		b, err := fs.ReadFile(example, name)
		manifests[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	push("the fleet", manifests)

	run, source, hook := program(t, dir), s.URL+"/ann/harbour.git", freeAddress(t)
	s.Call("POST", "/repos/ann/harbour/hooks", m{
		"type": "gitea", "active": true, "events": []string{"push"},
		"config": m{"url": "http://" + hook + "/hook/gitea", "content_type": "json", "secret": "s3cret"},
	}, nil)
	start(t, dir, "agent", run("agent", "--source", source, "--credentials", credentials, "--name", "g", "--listen", "", "--interval", "1h",
		"--status-interval", "300ms", "--webhook-listen", hook, "--webhook-secret-file", "gitea="+filepath.Join(dir, "secret")))
	says := func(want string, args ...string) {
		t.Helper()
		var out []byte
		for end := time.Now().Add(waits.Limit); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
			if out, _ = run(append(args, "--source", source, "--credentials", credentials)...).CombinedOutput(); strings.Contains(string(out), want) {
				return
			}
		}
		t.Fatalf("fairlead %s never says %q, but\n%s", strings.Join(args, " "), want, out)
	}
	says("staging/eu-2   Provisioned", "status")

	more := map[string]string{}
	for _, name := range []string{"kustomization.yaml", "values.yaml"} {
		more["clusters/staging/eu-3/"+name] = strings.ReplaceAll(manifests["clusters/staging/eu-2/"+name], "eu-2", "eu-3")
	}
	push("another cluster", more)
	says("staging/eu-3   Provisioned", "status")
	says("accepted", "suspend", "staging/eu-3", "--wait", "60s")

	var history []struct {
		Commit struct{ Message string }
	}
	s.Call("GET", "/repos/ann/harbour/commits?sha=fairlead/status&path=clusters/staging/eu-3.yaml", nil, &history)
	if len(history) == 0 || !strings.Contains(fmt.Sprint(history), "staging/eu-3: CreateMachine eu-3-cp-") {
		t.Errorf("the story of the new cluster, as Gitea tells it: %v", history)
	}
}
