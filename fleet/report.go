package fleet

import "time"

// A Phase is the headline of a cluster. It is computed on every look, and no
// decision is taken from it.
type Phase string

// The phases, in the order in which a new cluster goes through them, and those
// that stand beside.
const (
	PhaseInfrastructure Phase = "Infrastructure"
	PhaseControlPlane   Phase = "ControlPlane"
	PhaseWorkers        Phase = "Workers"
	PhaseProvisioned    Phase = "Provisioned"
	PhaseDeleting       Phase = "Deleting"
	PhaseDeleted        Phase = "Deleted"
	PhaseAbandoned      Phase = "Abandoned" // forgotten; what it is made of stays
)

// A ConditionStatus is True, False or Unknown.
type ConditionStatus string

// The statuses of a condition.
const (
	True          ConditionStatus = "True"
	False         ConditionStatus = "False"
	StatusUnknown ConditionStatus = "Unknown"
)

// A Condition is one fact for people and tools, with the types and reasons of
// Cluster API v1beta2. Message has no time, count of retries or other text that
// changes while the fact does not. When it last changed is found by comparing
// with the status that was written before.
type Condition struct {
	Type    string
	Status  ConditionStatus
	Reason  string // CamelCase
	Message string
}

// AcceptedCondition is a condition of a cluster that is there, False for RefusedReason, while
// Git asks for what cannot be done; its message says what, and what to do.
const (
	AcceptedCondition = "Accepted"
	RefusedReason     = "Refused"
)

// StoppedReason is the reason of a condition of a cluster that is False until people do something: nothing of what
// it is about goes on by itself.
const StoppedReason = "Stopped"

// A Report is what one pass over a cluster found. Passes that find the same
// make equal reports, so that nothing is committed when nothing happened.
type Report struct {
	Cluster    Key
	Revision   Revision // what was being applied
	Overlay    string
	Labels     map[string]string // of the Cluster object, as Git has them: what people select clusters by
	Digest     string            // of the definition that was being applied: equal digests mean equal definitions
	Phase      Phase
	Conditions []Condition // sorted by type
	Endpoint   Endpoint
	Provider   string
	Version    string // Kubernetes version asked for
	Pools      []PoolReport
	Machines   []MachineReport // sorted by name
	Addons     []AddonReport   // sorted by kind and name
	Hosts      []Host          // of the inventory that the cluster's machines come from, sorted by key; nil: not observed
	Waiting    []string        // what the next step waits for, and what stays unchanged and why
	Actions    []string        // what the pass did, "CreateMachine x: why"; goes into the commit message only
	Problems   []Problem       // why the newest revision is not being applied
	// Certificates say when those of the cluster end, by what they are for: CA certificates, the
	// kubeconfig, "machines". It is nil if they could not be observed.
	Certificates map[string]time.Time
	Memory              // what the next pass has to know
	Failure      string // the error of the pass, in the other side's own words
}

// A PoolReport counts the machines of a pool.
type PoolReport struct {
	Name      PoolName
	Role      Role
	Kind      PoolKind
	Version   string
	Desired   int
	Current   int
	UpToDate  int
	Ready     int
	Available int
	// Phase and Message are those of a pool that a cloud keeps: its phase as Cluster API's MachinePool has
	// it, and the cloud's words.
	Phase   KeptPhase
	Message string
}

// Kept reports whether a cloud keeps the pool.
func (p *PoolReport) Kept() bool { return p.Phase != "" }

// A MachinePhase is the headline of a machine, with Cluster API's names.
type MachinePhase string

// The phases of a machine.
const (
	MachinePhaseProvisioning MachinePhase = "Provisioning" // infrastructure is being made
	MachinePhaseProvisioned  MachinePhase = "Provisioned"  // it runs, its Node is not there or not ready
	MachinePhaseRunning      MachinePhase = "Running"
	MachinePhaseDeleting     MachinePhase = "Deleting"
	MachinePhaseFailed       MachinePhase = "Failed"
)

// A MachineReport is the report of one machine.
type MachineReport struct {
	Machine    Machine
	Phase      MachinePhase
	Node       string     // empty while it has none
	NodeID     ProviderID // of the Node, where it is another than the machine's
	Version    string     // kubelet's, once it has a Node
	Joined     time.Time  // when it had its Node; zero while it has none, or that is not known
	UpToDate   bool
	Conditions []Condition // sorted by type
}

// An Owner says which agent may change the clusters of a fleet. Epoch grows by
// one with each hand-over.
type Owner struct {
	Agent string
	Epoch int64
	// Place is where the agent keeps the secrets of clusters. It tells agents of
	// one name apart. Empty until the agent has said it, as after a hand-over.
	Place string
	// Incarnation is the number of the process that acts for the agent. It grows by one
	// with each start. It tells processes of one name and place apart. 0: not known.
	Incarnation int64
	// Process is random text that tells processes with one number apart: a number comes back
	// if the status branch is deleted, damaged or restored from a backup. Empty: not known.
	Process string
}

// Is reports whether o is the agent and epoch of other, wherever it is: people
// name owners so.
func (o Owner) Is(other Owner) bool { return o.Agent == other.Agent && o.Epoch == other.Epoch }
