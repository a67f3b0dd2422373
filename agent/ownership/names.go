package ownership

import (
	"fmt"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
)

// homePrefix begins the names of agents that live in a cluster.
const homePrefix = "home."

// AgentOf returns the name of the agent that lives in cluster k. No two clusters have the
// same name, since a namespace contains no dot.
func AgentOf(k fleet.Key) string { return homePrefix + k.Namespace + "." + k.Name }

// HomeOf returns the cluster that the agent of a name lives in. It is false for an agent
// that lives in no cluster.
func HomeOf(agent string) (fleet.Key, bool) {
	rest, ok := strings.CutPrefix(agent, homePrefix)
	if !ok {
		return fleet.Key{}, false
	}
	namespace, name, ok := strings.Cut(rest, ".")
	return fleet.Key{Namespace: namespace, Name: name}, ok && namespace != "" && name != ""
}

// ParseOwner parses "AGENT@EPOCH".
func ParseOwner(s string) (fleet.Owner, error) {
	i := strings.LastIndex(s, "@")
	epoch, err := strconv.ParseInt(s[i+1:], 10, 64)
	if i < 1 || err != nil || epoch < 1 {
		return fleet.Owner{}, fmt.Errorf("%q is not AGENT@EPOCH, as fairlead status tells of the owner", s)
	}
	return fleet.Owner{Agent: s[:i], Epoch: epoch}, nil
}

// A NotOwnerError says that this agent does not own the fleet. With a zero Owner no agent
// owns it.
type NotOwnerError struct {
	Self     string
	Place    string // of this agent
	Owner    fleet.Owner
	Unsigned bool // no trusted key signed that Owner is the owner
	// Incarnation is the number of this process; 0: it did not act for the fleet.
	Incarnation int64
	// Twin says that Owner is another process with the same number.
	Twin bool
}

// Error implements error.
func (e *NotOwnerError) Error() string {
	if e.Owner.Agent == "" {
		return fmt.Sprintf("the fleet has no owner any more, owner.yaml is gone from the status branch: start %q again to claim it", e.Self)
	}
	if e.Unsigned {
		return fmt.Sprintf("the fleet is owned by agent %q (epoch %d, place %s), without a signature by a request key: start that agent with the same --request-keys, so that it signs. If that agent is gone, start this one with --take-over %[1]s@%[2]d",
			e.Owner.Agent, e.Owner.Epoch, knownPlace(e.Owner.Place))
	}
	if e.OtherProcess() {
		this := fmt.Sprintf("this is process %d of it", e.Incarnation)
		if e.Twin {
			this = "this is another process of it, with the same number since the status branch was put back to an earlier state or damaged"
		}
		return fmt.Sprintf("process %d of agent %q acts for the fleet now, %s: run one process for a fleet, and give a copy of this machine or of its files another agent name (--name) and its own secret store",
			e.Owner.Incarnation, e.Self, this)
	}
	if e.Owner.Agent == e.Self {
		return fmt.Sprintf("the fleet is owned by another agent of the name %[1]q, in %[2]s, and this one is in %[3]s: give one of them a name of its own (--name, agent.name of the chart), or, if the other is gone permanently, start this one with --take-over %[1]s@%[4]d",
			e.Self, knownPlace(e.Owner.Place), knownPlace(e.Place), e.Owner.Epoch)
	}
	return fmt.Sprintf("the fleet is owned by agent %q (epoch %d), this is %q", e.Owner.Agent, e.Owner.Epoch, e.Self)
}

// OtherProcess reports whether another process of this agent acts for the fleet.
func (e *NotOwnerError) OtherProcess() bool {
	return e.Owner.Agent == e.Self && e.Owner.Place == e.Place && (e.Owner.Incarnation != e.Incarnation || e.Twin)
}

func knownPlace(place string) string {
	if place == "" {
		return "a place that it does not tell"
	}
	return place
}
