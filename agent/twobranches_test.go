package agent

import (
	"context"
	"log/slog"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// TestClaimThatWaitsIsGivenUp: a process whose claim of a new fleet is refused does not claim it once the branch
// accepts pushes again, if another process began on another branch meanwhile.
func TestClaimThatWaitsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &repository{branches: map[string]fstest.MapFS{}, heads: map[string]int{}, closed: "a"}
		var all []*process
		defer func() {
			for _, p := range all {
				p.stop()
				<-p.ended
			}
		}()
		begin := func(named string) *process {
			p := r.begin(named)
			all = append(all, p)
			return p
		}
		run := func(p *process) {
			for n := 0; ; n++ {
				synctest.Wait()
				select {
				case goOn := <-p.waiting:
					goOn <- answered
					continue
				default:
				}
				if n >= 300 { // it waits for time
					return
				}
				time.Sleep(20 * time.Second)
			}
		}
		first := begin("a")
		run(first)
		second := begin("b")
		run(second)
		if list := acting(all); second.acts == 0 || len(list) != 1 {
			t.Fatalf("on the branch that accepts pushes these act: %v", list)
		}
		r.closed = ""
		run(first)
		run(second)
		if list := acting(all); len(list) != 1 {
			t.Errorf("these act: %v", list)
		}
		if _, files := r.read(first.at); count(tree{files}) != first.acts+second.acts { // Git names that one, for the first
			t.Errorf("%d were counted on %q, want %d and %d", count(tree{files}), first.at, first.acts, second.acts)
		}
	})
}

// An open branch answers at once.
type openBranch struct {
	*repository

	name string
}

func (b openBranch) Read(context.Context) (fleet.Revision, sources.Tree, error) {
	head, t := b.read(b.name)
	return head, tree{t}, nil
}

func (b openBranch) Commit(_ context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	return b.commit(b.name, base, c)
}

// TestBeginOnADeletedBranch: a process that begins after the status branch was deleted, and before the one that
// acts has written it again, stops within seconds, not at the next poll. What people asked for stays.
func TestBeginOnADeletedBranch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &repository{branches: map[string]fstest.MapFS{}, heads: map[string]int{}}
		const name, request = "a", "requests/prod/eu/suspend.yaml"
		k := fleet.Key{Namespace: "prod", Name: "eu"}
		begin := func() (*ownership.Claim, *status.Arbiter) {
			c := ownership.New(ownership.Options{Self: "me", Interval: time.Minute}, ownership.Parts{
				Newest: func(context.Context) (fleet.Fleet, error) { return fleet.Fleet{}, nil }, Metrics: metrics.New("v0"),
				Ready: func(string) {}, Log: slog.New(slog.DiscardHandler),
			})
			a := r.arbiter(status.Watch(openBranch{r, name}))
			owned, err := c.Acquire(t.Context(), ownership.Branch{Arbiter: a, Read: func(context.Context) (status.Status, error) { return status.Status{}, nil }})
			if !owned || err != nil {
				t.Fatalf("the fleet is not owned: %v", err)
			}
			return c, a
		}
		begin()
		first, a := begin() // its number is above that of the first process on a new branch
		head, _ := r.read(name)
		if _, err := r.commit(name, head, sources.Commit{Edits: map[string][]byte{request: []byte("by a person")}}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Owner(t.Context()); err != nil {
			t.Fatal(err)
		}
		delete(r.branches, name)
		delete(r.heads, name)
		second, _ := begin()
		for range 3 { // changes, before a poll of either
			time.Sleep(3 * time.Second)
			if err := first.MayAct(k); err != nil {
				t.Errorf("the process that acted before does not: %v", err)
			}
		}
		if second.MayAct(k) == nil {
			t.Error("two processes act")
		}
		if _, files := r.read(name); files[request] == nil || string(files[request].Data) != "by a person" {
			t.Errorf("the request is gone: %v", files)
		}
	})
}
