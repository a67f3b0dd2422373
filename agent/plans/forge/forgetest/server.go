package forgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
)

// M is a mapping of JSON.
type M = map[string]any

// A Server answers as one kind of forge does, from a world. Shapes are those of the API
// description that the kind publishes.
type Server struct {
	T     testing.TB
	World *World
	Size  int    // of a page
	Auth  string // the header Authorization that has to be shown
	// Header is of each answer.
	Header http.Header
	// Routes are patterns of method and path, with what answers: its code and content, of
	// which a []M is given in pages.
	Routes map[string]func(r *http.Request, args []string) (int, any)
	// Page tells of further pages.
	Page func(w http.ResponseWriter, more bool, page int)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Authorization"); got != s.Auth {
		http.Error(w, `{"message":"bad credentials"}`, http.StatusUnauthorized)
		return
	}
	for pattern, answer := range s.Routes {
		match := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(r.Method + " " + r.URL.EscapedPath())
		if match == nil {
			continue
		}
		code, v := answer(r, match[1:])
		if list, ok := v.([]M); ok && s.Page != nil {
			page, _ := strconv.Atoi(r.URL.Query().Get("page"))
			from := min(len(list), (page-1)*s.Size)
			to := min(len(list), from+s.Size)
			s.Page(w, to < len(list), page)
			v = list[from:to]
		}
		maps.Copy(w.Header(), s.Header)
		w.WriteHeader(code)
		if code == http.StatusNoContent {
			return
		}
		_ = json.NewEncoder(w).Encode(v)
		return
	}
	s.T.Errorf("asked for %s %s, which this forge does not have", r.Method, r.URL.EscapedPath())
	http.NotFound(w, r)
}

// Body returns the texts in the JSON of a request.
func Body(r *http.Request) map[string]string {
	var in map[string]string
	_ = json.NewDecoder(r.Body).Decode(&in)
	return in
}

// Number returns the number that text is.
func Number(text string) int { n, _ := strconv.Atoi(text); return n }

// Failed answers for an error of the world.
func Failed(err error) (int, any) {
	if fleet.KindOf(err) == fleet.NotFound {
		return http.StatusNotFound, M{"message": "Not Found"}
	}
	return http.StatusInternalServerError, M{"message": err.Error()}
}

// Edited answers for an edit of the comment id.
func (s *Server) Edited(r *http.Request, id, text string) (int, any) {
	for n := range 200 {
		for _, c := range s.World.Said(n) {
			if c.ID == id {
				if err := s.World.Edit(r.Context(), n, id, text); err != nil {
					return Failed(err)
				}
				return http.StatusOK, M{"id": Number(id), "body": text}
			}
		}
	}
	return http.StatusNotFound, M{"message": "Not Found"}
}

// Commented answers with what kind makes of the comment with that id.
func (s *Server) Commented(r *http.Request, n int, text string, as func(forge.Comment) M) (int, any) {
	id, err := s.World.Write(r.Context(), n, text)
	if err != nil {
		return Failed(err)
	}
	return http.StatusCreated, as(forge.Comment{ID: id, Author: s.World.Me, Text: text})
}

