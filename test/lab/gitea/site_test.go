//go:build linux

package gitea_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/test/lab/gitea"
)

// A site is a repository of ann's, of which mallory has a fork.
type site struct {
	*gitea.Server

	repo string // "/repos/ann/NAME"
	fork string // "/repos/mallory/NAME"
}

var _ forgetest.Site = (*site)(nil)

// newSite makes a repository, and the fork.
func newSite(s *gitea.Server, name string) *site {
	s.Call(http.MethodPost, "/user/repos", m{"name": name, "auto_init": true, "default_branch": "main"}, nil)
	s.Call(http.MethodPost, "/admin/users", m{"username": "mallory", "email": "mallory@example.com", "password": "of-a-test-1", "must_change_password": false}, nil)
	for _, reviewer := range []string{"bob", "dora"} {
		s.Call(http.MethodPost, "/admin/users", m{"username": reviewer, "email": reviewer + "@example.com", "password": "of-a-test-1", "must_change_password": false}, nil)
		s.Call(http.MethodPut, "/repos/ann/"+name+"/collaborators/"+reviewer, m{"permission": "write"}, nil)
	}
	s.Call(http.MethodPost, "/repos/ann/"+name+"/forks?sudo=mallory", m{}, nil)
	return &site{Server: s, repo: "/repos/ann/" + name, fork: "/repos/mallory/" + name}
}

// who returns the user who works in a repository.
func (s *site) who(repo string) string {
	if repo == s.fork {
		return "mallory"
	}
	return s.User
}

// push commits files to a branch, which is made where it begins at another one, and returns
// the commit. What is empty is deleted.
func (s *site) push(repo, from, branch string, files map[string]string) string {
	var changes []m
	for name, content := range files {
		change := m{"operation": "create", "path": name, "content": base64.StdEncoding.EncodeToString([]byte(content))}
		var is struct{ SHA string }
		if s.Try(http.MethodGet, repo+"/contents/"+name+"?ref="+from, nil, &is) == nil && is.SHA != "" {
			change["operation"], change["sha"] = "update", is.SHA
			if content == "" {
				change["operation"] = "delete"
			}
		}
		changes = append(changes, change)
	}
	in := m{"branch": from, "message": "change", "files": changes}
	if branch != from {
		in["new_branch"] = branch
	}
	var out struct{ Commit struct{ SHA string } }
	s.Call(http.MethodPost, repo+"/contents?sudo="+s.who(repo), in, &out)
	return out.Commit.SHA
}

// propose opens a pull request with files on top of main.
func (s *site) propose(branch string, fork bool, files map[string]string) forge.PullRequest {
	repo, head := s.repo, branch
	if fork {
		repo, head = s.fork, "mallory:"+branch
	}
	user := s.who(repo)
	p := forge.PullRequest{State: forge.Open, Author: user, Base: "main", Fork: fork, Head: s.push(repo, "main", branch, files)}
	var made struct{ Number int }
	s.Call(http.MethodPost, s.repo+"/pulls?sudo="+user, m{"head": head, "base": "main", "title": branch}, &made)
	p.Number = made.Number
	return p
}

