package fleet

import (
	"cmp"
	"strings"
	"time"
)

// An ActionKind names what an action does.
type ActionKind string

// The kinds of action, in the order of a cluster's life.
const (
	EnsureCertificates   ActionKind = "EnsureCertificates"   // make the CA certificates, once
	EnsureControlPlane   ActionKind = "EnsureControlPlane"   // create, repair or upgrade a hosted control plane
	EnsureInfrastructure ActionKind = "EnsureInfrastructure" // create or repair what the machines share
	EnsureKubeconfig     ActionKind = "EnsureKubeconfig"     // issue the administrator's kubeconfig
	CreateMachine        ActionKind = "CreateMachine"
	RefreshToken         ActionKind = "RefreshToken"     // a machine still has to join and its token is running out
	SyncNode             ActionKind = "SyncNode"         // bring labels and taints of a node in line
	DrainNode            ActionKind = "DrainNode"        // mark, cordon and evict, one step
	UncordonNode         ActionKind = "UncordonNode"     // take back a drain that evicted nothing
	RemoveMember         ActionKind = "RemoveMember"     // take a node out of etcd, handing leadership on first
	SwitchOff            ActionKind = "SwitchOff"        // switch a machine off: the first half of its reboot
	SwitchOn             ActionKind = "SwitchOn"         // switch it on again
	DeleteMachine        ActionKind = "DeleteMachine"    // remove its infrastructure
	DeleteNode           ActionKind = "DeleteNode"       // remove the Node object of a machine that is gone
	EnsurePool           ActionKind = "EnsurePool"       // create or change a pool that a cloud keeps
	DeletePool           ActionKind = "DeletePool"       // delete one, with its machines
	ApplyStep            ActionKind = "ApplyStep"        // take a step of the distribution: what it is called instead
	ApplyResources       ActionKind = "ApplyResources"   // apply what Git holds of a ClusterResourceSet
	PruneResources       ActionKind = "PruneResources"   // delete what Git no longer holds of a ClusterResourceSet
	InstallRelease       ActionKind = "InstallRelease"   // install or upgrade a release of Helm
	UninstallRelease     ActionKind = "UninstallRelease" // remove one that Git no longer has
	// DeleteExternalResources has controllers of a cluster that goes remove its load
	// balancers and volumes.
	DeleteExternalResources ActionKind = "DeleteExternalResources"
	DeleteInfrastructure    ActionKind = "DeleteInfrastructure"
	DeleteControlPlane      ActionKind = "DeleteControlPlane" // a hosted one
	RotateAuthority         ActionKind = "RotateAuthority"    // take the rotation of an authority to its next stage
	DeleteSecrets           ActionKind = "DeleteSecrets"      // the last step of a deletion
)

// A Join says how a machine becomes part of its cluster.
type Join string

// The ways to join.
const (
	JoinInit         Join = "Init"         // kubeadm init: the first control-plane machine
	JoinControlPlane Join = "ControlPlane" // kubeadm join --control-plane
	JoinWorker       Join = "Worker"       // kubeadm join
)

// An Action is one change as data. Carrying it out is the executor's work.
// Fields that do not apply to the kind are zero.
type Action struct {
	Kind          ActionKind
	Operation     OperationID
	Cluster       Key
	Pool          PoolName
	Provider      string `json:",omitempty"` // of the guest that it is done on; empty: the first site, or none
	Machine       MachineName
	ProviderID    ProviderID // of the machine to delete, to switch, or whose member leaves etcd, where two have a name
	Node          string
	Member        uint64 // etcd member
	Spared        bool   `json:",omitempty"` // etcd keeps its quorum if Machine goes and Member stays
	Join          Join
	FailureDomain string
	Template      TemplateHash  // that a new machine is made of
	Outdated      bool          // the machine of the node to sync is, which the node is to tell
	Remediation   Remediation   // that a new machine is the attempt of
	Authority     SecretName    // to rotate
	Stage         RotationStage // to take it to
	Addon         string        // ClusterResourceSet that is applied or pruned, HelmChartProxy of the release
	Release       ReleaseRef    // to install, upgrade or remove
	Resources     []string      // of it, to apply
	Objects       []ObjectRef   // to delete
	External      []ExternalResource
	Step          string // of the distribution, to take
	Mark          string // identifies what is to be applied
	Wish          string // that is granted by it
	Reason        string // why, for people: it becomes plan output and commit message
}

// Name returns what plans, logs, metrics and commits call what a does: its kind, or the
// step of the distribution.
func (a Action) Name() string { return cmp.Or(a.Step, string(a.Kind)) }

// String returns name and subject, the way plans, logs and commits show it.
func (a Action) String() string {
	return strings.TrimSpace(a.Name() + " " + a.Subject())
}

// Subject returns what the action is done to: a machine, a pool that a cloud keeps, a node, a release,
// an authority, an addon, a guest, or nothing where it is the cluster.
func (a Action) Subject() string {
	if a.Machine != "" {
		return string(a.Machine)
	}
	if a.Kind == EnsurePool || a.Kind == DeletePool {
		return string(a.Pool)
	}
	if a.Release != (ReleaseRef{}) {
		return a.Release.String()
	}
	return cmp.Or(a.Node, string(a.Authority), a.Addon, a.Provider)
}

// An Attempt is what this agent remembers of an action that it began: memory
// that may be lost, since a new agent waits one settle window before it creates.
type Attempt struct {
	Action Action
	At     time.Time
	// Answered says that the other side said yes. An attempt that it refused is
	// forgotten; one that is neither is open, and may still surface.
	Answered bool
}
