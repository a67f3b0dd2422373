package git_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// Safety: credentials do not follow a redirect to another host.
func TestRedirect(t *testing.T) {
	var leaked []string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.URL.Path+" "+r.Header.Get("Authorization"))
	}))
	defer thief.Close()
	p := newPlace(t, gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/moved.git") {
			r.URL.Path = "/fleet.git" + strings.TrimPrefix(r.URL.Path, "/moved.git")
			http.Redirect(w, r, r.URL.String(), http.StatusMovedPermanently)
			return true
		}
		if strings.HasPrefix(r.URL.Path, "/stolen.git") {
			http.Redirect(w, r, thief.URL+r.URL.String(), http.StatusFound)
			return true
		}
		return false
	}})
	p.push("main", map[string]string{"a": "1\n"})
	base := strings.TrimSuffix(p.url, "/fleet.git")
	auth := git.Auth{Token: secret("x")}
	if got := read(t, open(t, git.Options{URL: base + "/moved.git", Auth: auth}), "a"); got != "1\n" {
		t.Errorf("a is %q", got)
	}
	_, err := open(t, git.Options{URL: base + "/stolen.git", Auth: auth}).Resolve(t.Context())
	wantKind(t, err, fleet.Unauthorized, "refused a redirect")
	if len(leaked) > 0 {
		t.Errorf("the other host got %q", leaked)
	}
}

// A server that stalls, is very slow or sends too much ends in an error.
func TestBadServers(t *testing.T) {
	hold := make(chan struct{})
	stall := func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = w.Write([]byte("001e# service=git-upload-pack\n"))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
		return true
	}
	flood := func(w http.ResponseWriter, r *http.Request) bool {
		junk := make([]byte, 64<<10)
		_, _ = rand.Read(junk)
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		_, _ = w.Write([]byte("0008NAK\n"))
		for range 1000 {
			// A side-band packet of data.
			if _, err := w.Write(append([]byte("fff5\x01"), junk[:0xfff0]...)); err != nil {
				break
			}
		}
		return true
	}
	fail := func(code int, words string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			http.Error(w, words, code)
			return true
		}
	}
	for name, c := range map[string]struct {
		bad  func(http.ResponseWriter, *http.Request) bool
		only string // requests with the bad answer; empty: all
		kind fleet.ErrorKind
		say  string
	}{
		"stalled refs":    {stall, "/info/refs", fleet.Unavailable, "did not finish its answer within"},
		"stalled pack":    {stall, "/git-upload-pack", fleet.Unavailable, "did not finish its answer within"},
		"nothing":         {func(http.ResponseWriter, *http.Request) bool { return true }, "/git-upload-pack", fleet.NotFound, "does not give"},
		"down":            {fail(503, "upgrading"), "/info/refs", fleet.Unavailable, "upgrading (HTTP 503 Service Unavailable)"},
		"too many":        {fail(429, "slow down"), "/info/refs", fleet.Unavailable, "slow down"},
		"forbidden":       {fail(403, "token lacks scope"), "/info/refs", fleet.Unauthorized, "token lacks scope"},
		"gone":            {fail(404, "no such repo"), "/info/refs", fleet.NotFound, "no such repo"},
		"junk for refs":   {flood, "/info/refs", fleet.Unknown, ""},
		"junk for a pack": {flood, "/git-upload-pack", fleet.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bad := false
			p := newPlace(t, gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
				return bad && strings.HasSuffix(r.URL.Path, c.only) && c.bad(w, r)
			}})
			p.push("main", map[string]string{"a": "1\n"})
			budget := git.Budget{Timeout: time.Minute, ListTimeout: time.Minute}
			switch name { // a server that stalls is waited for
			case "stalled refs":
				budget.ListTimeout = 300 * time.Millisecond
			case "stalled pack":
				budget.Timeout = 300 * time.Millisecond
			}
			r := open(t, git.Options{URL: p.url, Budget: budget})
			bad = c.only == "/info/refs"
			rev, err := r.Resolve(t.Context())
			if err == nil {
				bad = true
				_, err = r.Fetch(t.Context(), rev)
			}
			wantKind(t, err, c.kind, c.say)
		})
	}
	close(hold)

	p := newPlace(t, gitserver.Options{})
	_, err := open(t, git.Options{URL: p.url + "x"}).Resolve(t.Context())
	wantKind(t, err, fleet.NotFound, "")
	_, err = open(t, git.Options{URL: "http://127.0.0.1:1/x"}).Resolve(t.Context())
	wantKind(t, err, fleet.Unavailable, "connection refused")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, git.Options{URL: p.url}).Resolve(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call gives %v", err)
	}
	if _, err := os.Stat(p.bare); err != nil {
		t.Fatal(err)
	}
}
