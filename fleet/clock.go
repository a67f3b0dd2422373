package fleet

import "time"

// A Clock is how the clock of the agents compares with that of a cluster's API server.
// An agent with another clock than the one before it is noticed by that. It is zero
// if they always agreed, or were never compared.
type Clock struct {
	Ahead time.Duration // how far the API server's is ahead, when that last changed
	Since time.Time     // when it last changed, by the clock of the agent that saw that, in UTC
}
