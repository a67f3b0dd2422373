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

// An azure is Azure DevOps, whose comments are threads, and whose statuses are those of pull
// requests: its branch policies know no others.
// Source: https://learn.microsoft.com/en-us/rest/api/azure/devops/git.
type azure struct {
	client

	root string // "" or "/COLLECTION", below which a project is
	repo string // "/PROJECT/_apis/git/repositories/NAME"
}

var _ Forge = (*azure)(nil)

// azureVersion is asked of each call.
const azureVersion = "api-version=7.1"

// newAzure opens Azure DevOps, or Azure DevOps Server. A repository is at
// ORGANISATION/PROJECT/_git/NAME, or over SSH at v3/ORGANISATION/PROJECT/NAME.
func newAzure(p place) (Forge, error) {
	parts := strings.Split(p.path, "/")
	if parts[0] == "v3" && len(parts) == 4 && p.root.Hostname() == "ssh.dev.azure.com" {
		p.root.Host = "dev.azure.com"
		parts = []string{parts[1], parts[2], "_git", parts[3]}
	}
	i := slices.Index(parts, "_git")
	if i < 1 || i != len(parts)-2 {
		return nil, fmt.Errorf("%q is no PROJECT/_git/REPOSITORY on %s", p.path, p.root)
	}
	project, name := parts[i-1], parts[i+1]
	above := parts[:i-1]
	// A repository with the name of its project is served without the project.
	if host := p.root.Hostname(); host == "dev.azure.com" && len(above) == 0 {
		above, project = parts[:1], name
	}
	root := ""
	for _, part := range above {
		root += "/" + azureName(part)
	}
	api, err := p.api("")
	if err != nil {
		return nil, err
	}
	return &azure{
		client: client{api: api, as: git.AsPassword}, root: root,
		repo: root + "/" + azureName(project) + "/_apis/git/repositories/" + azureName(name),
	}, nil
}

// azureName returns a part of a path, which may be escaped already, and may have spaces.
func azureName(part string) string {
	if plain, err := url.PathUnescape(part); err == nil {
		part = plain
	}
	return url.PathEscape(part)
}

// Self implements Forge. Names of people change, and their ids do not.
func (a *azure) Self(ctx context.Context) (string, error) {
	var connection struct {
		User azureUser `json:"authenticatedUser"`
	}
	_, err := a.call(ctx, http.MethodGet, a.root+"/_apis/connectionData?api-version=7.1-preview", nil, &connection)
	return connection.User.ID, err
}

type azureUser struct {
	ID string `json:"id"`
}

type azurePull struct {
	ID         int          `json:"pullRequestId"`
	Status     string       `json:"status"`
	By         azureUser    `json:"createdBy"`
	Target     string       `json:"targetRefName"` // "refs/heads/…"
	Head       *azureCommit `json:"lastMergeSourceCommit"`
	Merge      *azureCommit `json:"lastMergeCommit"`
	ForkSource *struct {
		Name string `json:"name"`
	} `json:"forkSource"`
}

type azureCommit struct {
	ID string `json:"commitId"`
}

func (p azurePull) pull() PullRequest {
	out := PullRequest{Number: p.ID, State: Closed, Author: p.By.ID, Base: strings.TrimPrefix(p.Target, "refs/heads/"), Fork: p.ForkSource != nil}
	if p.Head != nil {
		out.Head = p.Head.ID
	}
	switch p.Status {
	case "active":
		out.State = Open
	case "completed":
		out.State = Merged
		if p.Merge != nil {
			out.Result = p.Merge.ID
		}
	}
	return out
}

// Open implements Forge.
func (a *azure) Open(ctx context.Context) ([]PullRequest, error) {
	const size = 100
	var out []PullRequest
	err := pages("pull requests", func(page int) (bool, error) {
		var list struct {
			Value []azurePull `json:"value"`
		}
		_, err := a.call(ctx, http.MethodGet, fmt.Sprintf("%s/pullrequests?searchCriteria.status=active&$top=%d&$skip=%d&%s", a.repo, size, (page-1)*size, azureVersion), nil, &list)
		for _, p := range list.Value {
			out = append(out, p.pull())
		}
		return len(list.Value) == size, err
	})
	return sorted(out), err
}

func (a *azure) pullPath(number int) string { return fmt.Sprintf("%s/pullRequests/%d", a.repo, number) }

