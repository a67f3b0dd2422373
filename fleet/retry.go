package fleet

import (
	"slices"
	"time"
)

// A PoolRetry counts the tries to replace machines of a pool that failed to start. It ends
// when a machine of the pool joins, and does not hold for another template.
type PoolRetry struct {
	Pool     PoolName
	Template TemplateHash
	Tries    int       // since a machine joined last; at least one
	Last     time.Time // when the last one began, by the clock of the agents, in UTC
}

// RetryOf returns the tries of p in list; zero: p had none with its template.
func RetryOf(list []PoolRetry, p *Pool) PoolRetry {
	if i := slices.IndexFunc(list, func(r PoolRetry) bool {
		same, _ := p.Has(r.Template)
		return r.Pool == p.Name && same
	}); i >= 0 {
		return list[i]
	}
	return PoolRetry{}
}

// RetryWait returns how long a pool waits after a number of tries until the next one: it
// doubles from first to an hour.
func RetryWait(first time.Duration, tries int) time.Duration {
	wait := first
	for range tries {
		if wait *= 2; wait >= longestRetry {
			return longestRetry
		}
	}
	return wait
}

const longestRetry = time.Hour