// Hub has what GitHub and Gitea share, below base, for a credential that is shown as auth. An
// app that is not 0 is what the world is asked by.
func Hub(t testing.TB, w *World, base, auth string, size int, app int64) *Server {
	s := &Server{T: t, World: w, Size: size, Auth: auth}
	comment := func(c forge.Comment) M {
		out := M{"id": Number(c.ID), "body": c.Text, "user": M{"login": c.Author, "type": "User"}}
		if app != 0 && c.Author == w.Me {
			out["user"], out["performed_via_github_app"] = M{"login": "fairlead[bot]", "type": "Bot"}, M{"id": app, "client_id": "Iv1.x"}
		}
		if app != 0 && c.Author == "mallory" { // a user, through the same app
			out["performed_via_github_app"] = M{"id": app}
		}
		return out
	}
	pull := func(p forge.PullRequest) M { return hubPull(p, strings.HasSuffix(base, "/v1")) }
	repo := base + "/repos/team/fleet"
	s.Routes = map[string]func(*http.Request, []string) (int, any){
		"GET " + base + "/user": func(*http.Request, []string) (int, any) { return 200, M{"id": 7, "login": w.Me} },
		"GET " + repo + "/pulls": func(r *http.Request, _ []string) (int, any) {
			list, err := w.Open(r.Context())
			if err != nil || r.URL.Query().Get("state") != "open" {
				return Failed(err)
			}
			out := []M{}
			for _, p := range list {
				out = append(out, pull(p))
			}
			return 200, out
		},
		"GET " + repo + `/pulls/(\d+)`: func(r *http.Request, a []string) (int, any) {
			p, err := w.PullRequest(r.Context(), Number(a[0]))
			if err != nil {
				return Failed(err)
			}
			return 200, pull(p)
		},
		"POST " + repo + "/statuses/([0-9a-f]{40})": func(r *http.Request, a []string) (int, any) {
			in := Body(r)
			if err := w.SetStatus(r.Context(), a[0], forge.Status{Name: in["context"], Verdict: forge.Verdict(in["state"]), Text: in["description"]}); err != nil {
				return Failed(err)
			}
			return 201, M{}
		},
		"GET " + repo + `/issues/(\d+)/comments`: func(r *http.Request, a []string) (int, any) {
			list, err := w.Comments(r.Context(), Number(a[0]))
			if err != nil {
				return Failed(err)
			}
			out := []M{}
			for _, c := range list {
				out = append(out, comment(c))
			}
			return 200, out
		},
		"POST " + repo + `/issues/(\d+)/comments`: func(r *http.Request, a []string) (int, any) {
			return s.Commented(r, Number(a[0]), Body(r)["body"], comment)
		},
		"GET " + repo + `/pulls/(\d+)/reviews`: func(r *http.Request, a []string) (int, any) {
			if _, err := w.Reviews(r.Context(), forge.PullRequest{Number: Number(a[0])}); err != nil {
				return Failed(err)
			}
			return 200, hubReviews(w.Words(Number(a[0])), strings.HasSuffix(base, "/v1"))
		},
		"GET " + repo + `/pulls/(\d+)/commits`: func(_ *http.Request, a []string) (int, any) {
			out := []M{}
			for i, who := range w.Commits(Number(a[0])) {
				var account any
				if who != "" {
					account = M{"login": who}
				}
				c := M{"sha": Hash(i), "author": account, "committer": M{"login": "web-flow"}}
				if i%2 == 1 { // the other way round
					c["author"], c["committer"] = nil, account
				}
				out = append(out, c)
			}
			return 200, out
		},
		"GET " + repo + `/issues/comments/(\d+)`: func(_ *http.Request, a []string) (int, any) {
			n, c, err := w.find(a[0])
			if err != nil {
				return Failed(err)
			}
			out := comment(c)
			out["issue_url"], out["pull_request_url"] = fmt.Sprintf("http://elsewhere.example.com/team/fleet/issues/%d", n), nil
			if strings.HasSuffix(base, "/v1") {
				out["issue_url"], out["pull_request_url"] = "", fmt.Sprintf("http://elsewhere.example.com/team/fleet/pulls/%d", n)
			}
			return 200, out
		},
		"PATCH " + repo + `/issues/comments/(\d+)`: func(r *http.Request, a []string) (int, any) { return s.Edited(r, a[0], Body(r)["body"]) },
	}
	s.Page = func(w http.ResponseWriter, more bool, page int) {
		if more {
			w.Header().Set("Link", fmt.Sprintf(`<http://elsewhere.example.com/?page=%d>; rel="next", <http://elsewhere.example.com/?page=9>; rel="last"`, page+1))
		}
	}
	return s
}

// hubPull is the pull request that GitHub or Gitea has of p. Heads of forks are in another repository, in one
// that is gone, or, as AGit of Gitea has them, in a ref of the base.
func hubPull(p forge.PullRequest, gitea bool) M {
	state, head := "open", M{"sha": p.Head, "ref": "feature", "repo": M{"full_name": "team/fleet"}}
	if p.State != forge.Open {
		state = "closed"
	}
	switch {
	case !p.Fork:
	case p.Number%4 == 0:
		head["repo"] = nil
	case p.Number%2 == 0 && gitea:
		head["ref"] = fmt.Sprintf("refs/pull/%d/head", p.Number)
	default:
		head["repo"] = M{"full_name": "mallory/fleet"}
	}
	out := M{
		"number": p.Number, "state": state, "merge_commit_sha": p.Result, "user": M{"login": p.Author, "type": "User"},
		"head": head, "base": M{"sha": Hash(9), "ref": p.Base, "repo": M{"full_name": "team/fleet"}},
	}
	if p.State == forge.Merged {
		out["merged"], out["merged_at"] = true, "2026-01-02T03:04:05Z"
	}
	return out
}

// hubReviews are the reviews that GitHub or Gitea has of words: who takes one back has its newest
// dismissed, which both show in another way.
func hubReviews(words []Word, gitea bool) []M {
	out := []M{{"id": 1, "state": "PENDING", "commit_id": nil, "user": M{"login": "fairlead"}}, {"id": 2, "state": "APPROVED", "commit_id": Hash(1), "user": nil}}
	for i, w := range words {
		state := map[Verb]string{Approve: "APPROVED", Refuse: "CHANGES_REQUESTED", Remark: "COMMENTED"}[w.Verb]
		if gitea {
			state = map[Verb]string{Approve: "APPROVED", Refuse: "REQUEST_CHANGES", Remark: "COMMENT"}[w.Verb]
		}
		if w.Verb != Withdraw {
			out = append(out, M{"id": 10 + i, "state": state, "commit_id": w.Commit, "user": M{"login": w.Author}, "dismissed": false})
			continue
		}
		of := 0
		for j := range out {
			if u, ok := out[j]["user"].(M); ok && u["login"] == w.Author && out[j]["state"] == "APPROVED" {
				of = j
			}
		}
		if gitea {
			out[of]["dismissed"] = true
		} else {
			out[of]["state"] = "DISMISSED"
		}
	}
	return out
}