// merge merges p, which the forge may have to look at for a moment.
func (s *site) merge(t testing.TB, p forge.PullRequest) forge.PullRequest {
	t.Helper()
	path := fmt.Sprintf("%s/pulls/%d", s.repo, p.Number)
	var err error
	for range 100 {
		if err = s.Try(http.MethodPost, path+"/merge", m{"Do": "merge"}, nil); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	var is struct {
		Merged bool
		Result string `json:"merge_commit_sha"`
	}
	if s.Call(http.MethodGet, path, nil, &is); !is.Merged {
		t.Fatalf("pull request %d cannot be merged: %v", p.Number, err)
	}
	p.State, p.Result = forge.Merged, is.Result
	return p
}

// Pull implements forgetest.Site.
func (s *site) Pull(t testing.TB, state forge.State, fork bool) forge.PullRequest {
	name := fmt.Sprint("change-", time.Now().UnixNano())
	p := s.propose(name, fork, map[string]string{name: "x\n"})
	switch state {
	case forge.Merged:
		return s.merge(t, p)
	case forge.Closed:
		s.Call(http.MethodPatch, fmt.Sprintf("%s/pulls/%d", s.repo, p.Number), m{"state": "closed"}, nil)
		p.State = forge.Closed
	case forge.Open:
	}
	return p
}

// Remark implements forgetest.Site.
func (s *site) Remark(_ testing.TB, number int, text string) {
	s.Call(http.MethodPost, fmt.Sprintf("%s/issues/%d/comments?sudo=mallory", s.repo, number), m{"body": text}, nil)
}

// Review implements forgetest.Site.
func (s *site) Review(_ testing.TB, number int, author string, verb forgetest.Verb) {
	path := fmt.Sprintf("%s/pulls/%d/reviews", s.repo, number)
	if verb == forgetest.Withdraw {
		var list []struct {
			ID    int
			State string
			User  struct{ Login string }
		}
		s.Call(http.MethodGet, path+"?limit=50", nil, &list)
		for _, r := range slices.Backward(list) {
			if r.User.Login == author && r.State == "APPROVED" {
				s.Call(http.MethodPost, fmt.Sprintf("%s/%d/dismissals", path, r.ID), m{"message": "not so"}, nil)
				return
			}
		}
	}
	event := map[forgetest.Verb]string{forgetest.Approve: "APPROVED", forgetest.Refuse: "REQUEST_CHANGES", forgetest.Remark: "COMMENT"}[verb]
	s.Call(http.MethodPost, path+"?sudo="+author, m{"event": event, "body": "words of " + author}, nil)
}

// Push implements forgetest.Site. It takes the forge a moment to see the head.
func (s *site) Push(t testing.TB, p forge.PullRequest) forge.PullRequest {
	path := fmt.Sprintf("%s/pulls/%d", s.repo, p.Number)
	var is struct{ Head struct{ Ref, SHA string } }
	s.Call(http.MethodGet, path, nil, &is)
	p.Head = s.push(s.repo, is.Head.Ref, is.Head.Ref, map[string]string{is.Head.Ref: time.Now().String()})
	for range 100 {
		if s.Call(http.MethodGet, path, nil, &is); is.Head.SHA == p.Head {
			return p
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("pull request %d never has the head that was pushed", p.Number)
	return p
}

// Status implements forgetest.Site. Gitea sorts in seconds, or the other way round: the newest
// has the highest id.
func (s *site) Status(_ testing.TB, commit, name string) forge.Status {
	var list []struct {
		ID                   int
		Context, Description string
		Verdict              forge.Verdict `json:"status"`
	}
	s.Call(http.MethodGet, s.repo+"/commits/"+commit+"/statuses?limit=50", nil, &list)
	newest, out := 0, forge.Status{}
	for _, one := range list {
		if one.Context == name && one.ID > newest {
			newest, out = one.ID, forge.Status{Name: name, Verdict: one.Verdict, Text: one.Description}
		}
	}
	return out
}

// comments returns those of author on a pull request.
func (s *site) comments(number int, author string) []string {
	var list []struct {
		Body string
		User struct{ Login string }
	}
	s.Call(http.MethodGet, fmt.Sprintf("%s/issues/%d/comments", s.repo, number), nil, &list)
	var out []string
	for _, c := range list {
		if c.User.Login == author {
			out = append(out, c.Body)
		}
	}
	return out
}

// TestConformance: agent/plans/forge speaks to a real Gitea as to the doubles of it.
func TestConformance(t *testing.T) {
	asked(t)
	s := newSite(gitea.Start(t), "fleet")
	forgetest.Run(t, s, 53, func(t *testing.T) forge.Forge {
		source := s.URL + "/ann/fleet.git"
		f, err := forge.New(forge.Options{Kind: "gitea", Repository: source, API: func(base string) (forge.API, error) {
			return git.NewAPI(base, git.Options{URL: source, Auth: git.Auth{Token: fleet.NewSecret([]byte(s.Token))}})
		}})
		if err != nil {
			t.Fatal(err)
		}
		return f
	})
}
