package dir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
)

func wantKind(t *testing.T, err error, kind fleet.ErrorKind, words string) {
	t.Helper()
	if fleet.KindOf(err) != kind || !strings.Contains(err.Error(), words) {
		t.Fatalf("got error %v of kind %q, want kind %q with %q", err, fleet.KindOf(err), kind, words)
	}
}

func TestBranch(t *testing.T) {
	root := t.TempDir()
	f := open(t, dir.Options{Path: root})
	before, err := f.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := f.Branch()
	head, tr, err := b.Read(t.Context())
	if err != nil || !head.IsZero() {
		t.Fatalf("a new branch reads %v, %v", head, err)
	}
	if list, err := fs.ReadDir(tr, "."); err != nil || len(list) != 0 {
		t.Fatalf("its tree is %v, %v", list, err)
	}
	one, err := b.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"a": []byte("1"), "d/e": []byte("2")}, Message: "first", Trailers: []string{"K: v"}})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := b.Commit(t.Context(), one, sources.Commit{Edits: map[string][]byte{"a": []byte("1"), "none": nil}, Message: "x"}); err != nil || same != one {
		t.Fatalf("an edit that changes nothing gives %v, %v", same, err)
	}
	two, err := b.Commit(t.Context(), one, sources.Commit{Edits: map[string][]byte{"d/e": nil, "a": []byte("3")}, Message: "second"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Commit(t.Context(), one, sources.Commit{Edits: map[string][]byte{"z": []byte("3")}, Message: "late"})
	wantKind(t, err, fleet.Conflict, "somebody else wrote")
	_, err = b.Commit(t.Context(), two, sources.Commit{Edits: map[string][]byte{"../z": []byte("3")}, Message: "out"})
	wantKind(t, err, fleet.Invalid, "not a path")
	if got, err := os.ReadFile(filepath.Join(root, ".fairlead/status/a")); err != nil || string(got) != "3" {
		t.Errorf("a is %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(root, ".fairlead/status/d")); err == nil {
		t.Error("an empty folder is left")
	}
	log, err := os.ReadFile(filepath.Join(root, ".fairlead/log"))
	if diff := cmp.Diff("first\n\nK: v\n\nsecond\n\n\n\n", string(log)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if list, err := os.ReadDir(filepath.Join(root, ".fairlead/generations")); err != nil || len(list) != 2 {
		t.Errorf("generations: %v, %v", list, err)
	}
	if after, err := f.Resolve(t.Context()); err != nil || after != before {
		t.Errorf("status changed the fleet: %v, %v", after, err)
	}
}

// Of many commits on one head exactly one succeeds.
func TestCompareAndSwap(t *testing.T) {
	root := t.TempDir()
	head, err := open(t, dir.Options{Path: root}).Branch().Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"a": []byte("1")}, Message: "first"})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	landed := 0
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			b := open(t, dir.Options{Path: root}).Branch()
			_, err := b.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"a": fmt.Appendf(nil, "by %d", i)}, Message: "race"})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				landed++
			} else if fleet.KindOf(err) != fleet.Conflict {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if landed != 1 {
		t.Errorf("%d landed", landed)
	}
}

// A commit waits for the lock, and ends with its context.
func TestLock(t *testing.T) {
	root := t.TempDir()
	b := open(t, dir.Options{Path: root}).Branch()
	head, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"a": []byte("1")}, Message: "first"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(root, ".fairlead/lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Commit(ctx, head, sources.Commit{Edits: map[string][]byte{"a": []byte("2")}, Message: "second"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("under a lock: %v", err)
	}
}

// TestFollowed: a folder counts as followed while Notify runs. A file that an earlier agent
// left does not count.
func TestFollowed(t *testing.T) {
	f := open(t, dir.Options{Path: t.TempDir()})
	if f.Branch().Followed() {
		t.Error("a folder that nobody has ever followed is followed")
	}
	if _, err := f.Branch().Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{"a": []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	if f.Branch().Followed() {
		t.Error("a folder with a status that nobody follows is followed")
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Notify(ctx, func() {}) }()
	for !f.Branch().Followed() { // the goroutine may not run yet
		runtime.Gosched()
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if f.Branch().Followed() {
		t.Error("it is still followed when that is over")
	}
}
