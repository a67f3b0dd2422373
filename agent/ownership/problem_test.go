package ownership_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestSlowMoveIsTold: a move during which no secrets are stored is told, and until when, as long
// as it lasts.
func TestSlowMoveIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &branch{}
		c := owning(t, b, ownership.Options{})
		b.set(fleet.Succession{ID: "1", To: "other", Step: fleet.StepGranted})
		_ = c.Check(t.Context(), written)
		begun := time.Now()
		time.Sleep(14 * time.Minute)
		if p, told := c.Problem(); told {
			t.Errorf("it is told early: %+v", p)
		}
		time.Sleep(time.Minute)
		p, _ := c.Problem()
		for _, want := range []string{`on its way to agent "other"`, "no secret is stored", begun.Add(6 * time.Hour).UTC().Format(time.RFC3339)} {
			if !strings.Contains(p.Message, want) {
				t.Errorf("%q is not in %q", want, p.Message)
			}
		}
		b.set(fleet.Succession{})
		_ = c.Check(t.Context(), written)
		if p, told := c.Problem(); told {
			t.Errorf("it is told when it has ended: %+v", p)
		}
	})
}

// A forgetful branch lost its owner.
type forgetful struct {
	branch

	lost bool
}

func (f *forgetful) Succession(ctx context.Context) (fleet.Owner, fleet.Succession, error) {
	if f.lost {
		return fleet.Owner{}, fleet.Succession{}, fmt.Errorf("read owner.yaml: %w: it is gone", status.ErrDistrusted)
	}
	return f.branch.Succession(ctx)
}

func (f *forgetful) Restore(context.Context, fleet.Owner) error {
	f.lost = false
	return nil
}

// TestRestoredOwnerIsTold: for a day people are told that the owner had to be written again.
func TestRestoredOwnerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &forgetful{}
		c := ownership.New(ownership.Options{Self: "me", Interval: time.Minute}, ownership.Parts{Metrics: unseen{}, Ready: func(string) {}, Log: slog.New(slog.DiscardHandler)})
		if owned, err := c.Acquire(t.Context(), ownership.Branch{Arbiter: f, Read: func(context.Context) (status.Status, error) { return status.Status{}, nil }}); !owned || err != nil {
			t.Fatalf("the fleet is not owned: %v", err)
		}
		f.lost = true
		_ = c.Check(t.Context(), written)
		if p, _ := c.Problem(); !strings.Contains(p.Message, "again at "+time.Now().UTC().Format(time.RFC3339)) || !strings.Contains(p.Message, "it is gone") {
			t.Errorf("told is %+v", p)
		}
		time.Sleep(24 * time.Hour)
		if p, told := c.Problem(); told {
			t.Errorf("a day later it is told: %+v", p)
		}
	})
}
