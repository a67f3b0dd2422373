package fleet

import "time"

// PullRequests say which proposals an agent plans, and what of a plan is too much.
type PullRequests struct {
	Planned bool // those onto the branch that is followed
	Forks   bool // of other repositories too, without being asked
	// Refs are patterns of full names of refs that are planned as if somebody had opened a
	// pull request; * and ? are within a segment.
	Refs []string
	// Revisions says that commits that were pushed get a status, too.
	Revisions bool
	Fail      PlanPolicy
}

// A PlanPolicy says what makes the plan of a pull request fail, unless somebody accepts it.
type PlanPolicy struct {
	DeletedClusters       bool // or abandoned, or left alone
	EndedPromises         bool // something is managed, repaired or protected less, or secrets are for more people
	ReplacedControlPlanes bool // machines of them are replaced or deleted
	Problems              bool // something of the merge cannot be used
	Machines              int  // more of them are created, replaced or deleted; 0: any number
	Clusters              int  // something of more of them changes; 0: any number
	VersionSkew           bool // Kubernetes skips a minor version or goes back, or nodes would be too old for it
	// Groups are clusters of which nothing may change.
	Groups []PlanGroup
	// Rules are what else may not be.
	Rules []PlanRule
}

// A PlanGroup names clusters.
type PlanGroup struct {
	Name     string
	Selector string // of labels, as kubectl -l takes it
}

// A PlanRule is what a plan has to be.
type PlanRule struct {
	Name       string
	Expression string // of CEL, which is true of a plan that may pass
	Message    string // for people, where it is not
}

// An ApprovalKind is what is approved.
type ApprovalKind string

// The kinds of approvals.
const (
	// ApprovePlan has the head of another repository planned.
	ApprovePlan ApprovalKind = "plan"
	// ApproveChanges has a plan not fail, whatever the policy says.
	ApproveChanges ApprovalKind = "changes"
)

// An Approval is what somebody with the right to push the status branch says of one commit
// of a pull request. It counts for no other commit.
type Approval struct {
	PullRequest int
	Kind        ApprovalKind
	Head        string // commit, in hex
	Reason      string // why, for people
	By          string // "Name <mail>"
	At          time.Time
	Signature   string // in armour; empty: none
	Distrusted  string // why no key that counts signed it; empty: one did, or no keys are required
}
