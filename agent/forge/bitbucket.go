package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

// A bucket is Bitbucket Cloud.
// Source: https://developer.atlassian.com/cloud/bitbucket/rest.
type bucket struct {
	client

	repo string // "/repositories/WORKSPACE/NAME"
	page string // URL of the repository, as people visit it

	mu    sync.Mutex
	whole map[string]string // commits in full, by what pull requests call them
}

var (
	_ Forge = (*bucket)(nil)
	_ Plain = (*bucket)(nil)
)

func newBitbucket(p place) (Forge, error) {
	repo, err := p.pair()
	if err != nil {
		return nil, err
	}
	var api API
	if p.root.Hostname() == bitbucketCloud {
		api, err = p.open("https://api." + bitbucketCloud + "/2.0")
	} else {
		api, err = p.api("/2.0")
	}
	if err != nil {
		return nil, err
	}
	return &bucket{
		client: client{api: api, as: git.AsBearer}, repo: "/repositories/" + repo, page: p.root.JoinPath(p.path).String(), whole: make(map[string]string),
	}, nil
}

const bitbucketCloud = "bitbucket.org"

// Plain implements Plain.
func (*bucket) Plain() {}

// Self implements Forge. Names of accounts change, and their UUIDs do not.
func (b *bucket) Self(ctx context.Context) (string, error) {
	var me bucketUser
	_, err := b.call(ctx, http.MethodGet, "/user", nil, &me)
	return me.UUID, err
}

type bucketUser struct {
	UUID string `json:"uuid"`
}

type bucketPull struct {
	ID     int         `json:"id"`
	State  string      `json:"state"`
	Author *bucketUser `json:"author"` // null where the account is gone
	Source bucketSide  `json:"source"`
	Target bucketSide  `json:"destination"`
	Merge  *struct {
		Hash string `json:"hash"`
	} `json:"merge_commit"`
}

type bucketSide struct {
	Branch struct {
		Name string `json:"name"`
	} `json:"branch"`
	Commit *struct {
		Hash string `json:"hash"` // the first twelve digits
	} `json:"commit"`
	Repository *struct {
		FullName string `json:"full_name"`
	} `json:"repository"` // null where a fork is gone
}

// pull returns what p says, with commits in full.
func (b *bucket) pull(ctx context.Context, p bucketPull) (PullRequest, error) {
	out := PullRequest{Number: p.ID, State: Closed, Base: p.Target.Branch.Name}
	if p.Author != nil {
		out.Author = p.Author.UUID
	}
	from, to := p.Source.Repository, p.Target.Repository
	out.Fork = from == nil || to == nil || from.FullName != to.FullName
	switch p.State {
	case "OPEN":
		out.State = Open
	case "MERGED":
		out.State = Merged
	}
	var err error
	if c := p.Source.Commit; c != nil && from != nil {
		owner, name, _ := strings.Cut(from.FullName, "/")
		out.Head, err = b.commit(ctx, "/repositories/"+url.PathEscape(owner)+"/"+url.PathEscape(name), c.Hash)
	}
	if err == nil && out.State == Merged && p.Merge != nil {
		out.Result, err = b.commit(ctx, b.repo, p.Merge.Hash)
	}
	return out, err
}

