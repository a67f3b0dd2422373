package git_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

// A poll asks the server once for both branches. A push is seen at once all the same.
func TestOnePollOneRequest(t *testing.T) {
	var asked atomic.Int32
	p := newPlace(t, gitserver.Options{Before: func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/info/refs") && r.URL.Query().Get("service") == "git-upload-pack" {
			asked.Add(1)
		}
		return false
	}})
	p.push("main", map[string]string{"a": "1\n"})
	repo := open(t, git.Options{URL: p.url})
	b, err := repo.Branch("fairlead/status", git.BranchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	head, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Message: "one", Edits: map[string][]byte{"s": []byte("1\n")}})
	if err != nil {
		t.Fatal(err)
	}
	asked.Store(0)
	if _, err := repo.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 { // for the owner, the requests, the numbers of machines
		if got, _, err := b.Read(t.Context()); err != nil || got != head {
			t.Fatalf("read %v, %v, want %v", got, err, head)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("a poll asked the server %d times, want once", n)
	}
	next, err := b.Commit(t.Context(), head, sources.Commit{Message: "two", Edits: map[string][]byte{"s": []byte("2\n")}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := b.Read(t.Context()); err != nil || got != next {
		t.Errorf("read %v, %v after a push, want %v", got, err, next)
	}
}

// A branch that moves between a poll and the fetch is read at its new head, also from a
// server that serves heads only, as git does by default.
func TestReadOfBranchThatMoves(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	p.git("config", "uploadpack.allowAnySHA1InWant", "false")
	p.push("main", map[string]string{"a": "1\n"})
	p.push("fairlead/status", map[string]string{"s": "1\n"})
	repo := open(t, git.Options{URL: p.bare})
	b, err := repo.Branch("fairlead/status", git.BranchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	head := p.push("fairlead/status", map[string]string{"s": "2\n"})
	got, _, err := b.Read(t.Context())
	if err != nil || got.Digest != "sha1:"+head {
		t.Errorf("read %v, %v, want %s", got, err, head)
	}
}
