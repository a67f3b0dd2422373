package host

import (
	"fmt"

	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

// A Declared is what Git, and the look at clusters, say of a host.
type Declared struct {
	Gone     bool // removed from Git
	Paused   bool // people keep Fairlead from it: annotations paused, detached
	Online   bool // spec.online
	External bool // spec.externallyProvisioned
	Inspect  bool // spec.inspectionMode is not disabled
	// InspectAgain says that its last inspection is older than people want it.
	InspectAgain bool
	// Erase is people's request: whatever may run on a host that is on is lost.
	Erase bool
	// RememberedBy names the machine that another cluster remembers on the host, if Ironic knows no machine;
	// empty: no known cluster remembers one.
	RememberedBy string
	// New says that the host is new to Ironic and not yet inspected.
	New bool
	// TooNew says that the host is new to Ironic, which may have lost its database: a cluster that
	// remembers a machine on it gets the time to claim it.
	TooNew bool
	// Node names the Node of a cluster whose provider id is of this host; "": none.
	Node string
	Tags Tags
	// Preparation says how far the host is prepared as Git says; with a machine on it, in what is
	// serviceable.
	Preparation PreparationState
	// Outstanding says in words what of it is to be done, also what a machine is in the way of.
	Outstanding string
	// Shared says which other host has its computer: nothing is done through its node.
	Shared string
	// Moved says in what Git has another computer than Ironic: what runs on the one that Ironic has goes on,
	// and nothing else is done to it.
	Moved string
	// Unproven says that nothing is known of the host but what this fleet told Ironic.
	Unproven bool
	// KeptOff says that people keep the machine on it off: it may be serviced.
	KeptOff bool
	// Machine is the one that has the host, or is to have it; nil: none.
	Machine *Machine
}

// Tags say whose tags the node's extra has. A claim writes them, and they stay when the
// machine is gone.
type Tags string

// Whose they are.
const (
	NoTags    Tags = ""
	Own       Tags = "own"       // Declared.Machine's
	Past      Tags = "past"      // of a machine of this fleet that is gone
	Unsettled Tags = "unsettled" // of another machine, which is there or not known to be gone
)

// A PreparationState says how far disks and firmware of a host are as Git says.
type PreparationState string

// How far they are.
const (
	Prepared           PreparationState = ""
	Unprepared         PreparationState = "unprepared"
	PreparationAsked   PreparationState = "asked"   // noted at the node, which did not begin
	PreparationEnded   PreparationState = "ended"   // the state of the node says how
	PreparationDropped PreparationState = "dropped" // Git no longer wants the recorded preparation
)

// A Machine is one of a host.
type Machine struct {
	Instance string // instance_uuid
	Name     string
	// Running says that the machine was on the host before: status in Git, or its Node. The
	// host is adopted unchanged, and never deployed to.
	Running bool
	// Release says that the machine is to go.
	Release bool
}

// A Step is one request.
type Step string

// The steps. Each may be repeated.
const (
	None             Step = "" // nothing is to be done, or something is waited for
	Create           Step = "enrol it"
	Renew            Step = "enrol it again" // its node goes, and is created again
	Manage           Step = "verify it"
	Inspect          Step = "inspect it"
	Provide          Step = "make it available"
	Claim            Step = "claim it"
	Unclaim          Step = "give it back"
	Deploy           Step = "deploy it"
	Adopt            Step = "adopt it"
	Undeploy         Step = "release it"
	PowerOn          Step = "switch it on"
	PowerOff         Step = "switch it off"
	UnsetMaintenance Step = "take it out of maintenance"
	Prepare          Step = "prepare it"
	NotePrepared     Step = "note that it is prepared"
	NoteUnprepared   Step = "note that it is not prepared"
	Service          Step = "service it"
	Abort            Step = "end its service"
)

// A Phase is where a host is, for people.
type Phase string

// The phases, with the names that Metal3 uses, if it has one.
const (
	Absent         Phase = "absent"
	Registering    Phase = "registering"
	Inspecting     Phase = "inspecting"
	Preparing      Phase = "preparing" // it is cleaned
	Ready          Phase = "available"
	Claimed        Phase = "claimed"
	Provisioning   Phase = "provisioning"
	Provisioned    Phase = "provisioned"
	External       Phase = "externally provisioned"
	Deprovisioning Phase = "deprovisioning"
	Failed         Phase = "failed" // the machine will not run: it is to be released
	Unknown        Phase = "unknown"
)

// A Decision is the next step of a host.
type Decision struct {
	Phase Phase
	Step  Step
	// Held says why nothing is done until people do something; "": it goes on by itself.
	Held string
	// Err is what went wrong last, if anything did: Step tries again, and its kind says how
	// soon.
	Err error
}

func do(p Phase, s Step) Decision { return Decision{Phase: p, Step: s} }

func wait(p Phase) Decision { return Decision{Phase: p} }

func held(p Phase, format string, args ...any) Decision {
	return Decision{Phase: p, Held: fmt.Sprintf(format, args...)}
}

// again is a step after a failure of n.
func again(p Phase, s Step, n *ironic.Node) Decision {
	return Decision{Phase: p, Step: s, Err: n.Failure()}
}
