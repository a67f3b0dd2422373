package driver_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/driver"
)

func TestLocks(t *testing.T) {
	var l driver.Locks[string]
	if !l.TryLock("a") || l.TryLock("a") || !l.TryLock("b") || !l.Locked("a") {
		t.Error("a thing is locked by one at a time")
	}
	l.Unlock("a")
	if l.Locked("a") || !l.TryLock("a") {
		t.Error("what was unlocked is free")
	}
}

func TestMemory(t *testing.T) {
	var m driver.Memory[string, int]
	if v, ok := m.Of("a"); ok || v != 0 || m.Has("a") || len(m.All()) > 0 {
		t.Error("something is noted in an empty memory")
	}
	m.Forget("a")
	m.Note("a", 1)
	m.Note("a", 2)
	if first := m.NoteFirst("a", 3); first != 2 {
		t.Errorf("%d was noted first, want 2", first)
	}
	if first := m.NoteFirst("b", 4); first != 4 || !m.Has("b") {
		t.Errorf("%d was noted first, want 4", first)
	}
	m.Note("c", 5)
	all := m.All()
	m.ForgetIf(func(_ string, v int) bool { return v > 4 })
	m.Forget("b")
	if d := cmp.Diff(map[string]int{"a": 2}, m.All()); d != "" {
		t.Errorf("noted (-want +have): %s", d)
	}
	if d := cmp.Diff(map[string]int{"a": 2, "b": 4, "c": 5}, all); d != "" {
		t.Errorf("what was returned changed (-want +have): %s", d)
	}
}

// TestMemoryNotesOneFirst: of many that note something at one time all get what the first noted.
func TestMemoryNotesOneFirst(t *testing.T) {
	var m driver.Memory[string, int]
	var all sync.WaitGroup
	var others atomic.Int32
	for i := range 50 {
		all.Go(func() {
			if m.NoteFirst("a", i) != i {
				others.Add(1)
			}
		})
	}
	all.Wait()
	if others.Load() != 49 {
		t.Errorf("%d of 50 were not first", others.Load())
	}
}

func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l driver.Leaving
		l.Note("a")
		time.Sleep(10 * time.Minute)
		l.Note("b")
		l.Note("c")
		l.Forget("c")
		if got := l.All(); len(got) != 2 || !l.Has("a") || !l.Has("b") || l.Has("c") {
			t.Errorf("left the endpoint: %v", got)
		}
		time.Sleep(6 * time.Minute) // the planner deleted a, or decided otherwise
		if got := l.All(); len(got) != 1 || l.Has("a") || !l.Has("b") {
			t.Errorf("a quarter of an hour later: %v", got)
		}
	})
}
