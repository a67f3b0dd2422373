package remediation

import "time"

// Limits bound attempts to replace machines that fail one after the other.
type Limits struct {
	MaxRetry    *int          // attempts after the first; nil: no bound
	RetryPeriod time.Duration // between two
	MinHealthy  time.Duration // after which an attempt is over: what fails later is a first attempt again
}

// An Attempt is the one that a machine came of.
type Attempt struct {
	Retry int           // how many attempts in a row failed before it
	Ago   time.Duration // since it began
}

// A Limit is what holds an attempt.
type Limit string

// The limits.
const (
	None      Limit = ""
	Deferred  Limit = "deferred"  // by RetryPeriod
	Exhausted Limit = "exhausted" // by MaxRetry
)

// A Verdict is what limits make of another attempt.
type Verdict struct {
	Retry int           // how many attempts in a row failed before it
	Limit Limit         // what holds it
	Left  time.Duration // until Limit ends
}

// After judges the attempt that replaces a machine which came of last, and is unhealthy.
// anew says that earlier attempts do not count.
func (l Limits) After(last Attempt, anew bool) Verdict {
	remembered := l.MinHealthy - last.Ago
	if anew || remembered <= 0 {
		return Verdict{}
	}
	v := Verdict{Retry: last.Retry + 1}
	if left := l.RetryPeriod - last.Ago; l.RetryPeriod > 0 && left > 0 {
		v.Limit, v.Left = Deferred, left
	} else if l.MaxRetry != nil && last.Retry >= *l.MaxRetry {
		v.Limit, v.Left = Exhausted, remembered
	}
	return v
}
