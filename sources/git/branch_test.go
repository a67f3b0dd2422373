package git_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func branch(t testing.TB, o git.Options) *git.Branch {
	t.Helper()
	b, err := open(t, o).Branch("fairlead/status", git.BranchOptions{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBranch(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	for name, url := range map[string]string{"http": p.url, "file": "file://" + p.bare} {
		t.Run(name, func(t *testing.T) {
			b := branch(t, git.Options{URL: url})
			head, tree, err := b.Read(t.Context())
			if err != nil || !head.IsZero() {
				t.Fatalf("a branch that does not exist reads as %v, %v", head, err)
			}
			if list, err := fs.ReadDir(tree, "."); err != nil || len(list) != 0 {
				t.Fatalf("its tree is %v, %v", list, err)
			}
			one, err := b.Commit(t.Context(), head, sources.Commit{
				Edits:   map[string][]byte{"a": []byte("1"), "d/e/f": []byte("2")},
				Message: "first\n\nbody", Trailers: []string{"Fairlead-Agent: x", "Fairlead-Epoch: 1"},
			})
			if err != nil {
				t.Fatal(err)
			}
			same, err := b.Commit(t.Context(), one, sources.Commit{Edits: map[string][]byte{"a": []byte("1"), "none": nil}, Message: "no change"})
			if err != nil || same != one {
				t.Fatalf("an edit that changes nothing gives %v, %v", same, err)
			}
			two, err := b.Commit(t.Context(), one, sources.Commit{Edits: map[string][]byte{"d/e/f": nil, "g": []byte("3")}, Message: "second"})
			if err != nil {
				t.Fatal(err)
			}
			got := p.git("log", "--format=%an <%ae> %cI%n%B", "fairlead/status")
			want := "Fairlead <fairlead@fairlead.dev> 2026-01-02T03:04:05+00:00\nsecond\n\n" +
				"Fairlead <fairlead@fairlead.dev> 2026-01-02T03:04:05+00:00\nfirst\n\nbody\n\nFairlead-Agent: x\nFairlead-Epoch: 1"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if got := p.git("ls-tree", "-r", "--name-only", "fairlead/status"); got != "a\ng" {
				t.Errorf("files are %q", got)
			}
			if got := p.git("log", "--format=%(trailers:key=Fairlead-Epoch,valueonly)", "-1", "fairlead/status~1"); strings.TrimSpace(got) != "1" {
				t.Errorf("git reads the trailer as %q", got)
			}
			if got := "sha1:" + p.git("rev-parse", "fairlead/status"); got != two.Digest {
				t.Errorf("head is %s, want %s", got, two.Digest)
			}
			p.git("fsck", "--strict")
			_, err = b.Commit(t.Context(), one, sources.Commit{Edits: map[string][]byte{"h": []byte("4")}, Message: "late"})
			wantKind(t, err, fleet.Conflict, "somebody else wrote")
			p.git("branch", "-D", "fairlead/status")
			_, err = b.Commit(t.Context(), two, sources.Commit{Edits: map[string][]byte{"h": []byte("4")}, Message: "gone"})
			wantKind(t, err, fleet.Conflict, "somebody else wrote")
			if head, _, err := b.Read(t.Context()); err != nil || !head.IsZero() {
				t.Errorf("a deleted branch reads as %v, %v", head, err)
			}
		})
	}
}

// Of many writers on one head exactly one succeeds. The others succeed after repeating
// their commits on the new head.
func TestCompareAndSwap(t *testing.T) {
	p := newPlace(t, gitserver.Options{})
	const writers = 8
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			b := branch(t, git.Options{URL: p.url})
			for {
				head, _, err := b.Read(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				_, err = b.Commit(t.Context(), head, sources.Commit{
					Edits: map[string][]byte{fmt.Sprintf("f%d", i): []byte("x")}, Message: fmt.Sprintf("writer %d", i),
				})
				if err == nil {
					return
				}
				if fleet.KindOf(err) != fleet.Conflict {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := p.git("rev-list", "--count", "fairlead/status"); got != "8" {
		t.Errorf("%s commits, want 8", got)
	}
	if got := p.git("ls-tree", "--name-only", "fairlead/status"); got != "f0\nf1\nf2\nf3\nf4\nf5\nf6\nf7" {
		t.Errorf("files are %q", got)
	}
}

// However often a branch is written, its memory is bounded, and nothing is fetched again.
func TestBoundedMemory(t *testing.T) {
	var fetches atomic.Int64
	p := newPlace(t, gitserver.Options{Before: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			fetches.Add(1)
		}
		return false
	}})
	b := branch(t, git.Options{URL: p.url})
	var head fleet.Revision
	for i := range 14 {
		var err error
		head, err = b.Commit(t.Context(), head, sources.Commit{
			Edits: map[string][]byte{"big": append(make([]byte, 4<<20), byte(i)), fmt.Sprint("f", i): []byte("x")}, Message: "m",
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if held := b.Held() >> 20; held > 40 {
		t.Errorf("%d MiB are held", held)
	}
	if n := fetches.Load(); n > 0 {
		t.Errorf("%d fetches of what was written here", n)
	}
	if got := p.git("ls-tree", "--name-only", "fairlead/status"); strings.Count(got, "\n") != 14 {
		t.Errorf("files are %q", got)
	}
}
