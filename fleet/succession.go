package fleet

// A Succession is the way of a fleet from the agent that owns it to another.
// The zero Succession says that the fleet stays. It is kept beside the owner, in
// one file, so that each step is one compare-and-swap of both.
type Succession struct {
	// ID tells one request from the next: who acts on a step acts on the request
	// that it saw.
	ID   string
	To   string // name of the agent that the fleet goes to
	Step SuccessionStep
	// Message is why To is not ready yet, in its own words. Only with StepMoved.
	Message string
	// Place is where To is: see Owner. From StepReady on.
	Place string
}

// A SuccessionStep is how far a succession got. Each step has one who takes it.
type SuccessionStep string

// The steps, in their order.
const (
	// StepAsked is taken by the agent that wants the fleet to move.
	StepAsked SuccessionStep = "Asked"
	// StepGranted is taken by the owner: from here on it goes on acting, but
	// stores, replaces and removes no secret.
	StepGranted SuccessionStep = "Granted"
	// StepMoved is taken by the agent that asked: all secrets are where To reads them,
	// compared one by one.
	StepMoved SuccessionStep = "Moved"
	// StepReady is taken by To: it has looked at every cluster with them.
	StepReady SuccessionStep = "Ready"
	// StepHandedOver comes with the new owner: To owns the fleet and has not
	// acted yet. Once it has, the succession is gone.
	StepHandedOver SuccessionStep = "HandedOver"
)

// At returns s at another step.
func (s Succession) At(step SuccessionStep) Succession {
	s.Step, s.Message = step, ""
	return s
}
