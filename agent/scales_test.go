package agent

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

// numbers is where decisions lie, in memory.
type numbers struct {
	mu       sync.Mutex
	list     []fleet.Scale
	deaf     bool          // nothing can be read
	refusing bool          // nothing can be written
	slow     chan struct{} // nothing is written until it is closed
}

func (s *numbers) List(context.Context) ([]fleet.Scale, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf {
		return nil, fleet.Errorf(fleet.Unavailable, "read", "no answer")
	}
	return slices.Clone(s.list), nil
}

func (s *numbers) Decide(_ context.Context, _ fleet.Owner, list, gone []fleet.Scale) error {
	if s.slow != nil {
		<-s.slow
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusing {
		return fleet.Errorf(fleet.Unavailable, "write", "refused")
	}
	s.list = slices.DeleteFunc(s.list, func(o fleet.Scale) bool {
		return slices.ContainsFunc(gone, o.SamePool) || slices.ContainsFunc(list, o.SamePool)
	})
	s.list = append(s.list, list...)
	return nil
}

func (s *numbers) say(list ...fleet.Scale) {
	s.mu.Lock()
	s.list = list
	s.mu.Unlock()
	time.Sleep(time.Minute)
	synctest.Wait()
}

func (s *numbers) said() []fleet.Scale {
	l, _ := s.List(context.Background())
	return l
}

func scaledFleet(rev string, s *fleet.Scaling) fleet.Fleet {
	c := clusterOf(keyA, rev, rev)
	c.ControlPlane = fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane}
	c.Workers = []fleet.Pool{{Name: "md", Role: fleet.RoleWorker, Strategy: fleet.OnDelete, Replicas: 2, Scaling: s}}
	return fleetOf(rev, fleet.Prune{}, c)
}

func five() fleet.Scale {
	return fleet.Scale{Cluster: keyA, Pool: "md", Replicas: 5, Reason: "asked for"}
}

// TestFirstSize writes the number down that a pool has when it is first seen.
func TestFirstSize(t *testing.T) {
	w := newWorld(scaledFleet("1", &fleet.Scaling{Min: 1, Max: 9}), scaledFleet("2", nil))
	w.desired = 4
	w.scales.refusing = true
	bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
		expect(t, "what cannot be written is not known", w.scales.said(), []fleet.Scale(nil))
		w.scales.mu.Lock()
		w.scales.refusing = false
		w.scales.mu.Unlock()
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		as := "as it was before anybody scaled it"
		expect(t, "it is written down with the next pass", w.scales.said(), []fleet.Scale{{Cluster: keyA, Pool: "md", Replicas: 4, Reason: as}})
		expect(t, "and held to", w.had().Workers[0].Replicas, 4)
		w.mu.Lock()
		w.desired = 6
		w.mu.Unlock()
		time.Sleep(time.Hour)
		expect(t, "once", w.scales.said()[0].Replicas, 4)
		w.push("2")
		expect(t, "a pool that Git numbers again has no other number", w.scales.said(), []fleet.Scale{})
		expect(t, "and is as Git says", w.had().Workers[0].Replicas, 2)
	})
}

// TestScaledFromTheFirstPass: an agent that starts knows what was decided before it
// does anything.
func TestScaledFromTheFirstPass(t *testing.T) {
	w := newWorld(scaledFleet("1", &fleet.Scaling{Min: 1, Max: 9}))
	w.scales.list, w.scales.deaf = []fleet.Scale{five()}, true
	bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
		time.Sleep(5 * time.Minute)
		expect(t, "while it cannot be read nothing is done", w.took(), []string(nil))
		w.scales.mu.Lock()
		w.scales.deaf = false
		w.scales.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		expect(t, "the first pass has it", w.had().Workers[0].Replicas, 5)
		more := five()
		more.Replicas = 7
		w.scales.say(more)
		expect(t, "who writes there has a say", w.had().Workers[0].Replicas, 7)
		more.Replicas = 70
		w.scales.say(more)
		expect(t, "within the bounds", w.had().Workers[0].Replicas, 9)
	})
}

// TestScale decides on a pool as an autoscaler does.
func TestScale(t *testing.T) {
	w := newWorld(scaledFleet("1", &fleet.Scaling{Min: 1, Max: 9}))
	w.set(machine("m1", fleet.RoleWorker))
	w.scales.list = []fleet.Scale{five()}
	bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
		if _, err := a.Scalable(keyB); fleet.KindOf(err) != fleet.NotFound {
			t.Errorf("another cluster gives %v", err)
		}
		err := a.Scale(t.Context(), keyA, func(s fleet.Scalable) (fleet.Scale, error) {
			expect(t, "it sees the machines", len(s.Machines), 1)
			expect(t, "and what was decided", s.Cluster.Workers[0].Replicas, 5)
			d := five()
			d.Replicas, d.Remove = 3, []fleet.ProviderID{"sim://m1"}
			return d, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expect(t, "it is written down", w.scales.said()[0].Replicas, 3)
		expect(t, "and done at once", w.had().Workers[0].Scaling.Remove, map[fleet.ProviderID]bool{"sim://m1": true})
		w.scales.refusing = true
		if err := a.Scale(t.Context(), keyA, func(fleet.Scalable) (fleet.Scale, error) { return five(), nil }); err == nil {
			t.Error("what cannot be written is no error")
		}
		synctest.Wait()
		expect(t, "what is not written is not done", w.had().Workers[0].Replicas, 3)
	})
}

