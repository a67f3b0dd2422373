package fleet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Observed is all that was seen of one cluster at one time. Each part is
// complete: what is not in it was not there.
type Observed struct {
	At             time.Time // when the look began
	Until          time.Time // when it ended; zero: at once
	Infrastructure Infrastructure
	// Silence says in the provider's own words why the first site of a cluster with guests
	// could not be observed; empty: all of it was seen.
	Silence string      `json:",omitempty"`
	Guests  []GuestSeen `json:",omitempty"` // sorted by provider
	// ControlPlane is how a hosted control plane is; nil where machines serve the API.
	ControlPlane *HostedState `json:",omitempty"`
	Secrets      SecretState
	Workload     Workload
	// Distribution is how control planes of its kind work, and what of that is not as
	// Git says.
	Distribution Distribution
}

// Infrastructure is what a provider has that carries a cluster's tags. As part of what was
// observed of a cluster with guests, its machines, failures and hosts are
// those of all sites.
type Infrastructure struct {
	Exists         bool // something of the shared part is there, perhaps half made
	Ready          bool // all of it is there and works: machines may be made
	Endpoint       Endpoint
	FailureDomains []FailureDomain // sorted by name
	Message        string          // the provider's own words when not ready
	Drift          []string        // what EnsureInfrastructure would fix of what is ready, for people, sorted
	Upkeep         []string        // those of Drift that machines cause or need, and not people: fixed whatever the policy
	Machines       []Machine       // sorted by name, then provider id
	// Pools are those that the cloud keeps, sorted by name. Their machines are not in Machines.
	Pools []KeptPoolSeen `json:",omitempty"`
	// Failures are requests that the provider took, that failed later, and of which no
	// machine tells. Sorted by machine, each the last of its machine, until that is asked
	// for again or for as long as the provider knows of it.
	Failures []Failure
	// Places are where the provider looked, known even where nothing exists: first
	// where what machines share is or would be made, then the others. Empty where the
	// provider has no places to tell apart.
	Places []PlaceSeen
	// Hosts are the hosts of the inventory that Git holds for the cluster, whosesoever they
	// are, and those that left Git and are there still. Sorted by namespace, then name. Nil
	// where the provider keeps no inventory; empty where there is no host.
	Hosts []Host
}

// A Failure is a request for a machine that was taken and failed, and left nothing.
type Failure struct {
	Machine   MachineName
	Provider  string `json:",omitempty"` // as in Machine
	Operation OperationID
	At        time.Time
	Message   string // the provider's own words
}

// A FailureDomain is a place where machines fail together.
type FailureDomain struct {
	Name         string
	ControlPlane bool // whether control-plane machines may be there
}

// A MachineState is how far the infrastructure of a machine got.
type MachineState string

// The states of a machine's infrastructure.
const (
	MachinePending  MachineState = "Pending"  // asked for, not running
	MachineRunning  MachineState = "Running"  // powered on
	MachineFailed   MachineState = "Failed"   // will never run: Message says why
	MachineDeleting MachineState = "Deleting" // on its way out
	// MachineReleased is no part of the cluster any more, and its host is busy still, as
	// with cleaning. Its name is free, it holds nothing of what machines share, and
	// nothing is asked of it.
	MachineReleased MachineState = "Released"
)

// A Machine is one instance at a provider, with the ownership tags that were
// put on it when it was made. Two machines of one name are possible where the
// provider allows it.
type Machine struct {
	Name          MachineName
	ProviderID    ProviderID
	Pool          PoolName
	Role          Role
	Template      TemplateHash
	Version       string // Kubernetes version that it was made for
	Provider      string `json:",omitempty"` // of the guest that it is on; empty: it is on the first site
	Operation     OperationID
	FailureDomain string
	State         MachineState
	Message       string // the provider's own words about State
	// Power is what its provider says of its power; empty: it does not say, and the machine is
	// not rebooted.
	Power  HostPower `json:",omitempty"`
	Silent bool      // it cannot be reached: a request to it is carried out when it is back, if ever
	// Interrupted says, of a machine on its way out, that its removal stopped half way:
	// nothing happens until DeleteMachine is called again.
	Interrupted bool
	// Elsewhere says, of a machine that failed, that it never ran for want of capacity where it is, and that another
	// one would be made in another place: it is replaced without waiting.
	Elsewhere bool `json:",omitempty"`
	Created   time.Time
	Addresses []string
	Origin    Origin
	// Damaged says which of the tags are missing or damaged, for people; empty: none
	// is. What a machine with damaged tags is, is not certain.
	Damaged string
}

