package takeover_test

import (
	"bufio"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/system/takeover"
)

// Agents of two versions take the place of each other on the in-memory cloud.
func TestInMemory(t *testing.T) {
	old, program := os.Getenv("FAIRLEAD_TEST_RELEASED"), os.Getenv("FAIRLEAD_TEST_PROGRAM")
	if old == "" || program == "" {
		t.Skip("FAIRLEAD_TEST_RELEASED and FAIRLEAD_TEST_PROGRAM name no programs: `make test-upgrade OLD=COMMIT` does")
	}
	root := t.TempDir()
	server, err := gitserver.New(root, gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := gitserver.Init(root, "fleet.git")
	if err != nil {
		t.Fatal(err)
	}
	http := httptest.NewServer(server)
	t.Cleanup(http.Close)
	push(t, bare)
	takeover.Run(t, takeover.Fleet{
		Old: old, New: program, Source: http.URL + "/fleet.git", Bare: bare, Secrets: filepath.Join(t.TempDir(), "secrets"),
		Flags:   []string{"--inmemory-url", cloud(t, program)},
		Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Pool: "eu-1-md-0", Logs: t.TempDir(),
	})
}

// push pushes the example with one cluster of 1+1, whose pool others scale.
func push(t *testing.T, bare string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, example.Files()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "clusters", "staging")); err != nil {
		t.Fatal(err)
	}
	for name, replace := range map[string]*strings.Replacer{
		"clusters/prod/eu-1/values.yaml": strings.NewReplacer(`"3"`, `"1"`),
		"bases/cluster/workers.yaml":     strings.NewReplacer("  name: ${CLUSTER_NAME}-md-0\nspec:\n  clusterName", "  name: ${CLUSTER_NAME}-md-0\n  annotations: {cluster.x-k8s.io/replicas-managed-by: people}\nspec:\n  clusterName"),
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(replace.Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init --quiet --initial-branch=main", "add --all", "-c user.name=test -c user.email=test@example.com commit --quiet -m fleet", "push --quiet " + bare + " HEAD:main"} {
		cmd := exec.CommandContext(t.Context(), "git", strings.Fields(args)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
}

// cloud starts an in-memory cloud as a process, and returns its URL.
func cloud(t *testing.T, program string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "inmemory", "--listen", "127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		t.Log(lines.Text())
		if _, rest, ok := strings.Cut(lines.Text(), "http://"); ok {
			go func() {
				for lines.Scan() {
				}
			}()
			return "http://" + strings.TrimRight(strings.Fields(rest)[0], `"`)
		}
	}
	t.Fatal("the in-memory cloud does not serve")
	return ""
}
