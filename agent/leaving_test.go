package agent

import (
	"context"
	"errors"
	"slices"
	"testing"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/home"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Whoever handed the fleet over to its home clears what is left, but for an agent
// in a home, which the new owner clears; and nothing goes where the owner is not
// the home that fleet.yaml names, or all is to be kept.
func TestLeaving(t *testing.T) {
	atHome := "home." + keyA.Namespace + "." + keyA.Name
	for name, tc := range map[string]struct {
		self, owner string
		keep        bool
		want        []string
	}{
		"a laptop":      {"me", atHome, false, []string{"move to " + keyA.String()}},
		"to be kept":    {"me", atHome, true, nil},
		"not its home":  {"me", "home.prod.other", false, nil},
		"another agent": {"me", "rescue", false, nil},
		"a home":        {"home." + keyB.Namespace + "." + keyB.Name, atHome, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := homed("1", keyA)
			f.Config.Home.Keep = tc.keep
			w := newWorld(f)
			w.owner = fleet.Owner{Agent: tc.owner, Epoch: 2}
			var clusters []fleet.Key
			c := &carrier{run: func(ctx context.Context, m home.Move, _ func(step, why string)) (err error) {
				clusters, err = m.Clusters(ctx)
				return err
			}}
			err := runMover(t, w, tc.self, c, func() {})
			var refusal *ownership.NotOwnerError
			if !errors.As(err, &refusal) {
				t.Errorf("it ended with %v", err)
			}
			if got := c.took(); !slices.Equal(got, tc.want) {
				t.Errorf("it did %v, want %v", got, tc.want)
			}
			if tc.want != nil {
				expect(t, "the clusters", clusters, []fleet.Key{keyA, keyB})
			}
		})
	}
}

// A move that an agent before this one began is taken back where fleet.yaml does
// not name its home any more, and goes on where it does.
func TestMoveOfAnotherTimeIsTakenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		home fleet.Key
		want []string
	}{
		"no home":       {fleet.Key{}, []string{"undo " + keyB.String()}},
		"another home":  {keyA, []string{"undo " + keyB.String(), "move to " + keyA.String()}},
		"the same home": {keyB, []string{"move to " + keyB.String()}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(homed("1", tc.home))
			w.record.Fleet.Home = sources.HomeStatus{Cluster: keyB, Step: "move the secrets"}
			c := &carrier{run: waits}
			_ = runMover(t, w, "me", c, func() { expect(t, "it does", c.took(), tc.want) })
		})
	}
}

// A move that cannot be taken back at once is tried again.
func TestTakingBackIsTriedAgain(t *testing.T) {
	w := newWorld(homed("1", keyA), homed("2", fleet.Key{}))
	c := &carrier{run: waits, undo: []error{fleet.Errorf(fleet.Unavailable, "withdraw", "no answer")}}
	_ = runMover(t, w, "me", c, func() {
		c.took()
		w.push("2")
		poll()
		expect(t, "it is tried again", c.took(), []string{"undo " + keyA.String(), "undo " + keyA.String()})
		expect(t, "then all is done", w.whole().Home, sources.HomeStatus{})
	})
}

// Nothing is changed for a move before the status branch says that it began:
// whoever comes next could not take it back.
func TestMoveIsToldBeforeItBegins(t *testing.T) {
	w := newWorld(homed("1", keyA))
	c := &carrier{run: waits}
	w.unwritten = errors.New("cut off")
	_ = runMover(t, w, "me", c, func() {
		poll()
		expect(t, "it waits", c.took(), []string(nil))
		w.mu.Lock()
		w.unwritten = nil
		w.mu.Unlock()
		poll()
		expect(t, "it begins", c.took(), []string{"move to " + keyA.String()})
	})
}

// What the fleet left behind is cleared, whatever fleet.yaml says by now.
func TestLeftIsClearedFirst(t *testing.T) {
	for name, next := range map[string]fleet.Key{"no home": {}, "another home": keyB} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(homed("1", next))
			w.record.Fleet.Home = sources.HomeStatus{Cluster: keyA, Left: "home.ops.old"}
			var left []fleet.Key
			c := &carrier{run: func(ctx context.Context, m home.Move, show func(step, why string)) error {
				left = append(left, m.Left)
				if m.Left == (fleet.Key{}) {
					return waits(ctx, m, show)
				}
				return nil
			}}
			_ = runMover(t, w, "home."+keyA.Namespace+"."+keyA.Name, c, poll)
			want := []fleet.Key{{Namespace: "ops", Name: "old"}}
			if next == keyB {
				want = append(want, fleet.Key{}) // the next move
			}
			expect(t, "it clears", left, want)
			if got := w.whole().Home.Left; got == "home.ops.old" {
				t.Errorf("it is still told to be cleared")
			}
		})
	}
}
