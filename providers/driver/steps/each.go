package steps

import (
	"slices"
	"sync"
)

// Each calls do for each of things, for at most atOnce of them at one time, and waits for all calls.
// It returns the errors in the order of things, without those that are nil.
func Each[T any](things []T, atOnce int, do func(T) error) []error {
	errs := make([]error, len(things))
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i, t := range things {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(t)
		})
	}
	running.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}
