package alerts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	example "fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/sources/git/gitserver"
)

const (
	folder = "clusters/staging/eu-2"
	values = folder + "/values.yaml"
)

// A world is a fleet of its own: a repository, a cloud and an agent. Its name
// is that of the fleet and of the namespace of its clusters.
type world struct {
	t    *testing.T
	name string
	dir  string

	bare     string // the repository, which the test itself always reaches
	git      *httptest.Server
	gitDown  atomic.Bool // the server answers nothing
	readOnly atomic.Bool // and refuses pushes

	cloud *inmemory.Cloud
	api   *httptest.Server
	// answer, where it is there, comes before the cloud. It returns true where it
	// has answered.
	answer atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]

	args   []string // more of them for the agent
	agents map[string]*process
	gone   *process // an agent that was stopped
}

func newWorld(t *testing.T, name string) *world {
	t.Helper()
	w := &world{t: t, name: name, dir: t.TempDir(), agents: make(map[string]*process)}
	root := filepath.Join(w.dir, "git")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	server, err := gitserver.New(root, gitserver.Options{Before: w.badGit})
	if err != nil {
		t.Fatal(err)
	}
	for _, repository := range []string{"fleet.git", "other.git"} {
		if w.bare, err = server.Init(repository); err != nil {
			t.Fatal(err)
		}
	}
	w.bare = filepath.Join(root, "fleet.git")
	w.git = httptest.NewServer(server)
	t.Cleanup(w.git.Close)
	w.cloud = inmemory.NewCloud(inmemory.CloudOptions{})
	t.Cleanup(w.cloud.Close)
	w.api = httptest.NewServer(w.badCloud(inmemory.Handler(w.cloud)))
	t.Cleanup(w.api.Close)
	t.Cleanup(func() {
		w.answer.Store(nil)
		for agent := range w.agents {
			w.stop(agent)
		}
		w.api.CloseClientConnections()
	})
	if err := os.CopyFS(w.clone(), example.Files()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.clone(), "clusters/prod")); err != nil {
		t.Fatal(err)
	}
	w.replace("fleet.yaml", "name: harbour", "name: "+name)
	w.replace(folder+"/kustomization.yaml", "namespace: staging", "namespace: "+name)
	w.run("init", "--quiet", "--initial-branch=main")
	return w
}

func (w *world) badGit(out http.ResponseWriter, r *http.Request) bool {
	switch {
	case w.gitDown.Load():
		http.Error(out, "the server is down", http.StatusServiceUnavailable)
	case w.readOnly.Load() && (strings.HasSuffix(r.URL.Path, "git-receive-pack") || r.URL.Query().Get("service") == "git-receive-pack"):
		http.Error(out, "you may not push", http.StatusForbidden)
	default:
		return false
	}
	return true
}

func (w *world) badCloud(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if answer := w.answer.Load(); answer != nil && (*answer)(out, r) {
			return
		}
		next.ServeHTTP(out, r)
	})
}

// onForge has the repository belong to an owner on a forge that has no API.
func (w *world) onForge() {
	w.t.Helper()
	root := filepath.Dir(w.bare)
	if err := os.Symlink(root, filepath.Join(root, "team")); err != nil {
		w.t.Fatal(err)
	}
	w.args = append(w.args, "--source", w.git.URL+"/team/fleet.git", "--forge", "gitea")
}

// refuse makes the cloud answer every call whose path ends so with an error of
// that kind.
func (w *world) refuse(kind string, status int, path string) {
	answer := func(out http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/watch") || !strings.HasSuffix(r.URL.Path, path) {
			return false
		}
		out.WriteHeader(status)
		fmt.Fprintf(out, `{"kind":%q,"op":"call the cloud","message":"%d %s"}`, kind, status, http.StatusText(status))
		return true
	}
	w.answer.Store(&answer)
}

// delay makes each listing take d, or as long as the agent waits.
func (w *world) delay(d time.Duration) {
	answer := func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/vms/list") {
			return false
		}
		b, err := io.ReadAll(r.Body) // the server looks whether the client is still there once all is read
		if err != nil {
			return false
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
		return false
	}
	w.answer.Store(&answer)
}

func (w *world) faults(f inmemory.Faults) {
	w.t.Helper()
	if err := w.cloud.SetFaults(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// vm returns the id of the machine of the cluster whose name has that in it.
func (w *world) vm(part string) string {
	w.t.Helper()
	vms, err := w.cloud.VMs(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, v := range vms {
		if strings.Contains(v.Name, part) {
			return v.ID
		}
	}
	w.t.Fatalf("there is no machine with %q in its name", part)
	return ""
}

// settled waits until the clusters of the fleet are as Git asks for.
func (w *world) settled(p *process, clusters int) {
	w.t.Helper()
	eventually(w.t, w.name+" is provisioned", func() error {
		resp, err := http.Get("http://" + p.address + "/metrics")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if total := fmt.Sprintf("fairlead_clusters{namespace=%q,phase=\"Provisioned\"} %d\n", w.name, clusters); err == nil && !strings.Contains(string(text), total) {
			err = fmt.Errorf("there is no %s", total)
		}
		if err == nil && strings.Contains(string(text), "fairlead_cluster_failing{name=\"eu-2\",namespace=\""+w.name+"\"} 1") {
			err = errors.New("the last pass failed")
		}
		return err
	})
}

func (w *world) clone() string { return filepath.Join(w.dir, "clone") }

// replace edits a file of the clone.
func (w *world) replace(file, old, replacement string) {
	w.t.Helper()
	path := filepath.Join(w.clone(), file)
	b, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(old)) {
		w.t.Fatalf("there is no %q in %s", old, file)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(b, []byte(old), []byte(replacement)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// more adds clusters to the clone that are as the one that it has.
func (w *world) more(clusters int) {
	w.t.Helper()
	for i := range clusters {
		name := fmt.Sprintf("more-%d", i)
		if err := os.CopyFS(filepath.Join(w.clone(), "clusters/staging", name), os.DirFS(filepath.Join(w.clone(), folder))); err != nil {
			w.t.Fatal(err)
		}
		w.replace("clusters/staging/"+name+"/values.yaml", "CLUSTER_NAME: eu-2", "CLUSTER_NAME: "+name)
	}
}

// write adds text to a file of the clone.
func (w *world) write(file, text string) {
	w.t.Helper()
	f, err := os.OpenFile(filepath.Join(w.clone(), file), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// push commits the clone and pushes it past the server.
func (w *world) push() {
	w.t.Helper()
	w.run("add", "--all")
	w.run("commit", "--quiet", "--allow-empty", "--message", "change")
	w.run("push", "--quiet", w.bare, "main")
}

// revert takes the last commit back.
func (w *world) revert() {
	w.t.Helper()
	w.run("revert", "--no-edit", "HEAD")
	w.run("push", "--quiet", w.bare, "main")
}

func (w *world) run(args ...string) {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = w.clone()
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
