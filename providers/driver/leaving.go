package driver

import (
	"maps"
	"slices"
	"time"
)

// leavingFor is how long the endpoint does not lead to a machine that left it. The planner deletes the machine within
// that time, or it decided otherwise.
const leavingFor = 15 * time.Minute

// Leaving remembers which machines, by an id of one life, left the endpoint recently. An agent that starts knows of
// none: it leads the endpoint to them until it removes them. The zero value is ready to use.
type Leaving struct{ since Memory[string, time.Time] }

// Note notes that a machine left the endpoint.
func (l *Leaving) Note(id string) { l.since.Note(id, time.Now()) }

// Forget notes that a machine is to stay after all.
func (l *Leaving) Forget(id string) { l.since.Forget(id) }

// Has reports whether a machine left the endpoint recently.
func (l *Leaving) Has(id string) bool { return slices.Contains(l.All(), id) }

// All returns the machines that left the endpoint recently.
func (l *Leaving) All() []string {
	l.since.ForgetIf(func(_ string, since time.Time) bool { return time.Since(since) >= leavingFor })
	return slices.Collect(maps.Keys(l.since.All()))
}
