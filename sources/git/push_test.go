package git_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

func one(content string) sources.Commit {
	return sources.Commit{Edits: map[string][]byte{"x": []byte(content)}, Message: "m"}
}

func (p *place) hook(name, script string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.bare, "hooks", name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// A refusal of a push says that nothing happened, and why.
func TestRefusedPush(t *testing.T) {
	for name, c := range map[string]struct {
		make  func(p *place)
		kind  fleet.ErrorKind
		words string
	}{
		"protected branch": {
			func(p *place) { p.hook("pre-receive", "echo 'GH006: Protected branch update failed' >&2; exit 1") },
			fleet.Unauthorized, "GH006: Protected branch update failed",
		},
		"update hook": {
			func(p *place) { p.hook("update", "echo 'You are not allowed to push code' >&2; exit 1") },
			fleet.Unauthorized, "(allow the push of fairlead/status on the server, or set --status-branch or --status-repository)",
		},
		"quota": {
			func(p *place) { p.hook("pre-receive", "echo 'repository is over its quota' >&2; exit 1") },
			fleet.Exhausted, "over its quota",
		},
		"read-only": {
			func(p *place) { p.git("config", "http.receivepack", "false") },
			fleet.Unauthorized, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, gitserver.Options{})
			b := branch(t, git.Options{URL: p.url})
			c.make(p)
			_, err := b.Commit(t.Context(), fleet.Revision{}, one("1"))
			wantKind(t, err, c.kind, c.words)
		})
	}
}

// A lock file that stays is an error that says how to go on; at first it counts as a lost race.
func TestLockedRef(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	b := branch(t, git.Options{URL: p.url})
	lock := filepath.Join(p.bare, "refs", "heads", "fairlead", "status.lock")
	if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err := b.Commit(t.Context(), fleet.Revision{}, one("1"))
		wantKind(t, err, fleet.Conflict, "cannot lock ref")
	}
	_, err := b.Commit(t.Context(), fleet.Revision{}, one("1"))
	wantKind(t, err, fleet.Unavailable, "remove the lock file of refs/heads/fairlead/status on the server")
}

// Safety: a push without an answer never counts as refused, and Read shows whether it
// succeeded.
func TestUnansweredPush(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"killed":       func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"5xx":          func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) },
		"nothing":      func(http.ResponseWriter, *http.Request) {},
		"half":         func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("000eunpack")) },
		"cut sideband": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("0030\x01000eunpack ok\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, gitserver.Options{After: answer})
			b := branch(t, git.Options{URL: p.url})
			_, err := b.Commit(t.Context(), fleet.Revision{}, one("1"))
			wantKind(t, err, fleet.Unanswered, "cannot commit to branch fairlead/status")
			if fleet.Refused(err) {
				t.Error("it counts as refused")
			}
			head, tree, err := b.Read(t.Context())
			if err != nil || head.Digest != "sha1:"+p.git("rev-parse", "fairlead/status") {
				t.Fatalf("read %v, %v", head, err)
			}
			f, err := tree.Open("x")
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		})
	}
}

