package status

import (
	"time"

	"fairlead.dev/fleet"
)

func encodeConditions(list []fleet.ObservedCondition) []observedCondition {
	var out []observedCondition
	for _, s := range list {
		told := observedCondition{
			Machine: string(s.Machine), ProviderID: string(s.ProviderID),
			Condition: s.Condition, Status: string(s.Status), Since: s.Since.UTC().Format(time.RFC3339),
		}
		if !s.Transition.IsZero() {
			told.Transition = s.Transition.UTC().Format(time.RFC3339)
		}
		out = append(out, told)
	}
	return out
}

// decodeConditions is the inverse of spellsOf. One whose time cannot be read is left out:
// it is waited out again.
func decodeConditions(list []observedCondition) []fleet.ObservedCondition {
	var out []fleet.ObservedCondition
	for _, s := range list {
		since, err := time.Parse(time.RFC3339, s.Since)
		if err != nil {
			continue
		}
		transition, _ := time.Parse(time.RFC3339, s.Transition) // of no Node, or damaged: waited out again
		out = append(out, fleet.ObservedCondition{
			Machine: fleet.MachineName(s.Machine), ProviderID: fleet.ProviderID(s.ProviderID),
			Condition: s.Condition, Status: fleet.ConditionStatus(s.Status), Since: since.UTC(), Transition: transition.UTC(),
		})
	}
	return out
}
