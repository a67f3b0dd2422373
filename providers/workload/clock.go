package workload

import (
	"net/http"
	"sync/atomic"
	"time"
)

// agree is how far a clock may be off without it being told: answers take time, and
// carry whole seconds.
const agree = 5 * time.Second

// A clock is that of an API server, as its answers tell it.
type clock struct {
	ahead atomic.Int64 // of the agent's, a duration
	known atomic.Bool
}

// read takes the time from the headers of an answer that came at now.
// Source: RFC 9110, "Date".
func (c *clock) read(h http.Header, now time.Time) {
	at, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return // it tells none
	}
	ahead := at.Sub(now).Round(time.Second)
	if ahead.Abs() < agree {
		ahead = 0
	}
	c.ahead.Store(int64(ahead))
	c.known.Store(true)
}

// Ahead is how far the clock is ahead of the agent's; zero where they agree, or
// nothing answered yet.
func (c *clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) }
