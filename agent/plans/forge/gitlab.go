package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"fairlead.dev/sources/git"
)

// A gitlab is GitLab, whose pull requests are merge requests, and whose comments are notes.
// Source: https://docs.gitlab.com/api.
type gitlab struct {
	client

	project string // "/projects/…"
}

var _ Forge = (*gitlab)(nil)

func newGitLab(p place) (Forge, error) {
	api, err := p.api("/api/v4")
	if err != nil {
		return nil, err
	}
	return &gitlab{client: client{api: api, as: git.AsToken}, project: "/projects/" + url.PathEscape(p.path)}, nil
}

// Self implements Forge.
func (l *gitlab) Self(ctx context.Context) (string, error) {
	var me struct {
		Username string `json:"username"`
	}
	_, err := l.call(ctx, http.MethodGet, "/user", nil, &me)
	return me.Username, err
}

type labMerge struct {
	IID    int    `json:"iid"`
	State  string `json:"state"`
	SHA    string `json:"sha"`
	Target string `json:"target_branch"`
	Author struct {
		Username string `json:"username"`
	} `json:"author"`
	From int64 `json:"source_project_id"`
	To   int64 `json:"target_project_id"`
	// What the base was at is the merge, or the squashed commit that it was moved to, or
	// the head itself.
	MergeCommit  string `json:"merge_commit_sha"`
	SquashCommit string `json:"squash_commit_sha"`
}

func (m labMerge) pull() PullRequest {
	out := PullRequest{Number: m.IID, State: Closed, Author: m.Author.Username, Head: m.SHA, Base: m.Target, Fork: m.From == 0 || m.From != m.To}
	switch m.State {
	case "opened", "locked": // while it is merged
		out.State = Open
	case "merged":
		out.State, out.Result = Merged, m.SHA
		if m.SquashCommit != "" {
			out.Result = m.SquashCommit
		}
		if m.MergeCommit != "" {
			out.Result = m.MergeCommit
		}
	}
	return out
}

// Open implements Forge.
func (l *gitlab) Open(ctx context.Context) ([]PullRequest, error) {
	var out []PullRequest
	err := pages("merge requests", func(page int) (bool, error) {
		var list []labMerge
		header, err := l.call(ctx, http.MethodGet, fmt.Sprintf("%s/merge_requests?state=opened&per_page=100&page=%d", l.project, page), nil, &list)
		for _, m := range list {
			out = append(out, m.pull())
		}
		return len(list) > 0 && header.Get("X-Next-Page") != "", err
	})
	return sorted(out), err
}

// PullRequest implements Forge.
func (l *gitlab) PullRequest(ctx context.Context, number int) (PullRequest, error) {
	var m labMerge
	_, err := l.call(ctx, http.MethodGet, fmt.Sprintf("%s/merge_requests/%d", l.project, number), nil, &m)
	return m.pull(), err
}

// SetStatus implements Forge. A status that is as it was is refused, which is no error.
func (l *gitlab) SetStatus(ctx context.Context, commit string, s Status) error {
	state := map[Verdict]string{Pending: "pending", Success: "success", Failure: "failed", Error: "failed"}[s.Verdict]
	_, err := l.call(ctx, http.MethodPost, l.project+"/statuses/"+commit, map[string]string{
		"name": s.Name, "state": state, "description": s.Text,
	}, nil)
	if r, ok := errors.AsType[*statusError](err); ok && r.code == http.StatusBadRequest && strings.Contains(r.words, "Cannot transition status") {
		return nil
	}
	return err
}

type labNote struct {
	ID     int64  `json:"id"`
	Body   string `json:"body"`
	System bool   `json:"system"`
	Author struct {
		Username string `json:"username"`
	} `json:"author"`
}

func (n labNote) comment() Comment {
	return Comment{ID: strconv.FormatInt(n.ID, 10), Author: n.Author.Username, Text: n.Body}
}

// Comments implements Forge.
func (l *gitlab) Comments(ctx context.Context, number int) ([]Comment, error) {
	var out []Comment
	err := pages("notes", func(page int) (bool, error) {
		var list []labNote
		header, err := l.call(ctx, http.MethodGet, fmt.Sprintf("%s/merge_requests/%d/notes?order_by=created_at&sort=asc&per_page=100&page=%d", l.project, number, page), nil, &list)
		for _, n := range list {
			if !n.System {
				out = append(out, n.comment())
			}
		}
		return len(list) > 0 && header.Get("X-Next-Page") != "", err
	})
	return out, err
}

// Comment implements Forge.
func (l *gitlab) Comment(ctx context.Context, number int, id string) (Comment, error) {
	var n labNote
	_, err := l.call(ctx, http.MethodGet, fmt.Sprintf("%s/merge_requests/%d/notes/%s", l.project, number, url.PathEscape(id)), nil, &n)
	if err != nil {
		return Comment{}, err
	}
	return n.comment(), nil
}

// Write implements Forge.
func (l *gitlab) Write(ctx context.Context, number int, text string) (string, error) {
	var n labNote
	_, err := l.call(ctx, http.MethodPost, fmt.Sprintf("%s/merge_requests/%d/notes", l.project, number), map[string]string{"body": text}, &n)
	return strconv.FormatInt(n.ID, 10), err
}

// Edit implements Forge.
func (l *gitlab) Edit(ctx context.Context, number int, id, text string) error {
	_, err := l.call(ctx, http.MethodPut, fmt.Sprintf("%s/merge_requests/%d/notes/%s", l.project, number, id), map[string]string{"body": text}, nil)
	return err
}
