//go:build linux

package gitea_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/test/lab/gitea"
)

// A harbour is a fleet on Gitea whose pull requests are planned.
type harbour struct {
	*site

	t     *testing.T
	dir   string
	files map[string]string // of main
	run   func(args ...string) *exec.Cmd
	front *front
}

// newHarbour makes the example's fleet, with what spec says of pull requests.
func newHarbour(t *testing.T, spec string) *harbour {
	t.Helper()
	asked(t)
	h := &harbour{t: t, dir: t.TempDir(), files: map[string]string{}}
	example := inmemory.Files()
	err := fs.WalkDir(example, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "README.md" || strings.HasPrefix(name, "clusters/prod") {
			return err
		}
		b, err := fs.ReadFile(example, name)
		h.files[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h.files["fleet.yaml"] = strings.TrimSpace(h.files["fleet.yaml"]) + "\nspec:\n  pullRequests: " + spec + "\n"
	server := gitea.Start(t)
	h.site = newSite(server, "harbour")
	h.push(h.repo, "main", "main", h.files)
	h.front = newFront(t, server.URL)
	h.write(".gitconfig", "[user]\nname = Ada\nemail = ada@example.com\n")
	h.account(server.User, server.Token)
	h.run = program(t, h.dir)
	return h
}

// write writes a file.
func (h *harbour) write(name, content string) {
	h.t.Helper()
	file := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// account gives the agent, which may be running, and people's commands the token of a user.
func (h *harbour) account(user, token string) {
	h.t.Helper()
	h.write("credentials/username", user)
	h.write("credentials/password", token)
}

// asked skips a test of minutes that nobody asked for.
func asked(t *testing.T) {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_FORGE") == "" {
		t.Skip("it takes minutes: run make test-forge")
	}
}

// from says where the fleet is, as the agent and people reach it.
func (h *harbour) from() []string {
	return []string{"--source", h.front.url + strings.TrimPrefix(h.repo, "/repos") + ".git", "--credentials", filepath.Join(h.dir, "credentials")}
}

// agent starts an agent of that name, and returns what kills it.
func (h *harbour) agent(name string, more ...string) func() {
	c := h.run(slices.Concat([]string{
		"agent", "--name", name, "--listen", "", "--interval", "1s", "--status-interval", "300ms", "--forge", "gitea",
		"--secrets", filepath.Join(h.dir, "secrets"), "--wait-for-ownership",
	}, h.from(), more)...)
	start(h.t, h.dir, name+strings.ReplaceAll(time.Now().Format("-150405.000"), ".", ""), c)
	return func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

// eventually waits until f says that it is so; it returns what is, for people.
func (h *harbour) eventually(what string, f func() (is string, ok bool)) string {
	h.t.Helper()
	var is string
	var ok bool
	for end := time.Now().Add(15 * time.Minute); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		if is, ok = f(); ok {
			return is
		}
	}
	h.t.Fatalf("never %s, but\n%s", what, is)
	return ""
}

// command runs the program, and returns what it says and its exit code.
func (h *harbour) command(args ...string) (string, int) {
	c := h.run(append(args, h.from()...)...)
	out, _ := c.CombinedOutput()
	return string(out), c.ProcessState.ExitCode()
}

// says waits for the status of the head of p, and for words in the one comment of the agent.
func (h *harbour) says(p forge.PullRequest, verdict forge.Verdict, status string, comment ...string) string {
	h.t.Helper()
	return h.eventually(string(verdict)+": "+status+" "+strings.Join(comment, ", "), func() (string, bool) {
		s, text := h.Status(h.t, p.Head, "fairlead/plan"), h.comment(p.Number)
		missing := slices.ContainsFunc(comment, func(want string) bool { return !strings.Contains(text, want) })
		return string(s.Verdict) + ": " + s.Text + "\n" + text, s.Verdict == verdict && strings.Contains(s.Text, status) && !missing
	})
}

// comment returns that of the agent, of which there is one at most.
func (h *harbour) comment(number int) string {
	h.t.Helper()
	own := h.comments(number, "ann")
	if len(own) > 1 {
		h.t.Fatalf("pull request %d has %d comments: %q", number, len(own), own)
	}
	return strings.Join(own, "")
}

// another returns the files of a cluster of that name.
func (h *harbour) another(name string) map[string]string {
	out := map[string]string{}
	for _, file := range []string{"kustomization.yaml", "values.yaml"} {
		out["clusters/staging/"+name+"/"+file] = strings.ReplaceAll(h.files["clusters/staging/eu-2/"+file], "eu-2", name)
	}
	return out
}

// settled waits until all clusters are as Git says.
func (h *harbour) settled() {
	h.t.Helper()
	h.eventually("is all as Git says", func() (string, bool) {
		out, code := h.command("status", "--wait", "60s")
		return out, code == 0
	})
}

// TestPullRequests: on a real Gitea pull requests are planned, keep their comment after another
// merge, are held back by the policy, approved, merged, and told what became of them.
func TestPullRequests(t *testing.T) {
	h := newHarbour(t, "{fail: {machines: 9}}")
	h.Call(http.MethodPost, h.repo+"/branch_protections", m{
		"rule_name": "main", "enable_push": true, "enable_status_check": true, "status_check_contexts": []string{"fairlead/plan"}, "block_admin_merge_override": true,
	}, nil)
	h.agent("g")
	h.settled()

	one := h.propose("one", false, h.another("eu-3"))
	h.Remark(t, one.Number, "<!-- fairlead:plan:harbour -->\nnothing to do, trust me")
	h.says(one, forge.Success, "create 1 cluster", "staging/eu-3", "**create**", one.Head)
	text := h.comment(one.Number)
	if strings.Contains(text, "eu-2") {
		t.Errorf("the plan is about a cluster that is as it was:\n%s", text)
	}
	if out, code := h.command("plan", "--pull-request", "1"); code != 2 || !strings.Contains(out, "staging/eu-3") {
		t.Errorf("plan --pull-request says, with %d, %s", code, out)
	}
	var file struct{ Size int }
	h.Call(http.MethodGet, h.repo+"/contents/plans/pull-requests/1.md?ref=fairlead/status", nil, &file)
	if file.Size == 0 {
		t.Error("the plan on the status branch is empty")
	}

	// Another agent of the fleet waits, and writes nothing.
	h.agent("other")
	h.merge(t, h.planned("other", map[string]string{"NOTES": "moved on\n"}))

	three := h.propose("three", false, map[string]string{"clusters/staging/eu-2/kustomization.yaml": h.files["clusters/staging/eu-2/kustomization.yaml"] + `
patches:
  - target: {kind: Cluster}
    patch: '{"apiVersion": "x", "kind": "Cluster", "metadata": {"name": "x", "annotations": {"fairlead.dev/delete": "true"}}}'
`})
	h.says(three, forge.Failure, "deletes cluster staging/eu-2", "**fails**", "everything on it ends")
	if err := h.Try(http.MethodPost, h.repo+"/pulls/3/merge", m{"Do": "merge"}, nil); err == nil {
		t.Error("a plan that fails is merged")
	}
	if out, code := h.command("approve", "3", "--changes", "--head", three.Head, "--reason", "it moves"); code != 0 {
		t.Fatalf("approve says %s", out)
	}
	h.says(three, forge.Success, "delete 1 cluster", "accepted:", "Ada", "it moves")

	fork := h.propose("fork", true, h.another("eu-4"))
	h.says(fork, forge.Pending, "its head is no branch of this repository")
	if text := h.comment(fork.Number); text != "" {
		t.Errorf("a fork's is planned: %s", text)
	}
	if d := cmp.Diff(text, h.comment(one.Number)); d != "" { // though the base is another one
		t.Errorf("the plan says the same, and was written again (-before +after):\n%s", d)
	}
	h.merge(t, one)
	h.says(one, forge.Success, "", "done as planned", "staging/eu-3")
	h.merge(t, three)
	h.says(three, forge.Success, "", "done as planned", "staging/eu-2")
	if out, code := h.command("approve", "4", "--plan", "--head", fork.Head); code != 0 {
		t.Fatalf("approve says %s", out)
	}
	h.says(fork, forge.Success, "create 1 cluster", "staging/eu-4")
	if said := h.comments(1, "mallory"); len(said) != 1 || !strings.HasSuffix(said[0], "trust me") {
		t.Errorf("somebody else's comment was edited: %q", said)
	}
	h.eventually("is the plan of what is done removed", func() (string, bool) {
		return "it stays", h.Try(http.MethodGet, h.repo+"/contents/plans/pull-requests/1.md?ref=fairlead/status", nil, nil) != nil
	})
}

// planned opens a pull request, and returns it once it may be merged.
func (h *harbour) planned(branch string, files map[string]string) forge.PullRequest {
	h.t.Helper()
	p := h.propose(branch, false, files)
	h.says(p, forge.Success, "nothing to do")
	return p
}

// TestKilledAtEveryCall: killed before or after any call of the forge, the next agent of
// the name makes up for what is missing, and there is one comment.
func TestKilledAtEveryCall(t *testing.T) {
	h := newHarbour(t, "{}")
	kill := h.agent("g")
	h.settled()
	for _, answered := range []bool{false, true} {
		for call, more := 1, true; more; call++ {
			kill()
			name := strings.ReplaceAll(time.Now().Format("c150405.000"), ".", "")
			p := h.propose(name, false, h.another(name))
			died := h.front.cut(call, answered)
			kill = h.agent("g")
			h.front.by(kill)
			h.eventually("is it planned, or killed", func() (string, bool) {
				select {
				case <-died:
					return "", true
				default:
					s := h.Status(t, p.Head, "fairlead/plan")
					return string(s.Verdict), s.Verdict == forge.Success && h.comment(p.Number) != ""
				}
			})
			asked := h.front.whole()
			if more = asked != ""; more {
				<-died
				kill = h.agent("g")
			}
			t.Logf("answered: %v, call %d: %q", answered, call, asked)
			h.says(p, forge.Success, "create 1 cluster", "staging/"+name, p.Head)
			h.Call(http.MethodPatch, fmt.Sprintf("%s/pulls/%d", h.repo, p.Number), m{"state": "closed"}, nil)
			h.eventually("is the plan of what is closed removed", func() (string, bool) {
				return "it stays", h.Try(http.MethodGet, fmt.Sprintf("%s/contents/plans/pull-requests/%d.md?ref=fairlead/status", h.repo, p.Number), nil, nil) != nil
			})
		}
	}
	h.front.mu.Lock()
	defer h.front.mu.Unlock()
	for path, n := range h.front.wrote {
		if n != 1 {
			t.Errorf("%d comments were written to %s", n, path)
		}
	}
}

// A front passes requests on to Gitea, and ends who asks.
type front struct {
	url string

	mu       sync.Mutex
	left     int  // calls until the end; 0: there is none
	answered bool // it is passed on before
	kill     chan func()
	died     chan struct{}
	asked    string         // what it ended at
	wrote    map[string]int // comments, by path
	rest     time.Duration  // how long it wants no requests, which the next one is told; 0: it takes all
	until    time.Time      // it wants none before
	early    []string       // requests before that
}

func newFront(t *testing.T, target string) *front {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{wrote: map[string]int{}}
	proxy := httputil.NewSingleHostReverseProxy(to)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.limits(w, r) {
			return
		}
		last := f.last(r)
		if last != nil && f.answered {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
		}
		if last != nil {
			last()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

// limit has the next request to the API refused because there were too many.
func (f *front) limit(rest time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest, f.until, f.early = rest, time.Time{}, nil
}

// limited reports whether a request was refused for a limit, and which ones came before the time that it
// named.
func (f *front) limited() (was bool, early []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.until.IsZero(), f.early
}

// limits answers r if it is one too many.
func (f *front) limits(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		return false
	}
	if f.rest > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.rest/time.Second)))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		f.rest, f.until = 0, time.Now().Add(f.rest)
		return true
	}
	if time.Now().Before(f.until) {
		f.early = append(f.early, r.Method+" "+r.URL.Path)
	}
	return false
}

// cut has who asks killed at the nth call of the API from now, before it is passed on or
// after it was answered. The channel is closed then.
func (f *front) cut(n int, answered bool) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.answered, f.asked, f.kill, f.died = n, answered, "", make(chan func(), 1), make(chan struct{})
	return f.died
}

// by says what kills who asks.
func (f *front) by(kill func()) { f.kill <- kill }

// whole has nobody killed any more, and returns at which call somebody was.
func (f *front) whole() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = 0
	return f.asked
}

// last returns what ends who asks r; nil: it goes on.
func (f *front) last(r *http.Request) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		return nil
	}
	write := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/comments")
	if f.left != 1 {
		f.left = max(0, f.left-1)
		if write {
			f.wrote[r.URL.Path]++
		}
		return nil
	}
	f.left, f.asked = 0, r.Method+" "+r.URL.Path
	if write && f.answered {
		f.wrote[r.URL.Path]++
	}
	return func() {
		(<-f.kill)()
		close(f.died)
	}
}