// TestScaleWaitsItsTurn has a caller whose time is over not wait for a decision
// that takes long to write.
func TestScaleWaitsItsTurn(t *testing.T) {
	w := newWorld(scaledFleet("1", &fleet.Scaling{Min: 1, Max: 9}))
	w.scales.list = []fleet.Scale{five()}
	bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
		w.scales.slow = make(chan struct{})
		decide := func(ctx context.Context, n int) error {
			return a.Scale(ctx, keyA, func(fleet.Scalable) (fleet.Scale, error) {
				d := five()
				d.Replicas = n
				return d, nil
			})
		}
		first := make(chan error, 1)
		go func() { first <- decide(t.Context(), 6) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := decide(ctx, 7); fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("the second caller hears %v", err)
		}
		close(w.scales.slow)
		if err := <-first; err != nil {
			t.Error(err)
		}
		expect(t, "the first decision stands", w.scales.said()[0].Replicas, 6)
	})
}

// TestScalableWhileRevisionsAreRefused: whoever asks for a cluster and whoever refuses a
// revision do not meet (for the race detector).
func TestScalableWhileRevisionsAreRefused(t *testing.T) {
	w := newWorld(scaledFleet("1", &fleet.Scaling{Min: 1, Max: 9}))
	w.refused["2"], w.fleets["2"] = fleet.Errorf(fleet.Invalid, "render", "rubbish"), fleet.Fleet{}
	bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 600 {
				if _, err := a.Scalable(keyB); fleet.KindOf(err) != fleet.NotFound {
					t.Errorf("a cluster that is not there: %v", err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}()
		w.push("2")
		<-done
	})
}

// TestSignedNumbers: where numbers are signed, one that nobody who counts signed is told and
// changes nothing, nor does an older one, or that the file is gone.
func TestSignedNumbers(t *testing.T) {
	w := newWorld(scaledFleet("1", &fleet.Scaling{Min: 1, Max: 9}))
	w.signed = true
	w.desired = 4
	forged := five()
	forged.Replicas, forged.Distrusted = 8, "it is not signed"
	w.scales.list = []fleet.Scale{forged}
	bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
		replicas := func(reason string, want int) {
			t.Helper()
			expect(t, reason, w.had().Workers[0].Replicas, want)
		}
		time.Sleep(20 * time.Minute)
		replicas("what was there when the keys came does not count, and the pool keeps its machines", 4)
		expect(t, "which is signed", w.scales.said()[0].Distrusted, "")

		at := time.Now().UTC().Truncate(time.Second)
		good := five()
		good.At = at
		w.scales.say(good)
		replicas("what is signed counts", 5)
		w.scales.say(forged)
		replicas("what is not signed changes nothing", 5)
		expect(t, "and stays, for somebody to sign", w.scales.said(), []fleet.Scale{forged})
		expect(t, "it is told", w.whole().Problems, []fleet.Problem{{
			Message: "numbers of machines on the status branch: the number of pool md of cluster prod/a has no effect: it is not signed",
			Hint:    "decide again with fairlead scale, with --signing-key where agents have --request-keys, or repair the file",
		}})
		old := five()
		old.Replicas, old.At = 2, at.Add(-time.Hour)
		w.scales.say(old)
		replicas("an old one changes nothing", 5)
		w.scales.say()
		replicas("nor does its end", 5)
		if list := w.scales.said(); len(list) != 1 || !list[0].Identical(good) || !list[0].At.After(at) {
			t.Errorf("what is gone is written again: %+v", list)
		}
		same := five()
		same.Distrusted, same.At = "its key does not count", at
		w.scales.say(same)
		expect(t, "what counts is signed again where its key counts no more", w.scales.said()[0].Distrusted, "")
		expect(t, "and nothing is to be told", w.whole().Problems, []fleet.Problem(nil))
	})
}

// TestUnsignedNumbers: without keys nothing is dated, and what is gone is gone.
func TestUnsignedNumbers(t *testing.T) {
	w := newWorld(scaledFleet("1", &fleet.Scaling{Min: 1, Max: 9}))
	w.scales.list = []fleet.Scale{five()}
	bubble(t, w, Options{}, func(t *testing.T, a *Agent) {
		if err := a.Scale(t.Context(), keyA, func(fleet.Scalable) (fleet.Scale, error) { s := five(); s.Replicas = 7; return s, nil }); err != nil {
			t.Fatal(err)
		}
		expect(t, "it has no time", w.scales.said()[0].At, time.Time{})
		w.mu.Lock()
		w.desired = 6
		w.mu.Unlock()
		w.scales.say()
		time.Sleep(time.Hour)
		synctest.Wait()
		expect(t, "the pool keeps what it has", w.had().Workers[0].Replicas, 6)
	})
}
