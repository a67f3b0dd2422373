package forge_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/agent/forge"
	"fairlead.dev/agent/forge/forgetest"
)

// asked returns the JSON of a request.
func asked(r *http.Request) m {
	var in m
	_ = json.NewDecoder(r.Body).Decode(&in)
	return in
}

// text returns a text of in; "" where it has none.
func text(in m, path ...string) string {
	for _, key := range path[:len(path)-1] {
		in, _ = in[key].(m)
	}
	s, _ := in[path[len(path)-1]].(string)
	return s
}

// param returns a number of the query.
func param(r *http.Request, name string) int { return forgetest.Number(r.URL.Query().Get(name)) }

// part returns a part of list.
func part(list []m, from, size int) []m {
	from = min(len(list), from)
	return list[from:min(len(list), from+size)]
}

// uuid is the account of a name, in Bitbucket Cloud.
func uuid(name string) string { return "{" + name + "-0000}" }

// bitbucket is Bitbucket Cloud.
func bitbucket(t *testing.T, w *forgetest.World) *forgetest.Server {
	s := &forgetest.Server{T: t, World: w, Auth: "Bearer s3cret"}
	repo := "/2.0/repositories/team/fleet"
	side := func(branch, commit, of string) m {
		return m{"branch": m{"name": branch}, "commit": m{"type": "commit", "hash": commit[:12]}, "repository": m{"type": "repository", "full_name": of}}
	}
	commits := map[string]string{}
	pull := func(p forge.PullRequest) m {
		out := m{
			"type": "pullrequest", "id": p.Number, "state": "OPEN", "merge_commit": nil, "author": m{"uuid": p.Author}, "participants": participants(w, p.Number),
			"source": side("feature", p.Head, "team/fleet"), "destination": side(p.Base, forgetest.Hash(9), "team/fleet"),
		}
		if p.Fork {
			out["source"] = side("feature", p.Head, "mallory/fleet")
		}
		commits[p.Head[:12]] = p.Head
		switch p.State {
		case forge.Merged:
			out["state"], out["merge_commit"] = "MERGED", m{"type": "commit", "hash": p.Result[:12]}
			commits[p.Result[:12]] = p.Result
		case forge.Closed:
			out["state"] = "DECLINED"
		case forge.Open:
		}
		return out
	}
	list := func(r *http.Request, all []m) m {
		page, size := param(r, "page"), param(r, "pagelen")
		out := m{"size": len(all), "page": page, "pagelen": size, "values": part(all, (page-1)*size, size)}
		if page*size < len(all) {
			out["next"] = "https://elsewhere.example.com/next"
		}
		return out
	}
	comment := func(c forge.Comment) m {
		return m{"id": forgetest.Number(c.ID), "content": m{"type": "rendered", "raw": c.Text, "markup": "markdown"}, "user": m{"uuid": uuid(c.Author), "display_name": "x"}, "deleted": false}
	}
	fault := func(code int, v any) (int, any) {
		if in, ok := v.(m); ok && code >= 400 {
			return code, m{"type": "error", "error": m{"message": in["message"]}}
		}
		return code, v
	}
	s.Routes = map[string]func(*http.Request, []string) (int, any){
		"GET /2.0/user": func(*http.Request, []string) (int, any) {
			return 200, m{"type": "user", "uuid": uuid(w.Me), "display_name": "Fairlead"}
		},
		"GET " + repo + "/pullrequests": func(r *http.Request, _ []string) (int, any) {
			open, err := w.Open(r.Context())
			if err != nil || r.URL.Query().Get("state") != "OPEN" || param(r, "pagelen") > 50 {
				return fault(forgetest.Failed(err))
			}
			var all []m
			for _, p := range open {
				all = append(all, pull(p))
			}
			return 200, list(r, all)
		},
		"GET " + repo + `/pullrequests/(\d+)`: func(r *http.Request, a []string) (int, any) {
			p, err := w.PullRequest(r.Context(), forgetest.Number(a[0]))
			if err != nil {
				return fault(forgetest.Failed(err))
			}
			return 200, pull(p)
		},
		"GET " + repo + `/pullrequests/(\d+)/activity`: func(r *http.Request, a []string) (int, any) {
			n, all := forgetest.Number(a[0]), []m{}
			for _, h := range w.Heads(n) {
				all = append(all, m{"update": m{"date": h.At, "source": side("feature", h.Head, "team/fleet")}})
			}
			for _, word := range w.Words(n) {
				if word.Verb == forgetest.Approve {
					all = append(all, m{"approval": m{"date": word.At, "user": m{"uuid": word.Author}}})
				}
			}
			slices.Reverse(all)
			return 200, m{"pagelen": param(r, "pagelen"), "values": all}
		},
		"GET /2.0/repositories/(?:team|mallory)/fleet/commit/([0-9a-f]{12})": func(_ *http.Request, a []string) (int, any) {
			if commits[a[0]] == "" {
				return 404, m{"type": "error", "error": m{"message": "Resource not found"}}
			}
			return 200, m{"type": "commit", "hash": commits[a[0]]}
		},
		"POST " + repo + "/commit/([0-9a-f]{40})/statuses/build": func(r *http.Request, a []string) (int, any) {
			in := asked(r)
			verdict := map[string]forge.Verdict{"INPROGRESS": forge.Pending, "SUCCESSFUL": forge.Success, "FAILED": forge.Failure}[text(in, "state")]
			if page := text(in, "url"); !strings.HasSuffix(page, "/team/fleet/pull-requests/1") && !strings.HasSuffix(page, "/team/fleet/commits/"+a[0]) || len(text(in, "key")) > 40 {
				return 400, m{"type": "error", "error": m{"message": "url: This field is required"}}
			}
			if err := w.SetStatus(r.Context(), forge.PullRequest{Head: a[0]}, forge.Status{Name: text(in, "key"), Verdict: verdict, Text: text(in, "description")}); err != nil {
				return fault(forgetest.Failed(err))
			}
			return 201, m{"key": text(in, "key")}
		},
		"GET " + repo + `/pullrequests/(\d+)/comments`: func(r *http.Request, a []string) (int, any) {
			said, err := w.Comments(r.Context(), forgetest.Number(a[0]))
			if err != nil || r.URL.Query().Get("sort") != "created_on" {
				return fault(forgetest.Failed(err))
			}
			all := []m{{"id": 1, "content": m{"raw": ""}, "user": m{"uuid": uuid(w.Me)}, "deleted": true}}
			for _, c := range said {
				all = append(all, comment(c))
			}
			return 200, list(r, all)
		},
		"POST " + repo + `/pullrequests/(\d+)/comments`: func(r *http.Request, a []string) (int, any) {
			return s.Commented(r, forgetest.Number(a[0]), text(asked(r), "content", "raw"), comment)
		},
		"PUT " + repo + `/pullrequests/(\d+)/comments/(\d+)`: func(r *http.Request, a []string) (int, any) {
			return fault(s.Edited(r, a[1], text(asked(r), "content", "raw")))
		},
	}
	return s
}

