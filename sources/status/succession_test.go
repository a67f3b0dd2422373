package status_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// asked is a succession from agent-a to agent-b that was just asked for.
func asked(id string) fleet.Succession {
	return fleet.Succession{ID: id, To: "agent-b", Step: fleet.StepAsked}
}

// steps takes b through a succession up to and including last, and returns it.
func steps(t *testing.T, b *branch, last fleet.SuccessionStep) fleet.Succession {
	t.Helper()
	a := status.NewArbiter(b)
	at := fleet.Succession{}
	for _, step := range []fleet.SuccessionStep{fleet.StepAsked, fleet.StepGranted, fleet.StepMoved, fleet.StepReady} {
		next := asked("1").At(step)
		if err := a.Succeed(t.Context(), self, at, next); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if at = next; step == last {
			break
		}
	}
	return at
}

// A succession is in owner.yaml and nowhere else: with the owner that yields it
// says that the new one has not acted yet, and then nothing.
func TestSuccession(t *testing.T) {
	b := owned(t)
	a := status.NewArbiter(b)
	ready := steps(t, b, fleet.StepReady)
	golden(t, "testdata/owner-successor.yaml", b.file(t, "owner.yaml"))
	if o, s, err := a.Succession(t.Context()); o != self || s != ready || err != nil {
		t.Errorf("owner is %v, succession %v, %v", o, s, err)
	}
	next, err := a.Yield(t.Context(), self, ready)
	if err != nil || next != (fleet.Owner{Agent: "agent-b", Epoch: 2}) {
		t.Fatalf("yielding gives %v, %v", next, err)
	}
	o, s, err := a.Succession(t.Context())
	if o != next || s != ready.At(fleet.StepHandedOver) || err != nil {
		t.Errorf("then the owner is %v, succession %v, %v", o, s, err)
	}
	if err := a.Succeed(t.Context(), next, s, fleet.Succession{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/owner-acts.yaml", b.file(t, "owner.yaml"))
	var messages []string
	for _, c := range b.log {
		messages = append(messages, c.Message)
	}
	golden(t, "testdata/succession.txt", strings.Join(messages, "\n")+"\n")
}

// Safety: only the succession that was ready when the owner looked makes a new
// owner; one that was withdrawn, or asked for again, does not.
func TestYieldOnlyToWhoIsReady(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, a *status.Arbiter, s fleet.Succession){
		"withdrawn": func(t *testing.T, a *status.Arbiter, s fleet.Succession) {
			if err := a.Succeed(t.Context(), self, s, fleet.Succession{}); err != nil {
				t.Fatal(err)
			}
		},
		"asked again": func(t *testing.T, a *status.Arbiter, s fleet.Succession) {
			again := s
			again.ID = "2"
			if err := a.Succeed(t.Context(), self, s, again); err != nil {
				t.Fatal(err)
			}
		},
		"taken over": func(t *testing.T, a *status.Arbiter, _ fleet.Succession) {
			if _, err := a.HandOver(t.Context(), self, "agent-c", ""); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := owned(t)
			a := status.NewArbiter(b)
			s := steps(t, b, fleet.StepReady)
			change(t, a, s)
			before := b.file(t, "owner.yaml")
			if o, err := a.Yield(t.Context(), self, s); fleet.KindOf(err) != fleet.Conflict {
				t.Errorf("yielding gives %v, %v", o, err)
			}
			if after := b.file(t, "owner.yaml"); after != before {
				t.Errorf("owner.yaml became %s", after)
			}
		})
	}
	t.Run("not ready", func(t *testing.T) {
		b := owned(t)
		s := steps(t, b, fleet.StepMoved)
		if _, err := status.NewArbiter(b).Yield(t.Context(), self, s); fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("got %v", err)
		}
	})
}

// A step is taken from the one that was seen, by whoever sees the owner that is.
func TestSucceedConflicts(t *testing.T) {
	b := owned(t)
	a := status.NewArbiter(b)
	s := steps(t, b, fleet.StepGranted)
	other := s
	other.ID = "2"
	for name, try := range map[string]func() error{
		"another request": func() error { return a.Succeed(t.Context(), self, other, other.At(fleet.StepMoved)) },
		"another step":    func() error { return a.Succeed(t.Context(), self, s.At(fleet.StepAsked), s.At(fleet.StepMoved)) },
		"another owner": func() error {
			return a.Succeed(t.Context(), fleet.Owner{Agent: "agent-a", Epoch: 2}, s, s.At(fleet.StepMoved))
		},
		"where nobody was": func() error { return a.Succeed(t.Context(), self, fleet.Succession{}, other) },
	} {
		if err := try(); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := a.Succeed(t.Context(), self, s, fleet.Succession{ID: "1", To: "agent-b", Step: "Perhaps"}); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("an unknown step gives %v", err)
	}
}

