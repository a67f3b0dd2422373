package forge_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

type m = forgetest.M

// lab is GitLab.
func lab(t *testing.T, w *forgetest.World) *forgetest.Server {
	s := &forgetest.Server{T: t, World: w, Size: 100, Auth: "Bearer s3cret"}
	note := func(c forge.Comment) m {
		return m{"id": forgetest.Number(c.ID), "body": c.Text, "system": false, "author": m{"id": 1, "username": c.Author}}
	}
	merge := func(p forge.PullRequest) m {
		from := 5
		if p.Fork {
			from = 6
		}
		out := m{"iid": p.Number, "author": m{"username": p.Author}, "sha": p.Head, "target_branch": p.Base, "source_project_id": from, "target_project_id": 5, "state": "opened", "merge_commit_sha": nil}
		switch p.State {
		case forge.Merged:
			out["state"], out["merge_commit_sha"] = "merged", p.Result
		case forge.Closed:
			out["state"] = "closed"
		case forge.Open:
		}
		return out
	}
	last := map[string]string{}
	project := "/api/v4/projects/team%2Fgroup%2Ffleet"
	s.Routes = map[string]func(*http.Request, []string) (int, any){
		"GET /api/v4/user": func(*http.Request, []string) (int, any) { return 200, m{"id": 7, "username": w.Me} },
		"GET " + project + "/merge_requests": func(r *http.Request, _ []string) (int, any) {
			list, err := w.Open(r.Context())
			if err != nil || r.URL.Query().Get("state") != "opened" {
				return forgetest.Failed(err)
			}
			out := []m{}
			for _, p := range list {
				out = append(out, merge(p))
			}
			return 200, out
		},
		"GET " + project + `/merge_requests/(\d+)`: func(r *http.Request, a []string) (int, any) {
			p, err := w.PullRequest(r.Context(), forgetest.Number(a[0]))
			if err != nil {
				return forgetest.Failed(err)
			}
			return 200, merge(p)
		},
		"GET " + project + `/merge_requests/(\d+)/approvals`: func(_ *http.Request, a []string) (int, any) {
			by := []m{}
			for _, r := range w.Last(forgetest.Number(a[0])) {
				if r.Verb == forgetest.Approve {
					by = append(by, m{"user": m{"username": r.Author}, "approved_at": r.At})
				}
			}
			return 200, m{"approved": len(by) > 0, "approved_by": by}
		},
		"GET " + project + `/merge_requests/(\d+)/reviewers`: func(_ *http.Request, a []string) (int, any) {
			asked := []any{m{"user": m{"username": "erin"}, "state": "unreviewed"}}
			for _, r := range w.Last(forgetest.Number(a[0])) {
				state := map[forgetest.Verb]string{forgetest.Approve: "approved", forgetest.Refuse: "requested_changes"}[r.Verb]
				asked = append(asked, m{"user": m{"username": r.Author}, "state": state})
			}
			return 200, asked
		},
		"GET " + project + `/merge_requests/(\d+)/versions`: func(_ *http.Request, a []string) (int, any) {
			out := []m{}
			for _, h := range slices.Backward(w.Heads(forgetest.Number(a[0]))) {
				out = append(out, m{"head_commit_sha": h.Head, "created_at": h.At})
			}
			return 200, out
		},
		"POST " + project + "/statuses/([0-9a-f]{40})": func(r *http.Request, a []string) (int, any) {
			in := forgetest.Body(r)
			if last[a[0]] == in["state"] {
				return 400, m{"message": m{"status": []string{"Cannot transition status via :enqueue from :" + in["state"]}}}
			}
			last[a[0]] = in["state"]
			verdict := map[string]forge.Verdict{"pending": forge.Pending, "success": forge.Success, "failed": forge.Failure}[in["state"]]
			if err := w.SetStatus(r.Context(), a[0], forge.Status{Name: in["name"], Verdict: verdict, Text: in["description"]}); err != nil {
				return forgetest.Failed(err)
			}
			return 201, m{}
		},
		"GET " + project + `/merge_requests/(\d+)/notes`: func(r *http.Request, a []string) (int, any) {
			list, err := w.Comments(r.Context(), forgetest.Number(a[0]))
			if err != nil {
				return forgetest.Failed(err)
			}
			out := []m{{"id": 1, "body": "added 1 commit", "system": true, "author": m{"username": w.Me}}}
			for _, c := range list {
				out = append(out, note(c))
			}
			return 200, out
		},
		"GET " + project + `/merge_requests/(\d+)/notes/(\d+)`: func(r *http.Request, a []string) (int, any) {
			c, err := w.Comment(r.Context(), forgetest.Number(a[0]), a[1])
			if err != nil {
				return forgetest.Failed(err)
			}
			return 200, note(c)
		},
		"POST " + project + `/merge_requests/(\d+)/notes`: func(r *http.Request, a []string) (int, any) {
			return s.Commented(r, forgetest.Number(a[0]), forgetest.Body(r)["body"], note)
		},
		"PUT " + project + `/merge_requests/(\d+)/notes/(\d+)`: func(r *http.Request, a []string) (int, any) {
			return s.Edited(r, a[1], forgetest.Body(r)["body"])
		},
	}
	s.Page = func(w http.ResponseWriter, more bool, page int) {
		if w.Header().Set("X-Next-Page", ""); more {
			w.Header().Set("X-Next-Page", strconv.Itoa(page+1))
		}
	}
	return s
}