// participants are those of a pull request in Bitbucket Cloud.
func participants(w *forgetest.World, number int) []m {
	out := []m{{"user": m{"uuid": "{erin}"}, "role": "REVIEWER", "approved": false, "state": nil}}
	for _, r := range w.Last(number) {
		state := map[forgetest.Verb]string{forgetest.Approve: "approved", forgetest.Refuse: "changes_requested"}[r.Verb]
		out = append(out, m{"user": m{"uuid": r.Author}, "role": "REVIEWER", "approved": r.Verb == forgetest.Approve, "state": state})
	}
	return out
}

// dataCenter is Bitbucket Data Center.
func dataCenter(t *testing.T, w *forgetest.World) *forgetest.Server {
	s := &forgetest.Server{T: t, World: w, Auth: "Bearer s3cret"}
	repo := "/rest/api/latest/projects/team/repos/fleet"
	versions := map[string]int{}
	s.Header = http.Header{"X-Ausername": {strings.ReplaceAll(w.Me, " ", "+")}}
	pull := func(p forge.PullRequest) m {
		from := m{"id": "refs/heads/feature", "latestCommit": p.Head, "repository": m{"id": 5, "slug": "fleet"}}
		if p.Fork {
			from["repository"] = m{"id": 6, "slug": "fleet", "project": m{"key": "~MALLORY"}}
		}
		out := m{
			"id": p.Number, "version": 3, "state": "OPEN", "fromRef": from, "properties": m{"openTaskCount": 0},
			"toRef":  m{"id": "refs/heads/" + p.Base, "latestCommit": forgetest.Hash(9), "repository": m{"id": 5, "slug": "fleet"}},
			"author": m{"user": m{"name": p.Author}, "role": "AUTHOR"}, "reviewers": reviewers(w, p.Number), "participants": []m{},
		}
		switch p.State {
		case forge.Merged:
			out["state"], out["properties"] = "MERGED", m{"mergeCommit": m{"id": p.Result, "displayId": p.Result[:11]}}
		case forge.Closed:
			out["state"] = "DECLINED"
		case forge.Open:
		}
		return out
	}
	list := func(r *http.Request, all []m) m {
		from, size := param(r, "start"), param(r, "limit")
		out := m{"start": from, "limit": size, "values": part(all, from, size), "isLastPage": from+size >= len(all), "nextPageStart": nil}
		if from+size < len(all) {
			out["nextPageStart"] = from + size
		}
		return out
	}
	comment := func(c forge.Comment) m {
		return m{"id": forgetest.Number(c.ID), "version": versions[c.ID], "text": c.Text, "author": m{"name": c.Author, "slug": c.Author}}
	}
	fault := func(code int, v any) (int, any) {
		if in, ok := v.(m); ok && code >= 400 {
			return code, m{"errors": []m{{"context": nil, "message": in["message"], "exceptionName": "com.atlassian.bitbucket.X"}}}
		}
		return code, v
	}
	find := func(n int, id string) (forge.Comment, bool) {
		said := w.Said(n)
		i := slices.IndexFunc(said, func(c forge.Comment) bool { return c.ID == id })
		if i < 0 {
			return forge.Comment{}, false
		}
		return said[i], true
	}
	s.Routes = map[string]func(*http.Request, []string) (int, any){
		"GET " + repo: func(*http.Request, []string) (int, any) { return 200, m{"id": 5, "slug": "fleet"} },
		"GET " + repo + "/pull-requests": func(r *http.Request, _ []string) (int, any) {
			open, err := w.Open(r.Context())
			if err != nil || r.URL.Query().Get("state") != "OPEN" {
				return fault(forgetest.Failed(err))
			}
			var all []m
			for _, p := range slices.Backward(open) { // the newest first
				all = append(all, pull(p))
			}
			return 200, list(r, all)
		},
		"GET " + repo + `/pull-requests/(\d+)`: func(r *http.Request, a []string) (int, any) {
			p, err := w.PullRequest(r.Context(), forgetest.Number(a[0]))
			if err != nil {
				return fault(forgetest.Failed(err))
			}
			return 200, pull(p)
		},
		"POST " + repo + "/commits/([0-9a-f]{40})/builds": func(r *http.Request, a []string) (int, any) {
			in := asked(r)
			verdict := map[string]forge.Verdict{"INPROGRESS": forge.Pending, "SUCCESSFUL": forge.Success, "FAILED": forge.Failure}[text(in, "state")]
			if page := text(in, "url"); !strings.HasSuffix(page, "/projects/team/repos/fleet/pull-requests/1") && !strings.HasSuffix(page, "/projects/team/repos/fleet/commits/"+a[0]) {
				return 400, m{"errors": []m{{"context": "url", "message": "The URL is required"}}}
			}
			if err := w.SetStatus(r.Context(), forge.PullRequest{Head: a[0]}, forge.Status{Name: text(in, "key"), Verdict: verdict, Text: text(in, "description")}); err != nil {
				return fault(forgetest.Failed(err))
			}
			return 204, nil
		},
		"GET " + repo + `/pull-requests/(\d+)/activities`: func(r *http.Request, a []string) (int, any) {
			said, err := w.Comments(r.Context(), forgetest.Number(a[0]))
			if err != nil {
				return fault(forgetest.Failed(err))
			}
			all := []m{{"id": 900, "action": "RESCOPED"}}
			for i, c := range slices.Backward(said) {
				all = append(all, m{"id": 1000 + i, "action": "COMMENTED", "commentAction": "ADDED", "comment": comment(c)})
			}
			return 200, list(r, append(all, m{"id": 1, "action": "OPENED"}))
		},
		"POST " + repo + `/pull-requests/(\d+)/comments`: func(r *http.Request, a []string) (int, any) {
			return s.Commented(r, forgetest.Number(a[0]), text(asked(r), "text"), comment)
		},
		"GET " + repo + `/pull-requests/(\d+)/comments/(\d+)`: func(_ *http.Request, a []string) (int, any) {
			c, ok := find(forgetest.Number(a[0]), a[1])
			if !ok {
				return fault(404, m{"message": "There is no such comment."})
			}
			return 200, comment(c)
		},
		"PUT " + repo + `/pull-requests/(\d+)/comments/(\d+)`: func(r *http.Request, a []string) (int, any) {
			in := asked(r)
			if v, ok := in["version"].(float64); !ok || int(v) != versions[a[1]] {
				return fault(409, m{"message": "You are attempting to modify a comment based on out-of-date information."})
			}
			versions[a[1]]++
			return fault(s.Edited(r, a[1], text(in, "text")))
		},
	}
	return s
}

