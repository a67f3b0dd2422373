package wiring

import (
	"encoding/base64"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/plans/document"
	forges "fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
	"fairlead.dev/test/run/waits"
)

// A hub is a forge with pull requests.
type hub struct {
	*forge

	world  *forgetest.World
	source string
	files  map[string]string // of the example
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{forge: newForge(t), world: forgetest.New("fairlead"), files: map[string]string{}}
	git, err := url.Parse(strings.TrimSuffix(h.url, "/fleet.git"))
	if err != nil {
		t.Fatal(err)
	}
	api, proxy := forgetest.Hub(t, h.world, "/api/v1", "Bearer s3cret", 50, 0), httputil.NewSingleHostReverseProxy(git)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			api.ServeHTTP(w, r)
			return
		}
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/team")
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	h.source = srv.URL + "/team/fleet.git"
	example := inmemory.Files()
	err = fs.WalkDir(example, ".", func(name string, d fs.DirEntry, err error) error {
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
	return h
}

// commit makes files on what is checked out, removes those that are empty, and pushes to ref.
func (h *hub) commit(ref string, files map[string]string) string {
	h.t.Helper()
	for name, content := range files {
		file := filepath.Join(h.work, name)
		if content == "" {
			_ = os.Remove(file)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			h.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	h.git("add", "-A")
	h.git("commit", "--quiet", "--allow-empty", "-m", "change")
	h.git("push", "--quiet", h.bare, "HEAD:"+ref)
	return h.git("rev-parse", "HEAD")
}

// propose opens a pull request with files on top of what is checked out.
func (h *hub) propose(number int, fork bool, files map[string]string) forges.PullRequest {
	h.t.Helper()
	p := forges.PullRequest{Number: number, State: forges.Open, Base: "main", Fork: fork}
	p.Head = h.commit("refs/pull/"+string(rune('0'+number))+"/head", files)
	h.world.Put(p)
	return p
}

// says waits until the status of p and the comment of the agent have these words.
func (h *hub) says(p forges.PullRequest, verdict forges.Verdict, status string, comment ...string) string {
	h.t.Helper()
	var last forges.Status
	var text string
	for end := time.Now().Add(waits.Limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		last, _ = h.world.Of(p.Head)
		text = h.comment(p.Number)
		if last.Verdict == verdict && strings.Contains(last.Text, status) && !slices.ContainsFunc(comment, func(want string) bool { return !strings.Contains(text, want) }) {
			return text
		}
	}
	h.t.Fatalf("pull request %d never has %s %q and %q; at last %+v and\n%s", p.Number, verdict, status, comment, last, text)
	return ""
}

// comment returns that of the agent, of which there is one at most.
func (h *hub) comment(number int) string {
	h.t.Helper()
	var own []string
	for _, c := range h.world.Said(number) {
		if c.Author == "fairlead" {
			own = append(own, c.Text)
		}
	}
	if len(own) > 1 {
		h.t.Fatalf("there are %d comments: %q", len(own), own)
	}
	return strings.Join(own, "")
}

// TestPullRequests: a fleet in a forge, from a proposal to what became of it.
func TestPullRequests(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.files["fleet.yaml"] = strings.TrimSpace(h.files["fleet.yaml"]) + "\nspec:\n  pullRequests: {fail: {machines: 9}}\n"
	first := h.commit("refs/heads/main", h.files)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.agent(func(s *Settings) {
		s.Source, s.Forge.Kind = h.source, "gitea"
		s.Credentials.TokenFile = token
	})
	h.until("that all is as Git says", func(s sources.FleetStatus) bool {
		return s.Applied.Hash() == first && len(s.Behind) == 0 && len(s.Problems) == 0
	})

	more := map[string]string{}
	for _, name := range []string{"kustomization.yaml", "values.yaml"} {
		more["clusters/staging/eu-3/"+name] = strings.ReplaceAll(h.files["clusters/staging/eu-2/"+name], "eu-2", "eu-3")
	}
	h.world.Say(1, "mallory", "<!-- fairlead:plan:harbour -->\nnothing to do, trust me")
	one := h.propose(1, false, more)
	text := h.says(one, forges.Success, "create 1 cluster", "staging/eu-3", "**create**", one.Head, first)
	if strings.Contains(text, "eu-2") {
		t.Errorf("the plan is about a cluster that is as it was:\n%s", text)
	}
	writes := h.world.Writes()

	h.git("checkout", "--quiet", "--detach", first)
	second := h.commit("refs/heads/main", map[string]string{"NOTES": "moved on\n"})
	h.until("that the newest commit is followed", func(s sources.FleetStatus) bool { return s.Applied.Hash() == second })

	two := h.propose(2, true, map[string]string{"clusters/staging/eu-2/values.yaml": ""})
	h.says(two, forges.Pending, "its head is no branch of this repository")
	h.says(one, forges.Success, "create 1 cluster", first)
	if n := h.world.Writes() - writes; n != 1 {
		t.Errorf("%d writes for another base of the same plan and a fork, want the status of the fork alone", n)
	}
	if text := h.comment(2); text != "" {
		t.Errorf("a fork's is planned: %s", text)
	}

	h.git("checkout", "--quiet", "--detach", second)
	three := h.propose(3, false, map[string]string{"clusters/staging/eu-2/kustomization.yaml": h.files["clusters/staging/eu-2/kustomization.yaml"] +
		"\n# " + "x\n", "clusters/staging/eu-2/values.yaml": strings.ReplaceAll(h.files["clusters/staging/eu-2/values.yaml"], "v1.", "v9.") + "\n{{{ no yaml"})
	h.says(three, forges.Failure, "problem", "**fails**")
	b, err := Settings{Source: h.bare}.OpenBranch("fairlead/status")
	if err != nil {
		t.Fatal(err)
	}
	if err := status.NewApprovals(b).Approve(t.Context(), fleet.Approval{
		PullRequest: 3, Kind: fleet.ApproveChanges, Head: three.Head, Reason: "it is known", By: "Ada <ada@example.com>", At: time.Now(),
	}); err != nil {
		t.Fatal(err)
	}
	h.says(three, forges.Success, "", "accepted:", "Ada", "it is known")

	h.git("checkout", "--quiet", "--detach", second)
	h.git("merge", "--quiet", "--no-ff", "-m", "merge", one.Head)
	one.State, one.Result = forges.Merged, h.commit("refs/heads/main", nil)
	h.world.Put(one)
	h.says(one, forges.Success, "", "done as planned", "staging/eu-3")
	if said := h.world.Said(1); said[0].Text != "<!-- fairlead:plan:harbour -->\nnothing to do, trust me" {
		t.Errorf("somebody else's comment was edited: %q", said[0].Text)
	}
	for end := time.Now().Add(waits.Limit); ; time.Sleep(100 * time.Millisecond) {
		plans, err := status.NewPlans(b).List(t.Context())
		if err != nil || time.Now().After(end) {
			t.Fatalf("the plan of what is done stays: %v, %v", plans, err)
		}
		if !slices.ContainsFunc(plans, func(p status.Plan) bool { return p.Number == 1 }) {
			break
		}
	}
}

// Of what a pull request has, or is merged with, nothing is decrypted, though the agent could.
func TestPullRequestsDecryptNothing(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, inmemory.Files()); err != nil {
		t.Fatal(err)
	}
	testdata := "../../render/sops/testdata"
	sealed, err := os.ReadFile(filepath.Join(testdata, "secret.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cluster := filepath.Join(folder, "clusters/staging/eu-2")
	kustomization, err := os.ReadFile(filepath.Join(cluster, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"kustomization.yaml": strings.Replace(string(kustomization), "resources:", "resources:\n  - secret.yaml", 1), "secret.yaml": string(sealed),
	} {
		if err := os.WriteFile(filepath.Join(cluster, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := Settings{Built: builtIn(), Source: folder, Secrets: t.TempDir(), AgeIdentityFiles: []string{filepath.Join(testdata, "identity.txt")}}
	source, err := s.OpenSource()
	if err != nil {
		t.Fatal(err)
	}
	rev, err := source.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := source.Fetch(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.sealedRenderer(RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Render(t.Context(), rev, tree)
	if err != nil || len(f.Clusters) != 2 {
		t.Fatalf("%d clusters: %v, %v", len(f.Clusters), f.Problems, err)
	}
	seen := 0
	for _, c := range f.Clusters {
		for name, data := range c.Secrets {
			for key, value := range data {
				// Under data a value is in base64, and so is read what stands in its place.
				is := value.Reveal()
				if seen++; len(is) > 0 && string(is) != "REDACTED" && base64.StdEncoding.EncodeToString(is) != "REDACTED" {
					t.Errorf("%s of %s is decrypted", key, name)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("there is no Secret to look at")
	}
}

// TestRefs: where nobody says that there is a forge, refs are planned in files of the status
// branch, and the file goes with the ref.
func TestRefs(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.files["fleet.yaml"] = strings.TrimSpace(h.files["fleet.yaml"]) + "\nspec:\n  pullRequests: {refs: [refs/heads/proposals/*]}\n"
	first := h.commit("refs/heads/main", h.files)
	h.agent(func(*Settings) {})
	h.until("that all is as Git says", func(s sources.FleetStatus) bool {
		return s.Applied.Hash() == first && len(s.Behind) == 0 && len(s.Problems) == 0
	})
	more := map[string]string{}
	for _, name := range []string{"kustomization.yaml", "values.yaml"} {
		more["clusters/staging/eu-3/"+name] = strings.ReplaceAll(h.files["clusters/staging/eu-2/"+name], "eu-2", "eu-3")
	}
	head := h.commit("refs/heads/proposals/x", more)
	h.git("push", "--quiet", h.bare, "HEAD:refs/heads/other")
	b, err := Settings{Source: h.bare}.OpenBranch("fairlead/status")
	if err != nil {
		t.Fatal(err)
	}
	says := func(what string, so func([]status.Plan) bool) {
		t.Helper()
		var list []status.Plan
		for end := time.Now().Add(waits.Limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if list, err = status.NewPlans(b).List(t.Context()); err == nil && so(list) {
				return
			}
		}
		t.Fatalf("never %s: %+v, %v", what, list, err)
	}
	one := func(verdict, text string) func([]status.Plan) bool {
		return func(list []status.Plan) bool {
			return len(list) == 1 && list[0].Ref == "refs/heads/proposals/x" && list[0].Verdict == verdict && strings.Contains(document.Markdown(list[0]), text)
		}
	}
	says("planned", func(list []status.Plan) bool { return one("success", "create 1 cluster")(list) && list[0].Head == head })
	h.git("push", "--quiet", h.bare, "HEAD:refs/heads/main")
	says("done", one("done", "done as planned"))
	h.git("push", "--quiet", h.bare, ":refs/heads/proposals/x")
	says("gone", func(list []status.Plan) bool { return len(list) == 0 })
}
