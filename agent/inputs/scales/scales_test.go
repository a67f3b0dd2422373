package scales_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/inputs/scales"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

var (
	key   = fleet.Key{Namespace: "prod", Name: "a"}
	owner = fleet.Owner{Agent: "me", Epoch: 1}
)

// world is a branch with numbers of machines, and the fleet that they are about.
type world struct {
	list     []fleet.Scale
	unread   error         // of List
	refusing bool          // nothing can be written
	slow     chan struct{} // nothing is written until it is closed
	writes   int
	state    rollout.State
	notified int
}

func (w *world) List(context.Context) ([]fleet.Scale, error) { return slices.Clone(w.list), w.unread }

func (w *world) Decide(in rollout.Input) rollout.Decision {
	in.Before, in.Now = w.state, time.Now()
	d := rollout.Decide(in)
	w.state = d.State
	return d
}

func (w *world) Now() rollout.State { return w.state }

func (w *world) Report(fleet.Key) (fleet.Report, bool) { return fleet.Report{}, true }

// branch is what of w is written to.
type branch struct{ *world }

func (b branch) Decide(_ context.Context, _ fleet.Owner, list, gone []fleet.Scale) error {
	if b.slow != nil {
		<-b.slow
	}
	if b.refusing {
		return errors.New("refused")
	}
	b.writes++
	b.list = slices.DeleteFunc(b.list, func(o fleet.Scale) bool {
		return slices.ContainsFunc(gone, o.SamePool) || slices.ContainsFunc(list, o.SamePool)
	})
	b.list = append(b.list, list...)
	return nil
}

// scales returns those of w, which has one cluster with a pool that may be scaled.
func (w *world) scales(signed bool) *scales.Scales {
	c := fleet.Cluster{Key: key, Workers: []fleet.Pool{{Name: "md", Replicas: 2, Strategy: fleet.OnDelete, Scaling: &fleet.Scaling{Min: 1, Max: 9}}}}
	f := fleet.Fleet{ID: "f", Revision: fleet.Revision{Digest: "sha1:1"}, Clusters: []fleet.Cluster{c}}
	w.Decide(rollout.Input{Newest: &rollout.Revision{Revision: f.Revision, Fleet: &f}})
	return scales.New(scales.Parts{Branch: branch{w}, Fleet: w, Signed: signed, Notify: func() { w.notified++ }, Log: slog.New(slog.DiscardHandler)})
}

func (w *world) replicas() int {
	t, _ := w.state.Target(key)
	return t.Cluster.Workers[0].Replicas
}

func to(n int) func(fleet.Scalable) (fleet.Scale, error) {
	return func(fleet.Scalable) (fleet.Scale, error) {
		return fleet.Scale{Cluster: key, Pool: "md", Replicas: n}, nil
	}
}

// A number counts once it is written.
func TestCountsOnceWritten(t *testing.T) {
	w := &world{refusing: true}
	s := w.scales(false)
	if err := s.Scale(t.Context(), owner, key, to(5)); err == nil || w.replicas() != 2 {
		t.Errorf("it counts before it is written: %d machines, %v", w.replicas(), err)
	}
	w.refusing = false
	if err := s.Scale(t.Context(), owner, key, to(5)); err != nil || w.replicas() != 5 {
		t.Errorf("it does not count: %d machines, %v", w.replicas(), err)
	}
	if !w.list[0].At.IsZero() {
		t.Error("it is dated, and nobody signs it")
	}
	w.list = nil
	if s.Poll(t.Context(), owner); w.replicas() != 2 {
		t.Errorf("what is gone counts still: %d machines", w.replicas())
	}
}

// Where numbers are signed each has its time, and what is gone is written again.
func TestSigned(t *testing.T) {
	w := &world{}
	s := w.scales(true)
	if err := s.Scale(t.Context(), owner, key, to(5)); err != nil || w.list[0].At.IsZero() {
		t.Errorf("it has no time: %+v, %v", w.list, err)
	}
	w.list = nil
	s.Poll(t.Context(), owner)
	if len(w.list) != 1 || w.replicas() != 5 {
		t.Errorf("what is gone is not written again: %+v", w.list)
	}
	w.list[0].Distrusted, w.list[0].Replicas = "it is not signed", 8
	s.Poll(t.Context(), owner)
	s.Poll(t.Context(), owner)
	if p, ok := s.Problem(); !ok || w.notified != 1 || w.replicas() != 5 {
		t.Errorf("what nobody signed: told %d times (%s), %d machines", w.notified, p, w.replicas())
	}
}

// The first size of a pool is written down once.
func TestFirst(t *testing.T) {
	w := &world{}
	s := w.scales(false)
	target, _ := w.state.Target(key)
	found := fleet.Report{Cluster: key, Phase: fleet.PhaseProvisioned, Pools: []fleet.PoolReport{{Name: "md", Desired: 4}}}
	s.First(t.Context(), owner, target.Cluster, found)
	found.Pools[0].Desired = 6
	s.First(t.Context(), owner, target.Cluster, found)
	if w.writes != 1 || w.replicas() != 4 {
		t.Errorf("%d writes, %d machines", w.writes, w.replicas())
	}
	w = &world{}
	s = w.scales(false)
	found.Phase = "" // nothing was seen
	if s.First(t.Context(), owner, target.Cluster, found); w.writes > 0 {
		t.Error("what was not seen is written down")
	}
}

// Who waits for a turn waits no longer than the context says.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{slow: make(chan struct{})}
		s := w.scales(false)
		first := make(chan error, 1)
		go func() { first <- s.Scale(t.Context(), owner, key, to(6)) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Scale(ctx, owner, key, to(7)); fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("the second one hears %v", err)
		}
		close(w.slow)
		if err := <-first; err != nil || w.replicas() != 6 {
			t.Errorf("the first one hears %v: %d machines", err, w.replicas())
		}
	})
}
