package status_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A status of the fleet whose push was done and not answered stays: the next report does not bring back the one
// before.
func TestUnansweredFleetStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := owned(t)
		w := writer(b, status.Options{})
		problems := func(some ...string) sources.FleetStatus {
			s := sources.FleetStatus{Fleet: "f"}
			for _, text := range some {
				s.Problems = append(s.Problems, fleet.Problem{Message: text})
			}
			return s
		}
		w.PutFleet(problems("one"))
		flush(t, w)
		b.after = func() error {
			b.after = nil
			return fleet.Errorf(fleet.Unanswered, "commit", "no answer")
		}
		w.PutFleet(problems("one", "two"))
		flush(t, w)
		w.Put(report(fleet.PhaseWorkers))
		flush(t, w)
		_, files := b.head()
		s, err := status.Read(tree{files})
		if err != nil || len(s.Fleet.Problems) != 2 {
			t.Errorf("%v, problems %v", err, s.Fleet.Problems)
		}
	})
}

// After a lost race the meaning is applied to the new head: what others wrote
// stays, and the actions are told once.
func TestRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := owned(t)
		races := 0
		w := writer(b, status.Options{Observer: status.Observer{Race: func(error) { races++ }}})
		w.Put(report(fleet.PhaseWorkers))
		flush(t, w)
		rev, _, _ := b.Read(t.Context())
		if _, err := b.Commit(t.Context(), rev, sources.Commit{Edits: map[string][]byte{"requests/x": []byte("x")}, Message: "a wish"}); err != nil {
			t.Fatal(err)
		}
		w.Put(report(fleet.PhaseProvisioned))
		flush(t, w)
		if races != 1 || b.file(t, "requests/x") != "x" || !strings.Contains(b.file(t, "clusters/prod/eu-1.yaml"), "phase: Provisioned") {
			t.Errorf("after a race: %d races, files %v", races, b.last().Edits)
		}
	})
}

// A push that landed without an answer is found, and not repeated.
func TestUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := owned(t)
		w := writer(b, status.Options{})
		w.Put(report(fleet.PhaseWorkers))
		once := 0
		b.after = func() error {
			if once++; once == 1 {
				return fleet.Errorf(fleet.Unanswered, "commit", "connection reset")
			}
			return nil
		}
		flush(t, w)
		if len(b.log) != 2 || b.commits != 2 {
			t.Errorf("%d commits from %d tries", len(b.log), b.commits)
		}
	})
}

// Safety: a deposed agent writes nothing, not even one commit.
func TestDeposedWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := owned(t)
		w := writer(b, status.Options{})
		w.Put(report(fleet.PhaseWorkers))
		flush(t, w)
		if o, err := status.NewArbiter(b).HandOver(t.Context(), self, "agent-b", ""); err != nil || o != (fleet.Owner{Agent: "agent-b", Epoch: 2}) {
			t.Fatalf("hand-over gives %v, %v", o, err)
		}
		n := len(b.log)
		done := make(chan error)
		go func() { done <- w.Run(t.Context()) }()
		w.Put(report(fleet.PhaseProvisioned))
		err := <-done
		if !errors.Is(err, status.ErrDeposed) || !strings.Contains(err.Error(), "agent-b does, with epoch 2") {
			t.Errorf("got %v", err)
		}
		if _, err := w.Flush(t.Context()); !errors.Is(err, status.ErrDeposed) || len(b.log) != n {
			t.Errorf("after that: %v, %d commits, want %d", err, len(b.log), n)
		}
	})
}

func TestDeletedBranch(t *testing.T) {
	w := writer(&branch{}, status.Options{})
	w.Put(report(fleet.PhaseWorkers))
	if _, err := w.Flush(t.Context()); !errors.Is(err, status.ErrDeposed) || !strings.Contains(err.Error(), "no agent does") {
		t.Errorf("got %v", err)
	}
}

// Reports are gathered, headlines are not kept waiting, and a second headline
// waits for the gap.
func TestCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := owned(t)
		var lags []time.Duration
		w := writer(b, status.Options{Observer: status.Observer{Commit: func(_ int, _, lag time.Duration) { lags = append(lags, lag) }}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		put := func(change func(r *fleet.Report)) {
			r := report(fleet.PhaseWorkers)
			change(&r)
			w.Put(r)
			synctest.Wait()
		}
		put(func(*fleet.Report) {}) // the first is a headline
		for i := range 5 {
			time.Sleep(time.Second)
			put(func(r *fleet.Report) { r.Waiting = []string{fmt.Sprint(i)} })
		}
		time.Sleep(20 * time.Second)
		put(func(r *fleet.Report) { r.Failure = "it failed" }) // headline
		put(func(r *fleet.Report) { r.Failure = "" })          // headline, after the gap
		time.Sleep(2 * time.Second)
		put(func(r *fleet.Report) { r.Waiting = []string{"end"} })
		cancel() // the last flush
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]time.Duration{0, 10 * time.Second, 0, time.Second, 0}, lags); diff != "" {
			t.Error(diff)
		}
	})
}

// A credential that cannot push makes the writer wait, say so once, and go on
// with everything once it may.
func TestReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := owned(t)
		var told []error
		w := writer(b, status.Options{Observer: status.Observer{Error: func(err error) { told = append(told, err) }}})
		b.before = func() error { return fleet.Errorf(fleet.Unauthorized, "commit", "protected branch") }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		w.Put(report(fleet.PhaseWorkers))
		time.Sleep(200 * time.Second) // it tries at once, after 1 minute and after 3 minutes
		synctest.Wait()
		if w.Err() == nil || len(told) != 1 || b.commits != 4 {
			t.Errorf("err %v, told %d times, %d tries", w.Err(), len(told), b.commits)
		}
		b.mu.Lock()
		b.before = nil
		b.mu.Unlock()
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		if w.Err() != nil || len(told) != 2 || len(b.log) != 2 || !strings.Contains(b.last().Message, "CreateMachine") {
			t.Errorf("err %v, told %d times, %d commits", w.Err(), len(told), len(b.log))
		}
		cancel()
		<-done
	})
}