// opened returns the forge of that kind at url.
func opened(t *testing.T, kind, url, path, app string) forge.Forge {
	t.Helper()
	f, err := forge.New(forge.Options{Kind: kind, Repository: url + path, API: func(base string) (forge.API, error) {
		api, err := git.NewAPI(base, git.Options{URL: url + path, Auth: git.Auth{Token: fleet.NewSecret([]byte("s3cret"))}})
		return ofApp{api, app}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// served returns the forge of that kind that s is, and what ends it.
func served(t *testing.T, kind, path, app string, s *forgetest.Server) (forge.Forge, func()) {
	t.Helper()
	srv := httptest.NewServer(s)
	return opened(t, kind, srv.URL, path, app), srv.Close
}

// ofApp is an API with the credential of an app.
type ofApp struct {
	*git.API
	app string
}

func (a ofApp) App() string { return a.app }

func TestConformance(t *testing.T) {
	for name, c := range map[string]struct {
		kind, path, app string
		serve           func(t *testing.T, w *forgetest.World) *forgetest.Server
	}{
		"gitea": {"gitea", "/team/fleet.git", "", func(t *testing.T, w *forgetest.World) *forgetest.Server {
			s := forgetest.Hub(t, w, "/api/v1", "Bearer s3cret", 50, 0)
			comments := `GET /api/v1/repos/team/fleet/issues/(\d+)/comments`
			paged := s.Routes[comments]
			s.Routes[comments] = func(r *http.Request, a []string) (int, any) { // in one answer, whatever page is asked for
				code, v := paged(r, a)
				b, _ := json.Marshal(v)
				return code, json.RawMessage(b)
			}
			return s
		}},
		"github enterprise": {"github", "/team/fleet.git", "", func(t *testing.T, w *forgetest.World) *forgetest.Server {
			return forgetest.Hub(t, w, "/api/v3", "Bearer s3cret", 100, 0)
		}},
		"an app of github": {"github", "/team/fleet", "12", func(t *testing.T, w *forgetest.World) *forgetest.Server {
			return forgetest.Hub(t, w, "/api/v3", "Bearer s3cret", 100, 12)
		}},
		"gitlab": {"gitlab", "/team/group/fleet.git", "", lab},
	} {
		t.Run(name, func(t *testing.T) {
			w := forgetest.New("fairlead")
			f, done := served(t, c.kind, c.path, c.app, c.serve(t, w))
			defer done()
			forgetest.Run(t, w, 130, func(*testing.T) forge.Forge { return f })
		})
	}
}

func TestKindOfAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		want fleet.ErrorKind
		read fleet.ErrorKind
	}{
		"no credential":   {401, fleet.Unauthorized, fleet.Unauthorized},
		"no right":        {403, fleet.Unauthorized, fleet.Unauthorized},
		"a redirect":      {302, fleet.Unavailable, fleet.Unavailable},
		"too many":        {429, fleet.Unavailable, fleet.Unavailable},
		"a gateway":       {502, fleet.Unanswered, fleet.Unavailable},
		"not as it wants": {422, fleet.Invalid, fleet.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://127.0.0.1:1/")
				http.Error(w, `{"message":"the\u001b[31m forge's   words"}`, c.code)
			}))
			defer srv.Close()
			f := opened(t, "gitea", srv.URL, "/team/fleet.git", "")
			_, err := f.Write(t.Context(), 1, "x")
			if fleet.KindOf(err) != c.want || !strings.Contains(err.Error(), "forge's words") || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%s of %v, want %s", fleet.KindOf(err), err, c.want)
			}
			if _, err = f.Open(t.Context()); fleet.KindOf(err) != c.read {
				t.Errorf("reading: %s of %v, want %s", fleet.KindOf(err), err, c.read)
			}
		})
	}
}