// commit returns a commit's hash in full. It stays short where the commit is gone, or is in a
// fork that is not open to the credential.
func (b *bucket) commit(ctx context.Context, repo, short string) (string, error) {
	b.mu.Lock()
	known := b.whole[short]
	b.mu.Unlock()
	if known != "" || short == "" {
		return known, nil
	}
	var c struct {
		Hash string `json:"hash"`
	}
	_, err := b.call(ctx, http.MethodGet, repo+"/commit/"+url.PathEscape(short), nil, &c)
	switch {
	case fleet.KindOf(err) == fleet.NotFound, repo != b.repo && fleet.KindOf(err) == fleet.Unauthorized:
		return short, nil
	case err != nil:
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole[short] = c.Hash
	return c.Hash, nil
}

// Open implements Forge.
func (b *bucket) Open(ctx context.Context) ([]PullRequest, error) {
	var out []PullRequest
	err := pages("pull requests", func(page int) (bool, error) {
		var list struct {
			Values []bucketPull `json:"values"`
			Next   string       `json:"next"`
		}
		_, err := b.call(ctx, http.MethodGet, fmt.Sprintf("%s/pullrequests?state=OPEN&pagelen=50&page=%d", b.repo, page), nil, &list)
		for i := 0; i < len(list.Values) && err == nil; i++ {
			var p PullRequest
			p, err = b.pull(ctx, list.Values[i])
			out = append(out, p)
		}
		return len(list.Values) > 0 && list.Next != "", err
	})
	if err != nil {
		return nil, err
	}
	return sorted(out), nil
}

// PullRequest implements Forge.
func (b *bucket) PullRequest(ctx context.Context, number int) (PullRequest, error) {
	var p bucketPull
	if _, err := b.call(ctx, http.MethodGet, fmt.Sprintf("%s/pullrequests/%d", b.repo, number), nil, &p); err != nil {
		return PullRequest{}, err
	}
	return b.pull(ctx, p)
}

// SetStatus implements Forge. A commit of a fork has no status here, which is no error.
func (b *bucket) SetStatus(ctx context.Context, p PullRequest, s Status) error {
	state := map[Verdict]string{Pending: "INPROGRESS", Success: "SUCCESSFUL", Failure: "FAILED", Error: "STOPPED"}[s.Verdict]
	_, err := b.call(ctx, http.MethodPost, b.repo+"/commit/"+p.Head+"/statuses/build", map[string]string{
		"key": s.Name, "name": s.Name, "state": state, "description": s.Text, "url": pageOf(b.page, p),
	}, nil)
	if p.Fork && fleet.KindOf(err) == fleet.NotFound {
		return nil
	}
	return err
}

// pageOf returns where people see p, below the page of its repository.
func pageOf(repository string, p PullRequest) string {
	if p.Number == 0 {
		return repository + "/commits/" + p.Head
	}
	return fmt.Sprintf("%s/pull-requests/%d", repository, p.Number)
}

type bucketComment struct {
	ID      int64 `json:"id"`
	Deleted bool  `json:"deleted"`
	Content struct {
		Raw string `json:"raw"`
	} `json:"content"`
	User *bucketUser `json:"user"` // null where the account is gone
}

// Comments implements Forge.
func (b *bucket) Comments(ctx context.Context, number int) ([]Comment, error) {
	var out []Comment
	err := pages("comments", func(page int) (bool, error) {
		var list struct {
			Values []bucketComment `json:"values"`
			Next   string          `json:"next"`
		}
		_, err := b.call(ctx, http.MethodGet, fmt.Sprintf("%s/pullrequests/%d/comments?sort=created_on&pagelen=100&page=%d", b.repo, number, page), nil, &list)
		for _, c := range list.Values {
			if !c.Deleted && c.User != nil {
				out = append(out, Comment{ID: strconv.FormatInt(c.ID, 10), Author: c.User.UUID, Text: c.Content.Raw})
			}
		}
		return len(list.Values) > 0 && list.Next != "", err
	})
	return out, err
}

// Write implements Forge.
func (b *bucket) Write(ctx context.Context, number int, text string) (string, error) {
	var c bucketComment
	_, err := b.call(ctx, http.MethodPost, fmt.Sprintf("%s/pullrequests/%d/comments", b.repo, number), bucketText(text), &c)
	return strconv.FormatInt(c.ID, 10), err
}

// Edit implements Forge.
func (b *bucket) Edit(ctx context.Context, number int, id, text string) error {
	_, err := b.call(ctx, http.MethodPut, fmt.Sprintf("%s/pullrequests/%d/comments/%s", b.repo, number, id), bucketText(text), nil)
	return err
}

func bucketText(text string) any {
	return map[string]any{"content": map[string]string{"raw": text}}
}
