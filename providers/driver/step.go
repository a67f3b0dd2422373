package driver

import (
	"context"

	"fairlead.dev/providers/driver/steps"
)

// A Stepper brings things T nearer to what Git says, one step at a time: machines, and things that machines
// may get.
type Stepper[T any] interface {
	// Next says what the next step of t is, as drift says it; empty: it has none, or none yet.
	Next(t T) string
	// Alone calls do, unless something is being done to t: the call that does that does this, too.
	Alone(t T, do func() error) error
	// Again looks at t once more, by its id, and returns false if it is gone, or another's by now.
	Again(ctx context.Context, t T) (now T, same bool, err error)
	// Do takes the next step of t.
	Do(ctx context.Context, t T) error
}

// atOnce is how many things are worked on at one time.
const atOnce = 8

// Step takes the next step of each of things that has one, a few at a time, and returns what failed. It
// takes a step only where a second look decides the same: a listing may be old, and another process or
// people may have been at the thing since.
func Step[T any](ctx context.Context, s Stepper[T], things []T) []error {
	var due []T
	for _, t := range things {
		if s.Next(t) != "" {
			due = append(due, t)
		}
	}
	return steps.Each(due, atOnce, func(t T) error {
		return s.Alone(t, func() error {
			before := s.Next(t)
			now, same, err := s.Again(ctx, t)
			if err != nil || !same || s.Next(now) != before {
				return err // the next look decides
			}
			return s.Do(ctx, now)
		})
	})
}
