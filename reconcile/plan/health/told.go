package health

import (
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// Told returns since when c has had its status, by the last report; false if the report is
// of another machine, another status or another transition. A report of an older version
// names no id.
func Told(told []fleet.ObservedCondition, c fleet.ObservedCondition) (since time.Time, ok bool) {
	for _, o := range told {
		if o.Machine == c.Machine && o.Condition == c.Condition && o.Status == c.Status && o.Transition.Equal(c.Transition) &&
			(o.ProviderID == c.ProviderID || o.ProviderID == "") {
			since, ok = o.Since, true
		}
	}
	return since, ok
}

// Tell adds c to what the next report tells, unless that tells of it already.
func Tell(told []fleet.ObservedCondition, c fleet.ObservedCondition) []fleet.ObservedCondition {
	if slices.ContainsFunc(told, func(o fleet.ObservedCondition) bool {
		return o.Machine == c.Machine && o.ProviderID == c.ProviderID && o.Condition == c.Condition
	}) {
		return told
	}
	return append(told, c)
}
