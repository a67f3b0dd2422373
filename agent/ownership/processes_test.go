package ownership_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// processes is a branch that tells processes apart.
type processes struct{ branch }

func (p *processes) Begin(_ context.Context, of fleet.Owner) (fleet.Owner, fleet.Succession, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owner.Incarnation++
	return p.owner, p.next, nil
}

func (p *processes) Assume(ctx context.Context, of fleet.Owner) (fleet.Owner, fleet.Succession, error) {
	return p.Begin(ctx, of)
}

func (p *processes) Settle(context.Context) error { return nil }

func acquire(t *testing.T, p *processes) *ownership.Claim {
	t.Helper()
	c := ownership.New(ownership.Options{Self: "me", Interval: time.Minute}, ownership.Parts{Metrics: unseen{}, Ready: func(string) {}, Log: slog.New(slog.DiscardHandler)})
	owned, err := c.Acquire(t.Context(), ownership.Branch{Arbiter: p, Read: func(context.Context) (status.Status, error) { return status.Status{}, nil }})
	if !owned || err != nil {
		t.Fatalf("the fleet is not owned: %v", err)
	}
	return c
}

// TestSecondProcess: a process of the same agent that begins ends the first one, which
// changes nothing more, even before its next poll.
func TestSecondProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &processes{}
		first := acquire(t, p)
		k := fleet.Key{Namespace: "prod", Name: "eu"}
		if err := first.MayAct(k); err != nil {
			t.Errorf("the only process may not act: %v", err)
		}
		second := acquire(t, p)
		time.Sleep(3 * time.Second)
		if first.MayAct(k) == nil {
			t.Error("the first process acts beside the second one")
		}
		err := first.Check(t.Context(), written)
		if _, lost := errors.AsType[*ownership.NotOwnerError](err); !lost || !strings.Contains(err.Error(), `process 2 of agent "me" acts for the fleet now, this is process 1`) {
			t.Errorf("the first process ends with %v", err)
		}
		if err := second.Check(t.Context(), written); err != nil {
			t.Errorf("the second process ends: %v", err)
		}
		if err := second.MayAct(k); err != nil {
			t.Errorf("the second process may not act: %v", err)
		}
	})
}

// TestTwinProcess: a process with the same number that began after the status branch was put back
// ends the first one.
func TestTwinProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &processes{branch{owner: fleet.Owner{Agent: "me", Epoch: 1, Process: "a"}}}
		first := acquire(t, p)
		k := fleet.Key{Namespace: "prod", Name: "eu"}
		p.mu.Lock()
		p.owner.Process = "b"
		p.mu.Unlock()
		time.Sleep(3 * time.Second)
		if first.MayAct(k) == nil {
			t.Error("the first process acts beside the second one")
		}
		err := first.Check(t.Context(), written)
		if _, lost := errors.AsType[*ownership.NotOwnerError](err); !lost || !strings.Contains(err.Error(), `process 1 of agent "me" acts for the fleet now, this is another process of it, with the same number`) {
			t.Errorf("the first process ends with %v", err)
		}
	})
}

// TestOtherPlace: an agent of the same name with another secret store, which a hand-over or a
// take-over made the owner, stops changes before the next poll.
func TestOtherPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &processes{branch{owner: fleet.Owner{Agent: "me", Epoch: 1, Place: "here"}}}
		c := ownership.New(ownership.Options{Self: "me", Interval: time.Minute}, ownership.Parts{
			Place:   func(context.Context) (string, error) { return "here", nil },
			Metrics: unseen{}, Ready: func(string) {}, Log: slog.New(slog.DiscardHandler),
		})
		if owned, err := c.Acquire(t.Context(), ownership.Branch{Arbiter: p, Read: func(context.Context) (status.Status, error) { return status.Status{}, nil }}); !owned || err != nil {
			t.Fatalf("the fleet is not owned: %v", err)
		}
		p.mu.Lock()
		p.owner.Place = "there"
		p.mu.Unlock()
		time.Sleep(3 * time.Second)
		if c.MayAct(fleet.Key{Namespace: "prod", Name: "eu"}) == nil {
			t.Error("it acts beside an agent in another place")
		}
	})
}

// A counted branch counts reads, and cannot be read while it is down.
type counted struct {
	processes

	reads int
	down  bool
}

func (b *counted) Succession(ctx context.Context) (fleet.Owner, fleet.Succession, error) {
	b.mu.Lock()
	b.reads++
	down := b.down
	b.mu.Unlock()
	if down {
		return fleet.Owner{}, fleet.Succession{}, fleet.Errorf(fleet.Unavailable, "read", "no answer")
	}
	return b.processes.Succession(ctx)
}

// TestUnconfirmed: changes go on while the branch cannot be read, and do not each ask for it.
func TestUnconfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &counted{}
		c := owning(t, b, ownership.Options{})
		b.down, b.reads = true, 0
		for range 60 {
			time.Sleep(time.Second)
			if err := c.MayAct(fleet.Key{Namespace: "prod", Name: "eu"}); err != nil {
				t.Fatal(err)
			}
		}
		if b.reads != 2 {
			t.Errorf("in a minute the branch is read %d times", b.reads)
		}
	})
}

