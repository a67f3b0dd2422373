package status

import (
	"time"

	"fairlead.dev/fleet"
)

// A clock says how the agents' clock differs from that of a cluster's API server.
type clock struct {
	Ahead string `json:"apiServerAhead,omitempty"` // a duration of Go
	Since string `json:"since"`                    // RFC 3339
}

func clockOf(c fleet.Clock) *clock {
	if c == (fleet.Clock{}) {
		return nil
	}
	out := clock{Since: c.Since.UTC().Format(time.RFC3339)}
	if c.Ahead != 0 {
		out.Ahead = c.Ahead.String()
	}
	return &out
}

// fleet is the inverse of clockOf. An unreadable clock is zero.
func (c *clock) fleet() fleet.Clock {
	if c == nil {
		return fleet.Clock{}
	}
	since, err := time.Parse(time.RFC3339, c.Since)
	if err != nil {
		return fleet.Clock{}
	}
	ahead, _ := time.ParseDuration(c.Ahead) // zero where it is damaged
	return fleet.Clock{Ahead: ahead, Since: since.UTC()}
}
