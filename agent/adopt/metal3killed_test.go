package adopt_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/adopt"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// dies has a command end as d says, and reports whether it came so far. Nothing of it happens after
// that.
func (s *mstack) dies(d death, command func(context.Context, *adopt.Adoption) []adopt.Result) (died bool) {
	s.Helper()
	ctx, kill := context.WithCancel(s.Context())
	defer kill()
	var in, cut *metal3test.Injected
	if d.call > 0 {
		in = s.ironic.FailCalls(metal3test.CallFault{Skip: d.call - 1, Times: 1, Cut: d.before, Lose: !d.before, Do: func(metal3test.Call) {
			cut = s.ironic.FailCalls(metal3test.CallFault{Cut: true})
			kill()
		}})
		defer func() {
			in.End()
			if cut != nil {
				died = true
				cut.End()
			}
		}()
	}
	steps := 0
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			died = true
		}
	}()
	a := s.adoption(func(o *adopt.Options) {
		say := o.OnStep
		o.OnStep = func(k fleet.Key, step adopt.Step, text string) {
			say(k, step, text)
			if steps++; steps == d.step {
				panic(killed{})
			}
		}
	})
	if r := command(ctx, a); cut == nil {
		s.done(r)
	}
	return died
}

// metal3Deaths returns where a command is ended: at each of so many steps, at each call that changes
// something, and at others: at all with FAIRLEAD_SWEEP=all, else at a few.
func metal3Deaths(steps int, calls []metal3test.Call) []death {
	const sample = 3
	var out []death
	for n := range steps {
		out = append(out, death{step: n + 1})
	}
	every := max(1, len(calls)/sample)
	for n, c := range calls {
		if c.Changes() || os.Getenv("FAIRLEAD_SWEEP") == "all" {
			out = append(out, death{call: n + 1, before: true}, death{call: n + 1})
		} else if n%every == every/2 {
			out = append(out, death{call: n + 1, before: n%2 == 0})
		}
	}
	return out
}

// TestMetal3KilledAnywhere ends an adoption, and its undoing, at steps and calls to Ironic. At no
// time may both sides act, on the cluster or on a host; the same command goes on, and undo gives
// everything back. No host is another after it.
func TestMetal3KilledAnywhere(t *testing.T) {
	s := newMStack(t, true, metal3test.Options{})
	before, _ := s.nodes()
	states := s.states()
	run := func(ctx context.Context, a *adopt.Adoption) []adopt.Result { return a.Run(ctx, []fleet.Key{s.key()}) }
	undo := func(ctx context.Context, a *adopt.Adoption) []adopt.Result { return a.Undo(ctx, []fleet.Key{s.key()}) }
	marked := func() int { _, marks := s.nodes(); return len(marks) }
	safe := func(at string) {
		t.Helper()
		c := s.inFleet()
		acts := c != nil && !c.Paused
		if acts && (marked() != len(s.machines) || !s.paused() || len(s.hostPauses()) != len(s.hosts)) {
			t.Fatalf("%s: Fairlead may act with %d marked, paused there %t, hosts %v", at, marked(), s.paused(), s.hostPauses())
		}
		if marked() > 0 && (!s.paused() || len(s.hostPauses()) != len(s.hosts)) {
			t.Fatalf("%s: %d marked, and Metal3 acts: paused there %t, hosts %v", at, marked(), s.paused(), s.hostPauses())
		}
	}
	ends := func(at string, adopted bool) {
		t.Helper()
		after, marks := s.nodes()
		c := s.inFleet()
		want := map[bool]int{true: len(s.machines)}[adopted]
		if acts := c != nil && !c.Paused; acts != adopted || s.paused() != adopted || len(marks) != want || len(s.hostPauses()) != map[bool]int{true: len(s.hosts)}[adopted] {
			t.Fatalf("%s: Fairlead acts %t, paused there %t, %d marked, hosts paused %v, want adopted %t", at, acts, s.paused(), len(marks), s.hostPauses(), adopted)
		}
		if d := cmp.Diff(before, after) + cmp.Diff(states, s.states()); d != "" {
			t.Fatalf("%s: the hosts are others: %s", at, d)
		}
	}
	live := func(command func(context.Context, *adopt.Adoption) []adopt.Result) []death {
		s.output = nil
		s.ironic.ResetCalls()
		s.dies(death{}, command)
		return metal3Deaths(len(s.output), s.ironic.Calls())
	}
	ofRun := live(run)
	ends("in peace", true)
	ofUndo := live(undo)
	ends("undone in peace", false)
	s.reset()
	if len(ofRun) < 15 || len(ofUndo) < 8 {
		t.Fatalf("an adoption ends at %v, its undoing at %v: too few to be all", ofRun, ofUndo)
	}
	for i, d := range ofRun {
		s.output = nil
		died := s.dies(d, run)
		at := fmt.Sprintf("killed at %s (%s)", d, strings.Join(s.output[max(0, len(s.output)-1):], ""))
		if !died {
			t.Errorf("%s: it was not", at)
		}
		safe(at)
		if i%2 == 0 || d.call > 0 {
			s.dies(death{}, run)
			ends(at+", and run again", true)
		}
		s.dies(death{}, undo)
		ends(at+", and undone", false)
		s.reset()
	}
	for _, d := range ofUndo {
		s.dies(death{}, run)
		died := s.dies(d, undo)
		at := "undo killed at " + d.String()
		if !died {
			t.Errorf("%s: it was not", at)
		}
		safe(at)
		s.dies(death{}, undo)
		ends(at+", and undone", false)
		s.reset()
	}
	t.Logf("an adoption was ended at %d places, its undoing at %d", len(ofRun), len(ofUndo))
}
