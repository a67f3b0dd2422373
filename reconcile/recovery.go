package reconcile

import (
	"time"

	"fairlead.dev/fleet"
)

// A backoff is how long to wait after failures in a row.
type backoff struct{ first, most time.Duration }

// recovery is the one table that says what an error means for the next look.
// Whatever the wait, a push, a node event or a machine event comes at once.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var recovery = map[fleet.ErrorKind]backoff{
	fleet.Unknown:      {time.Second, 2 * time.Minute},
	fleet.Unavailable:  {time.Second, time.Minute},
	fleet.Unanswered:   {time.Second, time.Minute},
	fleet.NotFound:     {time.Second, time.Minute},
	fleet.Conflict:     {time.Second, time.Minute},
	fleet.Exhausted:    {30 * time.Second, 10 * time.Minute},
	fleet.Unauthorized: {30 * time.Second, 10 * time.Minute},
	fleet.Invalid:      {10 * time.Minute, 10 * time.Minute},
}

// repeatBackoff is how long to wait when passes do the same again and again.
func repeatBackoff() backoff { return backoff{50 * time.Millisecond, 30 * time.Second} }

// after returns the wait after n failures in a row, n ≥ 1: it doubles.
func (b backoff) after(n int) time.Duration {
	d := b.first
	for range n - 1 {
		if d *= 2; d >= b.most {
			return b.most
		}
	}
	return d
}

// recoverAfter returns how long to wait after errs in the nth failed pass in a
// row: the shortest wait that any of them asks for.
func recoverAfter(errs []error, n int) time.Duration {
	var d time.Duration
	for _, err := range errs {
		b, ok := recovery[fleet.KindOf(err)]
		if !ok {
			b = recovery[fleet.Unknown]
		}
		if w := b.after(n); d == 0 || w < d {
			d = w
		}
	}
	return d
}
