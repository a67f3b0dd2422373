package pullrequests

import "time"

// longestWait bounds the time between two tries of what fails.
const longestWait = 30 * time.Minute

// A retry spaces tries of something that fails: the second one is made with the next poll, and each later
// one after a longer wait.
type retry struct {
	of       string // what is tried: something else is tried without a wait
	failures int    // in a row
	after    time.Time
}

// due reports whether of may be tried now.
func (r *retry) due(of string) bool { return r.of != of || !time.Now().Before(r.after) }

// failed notes that a try of of failed.
func (r *retry) failed(of string) {
	if r.of != of {
		*r = retry{of: of}
	}
	if r.failures++; r.failures > 1 {
		r.after = time.Now().Add(min(time.Minute<<min(r.failures-2, 10), longestWait))
	}
}

// done forgets what failed.
func (r *retry) done() { *r = retry{} }
