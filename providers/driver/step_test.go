package driver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/providers/driver"
)

// A shelf has things by name: what is next for each as it was listed, and as it is now. The one called
// gone is another's by now.
type shelf struct {
	listed, now map[string]string
	locks       driver.Locks[string]
	did         driver.Memory[string, string]
}

// A thing is one of a shelf, at the first or at the second look.
type thing struct {
	name  string
	again bool
}

func (s *shelf) Next(t thing) string {
	if t.again {
		return s.now[t.name]
	}
	return s.listed[t.name]
}

func (s *shelf) Alone(t thing, do func() error) error {
	if !s.locks.TryLock(t.name) {
		return nil
	}
	defer s.locks.Unlock(t.name)
	return do()
}

func (s *shelf) Again(_ context.Context, t thing) (thing, bool, error) {
	if t.name == "silent" {
		return t, false, errors.New("no answer")
	}
	return thing{t.name, true}, t.name != "gone", nil
}

func (s *shelf) Do(_ context.Context, t thing) error {
	s.did.Note(t.name, s.Next(t))
	if t.name == "refused" {
		return errors.New("no")
	}
	return nil
}

// TestStep: a step is taken where the second look decides as the first did, and by one at a time.
func TestStep(t *testing.T) {
	next := map[string]string{"due": "start it", "other": "start it", "changed": "start it", "gone": "start it", "silent": "start it", "taken": "start it", "refused": "start it", "done": ""}
	s := &shelf{listed: next, now: map[string]string{"due": "start it", "other": "stop it", "changed": "", "gone": "start it", "silent": "start it", "taken": "start it", "refused": "start it", "done": "start it"}}
	s.locks.TryLock("taken")
	var things []thing
	for name := range next {
		things = append(things, thing{name, false})
	}
	slices.SortFunc(things, func(a, b thing) int { return slices.Compare([]byte(a.name), []byte(b.name)) })
	errs := driver.Step(t.Context(), s, things)
	if got := fmt.Sprint(s.did.All()); got != "map[due:start it refused:start it]" {
		t.Errorf("did %s", got)
	}
	if got := fmt.Sprint(errs); got != "[no no answer]" {
		t.Errorf("errors are %s", got)
	}
}
