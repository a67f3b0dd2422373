package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
)

func TestTakeOver(t *testing.T) {
	for name, tc := range map[string]struct {
		gone string
		want string // owner afterwards
	}{
		"named":         {"dead@3", "me"},
		"another epoch": {"dead@2", "dead"},
		"another agent": {"other@3", "dead"},
		"not asked for": {"", "dead"},
		"of its name":   {"me@3", "me"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
			w.owner = fleet.Owner{Agent: "dead", Epoch: 3}
			if name == "of its name" {
				w.owner = fleet.Owner{Agent: "me", Epoch: 3, Place: "lost"}
			}
			o := Options{}
			if tc.gone != "" {
				var err error
				if o.TakeOver, err = ownership.ParseOwner(tc.gone); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				a := w.agent(o)
				a.p.StatusBranch = handing(a.p.StatusBranch, w)
				done := make(chan error, 1)
				go func() { done <- a.Run(ctx) }()
				synctest.Wait()
				cancel()
				err := <-done
				refused, is := errors.AsType[*ownership.NotOwnerError](err)
				if w.owner.Agent != tc.want || is != (tc.want != "me") || w.owner.Place == "lost" {
					t.Errorf("the owner is %v, the agent ended with %v, %v", w.owner, err, refused)
				}
			})
		})
	}
}

// handing makes HandOver of a world work.
func handing(open func(string) (StatusBranch, error), w *world) func(string) (StatusBranch, error) {
	return func(branch string) (StatusBranch, error) {
		l, err := open(branch)
		l.Arbiter = handover{w}
		return l, err
	}
}

type handover struct{ *world }

func (h handover) HandOver(_ context.Context, from fleet.Owner, to, place string) (fleet.Owner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.owner != from {
		return fleet.Owner{}, fleet.Errorf(fleet.Conflict, "hand over", "the owner is another")
	}
	h.owner = fleet.Owner{Agent: to, Epoch: from.Epoch + 1, Place: place}
	return h.owner, nil
}
