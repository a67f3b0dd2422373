package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

// A stash is Bitbucket Data Center.
// Source: https://developer.atlassian.com/server/bitbucket/rest.
type stash struct {
	client

	repo string // "/projects/KEY/repos/SLUG"
	page string // URL of the repository, as people visit it
}

var (
	_ Forge = (*stash)(nil)
	_ Plain = (*stash)(nil)
)

// newBitbucketDataCenter opens Bitbucket Data Center, which serves Git over http in /scm.
func newBitbucketDataCenter(p place) (Forge, error) {
	p.path = strings.TrimPrefix(p.path, "scm/")
	key, slug, _ := strings.Cut(p.path, "/")
	if slug == "" || strings.Contains(slug, "/") {
		return nil, fmt.Errorf("%q is no PROJECT/REPOSITORY on %s: name the URL of the forge with --forge-url", p.path, p.root)
	}
	api, err := p.api("/rest/api/latest")
	if err != nil {
		return nil, err
	}
	repo := "/projects/" + url.PathEscape(key) + "/repos/" + url.PathEscape(slug)
	return &stash{client: client{api: api, as: git.AsBearer}, repo: repo, page: strings.TrimRight(p.root.String(), "/") + repo}, nil
}

// Plain implements Plain.
func (*stash) Plain() {}

// Self implements Forge. Each answer says in a header who asked.
func (s *stash) Self(ctx context.Context) (string, error) {
	header, err := s.call(ctx, http.MethodGet, s.repo, nil, nil)
	if err != nil {
		return "", err
	}
	name, err := url.QueryUnescape(header.Get("X-Ausername"))
	if err != nil || name == "" {
		return "", fleet.Errorf(fleet.Unauthorized, "ask the forge whose the credential is", "it does not accept the credential: use the token of a user, a project or a repository")
	}
	return name, nil
}

type stashPull struct {
	ID     int    `json:"id"`
	State  string `json:"state"`
	Author struct {
		User struct {
			Name string `json:"name"`
		} `json:"user"`
	} `json:"author"`
	From       stashSide `json:"fromRef"`
	To         stashSide `json:"toRef"`
	Properties struct {
		Merge *struct {
			ID string `json:"id"`
		} `json:"mergeCommit"`
	} `json:"properties"`
}

type stashSide struct {
	ID         string `json:"id"` // "refs/heads/…"
	Latest     string `json:"latestCommit"`
	Repository struct {
		ID int64 `json:"id"`
	} `json:"repository"`
}

func (p stashPull) pull() PullRequest {
	out := PullRequest{
		Number: p.ID, State: Closed, Author: p.Author.User.Name, Head: p.From.Latest, Base: strings.TrimPrefix(p.To.ID, "refs/heads/"),
		Fork: p.From.Repository.ID == 0 || p.From.Repository.ID != p.To.Repository.ID,
	}
	switch p.State {
	case "OPEN":
		out.State = Open
	case "MERGED":
		out.State = Merged
		if m := p.Properties.Merge; m != nil {
			out.Result = m.ID
		}
	}
	return out
}

// all calls get with where pages start, until there is none.
func (s *stash) all(what string, get func(start int) (next *int, err error)) error {
	start := 0
	return pages(what, func(int) (bool, error) {
		next, err := get(start)
		if err != nil || next == nil || *next <= start {
			return false, err
		}
		start = *next
		return true, nil
	})
}

// A stashPage is a part of a list.
type stashPage[T any] struct {
	Values []T  `json:"values"`
	Last   bool `json:"isLastPage"`
	Next   *int `json:"nextPageStart"`
}

func (p stashPage[T]) next() *int {
	if p.Last {
		return nil
	}
	return p.Next
}

// Open implements Forge.
func (s *stash) Open(ctx context.Context) ([]PullRequest, error) {
	var out []PullRequest
	err := s.all("pull requests", func(start int) (*int, error) {
		var list stashPage[stashPull]
		_, err := s.call(ctx, http.MethodGet, fmt.Sprintf("%s/pull-requests?state=OPEN&limit=100&start=%d", s.repo, start), nil, &list)
		for _, p := range list.Values {
			out = append(out, p.pull())
		}
		return list.next(), err
	})
	return sorted(out), err
}

// PullRequest implements Forge.
func (s *stash) PullRequest(ctx context.Context, number int) (PullRequest, error) {
	var p stashPull
	_, err := s.call(ctx, http.MethodGet, s.pullPath(number), nil, &p)
	return p.pull(), err
}

func (s *stash) pullPath(number int) string {
	return fmt.Sprintf("%s/pull-requests/%d", s.repo, number)
}

// SetStatus implements Forge.
func (s *stash) SetStatus(ctx context.Context, p PullRequest, st Status) error {
	state := map[Verdict]string{Pending: "INPROGRESS", Success: "SUCCESSFUL", Failure: "FAILED", Error: "FAILED"}[st.Verdict]
	_, err := s.call(ctx, http.MethodPost, s.repo+"/commits/"+p.Head+"/builds", map[string]string{
		"key": st.Name, "name": st.Name, "state": state, "description": st.Text, "url": pageOf(s.page, p),
	}, nil)
	return err
}

type stashComment struct {
	ID      int64  `json:"id"`
	Version int    `json:"version"`
	Text    string `json:"text"`
	Author  struct {
		Name string `json:"name"`
	} `json:"author"`
}

// Comments implements Forge. What was said is among what was done, the newest first.
func (s *stash) Comments(ctx context.Context, number int) ([]Comment, error) {
	var out []Comment
	err := s.all("activities", func(start int) (*int, error) {
		var list stashPage[struct {
			Action        string        `json:"action"`
			CommentAction string        `json:"commentAction"`
			Comment       *stashComment `json:"comment"`
		}]
		_, err := s.call(ctx, http.MethodGet, fmt.Sprintf("%s/activities?limit=100&start=%d", s.pullPath(number), start), nil, &list)
		for _, a := range list.Values {
			if a.Action == "COMMENTED" && a.CommentAction == "ADDED" && a.Comment != nil {
				out = append(out, Comment{ID: strconv.FormatInt(a.Comment.ID, 10), Author: a.Comment.Author.Name, Text: a.Comment.Text})
			}
		}
		return list.next(), err
	})
	slices.Reverse(out)
	return out, err
}

// Write implements Forge.
func (s *stash) Write(ctx context.Context, number int, text string) (string, error) {
	var c stashComment
	_, err := s.call(ctx, http.MethodPost, s.pullPath(number)+"/comments", map[string]string{"text": text}, &c)
	return strconv.FormatInt(c.ID, 10), err
}

// Edit implements Forge. An edit is of a version of a comment; of another one it is a
// Conflict.
func (s *stash) Edit(ctx context.Context, number int, id, text string) error {
	path := s.pullPath(number) + "/comments/" + id
	var c stashComment
	if _, err := s.call(ctx, http.MethodGet, path, nil, &c); err != nil {
		return err
	}
	_, err := s.call(ctx, http.MethodPut, path, map[string]any{"text": text, "version": c.Version}, nil)
	return err
}
