package forge

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

// A githubLike is GitHub, or Gitea, whose API is like that of GitHub.
// Source: https://docs.github.com/en/rest, https://docs.gitea.com/api.
type githubLike struct {
	client

	repo  string // "/repos/OWNER/NAME"
	app   string // of the credential; empty: it is a user's
	size  string // "per_page=100"
	whole bool   // comments come in one answer
}

var _ Forge = (*githubLike)(nil)

// newGitHub opens GitHub, or a GitHub Enterprise Server.
func newGitHub(p place) (Forge, error) {
	repo, err := p.pair()
	if err != nil {
		return nil, err
	}
	host := strings.ToLower(p.root.Host)
	var api API
	switch {
	case host == "github.com" || host == "www.github.com":
		api, err = p.open("https://api.github.com")
	case strings.HasSuffix(host, ".ghe.com"):
		api, err = p.open("https://api." + host)
	default:
		api, err = p.api("/api/v3")
	}
	if err != nil {
		return nil, err
	}
	return &githubLike{client: client{api: api, accept: "application/vnd.github+json"}, repo: "/repos/" + repo, app: api.App(), size: "per_page=100"}, nil
}

// newGitea opens Gitea or Forgejo.
func newGitea(p place) (Forge, error) {
	repo, err := p.pair()
	if err != nil {
		return nil, err
	}
	api, err := p.api("/api/v1")
	if err != nil {
		return nil, err
	}
	return &githubLike{client: client{api: api, as: git.AsBearer}, repo: "/repos/" + repo, size: "limit=50", whole: true}, nil
}

// appPrefix tells an app from users, whose names have no space.
const appPrefix = "the app "

// Self implements Forge. The token of an app is no user: its comments are known by the app.
func (h *githubLike) Self(ctx context.Context) (string, error) {
	if h.app != "" {
		return appPrefix + h.app, nil
	}
	var me struct {
		Login string `json:"login"`
	}
	_, err := h.call(ctx, http.MethodGet, "/user", nil, &me)
	return me.Login, err
}

// A githubPull is a pull request of a githubLike.
type githubPull struct {
	Number   int     `json:"number"`
	State    string  `json:"state"`
	Merged   bool    `json:"merged"`
	MergedAt *string `json:"merged_at"`
	Result   string  `json:"merge_commit_sha"`
	User     *struct {
		Login string `json:"login"`
	} `json:"user"` // null where the account is gone
	Head githubSide `json:"head"`
	Base githubSide `json:"base"`
}

type githubSide struct {
	SHA  string `json:"sha"`
	Ref  string `json:"ref"`
	Repo *struct {
		FullName string `json:"full_name"`
	} `json:"repo"` // null where a fork is gone
}

func (p githubPull) pull() PullRequest {
	out := PullRequest{Number: p.Number, State: Open, Head: p.Head.SHA, Base: p.Base.Ref}
	if p.User != nil {
		out.Author = p.User.Login
	}
	own := p.Head.Repo != nil && p.Base.Repo != nil && p.Head.Repo.FullName == p.Base.Repo.FullName
	out.Fork = !own || !isBranch(p.Head.Ref)
	switch {
	case p.Merged || p.MergedAt != nil:
		out.State, out.Result = Merged, p.Result
	case p.State != "open":
		out.State = Closed
	}
	return out
}

// isBranch reports whether the ref of a head is the short name of a branch. Gitea names a ref,
// refs/pull/NUMBER/head, if no branch has the head: if it was pushed to refs/for/… (AGit), which
// anyone with read access may do, or if its branch was deleted.
func isBranch(ref string) bool { return ref != "" && !strings.HasPrefix(ref, "refs/") }

// Open implements Forge.
func (h *githubLike) Open(ctx context.Context) ([]PullRequest, error) {
	var out []PullRequest
	err := pages("pull requests", func(page int) (bool, error) {
		var list []githubPull
		header, err := h.call(ctx, http.MethodGet, fmt.Sprintf("%s/pulls?state=open&%s&page=%d", h.repo, h.size, page), nil, &list)
		for _, p := range list {
			out = append(out, p.pull())
		}
		return len(list) > 0 && linksNext(header), err
	})
	return sorted(out), err
}