// A push of which nobody knows whether it landed did, or is made once more.
func TestSuccessionUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := owned(t)
		a := status.NewArbiter(b)
		ready := steps(t, b, fleet.StepReady)
		lose(b)
		next, err := a.Yield(t.Context(), self, ready)
		if err != nil || next.Epoch != 2 {
			t.Fatalf("yielding gives %v, %v", next, err)
		}
		lose(b)
		if err := a.Succeed(t.Context(), next, ready.At(fleet.StepHandedOver), fleet.Succession{}); err != nil {
			t.Error(err)
		}
	})
}

// lose loses the answer to the next commit of b, which lands.
func lose(b *branch) {
	b.after = func() error {
		b.after = nil
		return fleet.Errorf(fleet.Unanswered, "commit", "connection reset")
	}
}

// Safety: of two agents of one name the first to claim owns the fleet, and after
// a hand-over the one that the fleet was handed to.
func TestAgentsOfOneName(t *testing.T) {
	b := &branch{}
	a := status.NewArbiter(b)
	claim := func(place string, want fleet.Owner) {
		t.Helper()
		if o, err := a.Claim(t.Context(), "home", place); err != nil || o != want {
			t.Errorf("claimed from %q: the owner is %v, %v, want %v", place, o, err, want)
		}
		if o, err := a.Owner(t.Context()); err != nil || o != want {
			t.Errorf("then the owner is %v, %v, want %v", o, err, want)
		}
	}
	here := fleet.Owner{Agent: "home", Epoch: 1, Place: "here"}
	claim("here", here)
	claim("there", here)
	claim("", here)
	claim("here", here)
	if _, err := a.HandOver(t.Context(), fleet.Owner{Agent: "home", Epoch: 1, Place: "there"}, "laptop", ""); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("taken from who does not own it: %v", err)
	}

	// Taken over by an agent of the same name: the one before is out at once.
	there := fleet.Owner{Agent: "home", Epoch: 2, Place: "there"}
	if o, err := a.HandOver(t.Context(), here, "home", "there"); err != nil || o != there {
		t.Errorf("the owner is %v, %v", o, err)
	}
	claim("here", there)

	// Who says that it is ready is who gets the fleet.
	ready := fleet.Succession{ID: "1", To: "next", Step: fleet.StepReady, Place: "far"}
	if err := a.Succeed(t.Context(), there, fleet.Succession{}, ready); err != nil {
		t.Fatal(err)
	}
	if o, err := a.Yield(t.Context(), there, ready); err != nil || o != (fleet.Owner{Agent: "next", Epoch: 3, Place: "far"}) {
		t.Errorf("the owner is %v, %v", o, err)
	}

	// One that has not said where it is, says it with its claim.
	if _, err := a.HandOver(t.Context(), fleet.Owner{Agent: "next", Epoch: 3, Place: "far"}, "home", ""); err != nil {
		t.Fatal(err)
	}
	claim("here", fleet.Owner{Agent: "home", Epoch: 4, Place: "here"})
	claim("there", fleet.Owner{Agent: "home", Epoch: 4, Place: "here"})
}

// Safety: the fleet goes to the place whose agent said that it is ready. Another
// agent of that name, in another place, does not own it.
func TestYieldNamesThePlace(t *testing.T) {
	b := owned(t)
	a := status.NewArbiter(b)
	s := steps(t, b, fleet.StepMoved)
	ready := s.At(fleet.StepReady)
	ready.Place = "folder/there"
	if err := a.Succeed(t.Context(), self, s, ready); err != nil {
		t.Fatal(err)
	}
	if o, err := a.Yield(t.Context(), self, ready); err != nil || o.Place != "folder/there" {
		t.Errorf("it was handed to %+v, %v", o, err)
	}
	if o, err := a.Claim(t.Context(), ready.To, "folder/elsewhere"); err != nil || o.Place != "folder/there" {
		t.Errorf("another agent of the name claims it, and the owner is %+v, %v", o, err)
	}
}