// TestGrantEnds: an owner that agreed to a move which does not go on withdraws it, so that
// secrets can be stored again.
func TestGrantEnds(t *testing.T) {
	for _, step := range []fleet.SuccessionStep{fleet.StepGranted, fleet.StepMoved} {
		synctest.Test(t, func(t *testing.T) {
			b := &branch{}
			c := owning(t, b, ownership.Options{})
			b.set(fleet.Succession{ID: "1", To: "other", Step: step})
			for range 359 {
				b.set(fleet.Succession{ID: "1", To: "other", Step: step, Message: time.Now().String()}) // each attempt of the successor says why it failed
				if err := c.Check(t.Context(), written); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
			}
			if got := b.changes(); len(got) > 0 {
				t.Errorf("at %s the move is changed early: %q", step, got)
			}
			time.Sleep(time.Minute)
			_ = c.Check(t.Context(), written)
			if _, next, _ := b.Succession(t.Context()); next != (fleet.Succession{}) {
				t.Errorf("after six hours at %s the move is %+v", step, next)
			}
		})
	}
}

// without is a Looker that sees machines, and no secrets.
type without struct{ err error }

func (w without) Look(context.Context, *fleet.Cluster) (fleet.Observed, error) {
	var o fleet.Observed
	o.Infrastructure.Machines = []fleet.Machine{{Name: "m"}}
	o.Secrets.Missing = []fleet.SecretName{fleet.ClusterCA}
	return o, w.err
}

// TestProofBeforeClaim: an agent without the secrets of clusters that have machines does not
// claim a fleet that nobody owns. An agent that waits does not without a look at each cluster, for
// as long as its owner may come back.
func TestProofBeforeClaim(t *testing.T) {
	silent := errors.New("no answer")
	for name, c := range map[string]struct {
		wait   bool
		looker without
		within time.Duration
		want   bool
	}{
		"no secrets":                         {false, without{}, time.Hour, false},
		"no secrets, waiting":                {true, without{}, time.Hour, false},
		"a silent cloud":                     {false, without{silent}, time.Minute, true},
		"a silent cloud, waiting":            {true, without{silent}, 5 * time.Minute, false},
		"a silent cloud, waiting for longer": {true, without{silent}, 10 * time.Minute, true}, // the fleet may be new
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &branch{}
				claim := ownership.New(ownership.Options{Self: "me", Interval: time.Minute, Wait: c.wait}, ownership.Parts{
					Metrics: unseen{}, Ready: func(string) {}, Log: slog.New(slog.DiscardHandler),
					Newest: func(context.Context) (fleet.Fleet, error) {
						return fleet.Fleet{Clusters: make([]fleet.Cluster, 1)}, nil
					},
					Looker: func() ownership.Looker { return c.looker },
				})
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				owned, err := claim.Acquire(ctx, ownership.Branch{Arbiter: b, Read: func(context.Context) (status.Status, error) { return status.Status{}, nil }})
				if owned != c.want || err != nil || (b.owner.Agent != "") != c.want {
					t.Errorf("it is %t, %v, the owner %+v", owned, err, b.owner)
				}
			})
		})
	}
}

// TestStaleOwner: an owner of an earlier epoch, which a server that lags behind gives, ends
// no agent.
func TestStaleOwner(t *testing.T) {
	b := &branch{owner: fleet.Owner{Agent: "me", Epoch: 5}}
	c := owning(t, b, ownership.Options{})
	b.owner = fleet.Owner{Agent: "other", Epoch: 4}
	if err := c.Check(t.Context(), written); err != nil {
		t.Errorf("an earlier owner ends the agent: %v", err)
	}
	b.owner.Epoch = 6
	if err := c.Check(t.Context(), written); err == nil {
		t.Error("the next owner does not end it")
	}
}

// A freezer notes what it is told.
type freezer struct{ told []string }

func (f *freezer) Freeze(why string) { f.told = append(f.told, why) }
func (f *freezer) Unfreeze()         { f.told = append(f.told, "") }

// TestGrantWaitsForPasses: an owner agrees to a move when no pass is under way any more that may
// store secrets, here or in another replica, and stores none from then on.
func TestGrantWaitsForPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := &branch{}, &freezer{}
		c := ownership.New(ownership.Options{Self: "me", Interval: time.Minute}, ownership.Parts{Secrets: f, Metrics: unseen{}, Ready: func(string) {}, Log: slog.New(slog.DiscardHandler)})
		if owned, err := c.Acquire(t.Context(), ownership.Branch{Arbiter: b, Read: func(context.Context) (status.Status, error) { return status.Status{}, nil }}); !owned || err != nil {
			t.Fatalf("the fleet is not owned: %v", err)
		}
		end, err := c.BeginPass(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.set(fleet.Succession{ID: "1", To: "other", Step: fleet.StepAsked})
		checked := make(chan error, 1)
		go func() { checked <- c.Check(t.Context(), written) }()
		synctest.Wait()
		if got := b.changes(); len(got) > 0 {
			t.Errorf("during a pass it did %q", got)
		}
		f.Unfreeze() // as a pass of another replica may, which was sent before
		end()
		if err := <-checked; err != nil {
			t.Fatal(err)
		}
		if _, next, _ := b.Succession(t.Context()); next.Step != fleet.StepGranted {
			t.Errorf("after the pass the move is at %s", next.Step)
		}
		if last := f.told[len(f.told)-1]; last != `secrets are being moved to agent "other"` {
			t.Errorf("secrets may be stored: %q", f.told)
		}
	})
}
