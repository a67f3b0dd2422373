package webhook

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"
)

// github is GitHub and GitHub Enterprise Server.
// Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads.
func github() kind {
	return kind{
		name: "github", form: true,
		verify: sha256Hex("X-Hub-Signature-256", "sha256="),
		read: func(h http.Header, payload []byte) (event, error) {
			return readPush(h.Get("X-GitHub-Event"), payload)
		},
	}
}

// gitea is Gitea and Forgejo, whose header of its own has the same content.
// Source: https://docs.gitea.com/usage/webhooks, https://forgejo.org/docs/latest/user/webhooks.
func gitea() kind {
	return kind{
		name:   "gitea",
		verify: either(sha256Hex("X-Gitea-Signature", ""), sha256Hex("X-Forgejo-Signature", "")),
		read: func(h http.Header, payload []byte) (event, error) {
			return readPush(cmp.Or(h.Get("X-Gitea-Event"), h.Get("X-Forgejo-Event")), payload)
		},
	}
}

// readPush reads what GitHub and Gitea send, whose pushes are alike.
func readPush(name string, payload []byte) (event, error) {
	e := event{name: name, ping: name == "ping", push: name == "push", pull: name == "pull_request" || name == "pull_request_sync"}
	if !e.push && !e.pull {
		return e, nil
	}
	var p struct {
		Ref        string     `json:"ref"`
		After      string     `json:"after"`
		Repository repository `json:"repository"`
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return event{}, err
	}
	p.Repository.into(&e)
	if e.push {
		e.refs, e.commits = present(p.Ref), at(p.Ref, p.After)
	}
	return e, nil
}

// gitlab has two proofs: the signing token of newer versions, and the secret
// token, which it sends in clear.
// Source: https://docs.gitlab.com/user/project/integrations/webhook_events.
func gitlab() kind {
	return kind{
		name:   "gitlab",
		verify: either(standard(time.Now), token(gitlabToken), passedOn),
		read: func(h http.Header, payload []byte) (event, error) {
			var p struct {
				ObjectKind string `json:"object_kind"`
				EventName  string `json:"event_name"` // system hooks have no object_kind
				Ref        string `json:"ref"`
				After      string `json:"after"`
				Project    struct {
					Path          string `json:"path_with_namespace"`
					WebURL        string `json:"web_url"`
					HTTPURL       string `json:"git_http_url"`
					SSHURL        string `json:"git_ssh_url"`
					DefaultBranch string `json:"default_branch"`
				} `json:"project"`
			}
			if err := json.Unmarshal(payload, &p); err != nil {
				return event{}, err
			}
			name := cmp.Or(p.ObjectKind, p.EventName)
			return event{
				name: name, push: name == "push" || name == "tag_push", pull: name == "merge_request", id: cmp.Or(h.Get("Webhook-Id"), h.Get("Idempotency-Key")),
				path: p.Project.Path, urls: present(p.Project.HTTPURL, p.Project.SSHURL, p.Project.WebURL),
				refs: present(p.Ref), defaultBranch: p.Project.DefaultBranch, commits: at(p.Ref, p.After),
			}, nil
		},
	}
}

// bitbucket is Bitbucket Cloud (repo:push) and Data Center (repo:refs_changed).
// Source: https://support.atlassian.com/bitbucket-cloud/docs/event-payloads,
// https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html.
func bitbucket() kind {
	return kind{
		name:   "bitbucket",
		verify: sha256Hex("X-Hub-Signature", "sha256="),
		read: func(h http.Header, payload []byte) (event, error) {
			switch name := h.Get("X-Event-Key"); name {
			case "repo:push":
				return readCloud(name, payload)
			case "repo:refs_changed", "mirror:repo_synchronized":
				return readDataCenter(name, payload)
			default:
				return event{name: name, ping: name == "diagnostics:ping"}, nil
			}
		},
	}
}

func readCloud(name string, payload []byte) (event, error) {
	type ref struct {
		Type   string `json:"type"`
		Name   string `json:"name"`
		Target struct {
			Hash string `json:"hash"`
		} `json:"target"`
	}
	var p struct {
		Push struct {
			Changes []struct {
				Old *ref `json:"old"` // null for a new one
				New *ref `json:"new"` // null for a deleted one
			} `json:"changes"`
		} `json:"push"`
		Repository struct {
			FullName string `json:"full_name"`
			Links    struct {
				HTML struct {
					Href string `json:"href"`
				} `json:"html"`
			} `json:"links"`
		} `json:"repository"`
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return event{}, err
	}
	e := event{name: name, push: true, path: p.Repository.FullName, urls: present(p.Repository.Links.HTML.Href), commits: make(map[string]string)}
	for _, c := range p.Push.Changes {
		if c.New != nil {
			e.commits[fullRef(c.New.Type, c.New.Name)] = c.New.Target.Hash
		} else {
			c.New = c.Old
		}
		if c.New != nil {
			e.refs = append(e.refs, fullRef(c.New.Type, c.New.Name))
		}
	}
	return e, nil
}

func readDataCenter(name string, payload []byte) (event, error) {
	var p struct {
		Changes []struct {
			Ref struct {
				ID string `json:"id"`
			} `json:"ref"`
			ToHash string `json:"toHash"`
		} `json:"changes"`
		Repository struct {
			Slug    string `json:"slug"`
			Project struct {
				Key string `json:"key"`
			} `json:"project"`
			Links struct {
				Clone []struct {
					Href string `json:"href"`
				} `json:"clone"`
			} `json:"links"`
		} `json:"repository"`
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return event{}, err
	}
	e := event{name: name, push: true, commits: make(map[string]string)}
	if p.Repository.Slug != "" {
		e.path = p.Repository.Project.Key + "/" + p.Repository.Slug
	}
	for _, l := range p.Repository.Links.Clone {
		e.urls = append(e.urls, l.Href)
	}
	for _, c := range p.Changes {
		e.refs = append(e.refs, c.Ref.ID)
		e.commits[c.Ref.ID] = c.ToHash
	}
	return e, nil
}

// generic is whatever can compute an HMAC: a post-receive hook, a pipeline. The
// body may be anything; an object may say more:
//
//	{"repository": "https://git.example.com/team/fleet", "ref": "refs/heads/main", "after": "59b20b8d…", "id": "2f9c"}
func generic() kind {
	return kind{
		name: "generic", any: true, verify: named,
		read: func(_ http.Header, payload []byte) (event, error) {
			var p struct {
				ID         string `json:"id"`
				Repository string `json:"repository"`
				Ref        string `json:"ref"`
				After      string `json:"after"`
			}
			if err := json.Unmarshal(payload, &p); err != nil {
				return event{name: "push", push: true, repeats: true}, nil //nolint:nilerr // any body will do
			}
			return event{name: "push", push: true, id: p.ID, repeats: p.ID == "", urls: present(p.Repository), refs: present(p.Ref), commits: at(p.Ref, p.After)}, nil
		},
	}
}
