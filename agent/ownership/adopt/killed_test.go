package adopt_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// noSharing is how old a look may be that serves for another: as old as none is, so that a command
// makes the same calls however fast it goes.
const noSharing = time.Nanosecond

// A killPoint is where a command is killed: at a step of it, or at a call to the cloud, before that has it
// or when it was done.
type killPoint struct {
	step, change, call int // the nth, from 1; 0: none. A change is a call that may change something
	before             bool
}

func (d killPoint) String() string {
	switch {
	case d.step > 0:
		return fmt.Sprintf("step %d", d.step)
	case d.change > 0:
		return fmt.Sprintf("%s change %d", side(d.before), d.change)
	}
	return fmt.Sprintf("%s call %d", side(d.before), d.call)
}

func side(before bool) string {
	if before {
		return "before"
	}
	return "after"
}

// A callFault is what goes wrong with calls to a cloud.
type callFault struct {
	changes     bool   // only those that may change something
	skip, times int    // so many go well first; so many go wrong then, 0: all
	before      bool   // the cloud does not get them
	do          func() // what happens then; nil: nothing
}

func (f callFault) happens() {
	if f.do != nil {
		f.do()
	}
}

// A killable is a cluster whose adoption can be killed anywhere.
type killable struct {
	*stack
	adoption func(edit func(*adopt.Options)) *adopt.Adoption
	calls    func(reset bool) []bool      // those that the cloud got since the last reset: whether each may change something
	fail     func(callFault) (end func()) // of calls to the cloud
	there    func() (machines any, marked int)
	held     func() bool // what the other side works on besides the cluster is paused there
	freed    func() bool // none of it is
}

// command is what people call: to adopt, or to undo it.
type command func(context.Context, *adopt.Adoption) []adopt.Result

func (s *killable) run(ctx context.Context, a *adopt.Adoption) []adopt.Result {
	return a.Run(ctx, []fleet.Key{s.key()})
}

func (s *killable) undo(ctx context.Context, a *adopt.Adoption) []adopt.Result {
	return a.Undo(ctx, []fleet.Key{s.key()})
}

