package fleet

import "time"

// An ObservedCondition is a condition of a machine, and since when it has its status by the
// clock of the agents that look: no other clock is compared with theirs. Health checks wait
// some out.
type ObservedCondition struct {
	Machine    MachineName
	ProviderID ProviderID // empty while the machine has none
	Condition  string
	Status     ConditionStatus
	Since      time.Time // by the clock of the agent that saw it first, in UTC
	// Transition is when the Node says that it became so, in UTC; zero where no Node
	// does. It is compared with itself only: another one is another condition.
	Transition time.Time
}
