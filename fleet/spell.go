package fleet

import "time"

// A Spell is for how long a condition of a machine has had its status, where
// neither the infrastructure nor the cluster tells. Health checks wait some out.
type Spell struct {
	Machine    MachineName
	ProviderID ProviderID // empty while the machine has none
	Condition  string
	Status     ConditionStatus
	Since      time.Time // by the clock of the agent that saw it first, in UTC
}
