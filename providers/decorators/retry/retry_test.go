package retry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/decorators/retry"
)

// flaky fails its first calls.
type flaky struct {
	providers.Infrastructure
	kind  fleet.ErrorKind
	fails int
	calls int
	times []time.Time
}

func (f *flaky) answer() error {
	f.calls++
	f.times = append(f.times, time.Now())
	if f.calls <= f.fails {
		return fleet.Errorf(f.kind, "observe", "no")
	}
	return nil
}

func (f *flaky) Observe(context.Context, *fleet.Cluster) (fleet.Infrastructure, error) {
	return fleet.Infrastructure{Exists: true}, f.answer()
}

func (f *flaky) EnsureInfrastructure(context.Context, fleet.OperationID, *fleet.Cluster) error {
	return f.answer()
}

func TestObserve(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		kind   fleet.ErrorKind
		fails  int
		calls  int
		ok     bool
	}{
		"comes back":   {"it is asked until it answers", fleet.Unavailable, 2, 3, true},
		"stays away":   {"four attempts are enough", fleet.Unavailable, 9, 4, false},
		"unauthorized": {"asking again changes nothing", fleet.Unauthorized, 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &flaky{kind: tc.kind, fails: tc.fails}
				_, err := retry.New(f, retry.Options{}).Observe(t.Context(), &fleet.Cluster{})
				if f.calls != tc.calls || (err == nil) != tc.ok {
					t.Errorf("%d calls, error %v: %s", f.calls, err, tc.reason)
				}
				wait := 250 * time.Millisecond
				for i := 1; i < len(f.times); i++ {
					if d := f.times[i].Sub(f.times[i-1]); d < wait/2 || d > wait+1 {
						t.Errorf("waited %s before attempt %d, want between %s and %s", d, i+1, wait/2, wait)
					}
					wait *= 2
				}
			})
		})
	}
}

func TestObserveEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{kind: fleet.Unavailable, fails: 9}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := retry.New(f, retry.Options{}).Observe(ctx, &fleet.Cluster{})
		if f.calls != 1 || fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("%d calls, error %v, want one call and its error", f.calls, err)
		}
	})
}

func TestChangesAreNotRepeated(t *testing.T) {
	f := &flaky{kind: fleet.Unavailable, fails: 9}
	if err := retry.New(f, retry.Options{}).EnsureInfrastructure(t.Context(), "op", &fleet.Cluster{}); err == nil || f.calls != 1 {
		t.Errorf("%d calls, error %v, want one call and its error", f.calls, err)
	}
}
