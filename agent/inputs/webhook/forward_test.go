package webhook

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Any replica may be called; one follows the repository.
func TestFollowersPassOn(t *testing.T) {
	leader, leading := listening(t, nil)
	server := httptest.NewServer(leader)
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	follower, following := listening(t, func(o *Options) {
		o.Leader = func() (string, bool) { return address, false }
	})
	if code, text := serve(follower, signedGitHub(githubPush)); code != 202 {
		t.Errorf("got %d %q, want 202", code, text)
	}
	if polls, _ := leading.count(); polls != 1 {
		t.Errorf("the leader polled %d times, want once", polls)
	}
	if polls, _ := following.count(); polls != 0 {
		t.Errorf("the follower polled %d times, and must not", polls)
	}
	body := strings.Replace(githubPush, "59b2", "59b3", 1)
	if code, _ := serve(follower, call("github", body, "X-GitHub-Event: push", "X-Hub-Signature-256: sha256="+sum("guess", body))); code != 401 {
		t.Errorf("a wrong signature: got %d, want 401", code)
	}
	if _, results := leading.count(); results["github unauthorized"] != 0 {
		t.Error("the follower passed on what it had not verified")
	}

	address = "" // nobody leads
	code, _ := serve(follower, signedGitHub(body))
	address = strings.TrimPrefix(server.URL, "http://")
	again, said := serve(follower, signedGitHub(body))
	if code != 503 || again != 202 || said != "looking at the repository" {
		t.Errorf("without a leader and with one: got %d and %d, want 503 and then 202: it came to nothing before", code, again)
	}
	r := signedGitHub(strings.Replace(githubPush, "59b2", "59b4", 1))
	r.Header.Set("Fairlead-Forwarded", "true")
	if code, _ := serve(follower, r); code != 503 {
		t.Errorf("a call that was passed on already: got %d, want 503", code)
	}
}

// TestFollowersPassOnRequests: which branch the agent writes, and what of it the agent
// pushed itself, the replica that leads knows alone.
func TestFollowersPassOnRequests(t *testing.T) {
	leader, leading := listening(t, func(o *Options) {
		o.Target.Wrote = func(_, commit string) bool { return !strings.HasPrefix(commit, "59b2") }
	})
	server := httptest.NewServer(leader)
	defer server.Close()
	follower, _ := listening(t, func(o *Options) {
		o.Target.Own = func(string) bool { return false }
		o.Leader = func() (string, bool) { return strings.TrimPrefix(server.URL, "http://"), false }
	})
	push := strings.Replace(githubPush, "refs/heads/main", "refs/heads/fairlead/status", 1)
	for _, body := range []string{push, strings.Replace(push, "59b2", "59b3", 1)} {
		if code, text := serve(follower, signedGitHub(body)); code != 202 {
			t.Errorf("got %d %q, want 202", code, text)
		}
	}
	if polls, results := leading.count(); polls != 1 || results["github ignored"] != 1 {
		t.Errorf("the leader polled %d times (%v), want once: the other push is its own", polls, results)
	}
}

// GitLab's secret token does not travel between replicas; the leader knows all the same
// that whoever passed the call on knows it.
func TestTokensAreNotPassedOn(t *testing.T) {
	const body = `{"object_kind": "push", "ref": "refs/heads/main", "project": {"path_with_namespace": "team/fleet"}}`
	leader, leading := listening(t, nil)
	var seen []http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Clone())
		leader.ServeHTTP(w, r)
	}))
	defer server.Close()
	follower, _ := listening(t, func(o *Options) {
		o.Leader = func() (string, bool) { return strings.TrimPrefix(server.URL, "http://"), false }
	})
	if code, text := serve(follower, call("gitlab", body, "X-Gitlab-Token: "+secret)); code != 202 {
		t.Errorf("got %d %q, want 202", code, text)
	}
	if polls, _ := leading.count(); polls != 1 {
		t.Errorf("the leader polled %d times, want once", polls)
	}
	for _, h := range seen {
		for name, values := range h {
			if strings.Contains(strings.Join(values, " "), secret) {
				t.Errorf("%s holds the secret on the way to the leader", name)
			}
		}
	}
	for what, given := range map[string]string{
		"a guess": sum("guess", "fairlead passes on\n"+body), "what another call is signed with": sum(secret, body), "nothing": "",
	} {
		if code, _ := serve(leader, call("gitlab", strings.Replace(body, "team", "TEAM", 1), "Fairlead-Signature: "+given)); code != 401 {
			t.Errorf("%s: got %d, want 401", what, code)
		}
	}
}