// PullRequest implements Forge.
func (a *azure) PullRequest(ctx context.Context, number int) (PullRequest, error) {
	var p azurePull
	_, err := a.call(ctx, http.MethodGet, a.pullPath(number)+"?"+azureVersion, nil, &p)
	return p.pull(), err
}

// SetStatus implements Forge. A status is of the iteration that has the head: one of the pull
// request alone would go on counting for a later head.
func (a *azure) SetStatus(ctx context.Context, p PullRequest, s Status) error {
	genre, name, _ := strings.Cut(s.Name, "/")
	if name == "" {
		genre, name = "", s.Name
	}
	in := map[string]any{
		"state":       map[Verdict]string{Pending: "pending", Success: "succeeded", Failure: "failed", Error: "error"}[s.Verdict],
		"description": s.Text, "context": map[string]string{"genre": genre, "name": name},
	}
	if p.Number == 0 {
		_, err := a.call(ctx, http.MethodPost, a.repo+"/commits/"+p.Head+"/statuses?"+azureVersion, in, nil)
		return err
	}
	var list struct {
		Value []struct {
			ID     int         `json:"id"`
			Source azureCommit `json:"sourceRefCommit"`
		} `json:"value"`
	}
	if _, err := a.call(ctx, http.MethodGet, a.pullPath(p.Number)+"/iterations?"+azureVersion, nil, &list); err != nil {
		return err
	}
	iteration := 0
	for _, it := range list.Value {
		if it.Source.ID == p.Head {
			iteration = max(iteration, it.ID)
		}
	}
	if iteration == 0 {
		return fleet.Errorf(fleet.Conflict, fmt.Sprintf("set the status of pull request %d", p.Number), "%.12s was never its head", p.Head)
	}
	_, err := a.call(ctx, http.MethodPost, fmt.Sprintf("%s/iterations/%d/statuses?%s", a.pullPath(p.Number), iteration, azureVersion), in, nil)
	return err
}

type azureThread struct {
	ID       int  `json:"id"`
	Deleted  bool `json:"isDeleted"`
	Comments []struct {
		ID      int       `json:"id"`
		Content string    `json:"content"`
		Type    string    `json:"commentType"`
		Deleted bool      `json:"isDeleted"`
		Author  azureUser `json:"author"`
	} `json:"comments"`
}

// Comments implements Forge. A comment's id is that of its thread and its own. Threads come in
// one answer.
func (a *azure) Comments(ctx context.Context, number int) ([]Comment, error) {
	var list struct {
		Value []azureThread `json:"value"`
	}
	_, err := a.call(ctx, http.MethodGet, a.pullPath(number)+"/threads?"+azureVersion, nil, &list)
	slices.SortFunc(list.Value, func(x, y azureThread) int { return x.ID - y.ID })
	var out []Comment
	for _, t := range list.Value {
		for _, c := range t.Comments {
			if !t.Deleted && !c.Deleted && c.Type == "text" {
				out = append(out, Comment{ID: strconv.Itoa(t.ID) + "/" + strconv.Itoa(c.ID), Author: c.Author.ID, Text: c.Content})
			}
		}
	}
	return out, err
}

// Write implements Forge. The thread is closed, since an active one holds up a merge where
// comments have to be resolved.
func (a *azure) Write(ctx context.Context, number int, text string) (string, error) {
	var t azureThread
	_, err := a.call(ctx, http.MethodPost, a.pullPath(number)+"/threads?"+azureVersion, map[string]any{
		"status": "closed", "comments": []map[string]any{{"parentCommentId": 0, "commentType": "text", "content": text}},
	}, &t)
	if err == nil && len(t.Comments) == 0 {
		return "", fleet.Errorf(fleet.Unanswered, "write a comment", "the answer does not have it")
	}
	if err != nil {
		return "", err
	}
	return strconv.Itoa(t.ID) + "/" + strconv.Itoa(t.Comments[0].ID), nil
}

// Edit implements Forge.
func (a *azure) Edit(ctx context.Context, number int, id, text string) error {
	thread, comment, _ := strings.Cut(id, "/")
	_, err := a.call(ctx, http.MethodPatch, fmt.Sprintf("%s/threads/%s/comments/%s?%s", a.pullPath(number), thread, comment, azureVersion), map[string]any{"content": text}, nil)
	return err
}
