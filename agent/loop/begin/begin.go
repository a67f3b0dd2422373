package begin

import (
	"errors"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// Flags are what an agent is started with.
type Flags struct {
	Self, Place string      // name of the agent, and where it keeps its secrets
	Branch      string      // --status-branch; empty: fleet.yaml names the branch
	Wait        bool        // an agent that does not own the fleet waits for it
	TakeOver    fleet.Owner // an owner that is gone; zero: none
	Signed      bool        // trusted keys say who may push revisions
}

// A Tip is what came of the newest revision.
type Tip struct {
	Err    error    // why it cannot be used; nil: it can be used
	Fleet  fleet.ID // that it defines
	Branch string   // the status branch that it names
	// Revision is the newest one.
	Revision fleet.Revision
	// Strays says that the revision does not continue the one that was followed last.
	Strays bool
}

// A Branch is what a status branch says of where the status is. Its signposts are those of the
// default branch.
type Branch struct {
	status.Location

	Err error // why it cannot be read
	// Stays says that the status could not be moved from here, and nothing was decided.
	Stays bool
	// Foreign says that the applied revision is of a branch or tag of the source that this agent
	// does not follow.
	Foreign bool
	// Rendered is what came of the applied revision. Nil: it was not rendered.
	Rendered *Rendered
}

// Rendered is what came of a revision that a status branch has as applied.
type Rendered struct {
	Err   error    // why it cannot be used
	Fleet fleet.ID // that it defines
}

// An Ownership is what the status branch says of the owner.
type Ownership struct {
	Err  error // why it cannot be read, or why the last step failed
	Next fleet.Succession
	// Owner is zero if the branch is not there, or has no owner.
	Owner fleet.Owner
	// Unsigned says that no trusted key signed that Owner is the owner.
	Unsigned bool
	Proof    *Proof // nil: nothing was proved
	Begun    bool   // this process is the one that acts for Owner
	// Unpushed is for how long no push was accepted that makes this process the one that acts
	// for Owner, while Owner stayed the same.
	Unpushed time.Duration
}

// A Proof is what an agent proves before it claims a fleet without an owner.
type Proof struct{ Err error }

// A Record is what the status branch says of the fleet.
type Record struct {
	Err     error // why it cannot be read
	Damage  error // why fleet.yaml cannot be read; then Applied is zero
	Applied fleet.Revision
}

// Input is what is known of a start. Nil: it was not read yet.
type Input struct {
	Flags
	Tip      *Tip
	Branches map[string]Branch // by name
	Waited   time.Duration     // since the start began to look for the status branch
	Posted   string            // the branch that a signpost leads to, as far as one can be written
	At       string            // the status branch, once it is decided
	Owner    *Ownership
	Owned    bool // this process acts for the fleet
	Record   *Record
	Held     bool // clusters have a revision
}

// A Do is what a step does.
type Do string

// The steps. Those of the first group decide which branch has the status, those of the
// second who owns the fleet, those of the third the revision of the clusters.
const (
	ReadTip    Do = "read the newest revision"
	ReadBranch Do = "read branch"                           // Step.Branch
	Render     Do = "render the applied revision of branch" // Step.Branch
	Use        Do = "use branch"                            // Step.Branch
	Move       Do = "move the status"                       // from Step.From to Step.Branch
	Post       Do = "write the signpost"                    // that leads to Step.Branch in place of Step.From

	ReadOwner Do = "read the owner"
	Prove     Do = "prove that this agent can act"
	Claim     Do = "claim the fleet"
	TakeOver  Do = "take the fleet over"
	Assume    Do = "own the fleet before a push says so"
	Own       Do = "own the fleet"
	StandBy   Do = "wait for the fleet"
	Prepare   Do = "prepare to get the fleet"

	ReadRecord  Do = "read the status"
	HoldTip     Do = "hold to the newest revision"
	HoldApplied Do = "hold to the applied revision"

	Locate Do = "find the status branch again"

	Retry  Do = "try again" // Step.Why
	Refuse Do = "end"       // Step.Why; nil: another agent owns the fleet
)

// Patience is how long a start waits for a server that can be read and accepts no push.
const Patience = 5 * time.Minute

// A Step is the next step of a start.
type Step struct {
	Do     Do
	Branch string
	From   string
	Why    error
}

// Decide returns the next step after what is known.
func Decide(in Input) Step {
	switch {
	case in.At == "":
		return locate(in)
	case !in.Owned:
		return own(in)
	}
	return hold(in)
}

// own decides who owns the fleet.
func own(in Input) Step {
	o := in.Owner
	switch {
	case o == nil:
		return Step{Do: ReadOwner}
	case errors.Is(o.Err, status.ErrMoved):
		return Step{Do: Locate, Why: o.Err}
	case o.Err != nil && o.Unpushed >= Patience && in.isSelf(o.Owner):
		return Step{Do: Assume}
	case o.Err != nil:
		return Step{Do: Retry, Why: o.Err}
	case o.Owner == (fleet.Owner{}) && o.Proof == nil:
		return Step{Do: Prove}
	case o.Owner == (fleet.Owner{}) && o.Proof.Err != nil:
		return Step{Do: Retry, Why: o.Proof.Err}
	case o.Owner == (fleet.Owner{}):
		return Step{Do: Claim}
	case in.isSelf(o.Owner) && o.Begun:
		return Step{Do: Own}
	case in.isSelf(o.Owner):
		return Step{Do: Claim}
	case in.TakeOver != (fleet.Owner{}) && o.Owner.Is(in.TakeOver):
		return Step{Do: TakeOver}
	case !in.Wait:
		return Step{Do: Refuse}
	case o.Next.To == in.Self:
		return Step{Do: Prepare}
	}
	return Step{Do: StandBy}
}

// isSelf reports whether o is this agent, which may not have said its place yet.
func (in Input) isSelf(o fleet.Owner) bool {
	return o.Agent == in.Self && (o.Place == in.Place || o.Place == "")
}

// hold decides the revision of the clusters.
func hold(in Input) Step {
	r := in.Record
	switch {
	case r == nil:
		return Step{Do: ReadRecord}
	case r.Err != nil:
		return Step{Do: Retry, Why: r.Err}
	case r.Damage != nil && in.Signed:
		return Step{Do: Retry, Why: fleet.Errorf(fleet.Invalid, "continue the fleet",
			"%w. It says which signed revision was followed last. Fix: restore fleet.yaml on the status branch from its last good commit, or delete it to follow the newest signed revision", r.Damage)}
	case in.Tip == nil:
		return Step{Do: ReadTip}
	case in.Tip.Err == nil:
		return Step{Do: HoldTip}
	case !in.Held && !r.Applied.IsZero():
		return Step{Do: HoldApplied}
	}
	return Step{Do: Retry, Why: in.Tip.Err}
}
