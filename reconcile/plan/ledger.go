package plan

import (
	"cmp"
	"slices"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A ledger collects conditions.
type ledger []fleet.Condition

// set adds a condition that is true for the reason yes, or false for the reason
// no, with a message.
func (l *ledger) set(kind string, is bool, yes, no, message string) {
	c := fleet.Condition{Type: kind, Status: fleet.False, Reason: no, Message: message}
	if is {
		c.Status, c.Reason = fleet.True, yes
	}
	*l = append(*l, c)
}

// unknown adds a condition of which nothing can be said.
func (l *ledger) unknown(kind, reason, message string) {
	*l = append(*l, fleet.Condition{Type: kind, Status: fleet.StatusUnknown, Reason: reason, Message: message})
}

// setWanted is like set for a condition that should be true: it has a message only
// when it is not, and is true exactly when there is none.
func (l *ledger) setWanted(kind, yes, no, problem string) {
	l.set(kind, problem == "", yes, no, problem)
}

// setUnwanted is like set for a condition that should be false: it is true exactly
// when there is a message.
func (l *ledger) setUnwanted(kind, yes, no, text string) { l.set(kind, text != "", yes, no, text) }

func (l ledger) sorted() []fleet.Condition {
	slices.SortFunc(l, func(a, b fleet.Condition) int { return cmp.Compare(a.Type, b.Type) })
	return l
}

// gate says why the availability gate g is closed, if it is, and whether its
// condition is known.
func (l *ledger) gate(g clusterv1.ClusterAvailabilityGate) (text string, known bool) {
	want := fleet.True
	if g.Polarity == clusterv1.NegativePolarityCondition {
		want = fleet.False
	}
	for _, c := range *l {
		switch {
		case c.Type != g.ConditionType:
		case c.Status == want:
			return "", true
		default:
			return c.Type + " is " + string(c.Status) + because(c.Message), c.Status != fleet.StatusUnknown
		}
	}
	return g.ConditionType + " is not known", false
}