// A branch that moves between the read and the push is a conflict, in each server's words.
func TestLostRace(t *testing.T) {
	for name, exists := range map[string]bool{"update": true, "create": false} {
		t.Run(name, func(t *testing.T) {
			var p *place
			var move func()
			p = newPlace(t, gitserver.Options{Before: func(_ http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost && move != nil {
					move()
				}
				return false
			}})
			other := p.push("main", map[string]string{"a": "1"})
			b := branch(t, git.Options{URL: p.url})
			var base fleet.Revision
			if exists {
				var err error
				if base, err = b.Commit(t.Context(), base, one("1")); err != nil {
					t.Fatal(err)
				}
			}
			move = func() { p.git("update-ref", "refs/heads/fairlead/status", other) }
			_, err := b.Commit(t.Context(), base, one("2"))
			wantKind(t, err, fleet.Conflict, "")
			if got := p.git("rev-parse", "fairlead/status"); got != other {
				t.Errorf("the branch is at %s", got)
			}
			move = nil
			head, _, err := b.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Commit(t.Context(), head, one("2")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBadCommits(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	b := branch(t, git.Options{URL: p.url})
	for name, c := range map[string]sources.Commit{
		"no message":       {Edits: map[string][]byte{"x": []byte("1")}},
		"path out":         {Edits: map[string][]byte{"../x": []byte("1")}, Message: "m"},
		"root":             {Edits: map[string][]byte{".": []byte("1")}, Message: "m"},
		"file and folder":  {Edits: map[string][]byte{"x": []byte("1"), "x/y": []byte("1")}, Message: "m"},
		"trailer":          {Edits: map[string][]byte{"x": []byte("1")}, Message: "m", Trailers: []string{"no trailer"}},
		"trailer of lines": {Edits: map[string][]byte{"x": []byte("1")}, Message: "m", Trailers: []string{"A: b\nC: d"}},
	} {
		_, err := b.Commit(t.Context(), fleet.Revision{}, c)
		if fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, name := range []string{"", "HEAD", "a..b", "0123456789abcdef0123456789abcdef01234567"} {
		if _, err := open(t, git.Options{URL: p.url}).Branch(name, git.BranchOptions{}); fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("branch %q: got %v", name, err)
		}
	}
}

// countingWriter counts the bytes that are sent.
type countingWriter struct {
	http.ResponseWriter
	n *int
}

func (w countingWriter) Write(p []byte) (int, error) {
	*w.n += len(p)
	return w.ResponseWriter.Write(p)
}

// After the first fetch, a fetch gets what changed and not the whole tree, whatever
// happened to the history. The same holds for a branch that somebody else wrote.
func TestFetchGetsOnlyChanges(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	s, err := gitserver.New(p.root, gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w = countingWriter{w, &sent}
		}
		s.ServeHTTP(w, r)
	}))
	defer srv.Close()
	files := map[string]string{}
	for i := range 500 {
		files[fmt.Sprintf("d%d/f%d", i%10, i)] = strings.Repeat(fmt.Sprint(i*7919), 100)
	}
	p.push("main", files)
	r := open(t, git.Options{URL: srv.URL + "/fleet.git"})
	br, err := r.Branch("main", git.BranchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	both := func() {
		read(t, r, "d1/f1")
		if _, _, err := br.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	both()
	whole := sent
	for name, change := range map[string]func(){
		"push": func() { p.push("main", map[string]string{"d1/f1": "changed"}) },
		"rewind": func() {
			p.push("main", map[string]string{"d1/f1": "changed again"})
			both()
			p.git("update-ref", "refs/heads/main", "main~1")
		},
		"root": func() {
			p.run("", "git", "-C", p.work, "checkout", "--quiet", "--orphan", "new")
			p.push("main", map[string]string{"d2/f2": "changed"}, "--force")
		},
	} {
		change()
		sent = 0
		both()
		if sent > 4096 || whole < 40_000 {
			t.Errorf("%s: %d bytes were sent, %d for the whole", name, sent, whole)
		}
	}
}

// bench returns a repository of 2,000 files in 100 folders.
func bench(b *testing.B) (*place, map[string]string) {
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("clusters/ns%d/c%d.yaml", i%100, i)] = strings.Repeat(fmt.Sprintf("line %d\n", i), 50)
	}
	p := newPlace(b, gitserver.Options{})
	p.push("main", files)
	return p, files
}

func BenchmarkPoll(b *testing.B) {
	p, _ := bench(b)
	r := open(b, git.Options{URL: p.url})
	for b.Loop() {
		if _, err := r.Resolve(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClone(b *testing.B) {
	p, _ := bench(b)
	for b.Loop() {
		read(b, open(b, git.Options{URL: p.url}), "clusters/ns1/c1.yaml")
	}
}

func BenchmarkFetchOneChangedFile(b *testing.B) {
	p, _ := bench(b)
	r := open(b, git.Options{URL: p.url})
	read(b, r, "clusters/ns1/c1.yaml")
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		p.push("main", map[string]string{"clusters/ns1/c1.yaml": fmt.Sprint("changed ", i)})
		b.StartTimer()
		read(b, r, "clusters/ns1/c1.yaml")
	}
}

func BenchmarkCommitAndPush(b *testing.B) {
	p, _ := bench(b)
	br, err := open(b, git.Options{URL: p.url}).Branch("main", git.BranchOptions{})
	if err != nil {
		b.Fatal(err)
	}
	head, _, err := br.Read(b.Context())
	for i := 0; b.Loop(); i++ {
		if err != nil {
			b.Fatal(err)
		}
		head, err = br.Commit(b.Context(), head, sources.Commit{
			Edits: map[string][]byte{"clusters/ns1/c1.yaml": fmt.Append(nil, "changed ", i)}, Message: "m",
		})
	}
}
