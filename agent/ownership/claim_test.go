package ownership_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A branch is owner.yaml in memory.
type branch struct {
	mu    sync.Mutex
	owner fleet.Owner
	next  fleet.Succession
	calls []string // calls that changed something
}

func (b *branch) Owner(context.Context) (fleet.Owner, error) { return b.owner, nil }

func (b *branch) Claim(_ context.Context, self, place string) (fleet.Owner, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owner.Agent == "" {
		b.owner = fleet.Owner{Agent: self, Epoch: 1, Place: place}
	}
	return b.owner, nil
}

func (b *branch) HandOver(context.Context, fleet.Owner, string, string) (fleet.Owner, error) {
	return fleet.Owner{}, errors.New("not used")
}

func (b *branch) Succession(context.Context) (fleet.Owner, fleet.Succession, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owner, b.next, nil
}

func (b *branch) Succeed(_ context.Context, _ fleet.Owner, _, to fleet.Succession) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = to
	b.calls = append(b.calls, "succeed "+string(to.Step))
	return nil
}

func (b *branch) Yield(_ context.Context, of fleet.Owner, s fleet.Succession) (fleet.Owner, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, "yield")
	b.owner = fleet.Owner{Agent: s.To, Epoch: of.Epoch + 1}
	return b.owner, nil
}

func (b *branch) set(s fleet.Succession) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = s
}

func (b *branch) changes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// unseen are metrics without a reader.
type unseen struct{}

func (unseen) SetOwner(fleet.Owner) {}
func (unseen) SetStandby()          {}
func (unseen) SetPushError(error)   {}

// failures are metrics of what could not be pushed.
type failures struct {
	unseen

	seen []error
}

func (f *failures) SetPushError(why error) { f.seen = append(f.seen, why) }

// A lockedBranch refuses the first claims.
type lockedBranch struct {
	branch

	refusals int
}

func (b *lockedBranch) Claim(ctx context.Context, self, place string) (fleet.Owner, error) {
	if b.refusals--; b.refusals >= 0 {
		return fleet.Owner{}, fleet.Errorf(fleet.Unauthorized, "claim the fleet", "the branch is locked")
	}
	return b.branch.Claim(ctx, self, place)
}

// TestRefusedClaimIsShown: the metric shows once that claims are refused, and that they no longer are.
func TestRefusedClaimIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown failures
		c := ownership.New(ownership.Options{Self: "me", Interval: time.Minute},
			ownership.Parts{Metrics: &shown, Ready: func(string) {}, Log: slog.New(slog.DiscardHandler)})
		owned, err := c.Acquire(t.Context(), ownership.Branch{
			Arbiter: &lockedBranch{refusals: 3}, Read: func(context.Context) (status.Status, error) { return status.Status{}, nil },
		})
		if !owned || err != nil {
			t.Fatalf("the fleet is not owned: %v", err)
		}
		if len(shown.seen) != 2 || fleet.KindOf(shown.seen[0]) != fleet.Unauthorized || shown.seen[1] != nil {
			t.Errorf("the metric was told %v, want the refusal and its end", shown.seen)
		}
	})
}

// owning returns a claim of an agent that owns the fleet.
func owning(t *testing.T, b sources.Arbiter, o ownership.Options) *ownership.Claim {
	t.Helper()
	o.Self, o.Interval = "me", time.Minute
	c := ownership.New(o, ownership.Parts{Metrics: unseen{}, Ready: func(string) {}, Log: slog.New(slog.DiscardHandler)})
	owned, err := c.Acquire(t.Context(), ownership.Branch{
		Arbiter: b, Read: func(context.Context) (status.Status, error) { return status.Status{}, nil },
	})
	if !owned || err != nil {
		t.Fatalf("the fleet is not owned: %v", err)
	}
	return c
}

func written(context.Context) error { return nil }

var handOver = fleet.Succession{ID: "1", To: "other", Step: fleet.StepReady}

// TestHandOverWaitsForPasses: the fleet is handed over after the passes under way, and no
// pass begins meanwhile.
func TestHandOverWaitsForPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &branch{}
		c := owning(t, b, ownership.Options{})
		end, err := c.BeginPass(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.set(handOver)
		checked := make(chan error, 1)
		go func() { checked <- c.Check(t.Context(), written) }()
		synctest.Wait()
		if got := b.changes(); len(got) > 0 {
			t.Errorf("a pass is under way, and the branch is changed: %q", got)
		}
		began := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := c.BeginPass(ctx)
			began <- err
		}()
		synctest.Wait()
		select {
		case <-began:
			t.Error("a pass begins while the fleet is handed over")
		default:
		}
		cancel()
		if err := <-began; !errors.Is(err, context.Canceled) {
			t.Errorf("a pass that waits does not end with its context: %v", err)
		}
		end()
		if _, lost := errors.AsType[*ownership.NotOwnerError](<-checked); !lost {
			t.Error("the fleet is another agent's, and this one does not say so")
		}
		if err := c.May(fleet.Key{}); err == nil {
			t.Error("an agent that handed the fleet over may act")
		}
	})
}

// TestHandOverEndsWithItsContext: a pass that does not end does not keep the agent from
// ending. The agent then still owns the fleet.
func TestHandOverEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &branch{}
		c := owning(t, b, ownership.Options{})
		end, err := c.BeginPass(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.set(handOver)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Check(ctx, written); err != nil || ctx.Err() == nil {
			t.Errorf("it ended with %v, and %v of its context", err, ctx.Err())
		}
		if got := b.changes(); len(got) > 0 {
			t.Errorf("the fleet is handed over under a pass: %q", got)
		}
		again, err := c.BeginPass(t.Context())
		if err != nil {
			t.Errorf("no pass can be made any more: %v", err)
		}
		again()
		end()
	})
}

// TestGuard: an owner that is not the leading replica may not act.
func TestGuard(t *testing.T) {
	var lost error
	c := owning(t, &branch{}, ownership.Options{Guard: func() error { return lost }})
	if err := c.May(fleet.Key{}); err != nil {
		t.Error(err)
	}
	lost = errors.New("another replica leads")
	if err := c.May(fleet.Key{}); !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
}
