package status_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A silent branch answers reads and no push.
type silent struct {
	*branch

	hold  time.Duration // that a push takes until it is given up
	lands bool          // pushes are done
}

func (s *silent) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	time.Sleep(s.hold)
	if s.lands {
		if _, err := s.branch.Commit(ctx, base, c); err != nil {
			return fleet.Revision{}, err
		}
	}
	return fleet.Revision{}, fleet.Errorf(fleet.Unanswered, "push", "the server did not finish its answer")
}

// silentBranch returns a branch whose owner agreed to a move.
func silentBranch(t *testing.T, hold time.Duration, lands bool) *silent {
	t.Helper()
	b := owned(t)
	if err := status.NewArbiter(b).Succeed(t.Context(), self, fleet.Succession{}, succession(fleet.StepReady)); err != nil {
		t.Fatal(err)
	}
	if err := status.NewRequests(b).Ask(t.Context(), suspended()); err != nil {
		t.Fatal(err)
	}
	return &silent{branch: b, hold: hold, lands: lands}
}

func succession(step fleet.SuccessionStep) fleet.Succession {
	return fleet.Succession{ID: "1", To: "agent-b", Place: "there", Step: step}
}

// TestPushesEnd: whatever is pushed to a server that answers reads and no push, the caller goes on soon.
func TestPushesEnd(t *testing.T) {
	five := fleet.Scale{Cluster: eu1, Pool: "md", Replicas: 5}
	for name, c := range map[string]struct {
		push   func(ctx context.Context, b sources.Branch) error
		repeat bool // one that landed is done again
	}{
		"request": {push: func(ctx context.Context, b sources.Branch) error { return status.NewRequests(b).Ask(ctx, wish()) }},
		"withdrawal": {push: func(ctx context.Context, b sources.Branch) error {
			return status.NewRequests(b).Withdraw(ctx, suspended(), "")
		}},
		"answer": {push: func(ctx context.Context, b sources.Branch) error {
			return status.NewRequests(b).Answer(ctx, self, []fleet.Request{answered(suspended(), fleet.RequestAccepted, "")}, nil)
		}},
		"size": {push: func(ctx context.Context, b sources.Branch) error { return status.NewScales(b).Set(ctx, five) }},
		"sizes": {push: func(ctx context.Context, b sources.Branch) error {
			return status.NewScales(b).Decide(ctx, self, []fleet.Scale{five}, nil)
		}},
		"plan": {push: func(ctx context.Context, b sources.Branch) error {
			return status.NewPlans(b).Write(ctx, self, []status.Plan{{Number: 1, Head: "1", Base: "2", Verdict: "success"}}, nil)
		}},
		"reports": {push: func(ctx context.Context, b sources.Branch) error {
			w := writer(b, status.Options{})
			w.Put(report(fleet.PhaseWorkers))
			_, err := w.Flush(ctx)
			return err
		}, repeat: true},
		"signpost": {push: func(ctx context.Context, b sources.Branch) error { return status.Signpost(ctx, b, "f", "a") }},
		"succession": {push: func(ctx context.Context, b sources.Branch) error {
			return status.NewArbiter(b).Succeed(ctx, self, succession(fleet.StepReady), fleet.Succession{})
		}},
		"hand-over": {push: func(ctx context.Context, b sources.Branch) error {
			_, err := status.NewArbiter(b).Yield(ctx, self, succession(fleet.StepReady))
			return err
		}},
		"take-over": {push: func(ctx context.Context, b sources.Branch) error {
			_, err := status.NewArbiter(b).HandOver(ctx, self, "agent-b", "there")
			return err
		}},
		"process": {push: func(ctx context.Context, b sources.Branch) error {
			_, _, err := status.NewArbiter(b).Begin(ctx, self)
			return err
		}},
	} {
		for reason, b := range map[string]struct {
			hold  time.Duration
			lands bool
		}{
			"a push is lost at once":          {},
			"a push is never answered":        {hold: 2 * time.Minute},
			"a push is done and not answered": {hold: 2 * time.Minute, lands: true},
		} {
			t.Run(name+"/"+reason, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					err := c.push(ctx, silentBranch(t, b.hold, b.lands))
					if took := time.Since(began); took > 3*time.Minute {
						t.Errorf("it takes %s", took)
					}
					if done := b.lands && !c.repeat; done != (err == nil) || err != nil && fleet.KindOf(err) != fleet.Unanswered {
						t.Errorf("it ends with %v", err)
					}
				})
			})
		}
	}
}