func TestNew(t *testing.T) {
	for name, c := range map[string]struct {
		o         forge.Options
		base, bad string
	}{
		"github":            {forge.Options{Repository: "git@github.com:team/fleet.git"}, "https://api.github.com", ""},
		"github's tenants":  {forge.Options{Repository: "https://x.ghe.com/team/fleet"}, "https://api.x.ghe.com", ""},
		"gitlab":            {forge.Options{Repository: "https://gitlab.com/a/b/c.git"}, "https://gitlab.com/api/v4", ""},
		"another host":      {forge.Options{Repository: "ssh://git@git.example.com:2222/team/fleet.git", Kind: "gitea"}, "https://git.example.com/api/v1", ""},
		"a folder":          {forge.Options{Repository: "https://example.com/git/team/fleet.git", Kind: "gitea", Root: "https://example.com/git/"}, "https://example.com/git/api/v1", ""},
		"bitbucket":         {forge.Options{Repository: "git@bitbucket.org:team/fleet.git"}, "", "pull requests of bitbucket.org are not planned"},
		"data center":       {forge.Options{Repository: "https://git.example.com/bb/scm/~ann/fleet.git", Kind: "bitbucket-data-center", Root: "https://git.example.com/bb"}, "", "Plan branches with spec.pullRequests.refs"},
		"azure":             {forge.Options{Repository: "https://team@dev.azure.com/team/My%20Project/_git/fleet"}, "", `(kind "azure"; supported: gitea, github, gitlab)`},
		"azure, ssh":        {forge.Options{Repository: "git@ssh.dev.azure.com:v3/team/project/fleet"}, "", "run 'fairlead plan' in the CI"},
		"azure, of old":     {forge.Options{Repository: "https://team.visualstudio.com/project/_git/fleet"}, "", "pull requests of team.visualstudio.com are not planned"},
		"nobody knows":      {forge.Options{Repository: "https://git.example.com/team/fleet.git"}, "", "name one with --forge, of gitea, github, gitlab"},
		"a folder unsaid":   {forge.Options{Repository: "https://example.com/git/team/fleet.git", Kind: "gitea"}, "", "name the URL of the forge with --forge-url"},
		"no repository":     {forge.Options{Repository: "https://example.com/fleet.git", Kind: "gitea"}, "", "names no repository of an owner"},
		"an unknown kind":   {forge.Options{Repository: "https://example.com/a/b", Kind: "cvs"}, "", `"cvs" is no kind`},
		"forgejo's own one": {forge.Options{Repository: "https://codeberg.org/a/b"}, "https://codeberg.org/api/v1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			base := ""
			c.o.API = func(b string) (forge.API, error) {
				base = b
				return ofApp{}, nil
			}
			_, err := forge.New(c.o)
			if c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad)) || c.bad == "" && err != nil || base != c.base {
				t.Errorf("the API is at %q, %v; want %q, %q", base, err, c.base, c.bad)
			}
		})
	}
}

// TestAuthors: authors and committers wrote a pull request, as far as the forge knows their accounts.
// What a list leaves out is an error.
func TestAuthors(t *testing.T) {
	many := slices.Repeat([]string{"bob"}, 250)
	for name, c := range map[string]struct {
		kind, base string
		size       int
		wrote      []string
		want       string
		err        bool
	}{
		"gitea":             {"gitea", "/api/v1", 50, []string{"bob", "dora", "", "bob"}, "bob dora web-flow", false},
		"many on gitea":     {"gitea", "/api/v1", 50, append(many, "dora"), "bob dora web-flow", false},
		"github":            {"github", "/api/v3", 100, []string{"dora", "", "bob"}, "bob dora web-flow", false},
		"too many of them":  {"github", "/api/v3", 100, many, "", true},
		"just not too many": {"github", "/api/v3", 100, append(many[:248:248], "dora"), "bob dora web-flow", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := forgetest.New("fairlead")
			w.Wrote(7, c.wrote...)
			f, done := served(t, c.kind, "/team/fleet.git", "", forgetest.Hub(t, w, c.base, "Bearer s3cret", c.size, 0))
			defer done()
			got, err := f.Authors(t.Context(), forge.PullRequest{Number: 7})
			if (err != nil) != c.err || err == nil && strings.Join(got, " ") != c.want {
				t.Errorf("got %v, %v, want %s", got, err, c.want)
			}
		})
	}
}