// SecretState is what the secret store has for a cluster.
type SecretState struct {
	Missing    []SecretName // CA certificates that are not there; empty when complete
	Kubeconfig KubeconfigState
	// NotAfter says when the CA certificates expire; one that cannot
	// be read is not in it.
	NotAfter map[SecretName]time.Time
	// Rotations says how far the rotations of CA certificates are, and Marks identifies
	// what machines trust of these; one that never was rotated is in neither.
	Rotations map[SecretName]RotationState
	Marks     map[SecretName]string
	// Kept are those that people brought, which stay when the cluster goes. They
	// are looked up for a cluster that is to be deleted.
	Kept []SecretName
}

// KubeconfigState describes the stored kubeconfig.
type KubeconfigState struct {
	Exists    bool
	Endpoint  Endpoint
	NotBefore time.Time
	NotAfter  time.Time
	Trust     string // the TrustChecksum of the CA certificates in it
	// Former reports that the authority of the cluster is at another stage of its
	// rotation than when the kubeconfig was issued.
	Former bool
}

// Workload is what was seen through a cluster's API server: nothing, where it
// was not reachable.
type Workload struct {
	Reachable bool
	NotAfter  time.Time // when the certificate expires that the API server showed; zero: it showed none
	// Ahead is how far the clock of the API server is ahead of the agent's: below zero
	// where it is behind, zero where they agree to a few seconds.
	Ahead   time.Duration
	Message string   // why not reachable, in the other side's own words
	Version string   // of the API server, where the control plane is hosted; empty: not looked at
	Closed  string   // why no machine can join, for people; empty: nothing is known to be in the way
	Nodes   []Node   // sorted by name
	Servers []Server // of the control plane, sorted by Node
	Etcd    *Etcd    // nil: not looked at
	Applied *Applied // nil: there is nothing for machines to join with
	Made    *Made    // nil: not known

	// External is what a deletion has to remove while the cluster still works, by
	// kind, namespace and name; looked at where the cluster is to be deleted.
	External []ExternalResource

	ResourceSets []ResourceSetState // what of them was applied, by name
	Releases     []ReleaseState     // of Helm that are ours, by namespace and name
	ReleaseTries []ReleaseTry       // of this agent that have not succeeded, by namespace and name
}

// A Node is a Kubernetes node.
type Node struct {
	Name           string
	ProviderID     ProviderID
	Created        time.Time
	KubeletVersion string
	Addresses      []string // those that other machines reach, as the kubelet reports them
	Ready          bool
	Conditions     []corev1.NodeCondition
	Labels         map[string]string
	Annotations    map[string]string
	Taints         []corev1.Taint
	Unschedulable  bool
	ControlPlane   bool // has the control-plane role label
	// Draining says that Fairlead began to remove the node.
	Draining bool
	// Evicted says that a pod was evicted from it since.
	Evicted bool
	// DrainStarted is when pods were first moved away; zero when they were not,
	// since hooks come before.
	DrainStarted time.Time
	// Drained is when no pod was left to move away for the first time that Drain
	// looked; zero when there still was one.
	Drained time.Time
	// Pods and Volumes are what is on the node and attached to it, sorted; only
	// looked at while Draining.
	Pods    []Pod
	Volumes []Volume
	// Unseen says that the look had no time for the pods and volumes of a node that is
	// Draining: there may be any.
	Unseen bool
	// CertificatesNotAfter is when the first of the certificates on its machine expires,
	// where the distribution warns of that; zero where it does not.
	CertificatesNotAfter time.Time
}

// Unreachable reports whether the node's kubelet has been silent for such a
// time that Kubernetes does not know its state.
func (n *Node) Unreachable() bool {
	for _, c := range n.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return true
}

// Etcd is the membership of a stacked etcd.
type Etcd struct {
	Members []Member // sorted by name
}

// A Member is one etcd member.
type Member struct {
	ID uint64
	// Name is what etcd calls it; empty where it has not started yet.
	Name string
	// Node is the Node of the machine that it is on, whether it is there or not; empty
	// where that is not known.
	Node    string
	Learner bool
	Healthy bool
	Leader  bool
}
