package git_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// A meter counts the bytes of all connections that it accepts.
type meter struct {
	net.Listener
	bytes atomic.Int64
}

func (m *meter) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	return &metered{c, m}, err
}

type metered struct {
	net.Conn
	meter *meter
}

func (c *metered) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.meter.bytes.Add(int64(n))
	return n, err
}

func (c *metered) Write(p []byte) (int, error) {
	c.meter.bytes.Add(int64(len(p))) // before the reader can go on
	return c.Conn.Write(p)
}

// branches makes n branches at the tip of main.
func (p *place) branches(n int) {
	p.t.Helper()
	p.git("pack-refs", "--all")
	tip := p.git("rev-parse", "main")
	all, err := os.ReadFile(filepath.Join(p.bare, "packed-refs"))
	if err != nil {
		p.t.Fatal(err)
	}
	// packed-refs is sorted by name: these come after what it has.
	first, tags, _ := strings.Cut(string(all), tip+" refs/heads/main\n")
	var more strings.Builder
	for i := range n {
		fmt.Fprintf(&more, "%s refs/heads/feature/%06d\n", tip, i)
	}
	all = []byte(first + more.String() + tip + " refs/heads/main\n" + tags)
	if err := os.WriteFile(filepath.Join(p.bare, "packed-refs"), all, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// A poll of a repository with 20,000 refs, for the fleet's branch and the status branch,
// takes less than 2 KB on the wire.
func TestPollOfManyRefs(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	want := p.push("main", map[string]string{"a": "1\n"})
	p.push("fairlead/status", map[string]string{"s": "1\n"})
	p.branches(20_000)
	s, err := gitserver.New(p.root, gitserver.Options{Password: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(s)
	m := &meter{Listener: srv.Listener}
	srv.Listener = m
	srv.Start()
	defer srv.Close()
	repo := open(t, git.Options{URL: srv.URL + "/fleet.git", Ref: "main", Auth: git.Auth{Token: secret("s3cret")}})
	b, err := repo.Branch("fairlead/status", git.BranchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Read(t.Context()); err != nil { // reads the content too
		t.Fatal(err)
	}
	for range 2 {
		m.bytes.Store(0)
		rev, err := repo.Resolve(t.Context())
		if err != nil || rev.Digest != "sha1:"+want {
			t.Fatalf("resolved %v, %v; want %s", rev, err, want)
		}
		for range 3 {
			if _, tree, err := b.Read(t.Context()); err != nil || tree == nil {
				t.Fatal(err)
			}
		}
		n := m.bytes.Load()
		t.Logf("%d bytes", n)
		if n > 2000 {
			t.Errorf("a poll took %d bytes, want 2000 at most", n)
		}
	}
}

// Both versions of the protocol give the same refs, over each transport.
func TestVersionsAgree(t *testing.T) {
	p := newPlace(t, gitserver.Options{Before: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("X-Version") == "0" {
			r.Header.Del("Git-Protocol")
		}
		return false
	}})
	p.push("main", map[string]string{"a": "1\n"})
	p.push("release", map[string]string{"a": "2\n"})
	p.push("both", map[string]string{"a": "3\n"})
	for _, tag := range []string{"v1.0.0", "v1.2.0", "v2.0.0", "both", "x-1"} {
		p.git("-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "-m", tag, tag, "release")
	}
	p.git("tag", "light", "main")
	p.branches(10)
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Git-Protocol")
		s, err := gitserver.New(p.root, gitserver.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		s.ServeHTTP(w, r)
	}))
	defer old.Close()
	type side struct {
		options git.Options
		part    bool
	}
	sides := map[string]side{
		"http":             {git.Options{URL: p.url}, true},
		"http, an old one": {git.Options{URL: old.URL + "/fleet.git"}, false},
		"file":             {git.Options{URL: p.bare}, true},
	}
	for name, config := range map[string]string{"ssh": "AcceptEnv GIT_PROTOCOL", "ssh without variables": ""} {
		s, err := gitserver.StartSSH(t.Context(), t.TempDir(), false, config)
		if err != nil {
			t.Logf("not tried over %s: %v", name, err)
			continue
		}
		t.Cleanup(s.Close)
		sides[name] = side{git.Options{URL: s.URL + p.bare, KnownHosts: s.KnownHosts, Auth: git.Auth{Key: fleet.NewSecret(s.Key)}}, config != ""}
	}
	tips := map[string]string{"main": p.git("rev-parse", "refs/heads/main"), "release": p.git("rev-parse", "refs/heads/release")}
	for ref, want := range map[string]struct{ tip, name, words string }{
		"": {tip: "main", name: "main"}, "HEAD": {tip: "main", name: "HEAD"}, "main": {tip: "main", name: "main"},
		"release": {tip: "release", name: "release"}, "refs/heads/release": {tip: "release", name: "refs/heads/release"},
		"v1.0.0": {tip: "release", name: "v1.0.0"}, "refs/tags/v1.0.0": {tip: "release", name: "refs/tags/v1.0.0"},
		"light": {tip: "main", name: "light"}, "tags/light": {tip: "main", name: "tags/light"},
		"semver:>=1.0 <2": {tip: "release", name: "v1.2.0"}, "v*": {tip: "release", name: "v2.0.0"}, "refs/tags/v1.*": {tip: "release", name: "v1.2.0"},
		"none":      {words: `"none" does not exist (or not any more); there are both, both, feature/000000, feature/000001, feature/000002 and`},
		"semver:>9": {words: `no tag matches "semver:>9"; there are both`},
		"both":      {words: "there is both a branch and a tag"},
	} {
		for name, side := range sides {
			if strings.HasPrefix(name, "ssh") && ref != "" && ref != "v1.0.0" && ref != "none" {
				continue // one conversation each is enough
			}
			o := side.options
			o.Ref = ref
			repo := open(t, o)
			rev, err := repo.Resolve(t.Context())
			if want.words != "" {
				if err == nil || !strings.Contains(err.Error(), want.words) {
					t.Errorf("%q over %s gives %v, %v; want %q", ref, name, rev, err, want.words)
				}
				continue
			}
			if err != nil || rev.Ref != want.name || rev.Hash() != tips[want.tip] {
				t.Errorf("%q over %s is %v, %v; want %s at the tip of %s", ref, name, rev, err, want.name, want.tip)
			}
			if part, _, err := repo.ToldOfPart(t.Context()); err != nil || part != side.part {
				t.Errorf("%q over %s: only a part is told: %v, %v; want %v", ref, name, part, err, side.part)
			}
		}
	}
}

// An empty repository, and one with SHA-256, are told apart from one without the branch.
func TestNothingToList(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	for _, url := range []string{p.url, p.bare} {
		_, err := open(t, git.Options{URL: url, Ref: "main"}).Resolve(t.Context())
		wantKind(t, err, fleet.NotFound, "remote repository is empty")
		b := branch(t, git.Options{URL: url})
		if head, _, err := b.Read(t.Context()); err != nil || !head.IsZero() {
			t.Errorf("the branch is %v, %v", head, err)
		}
	}
	p.run("", "git", "init", "--quiet", "--bare", "--object-format=sha256", p.root+"/other.git")
	for _, url := range []string{strings.Replace(p.url, "fleet", "other", 1), p.root + "/other.git"} {
		_, err := open(t, git.Options{URL: url, Ref: "main"}).Resolve(t.Context())
		wantKind(t, err, fleet.Invalid, "SHA-256 object names")
	}
	p.push("main", map[string]string{"a": "1\n"})
	p.git("symbolic-ref", "HEAD", "refs/heads/gone")
	_, err := open(t, git.Options{URL: p.url}).Resolve(t.Context())
	wantKind(t, err, fleet.NotFound, "HEAD points to a branch that does not exist; there are main")
}

// A server without version 2 is asked once a poll. One that offers version 2 and does not
// speak it costs the first poll two more requests. One that is down is asked in version 2
// again.
func TestServersOfOldVersions(t *testing.T) {
	say := func(code int, text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		}
	}
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked for %s", r.URL)
	}))
	defer thief.Close()
	for name, c := range map[string]struct {
		header        bool // the server sees the header of version 2
		answer        func(http.ResponseWriter)
		first, second int // requests of a poll
		kind          fleet.ErrorKind
		words         string
	}{
		"knows no version 2":         {header: false, first: 1, second: 1},
		"knows version 2":            {header: true, first: 2, second: 2},
		"turns it away":              {true, say(400, "what?"), 3, 1, "", ""},
		"answers noise":              {true, say(200, "0009noise0000"), 3, 1, "", ""},
		"answers half":               {true, say(200, "0009"), 2, 2, fleet.Unavailable, "EOF"},
		"says an error":              {true, say(200, "000cERR what"), 3, 1, "", ""},
		"sends it elsewhere":         {true, func(w http.ResponseWriter) { w.Header().Set("Location", thief.URL); w.WriteHeader(307) }, 3, 1, "", ""},
		"is down":                    {true, say(503, "upgrading"), 2, 2, fleet.Unavailable, "upgrading (HTTP 503"},
		"takes no more":              {true, say(429, "slow down"), 2, 2, fleet.Unavailable, "slow down"},
		"takes the credential back":  {true, say(401, "who?"), 2, 2, fleet.Unauthorized, "who?"},
		"takes the permission back":  {true, say(403, "no"), 2, 2, fleet.Unauthorized, "no"},
		"has somebody else's answer": {true, func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html"); say(200, "<title>Log in")(w) }, 2, 2, fleet.Unavailable, "web page"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked int
			p := newPlace(t, gitserver.Options{Before: func(w http.ResponseWriter, r *http.Request) bool {
				asked++
				if !c.header {
					r.Header.Del("Git-Protocol")
				}
				if c.answer == nil || !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
					return false
				}
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte("command=ls-refs")) {
					c.answer(w)
					return true
				}
				return false
			}})
			want := p.push("main", map[string]string{"a": "1\n"})
			r := open(t, git.Options{URL: p.url, Ref: "main", Auth: git.Auth{Token: secret("x")}})
			for i, n := range []int{c.first, c.second} {
				asked = 0
				rev, err := r.Resolve(t.Context())
				if c.kind != "" {
					wantKind(t, err, c.kind, c.words)
				} else if err != nil || rev.Digest != "sha1:"+want {
					t.Errorf("resolved %v, %v", rev, err)
				}
				if asked != n {
					t.Errorf("poll %d took %d requests, want %d", i+1, asked, n)
				}
			}
		})
	}
}
