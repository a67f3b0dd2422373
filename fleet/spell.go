package fleet

import "time"

// A Spell is for how long a condition of a machine has had its status, by the
// clock of the agents that look: no other clock is compared with theirs. Health
// checks wait some out.
type Spell struct {
	Machine    MachineName
	ProviderID ProviderID // empty while the machine has none
	Condition  string
	Status     ConditionStatus
	Since      time.Time // by the clock of the agent that saw it first, in UTC
	// Transition is when the Node says that it became so, in UTC; zero where no Node
	// does. It is compared with itself only: another one is another spell.
	Transition time.Time
}