// reviewers are those of a pull request in Bitbucket Data Center.
func reviewers(w *forgetest.World, number int) []m {
	out := []m{{"user": m{"name": "erin"}, "role": "REVIEWER", "approved": false, "status": "UNAPPROVED"}}
	for _, r := range w.Last(number) {
		status := map[forgetest.Verb]string{forgetest.Approve: "APPROVED", forgetest.Refuse: "NEEDS_WORK"}[r.Verb]
		out = append(out, m{"user": m{"name": r.Author}, "role": "REVIEWER", "approved": r.Verb == forgetest.Approve, "status": status, "lastReviewedCommit": r.Commit})
	}
	return out
}

// devOps is Azure DevOps.
func devOps(t *testing.T, w *forgetest.World) *forgetest.Server {
	s := &forgetest.Server{T: t, World: w, Auth: "Basic OnMzY3JldA=="} // ":s3cret"
	repo := "/team/My%20Project/_apis/git/repositories/fleet"
	pull := func(p forge.PullRequest) m {
		out := m{
			"pullRequestId": p.Number, "createdBy": m{"id": p.Author}, "status": "active", "sourceRefName": "refs/heads/feature", "targetRefName": "refs/heads/" + p.Base,
			"lastMergeSourceCommit": m{"commitId": p.Head}, "lastMergeTargetCommit": m{"commitId": forgetest.Hash(9)},
		}
		if p.Fork {
			out["forkSource"] = m{"name": "refs/heads/feature", "repository": m{"name": "fleet.mallory"}}
		}
		switch p.State {
		case forge.Merged:
			out["status"], out["lastMergeCommit"] = "completed", m{"commitId": p.Result}
		case forge.Closed:
			out["status"] = "abandoned"
		case forge.Open:
		}
		return out
	}
	thread := func(c forge.Comment) m {
		return m{"id": 1000 + forgetest.Number(c.ID), "status": "closed", "isDeleted": false, "comments": []m{
			{"id": 1, "parentCommentId": 0, "content": c.Text, "commentType": "text", "author": m{"id": "id-of-" + c.Author, "displayName": "x"}},
		}}
	}
	status := func(r *http.Request, in m, p forge.PullRequest) (int, any) {
		verdict := map[string]forge.Verdict{"pending": forge.Pending, "succeeded": forge.Success, "failed": forge.Failure, "error": forge.Error}[text(in, "state")]
		name := text(in, "context", "genre") + "/" + text(in, "context", "name")
		if err := w.SetStatus(r.Context(), p, forge.Status{Name: name, Verdict: verdict, Text: text(in, "description")}); err != nil {
			return forgetest.Failed(err)
		}
		return 200, m{"id": 1}
	}
	version := func(f func(*http.Request, []string) (int, any)) func(*http.Request, []string) (int, any) {
		return func(r *http.Request, a []string) (int, any) {
			if v := r.URL.Query().Get("api-version"); !strings.HasPrefix(v, "7.1") {
				return 400, m{"message": "the api-version is missing"}
			}
			return f(r, a)
		}
	}
	s.Routes = map[string]func(*http.Request, []string) (int, any){
		"GET /team/_apis/connectionData": func(*http.Request, []string) (int, any) {
			return 200, m{"authenticatedUser": m{"id": "id-of-" + w.Me, "providerDisplayName": "Fairlead"}, "instanceId": "x"}
		},
		"GET " + repo + "/pullrequests": func(r *http.Request, _ []string) (int, any) {
			open, err := w.Open(r.Context())
			if err != nil || r.URL.Query().Get("searchCriteria.status") != "active" {
				return forgetest.Failed(err)
			}
			all := []m{}
			for _, p := range open {
				all = append(all, pull(p))
			}
			all = part(all, param(r, "$skip"), param(r, "$top"))
			return 200, m{"value": all, "count": len(all)}
		},
		"GET " + repo + `/pullRequests/(\d+)`: func(r *http.Request, a []string) (int, any) {
			p, err := w.PullRequest(r.Context(), forgetest.Number(a[0]))
			if err != nil {
				return forgetest.Failed(err)
			}
			return 200, pull(p)
		},
		"GET " + repo + `/pullRequests/(\d+)/iterations`: func(r *http.Request, a []string) (int, any) {
			p, err := w.PullRequest(r.Context(), forgetest.Number(a[0]))
			if err != nil {
				return forgetest.Failed(err)
			}
			return 200, m{"count": 2, "value": []m{
				{"id": 1, "sourceRefCommit": m{"commitId": forgetest.Hash(8)}}, {"id": 2, "sourceRefCommit": m{"commitId": p.Head}},
			}}
		},
		"POST " + repo + `/pullRequests/(\d+)/iterations/2/statuses`: func(r *http.Request, a []string) (int, any) {
			in := asked(r)
			p, err := w.PullRequest(r.Context(), forgetest.Number(a[0]))
			if err != nil {
				return forgetest.Failed(err)
			}
			return status(r, in, p)
		},
		"POST " + repo + "/commits/([0-9a-f]{40})/statuses": func(r *http.Request, a []string) (int, any) {
			return status(r, asked(r), forge.PullRequest{Head: a[0]})
		},
		"GET " + repo + `/pullRequests/(\d+)/threads`: func(r *http.Request, a []string) (int, any) {
			said, err := w.Comments(r.Context(), forgetest.Number(a[0]))
			if err != nil {
				return forgetest.Failed(err)
			}
			all := []m{{"id": 1, "comments": []m{{"id": 1, "commentType": "system", "content": "Ada joined as a reviewer", "author": m{"id": "id-of-" + w.Me}}}}}
			for _, c := range slices.Backward(said) { // in no order
				all = append(all, thread(c))
			}
			return 200, m{"value": all, "count": len(all)}
		},
		"POST " + repo + `/pullRequests/(\d+)/threads`: func(r *http.Request, a []string) (int, any) {
			in := asked(r)
			first, _ := in["comments"].([]any)
			if len(first) != 1 || text(in, "status") != "closed" {
				return 400, m{"message": "a thread has a comment, and this one holds up no merge"}
			}
			c, _ := first[0].(m)
			return s.Commented(r, forgetest.Number(a[0]), text(c, "content"), thread)
		},
		"PATCH " + repo + `/pullRequests/(\d+)/threads/(\d+)/comments/1`: func(r *http.Request, a []string) (int, any) {
			return s.Edited(r, strconv.Itoa(forgetest.Number(a[1])-1000), text(asked(r), "content"))
		},
		"PATCH " + repo + `/pullRequests/(\d+)/threads/(\d+)/comments/`: func(*http.Request, []string) (int, any) { return 404, m{"message": "there is none"} },
	}
	for pattern := range maps.Clone(s.Routes) {
		s.Routes[pattern] = version(s.Routes[pattern])
	}
	return s
}

// TestIteration: a status of Azure DevOps is of the head that was planned.
func TestIteration(t *testing.T) {
	w := forgetest.New("fairlead")
	f, done := served(t, "azure", "/team/My%20Project/_git/fleet", "", devOps(t, w))
	defer done()
	w.Put(forge.PullRequest{Number: 1, State: forge.Open, Head: forgetest.Hash(1), Base: "main"})
	err := f.SetStatus(t.Context(), forge.PullRequest{Number: 1, Head: forgetest.Hash(3)}, forge.Status{Name: "fairlead/plan", Verdict: forge.Success})
	if err == nil || !strings.Contains(err.Error(), "was never its head") {
		t.Errorf("a status of what is no head gives %v", err)
	}
	if n := fmt.Sprint(w.Writes()); n != "0" {
		t.Errorf("%s writes", n)
	}
}
