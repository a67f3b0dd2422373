package fleet

import (
	"path"
	"slices"
	"time"
)

// An EventType says what happened. What lasts, such as a cluster that fails, is no event: an
// alert tells of that for as long as it lasts.
type EventType string

// The types of events.
const (
	ClusterProvisioned EventType = "ClusterProvisioned" // it is as Git says for the first time
	ClusterUpgraded    EventType = "ClusterUpgraded"    // it is as Git says with another version of Kubernetes
	ClusterDeleted     EventType = "ClusterDeleted"
	ClusterAbandoned   EventType = "ClusterAbandoned" // forgotten; what it is made of stays
	MachineDeleted     EventType = "MachineDeleted"   // of a cluster that goes on; the message says why
	ProblemFound       EventType = "ProblemFound"     // something in Git keeps a revision from being applied
	ProblemSolved      EventType = "ProblemSolved"
	RolloutHalted      EventType = "RolloutHalted"   // too many clusters of a stage failed
	RolloutResumed     EventType = "RolloutResumed"  // a halted stage continues
	RolloutApproval    EventType = "RolloutApproval" // a person has to approve of what waits in a stage
)

// EventTypes returns all types, in the order in which people read of them.
func EventTypes() []EventType {
	return []EventType{ClusterProvisioned, ClusterUpgraded, ClusterDeleted, ClusterAbandoned, MachineDeleted, ProblemFound, ProblemSolved, RolloutHalted, RolloutResumed, RolloutApproval}
}

// An Event is something that happened once, for people and programs.
type Event struct {
	ID       string // unique in the fleet, and the same whenever it is sent again
	Type     EventType
	At       time.Time // when it was noted, UTC
	Cluster  Key       // zero: the fleet
	Machine  MachineName
	Message  string // one line
	Revision Revision
}

// Subject returns what e happened to: a cluster, or the fleet.
func (e Event) Subject() string {
	if e.Cluster == (Key{}) {
		return "fleet"
	}
	return e.Cluster.String()
}

// A Notification is an event with the targets that are still to be told of it.
type Notification struct {
	Event
	Targets []string // names, sorted
}

// A TargetType is a service that notifications are sent to.
type TargetType string

// The types of targets.
const (
	TargetSlack   TargetType = "slack"
	TargetMSTeams TargetType = "msteams"
	TargetMatrix  TargetType = "matrix"
	TargetWebhook TargetType = "webhook"
	TargetEmail   TargetType = "email"
)

// TargetTypes returns all types, sorted.
func TargetTypes() []TargetType {
	return []TargetType{TargetEmail, TargetMatrix, TargetMSTeams, TargetSlack, TargetWebhook}
}

// A NotificationTarget receives events. Where its messages go, and with
// which credentials, the operator of the agent says, by its name.
type NotificationTarget struct {
	Name       string
	Type       TargetType
	Channel    string      // of slack with a token: the channel; of matrix: the room
	Recipients []string    // of email
	Events     []EventType // empty: all but MachineDeleted
	Clusters   []string    // patterns of path.Match for NAMESPACE/NAME; empty: all, and the fleet
}

// Wants reports whether the target receives e. A target with chosen clusters receives no
// events of the fleet as a whole.
func (t NotificationTarget) Wants(e Event) bool {
	if len(t.Events) == 0 && e.Type == MachineDeleted || len(t.Events) > 0 && !slices.Contains(t.Events, e.Type) {
		return false
	}
	return len(t.Clusters) == 0 || e.Cluster != Key{} && slices.ContainsFunc(t.Clusters, func(pattern string) bool {
		ok, err := path.Match(pattern, e.Cluster.String())
		return ok && err == nil
	})
}
