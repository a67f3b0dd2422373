package steps

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
)

// A Step is one change.
type Step struct {
	What      string                          // for people, and what tells steps apart: "make network prod-eu-1"
	Essential bool                            // no machine can be made or work without it
	Upkeep    bool                            // machines cause or need it, and not people
	Blocked   bool                            // it is not possible at this moment
	Do        func(ctx context.Context) error // makes the change and enters its outcome into what was seen
}

// Perform takes the steps of decide that are possible, and returns the errors of those that
// failed. It decides again after each step, since that makes others possible. It tries no step
// twice. A failed step delays only steps that depend on it. After a call without an answer no
// other step is taken before the next observation.
//
// wrap adds what could not be done to an error of the provider's SDK; nil stays nil.
func Perform(ctx context.Context, decide func() []Step, wrap func(what string, err error) error) []error {
	tried := make(map[string]bool)
	var errs []error
	for {
		list := decide()
		i := slices.IndexFunc(list, func(s Step) bool { return !s.Blocked && !tried[s.What] })
		if i < 0 {
			return errs
		}
		s := list[i]
		tried[s.What] = true
		if err := wrap(s.What, s.Do(ctx)); err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil || fleet.KindOf(err) == fleet.Unanswered {
				return errs
			}
		}
	}
}