// sorted returns list without doubles, which a page has where the list moved meanwhile.
func sorted(list []PullRequest) []PullRequest {
	slices.SortStableFunc(list, func(a, b PullRequest) int { return a.Number - b.Number })
	return slices.CompactFunc(list, func(a, b PullRequest) bool { return a.Number == b.Number })
}

// PullRequest implements Forge.
func (h *githubLike) PullRequest(ctx context.Context, number int) (PullRequest, error) {
	var p githubPull
	_, err := h.call(ctx, http.MethodGet, fmt.Sprintf("%s/pulls/%d", h.repo, number), nil, &p)
	return p.pull(), err
}

// SetStatus implements Forge.
func (h *githubLike) SetStatus(ctx context.Context, commit string, s Status) error {
	_, err := h.call(ctx, http.MethodPost, h.repo+"/statuses/"+commit, map[string]string{
		"context": s.Name, "state": string(s.Verdict), "description": s.Text,
	}, nil)
	return err
}

type hubComment struct {
	ID    int64  `json:"id"`
	Body  string `json:"body"`
	Issue string `json:"issue_url"`        // ends with its number
	Pull  string `json:"pull_request_url"` // Gitea has this one for a pull request, and no other
	User  struct {
		Login string `json:"login"`
		Type  string `json:"type"`
	} `json:"user"`
	App *struct {
		ID       int64  `json:"id"`
		ClientID string `json:"client_id"`
	} `json:"performed_via_github_app"`
}

// author returns who wrote c. A user may write through an app, and is not the app then.
func (h *githubLike) author(c hubComment) string {
	if a := c.App; h.app != "" && a != nil && c.User.Type == "Bot" && (h.app == strconv.FormatInt(a.ID, 10) || h.app == a.ClientID) {
		return appPrefix + h.app
	}
	return c.User.Login
}

// Comments implements Forge.
func (h *githubLike) Comments(ctx context.Context, number int) ([]Comment, error) {
	var out []Comment
	err := pages("comments", func(page int) (bool, error) {
		var list []hubComment
		header, err := h.call(ctx, http.MethodGet, fmt.Sprintf("%s/issues/%d/comments?%s&page=%d", h.repo, number, h.size, page), nil, &list)
		for _, c := range list {
			out = append(out, h.commentOf(c))
		}
		return !h.whole && len(list) > 0 && linksNext(header), err
	})
	return out, err
}

func (h *githubLike) commentOf(c hubComment) Comment {
	return Comment{ID: strconv.FormatInt(c.ID, 10), Author: h.author(c), Text: c.Body}
}

// Comment implements Forge. The id of a comment on another pull request is one that does not exist.
func (h *githubLike) Comment(ctx context.Context, number int, id string) (Comment, error) {
	var c hubComment
	_, err := h.call(ctx, http.MethodGet, h.repo+"/issues/comments/"+url.PathEscape(id), nil, &c)
	if err != nil {
		return Comment{}, err
	}
	if on := cmp.Or(c.Pull, c.Issue); path.Base(on) != strconv.Itoa(number) {
		return Comment{}, fleet.Errorf(fleet.NotFound, "get comment "+id, "it is not on pull request %d", number)
	}
	return h.commentOf(c), nil
}

// Write implements Forge.
func (h *githubLike) Write(ctx context.Context, number int, text string) (string, error) {
	var c hubComment
	_, err := h.call(ctx, http.MethodPost, fmt.Sprintf("%s/issues/%d/comments", h.repo, number), map[string]string{"body": text}, &c)
	return strconv.FormatInt(c.ID, 10), err
}

// Edit implements Forge.
func (h *githubLike) Edit(ctx context.Context, _ int, id, text string) error {
	_, err := h.call(ctx, http.MethodPatch, h.repo+"/issues/comments/"+id, map[string]string{"body": text}, nil)
	return err
}
