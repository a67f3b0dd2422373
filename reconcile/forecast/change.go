package forecast

import "fairlead.dev/fleet"

// A Change is one difference between what Git asks for and what is, as people
// review it: not what may be done now, but all that will be done.
type Change struct {
	Kind    ChangeKind
	Cluster fleet.Key
	Pool    fleet.PoolName
	Machine fleet.MachineName // the machine to be; of a replacement the old one
	By      fleet.MachineName // of a replacement, the new machine
	Addon   string            // ClusterResourceSet that is applied or pruned, "namespace/name" of a release of Helm
	Host    string            // of an inventory, "namespace/name"
	Reason  string
}

// A ChangeKind says what happens to a machine, a cluster or an addon.
type ChangeKind string

// The kinds of change.
const (
	CreateCluster  ChangeKind = "create cluster"
	DeleteCluster  ChangeKind = "delete cluster"
	CreateMachine  ChangeKind = "create"
	ReplaceMachine ChangeKind = "replace"
	DeleteMachine  ChangeKind = "delete"
	RebootMachine  ChangeKind = "reboot" // before it would be replaced
	UpdateNode     ChangeKind = "update in place"
	UpdateShared   ChangeKind = "update infrastructure" // what the machines of a cluster share, and need of it
	ApplyResources ChangeKind = "apply resources"
	PruneResources ChangeKind = "prune resources"

	CreatePool ChangeKind = "create pool" // that a cloud keeps
	UpdatePool ChangeKind = "update pool"
	DeletePool ChangeKind = "delete pool"

	PrepareHost ChangeKind = "prepare host" // of an inventory: its next step

	InstallRelease   ChangeKind = "install release"
	UpgradeRelease   ChangeKind = "upgrade release"
	UninstallRelease ChangeKind = "remove release"
)

// A Forecast is what repeated plans come to.
type Forecast struct {
	Changes []Change
	// Notes say what of the definition it does not come to, and why, sorted.
	Notes []string
	// Observed and Memory are what is there and what is remembered then. Machines that are new have ids
	// that the forecast gave them.
	Observed fleet.Observed
	Memory   fleet.Memory
}
