package webhook

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

func TestReplay(t *testing.T) {
	clock := time.Now()
	h, did := listening(t, func(o *Options) { o.Now = func() time.Time { return clock } })
	again := func(delivery string) *http.Request {
		r := signedGitHub(githubPush)
		r.Header.Set("X-GitHub-Delivery", delivery)
		return r
	}
	serve(h, again("a"))
	code, text := serve(h, again("b"))
	if polls, results := did.count(); polls != 1 || code != 202 || results["github replayed"] != 1 {
		t.Errorf("the same call under another id: %d polls, %d %q", polls, code, text)
	}
	clock = clock.Add(11 * time.Minute)
	serve(h, again("a"))
	if polls, _ := did.count(); polls != 2 {
		t.Errorf("after a while: %d polls, want 2", polls)
	}
	body := `{"id": "1", "ref": "refs/heads/main"}`
	for range 2 {
		serve(h, call("generic", body, "X-Signature: sha256="+sum(secret, body)))
		serve(h, call("generic", "pushed", "X-Signature: sha256="+sum(secret, "pushed")))
	}
	if polls, _ := did.count(); polls != 5 {
		t.Errorf("%d polls, want 5: a generic call with an id counts once, one without each time", polls)
	}
}

func TestReplaysAreBounded(t *testing.T) {
	r := newReplays(time.Hour, 100)
	start := time.Now()
	for i := range 1000 {
		r.add(keyOf("github", strconv.Itoa(i), nil), start.Add(time.Duration(i)))
	}
	if len(r.seen) > 100 || len(r.order) > 100 {
		t.Errorf("it remembers %d calls, want at most 100", len(r.seen))
	}
	if r.add(keyOf("github", "999", nil), start.Add(time.Minute)) {
		t.Error("the newest call is forgotten")
	}
}