// runUntil has a command end as d says, and reports whether it came so far. Nothing of it happens after
// that.
func (s *killable) runUntil(d killPoint, command command) (died bool) {
	s.Helper()
	ctx, kill := context.WithCancel(s.Context())
	defer kill()
	var silence func()
	if nth := max(d.change, d.call); nth > 0 {
		end := s.fail(callFault{changes: d.change > 0, skip: nth - 1, times: 1, before: d.before, do: func() {
			silence = s.fail(callFault{before: true})
			kill()
		}})
		defer func() {
			end()
			if silence != nil {
				died = true
				silence()
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
	if r := command(ctx, a); silence == nil {
		s.done(r)
	}
	return died
}

// killPoints has a command come to its end, and returns where it can be ended: at each of its steps, at
// each call that may change something, and at others: at all with FAIRLEAD_SWEEP=all, else at a few.
func (s *killable) killPoints(command command) []killPoint {
	const sample = 3
	s.Helper()
	s.output = nil
	s.calls(true)
	s.runUntil(killPoint{}, command)
	var out []killPoint
	for n := range s.output {
		out = append(out, killPoint{step: n + 1})
	}
	calls := s.calls(false)
	every, changed := max(1, len(calls)/sample), 0
	for n, changes := range calls {
		switch {
		case changes:
			changed++
			out = append(out, killPoint{change: changed, before: true}, killPoint{change: changed})
		case os.Getenv("FAIRLEAD_SWEEP") == "all":
			out = append(out, killPoint{call: n + 1, before: true}, killPoint{call: n + 1})
		case n%every == every/2:
			out = append(out, killPoint{call: n + 1, before: n%2 == 0})
		}
	}
	return out
}

// acts reports whether Fairlead acts on the cluster.
func (s *killable) acts() bool {
	s.Helper()
	c := s.inFleet()
	return c != nil && !c.Paused
}

// safe checks that not both sides act, nor Fairlead on what carries no mark.
func (s *killable) safe(at string) {
	s.Helper()
	_, marked := s.there()
	if s.acts() && (marked != len(s.machines) || !s.paused() || !s.held()) {
		s.Fatalf("%s: Fairlead may act with %d marked, paused there %t and %t", at, marked, s.paused(), s.held())
	}
	if marked > 0 && (!s.paused() || !s.held()) {
		s.Fatalf("%s: %d marked, and the other side acts: paused there %t and %t", at, marked, s.paused(), s.held())
	}
}

// ended checks that one side has it all, and that no machine is another.
func (s *killable) ended(at string, adopted bool, before any) {
	s.Helper()
	after, marked := s.there()
	want, paused := 0, s.freed
	if adopted {
		want, paused = len(s.machines), s.held
	}
	if s.acts() != adopted || s.paused() != adopted || marked != want || !paused() {
		s.Fatalf("%s: Fairlead acts %t, paused there %t and %t, %d marked, want adopted %t", at, s.acts(), s.paused(), s.held(), marked, adopted)
	}
	if d := cmp.Diff(before, after); d != "" {
		s.Fatalf("%s: the machines are others: %s", at, d)
	}
}

// killAnywhere ends an adoption, and its undoing, at steps and calls to the cloud. At no time may
// both sides act; the same command goes on, and undo gives everything back. No machine is another
// after it.
func (s *killable) killAnywhere() {
	s.Helper()
	before, _ := s.there()
	ofRun := s.killPoints(s.run)
	s.ended("in peace", true, before)
	ofUndo := s.killPoints(s.undo)
	s.ended("undone in peace", false, before)
	s.reset()
	if len(ofRun) < 15 || len(ofUndo) < 8 {
		s.Fatalf("an adoption ends at %v, its undoing at %v: too few to be all", ofRun, ofUndo)
	}
	for i, d := range ofRun {
		s.output = nil
		died := s.runUntil(d, s.run)
		at := fmt.Sprintf("killed at %s (%s)", d, strings.Join(s.output[max(0, len(s.output)-1):], ""))
		s.reached(d, died, at)
		s.safe(at)
		if i%2 == 0 || d.step == 0 {
			s.runUntil(killPoint{}, s.run)
			s.ended(at+", and run again", true, before)
		}
		s.runUntil(killPoint{}, s.undo)
		s.ended(at+", and undone", false, before)
		s.reset()
	}
	for _, d := range ofUndo {
		s.runUntil(killPoint{}, s.run)
		died := s.runUntil(d, s.undo)
		at := "undo killed at " + d.String()
		s.reached(d, died, at)
		s.safe(at)
		s.runUntil(killPoint{}, s.undo)
		s.ended(at+", and undone", false, before)
		s.reset()
	}
	s.Logf("an adoption was ended at %d places, its undoing at %d", len(ofRun), len(ofUndo))
}

// reached checks that a command came to d. One that had to ask fewer times than another has fewer
// calls that change nothing.
func (s *killable) reached(d killPoint, died bool, at string) {
	s.Helper()
	switch {
	case died:
	case d.call > 0:
		s.Logf("%s: it was not, and came to its end", at)
	default:
		s.Errorf("%s: it was not", at)
	}
}

func TestVSphereKilledAnywhere(t *testing.T) {
	s := newVStack(t)
	none := func() bool { return true }
	m := &killable{
		stack: s.stack, adoption: s.adoption, held: none, freed: none,
		calls: func(reset bool) (out []bool) {
			for _, c := range s.vc.Calls() {
				out = append(out, c.Changes())
			}
			if reset {
				s.vc.ResetCalls()
			}
			return out
		},
		fail: func(f callFault) func() {
			in := s.vc.FailCalls(vspheretest.CallFault{Changes: f.changes, Skip: f.skip, Times: f.times, Cut: f.before, Lose: !f.before, Do: func(vspheretest.Call) { f.happens() }})
			return in.End
		},
		there: func() (any, int) {
			vms, marks := s.vms()
			return vms, len(marks)
		},
	}
	m.killAnywhere()
}

// TestMetal3KilledAnywhere: hosts are of both sides, too.
func TestMetal3KilledAnywhere(t *testing.T) {
	s := newMStack(t, true, metal3test.Options{})
	m := &killable{
		stack: s.stack, adoption: s.adoption,
		held:  func() bool { return len(s.hostPauses()) == len(s.hosts) },
		freed: func() bool { return len(s.hostPauses()) == 0 },
		calls: func(reset bool) (out []bool) {
			for _, c := range s.ironic.Calls() {
				out = append(out, c.Changes())
			}
			if reset {
				s.ironic.ResetCalls()
			}
			return out
		},
		fail: func(f callFault) func() {
			in := s.ironic.FailCalls(metal3test.CallFault{Changes: f.changes, Skip: f.skip, Times: f.times, Cut: f.before, Lose: !f.before, Do: func(metal3test.Call) { f.happens() }})
			return in.End
		},
		there: func() (any, int) {
			nodes, marks := s.nodes()
			return []any{nodes, s.states()}, len(marks)
		},
	}
	m.killAnywhere()
}
