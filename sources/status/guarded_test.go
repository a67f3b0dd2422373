package status

import (
	"context"
	"errors"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// written counts what is written.
type written struct {
	sources.Branch
	commits, compactions int
}

func (w *written) Commit(context.Context, fleet.Revision, sources.Commit) (fleet.Revision, error) {
	w.commits++
	return fleet.Revision{}, nil
}

func (w *written) Compact(context.Context, fleet.Revision, sources.Compaction) (fleet.Revision, sources.History, error) {
	w.compactions++
	return fleet.Revision{}, sources.History{}, nil
}

// TestGuarded: a process that lost the right to write writes nothing.
func TestGuarded(t *testing.T) {
	lost := errors.New("another replica leads")
	w := &written{}
	for _, c := range []struct {
		may  func() error
		want error
	}{{nil, nil}, {func() error { return nil }, nil}, {func() error { return lost }, lost}} {
		b := Guarded(w, c.may)
		if _, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{}); !errors.Is(err, c.want) {
			t.Errorf("a commit: %v, want %v", err, c.want)
		}
		if _, _, err := b.(sources.Compactor).Compact(t.Context(), fleet.Revision{}, sources.Compaction{}); !errors.Is(err, c.want) {
			t.Errorf("a compaction: %v, want %v", err, c.want)
		}
	}
	if w.commits != 2 || w.compactions != 2 {
		t.Errorf("there were %d commits and %d compactions, want 2 of each", w.commits, w.compactions)
	}
	rev := fleet.Revision{Ref: "r", Digest: "d"}
	plain := struct{ sources.Branch }{}
	if got, _, err := Guarded(plain, func() error { return lost }).(sources.Compactor).Compact(t.Context(), rev, sources.Compaction{}); got != rev || err != nil {
		t.Errorf("a branch that cannot be compacted: %v, %v", got, err)
	}
}
