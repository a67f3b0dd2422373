package replicas_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership/replicas"
	"fairlead.dev/agent/ownership/replicas/leasetest"
)

// TestSlowAnswer counts from the question: when the answer comes, most of the
// time that was granted is over.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a := w.start("a", nil)
		w.leader(5 * time.Second)
		a.Fail(leasetest.Faults{Slow: 6 * time.Second})
		for before := w.api.Writes(); w.api.Writes() == before; {
			time.Sleep(10 * time.Millisecond)
		}
		a.Fail(leasetest.Faults{Away: true})
		time.Sleep(9500 * time.Millisecond)
		if len(w.acting()) == 0 {
			t.Error("it stopped too early")
		}
		time.Sleep(600 * time.Millisecond)
		if len(w.acting()) > 0 {
			t.Error("it acts on an answer that took six seconds, ten seconds after it asked")
		}
		a.end()
		<-a.done
	})
}

// TestShortOutage renews in time after an outage that is shorter than the
// deadline: nobody else begins.
func TestShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a, b := w.start("a", nil), w.start("b", nil)
		first := w.leader(5 * time.Second)
		for range 20 {
			a.Fail(leasetest.Faults{Away: true})
			b.Fail(leasetest.Faults{Away: true})
			time.Sleep(6 * time.Second)
			a.Fail(leasetest.Faults{})
			b.Fail(leasetest.Faults{})
			time.Sleep(4 * time.Second)
		}
		if terms := w.terms(); !slices.Equal(terms, []string{first}) {
			t.Errorf("the terms are %v", terms)
		}
		for _, r := range []*replica{a, b} {
			r.end()
			<-r.done
		}
	})
}

// TestClockJump: a clock that jumped forward may tell of a process that was
// asleep. One that jumped back says nothing.
func TestClockJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a := w.start("a", nil)
		w.leader(5 * time.Second)
		w.jump(-time.Hour)
		time.Sleep(30 * time.Second)
		if terms := w.terms(); len(terms) != 1 {
			t.Errorf("after a jump back the terms are %v", terms)
		}
		w.jump(2 * time.Hour)
		time.Sleep(5 * time.Second)
		w.leader(30 * time.Second)
		if terms := w.terms(); len(terms) != 2 {
			t.Errorf("after a jump forward the terms are %v, and it should have begun a new one", terms)
		}
		a.end()
		<-a.done
	})
}

// TestInterruptedTerm takes the Lease away from a leader and gives it back
// before the leader looks: that is another term.
func TestInterruptedTerm(t *testing.T) {
	for name, disturb := range map[string]func(w *world, other *leasetest.Client){
		"Deleted": func(w *world, _ *leasetest.Client) { w.api.Remove(lease) },
		"HeldAndReleased": func(w *world, other *leasetest.Client) {
			l := w.api.Lease(lease)
			*l.Spec.HolderIdentity = "" // what a replica leaves that led meanwhile
			*l.Spec.LeaseTransitions++
			if _, err := other.Leases("").Update(w.t.Context(), l, updateOptions); err != nil {
				w.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.end()
				a := w.start("a", nil)
				w.leader(5 * time.Second)
				w.disturbed = true
				disturb(w, w.api.Client())
				time.Sleep(3 * time.Second)
				w.leader(30 * time.Second)
				if terms := w.terms(); !slices.Equal(terms, []string{"a", "a"}) {
					t.Errorf("the terms are %v, the first should have ended", terms)
				}
				a.end()
				<-a.done
			})
		})
	}
}

// TestStuckWork does not give back the Lease of work that never ends.
func TestStuckWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := leasetest.New()
		e, err := replicas.NewElector(replicas.ElectionOptions{Leases: api.Client(), Namespace: "n", Name: lease, Identity: "a"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done, free := make(chan error, 1), make(chan struct{})
		go func() {
			done <- e.Run(ctx, func(context.Context, *replicas.Term) error { <-free; return nil })
		}()
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "did not end") {
			t.Errorf("ended with %v", err)
		}
		if holder := api.Holder(lease); holder != "a" {
			t.Errorf("the lease of work that goes on was given to %q", holder)
		}
		close(free)
	})
}

// TestSlowElection elects a replica whose first answer came too late to lead by it.
func TestSlowElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a := w.start("a", nil)
		a.Fail(leasetest.Faults{Slow: 11 * time.Second})
		for w.api.Writes() == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		a.Fail(leasetest.Faults{})
		w.leader(20 * time.Second)
		a.end()
		<-a.done
	})
}
