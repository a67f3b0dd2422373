//go:build linux

package gitea_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/plans/forge"
)

// own returns the comments of accounts that are about a fleet of that name.
func (h *harbour) own(number int, fleet string, accounts ...string) []string {
	h.t.Helper()
	var out []string
	for _, who := range accounts {
		for _, text := range h.comments(number, who) {
			if strings.HasPrefix(text, "<!-- fairlead:plan:"+fleet+" -->") {
				out = append(out, who+": "+text)
			}
		}
	}
	return out
}

// git runs Git as mallory, who may read the repository.
func (h *harbour) git(dir string, args ...string) {
	h.t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=mallory", "-c", "user.email=mallory@example.com", "-C", dir}, args...)...)
	c.Env = []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "GIT_TERMINAL_PROMPT=0"}
	if out, err := c.CombinedOutput(); err != nil {
		h.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestAGit: what a reader of the repository pushed to refs/for/main is a stranger's: it is planned once
// somebody approves, and again only if its new head is approved, too.
func TestAGit(t *testing.T) {
	h := newHarbour(t, "{}")
	h.agent("g")
	h.settled()
	clone := filepath.Join(h.dir, "clone")
	h.git(h.dir, "clone", "--quiet", strings.Replace(h.URL, "http://", "http://mallory:of-a-test-1@", 1)+"/ann/harbour.git", clone)
	push := func(name string) forge.PullRequest {
		t.Helper()
		for file, content := range h.another(name) {
			file = filepath.Join(clone, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h.git(clone, "add", "--all")
		h.git(clone, "commit", "--quiet", "--message", name)
		h.git(clone, "push", "--quiet", "origin", "HEAD:refs/for/main", "-o", "topic=strange", "-o", "title=strange")
		var list []struct {
			Number int
			Head   struct{ SHA string }
		}
		h.Call(http.MethodGet, h.repo+"/pulls?state=open", nil, &list)
		if len(list) != 1 {
			t.Fatalf("%d pull requests are open", len(list))
		}
		return forge.PullRequest{Number: list[0].Number, Head: list[0].Head.SHA}
	}
	p := push("eu-3")
	h.says(p, forge.Pending, "its head is no branch of this repository")
	if out, code := h.command("approve", fmt.Sprint(p.Number), "--plan", "--head", p.Head); code != 0 {
		t.Fatalf("approve says %s", out)
	}
	h.says(p, forge.Success, "create 1 cluster", "staging/eu-3")
	next := push("eu-4")
	if next.Number != p.Number || next.Head == p.Head {
		t.Fatalf("the second push is %+v, after %+v", next, p)
	}
	h.says(next, forge.Pending, "its head is no branch of this repository")
	if text := h.comment(p.Number); strings.Contains(text, "eu-4") {
		t.Errorf("a head that nobody approved is planned:\n%s", text)
	}
}

// TestTwoFleets: of two fleets in one repository each has a status and a comment of its own, in this process
// and in the next.
func TestTwoFleets(t *testing.T) {
	h := newHarbour(t, "{}")
	files := map[string]string{}
	for _, name := range []string{"east", "west"} {
		for file, content := range h.files {
			file, content = strings.ReplaceAll(file, "eu-2", name+"-2"), strings.ReplaceAll(content, "eu-2", name+"-2")
			if file == "fleet.yaml" {
				content = strings.Replace(content, "name: harbour", "name: "+name, 1) + "  status: {branch: fairlead/" + name + "}\n"
			}
			files[name+"/"+file] = content
		}
	}
	h.push(h.repo, "main", "main", files)
	agents := func() (kill func()) {
		var all []func()
		for _, name := range []string{"east", "west"} {
			all = append(all, h.agent(name, "--path", name, "--secrets", filepath.Join(h.dir, "secrets-"+name)))
		}
		return func() {
			for _, kill := range all {
				kill()
			}
		}
	}
	kill := agents()
	p := h.propose("one", false, map[string]string{"east/clusters/staging/east-2/values.yaml": ""})
	is := func(fleet string, verdict forge.Verdict, status string) {
		t.Helper()
		h.eventually(fleet+" has "+status, func() (string, bool) {
			s, said := h.Status(t, p.Head, "fairlead/plan/"+fleet), h.own(p.Number, fleet, "ann")
			return fmt.Sprintf("%+v\n%s", s, said), s.Verdict == verdict && strings.Contains(s.Text, status) && len(said) == 1 && strings.Contains(said[0], p.Head)
		})
	}
	is("east", forge.Failure, "problem")
	is("west", forge.Success, "nothing to do")
	if s := h.Status(t, p.Head, "fairlead/plan"); s != (forge.Status{}) {
		t.Errorf("some fleet has no name: %+v", s)
	}
	kill()
	p.Head = h.push(h.repo, "one", "one", map[string]string{"east/clusters/staging/east-2/values.yaml": files["east/clusters/staging/east-2/values.yaml"], "west/clusters/staging/west-2/values.yaml": ""})
	agents()
	is("east", forge.Success, "nothing to do")
	is("west", forge.Failure, "problem")
}

// crew moves the repository to an organization, in which agents may push, and only read pull requests.
func (h *harbour) crew(agents ...string) {
	h.t.Helper()
	var team struct{ ID int }
	h.Call(http.MethodPost, "/orgs", m{"username": "crew"}, nil)
	h.Call(http.MethodPost, "/orgs/crew/teams", m{
		"name": "agents", "permission": "write", "includes_all_repositories": true, "units_map": m{"repo.code": "write", "repo.pulls": "read", "repo.issues": "read"},
	}, &team)
	for _, name := range agents {
		h.Call(http.MethodPost, "/admin/users", m{"username": name, "email": name + "@example.com", "password": "of-a-test-1", "must_change_password": false}, nil)
		h.Call(http.MethodPut, fmt.Sprintf("/teams/%d/members/%s", team.ID, name), nil, nil)
	}
	h.Call(http.MethodPost, h.repo+"/transfer", m{"new_owner": "crew"}, nil)
	h.repo = "/repos/crew/harbour"
}

// TestLockedConversation: a locked conversation keeps no plan from its status, and is not tried with each
// poll. Once it is unlocked it has its comment.
func TestLockedConversation(t *testing.T) {
	h := newHarbour(t, "{}")
	h.crew("robot")
	h.account("robot", h.TokenOf("robot"))
	one := h.propose("one", false, h.another("eu-3"))
	h.Call(http.MethodPut, fmt.Sprintf("%s/issues/%d/lock", h.repo, one.Number), m{"lock_reason": "Too heated"}, nil)
	h.agent("g")
	is := func(p forge.PullRequest, comments int) {
		t.Helper()
		h.eventually("is it planned", func() (string, bool) {
			s, said := h.Status(t, p.Head, "fairlead/plan"), h.own(p.Number, "harbour", "robot")
			return fmt.Sprintf("%+v\n%q", s, said), s.Verdict == forge.Success && len(said) == comments
		})
	}
	is(one, 0)
	for i := range 5 { // each of which takes some polls
		is(h.propose(fmt.Sprint("other-", i), false, map[string]string{"NOTES": fmt.Sprint(i)}), 1)
	}
	h.front.mu.Lock()
	tries := h.front.wrote[fmt.Sprintf("/api/v1%s/issues/%d/comments", h.repo, one.Number)]
	h.front.mu.Unlock()
	if tries == 0 || tries > 4 {
		t.Errorf("it was tried %d times", tries)
	}
	h.Call(http.MethodDelete, fmt.Sprintf("%s/issues/%d/lock", h.repo, one.Number), nil, nil)
	is(one, 1)
}

// TestAnotherAccount: with the token of another account, in a running agent and in the next one, the
// comment stays one where that account may edit it. Where it may not it writes its own.
func TestAnotherAccount(t *testing.T) {
	h := newHarbour(t, "{}")
	h.crew("robot", "android")
	h.Call(http.MethodPut, h.repo+"/collaborators/bob", m{"permission": "write"}, nil)
	h.account("bob", h.TokenOf("bob"))
	kill := h.agent("g")
	p := h.propose("one", false, h.another("eu-3"))
	is := func(want ...string) {
		t.Helper()
		h.eventually(strings.Join(want, ", "), func() (string, bool) {
			said := h.own(p.Number, "harbour", "ann", "bob", "robot", "android")
			ok := len(said) == len(want)
			for i := range want {
				ok = ok && strings.HasPrefix(said[i], want[i]+": ")
			}
			return strings.Join(said, "\n"), ok && strings.Contains(said[len(said)-1], p.Head)
		})
	}
	push := func() {
		p.Head = h.push(h.repo, "one", "one", map[string]string{"NOTES": time.Now().String()})
	}
	is("bob")
	h.account(h.User, h.Token)
	push()
	is("bob")
	kill()
	push()
	kill = h.agent("g")
	is("bob")
	h.account("robot", h.TokenOf("robot"))
	push()
	is("bob", "robot")
	kill()
	h.account("android", h.TokenOf("android"))
	push()
	h.agent("g")
	is("bob", "robot", "android")
}

// TestLimited: a forge that wants no requests for a while gets none, and the plan comes after that.
func TestLimited(t *testing.T) {
	h := newHarbour(t, "{}")
	h.agent("g")
	h.settled()
	h.front.limit(20 * time.Second)
	h.eventually("is a request refused", func() (string, bool) {
		was, _ := h.front.limited()
		return "it asks for nothing", was
	})
	p := h.propose("one", false, h.another("eu-3"))
	h.eventually("does it say so", func() (string, bool) {
		out, _ := h.command("status")
		return out, strings.Contains(out, "limits requests")
	})
	h.says(p, forge.Success, "create 1 cluster", p.Head)
	if _, early := h.front.limited(); len(early) > 0 {
		t.Errorf("before the time that it named it was asked for %q", early)
	}
	h.eventually("is it said no more", func() (string, bool) {
		out, _ := h.command("status")
		return out, !strings.Contains(out, "limits requests")
	})
}
