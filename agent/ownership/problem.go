package ownership

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
)

const (
	// slowMove is how long a move to another agent takes before people learn that no
	// secrets are stored meanwhile.
	slowMove = 15 * time.Minute
	// toldRestored is how long the status shows that the owner was written again.
	toldRestored = 24 * time.Hour
)

// A restored owner was written again.
type restored struct {
	at  time.Time // zero: never
	why string
}

// Problem returns what there is to tell of the owner, if there is something.
func (c *Claim) Problem() (fleet.Problem, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	switch {
	case c.owned && c.movesAway(c.next) && time.Since(c.since) >= slowMove:
		return fleet.Problem{
			Message: fmt.Sprintf("the fleet is on its way to agent %q since %s: no secret is stored meanwhile, so new clusters wait. The move is withdrawn at %s if it does not go on",
				c.next.To, at(c.since), at(c.since.Add(grantLasts))),
			Hint: "finish the move with the same command, or withdraw it with `fairlead pivot --undo`",
		}, true
	case c.owned && !c.assumed.IsZero():
		return fleet.Problem{
			Message: fmt.Sprintf("the status branch can be read and accepts no push: since %s this process acts for the fleet, and another process of agent %q would not know of it", at(c.assumed), c.o.Self),
			Hint:    "make the branch accept pushes of the agent, and run one process for the fleet",
		}, true
	case c.owned && !c.restored.at.IsZero() && time.Since(c.restored.at) < toldRestored:
		return fleet.Problem{
			Message: fmt.Sprintf("the agent wrote the owner of the fleet on the status branch again at %s: %s", at(c.restored.at), c.restored.why),
			Hint:    "find out who changed or deleted the branch, and let the agent alone push to it",
		}, true
	}
	return fleet.Problem{}, false
}
