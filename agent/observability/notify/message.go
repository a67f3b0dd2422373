package notify

import (
	"fmt"
	"strings"

	"fairlead.dev/fleet"
)

// maxLines bounds the events of a message for people; a chat cuts long messages anywhere.
const maxLines = 20

// A Message is what a target gets at one time.
type Message struct {
	Fleet  fleet.ID
	Events []fleet.Event // the oldest first; at least one
}

// Title says in a few words what m is about.
func (m Message) Title() string {
	if len(m.Events) == 1 {
		e := m.Events[0]
		return fmt.Sprintf("%s: %s %s", m.Fleet, e.Subject(), headline(e.Type))
	}
	return fmt.Sprintf("%s: %d events", m.Fleet, len(m.Events))
}

// ID is the same for the same message.
func (m Message) ID() string { return m.Events[0].ID + "-" + m.Events[len(m.Events)-1].ID }

// lines returns a line for each event, made by line, and says how many are left out.
func (m Message) lines(line func(fleet.Event) string, text func(string) string) []string {
	var out []string
	for _, e := range m.Events[:min(len(m.Events), maxLines)] {
		out = append(out, line(e))
	}
	if more := len(m.Events) - maxLines; more > 0 {
		out = append(out, text(fmt.Sprintf("and %d more. Run fairlead status for the state of the fleet", more)))
	}
	return out
}

// headline says what an event is, after its subject.
func headline(t fleet.EventType) string {
	words, ok := map[fleet.EventType]string{
		fleet.ClusterProvisioned: "is provisioned", fleet.ClusterUpgraded: "is upgraded", fleet.ClusterDeleted: "is deleted",
		fleet.ClusterAbandoned: "is abandoned", fleet.MachineDeleted: "had a machine deleted",
		fleet.ProblemFound: "has a problem", fleet.ProblemSolved: "problem resolved",
		fleet.RolloutHalted: "rollout halted", fleet.RolloutResumed: "rollout continues", fleet.RolloutApproval: "rollout waits for approval",
	}[t]
	if !ok {
		return string(t)
	}
	return words
}

// detail is the rest of an event, for people.
func detail(e fleet.Event) string {
	var parts []string
	if e.Machine != "" {
		parts = append(parts, string(e.Machine))
	}
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	text := strings.Join(parts, ": ")
	if !e.Revision.IsZero() {
		text += " (" + e.Revision.Ref + "@" + e.Revision.Short() + ")"
	}
	return fleet.PlainText(strings.TrimSpace(text))
}

// plainLine is an event as text.
func plainLine(e fleet.Event) string {
	return e.Subject() + " " + headline(e.Type) + ": " + detail(e)
}
