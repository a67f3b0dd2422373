package fleet

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Annotations that people put on a Cluster.
const (
	// DeleteAnnotation with the value "true" on a Cluster that is in Git is the
	// explicit request to delete it.
	DeleteAnnotation = "fairlead.dev/delete"
	// ProtectAnnotation with the value "true" refuses every deletion.
	ProtectAnnotation = "fairlead.dev/protect"
)

// A Cluster is the desired state of one workload cluster: everything that one
// overlay says about it, decoded, defaulted and validated.
//
// A Cluster is shared between goroutines and is never changed after decoding.
type Cluster struct {
	Fleet    ID
	Key      Key
	Overlay  string   // folder that it was rendered from
	Revision Revision // revision that it was rendered from; older than the fleet's where the newest is broken
	Digest   string   // of the rendered content: equal digests mean equal clusters

	Labels map[string]string `json:",omitempty"` // of the Cluster object: MachineDrainRules, ClusterResourceSets and HelmChartProxies select by them

	Delete  bool // explicit intent to delete
	Abandon bool `json:",omitempty"` // explicit intent to forget it and leave what it is made of
	Protect bool
	// LeaveExternal has a deletion leave what ExternalResource describes.
	LeaveExternal bool `json:",omitempty"`
	// DeletionRefused says that Git asks for deletion, or to abandon it, and
	// protects it: nothing comes of that.
	DeletionRefused bool `json:",omitempty"`

	Paused bool
	Drift  DriftPolicy `json:",omitempty"` // empty: correct
	// AvailabilityGates are conditions of the cluster that it needs to be available.
	AvailabilityGates []clusterv1.ClusterAvailabilityGate `json:",omitempty"`
	// Suspension, if not nil, pauses it as well, until it is over.
	Suspension *Suspension `json:",omitempty"`

	// RolloutRelease is what ReleaseAnnotation says; empty: it waits for its turn.
	RolloutRelease ReleaseWay `json:",omitempty"`

	// Rotate says what of the cluster's trust is to be replaced: each new value is
	// a new request.
	Rotate map[Rotation]string `json:",omitzero"`

	// Residence is where it lives, for its provider: the caller that has the provider look at
	// it or act on it adds what the Memory of the cluster says.
	Residence Residence `json:"-"`
	// NeighborPlaces are the places beside their first ones in which other clusters of its namespace were
	// seen, with what their provider remembers there. The caller of a reconciliation adds them.
	NeighborPlaces []Place `json:",omitempty"`
	// Removals say how machines are removed of pools that are not in Git any more, for
	// the code that drains them. It is no part of what Git asks for.
	Removals []PoolRemoval `json:"-"`
	// Made, if not nil, is what the running cluster was made with, for its distribution: who
	// plans adds what was observed.
	Made *Made `json:"-"`
	// Rebooting are the reboots that the Memory of the cluster has, for its provider, as Residence.
	Rebooting []Reboot `json:"-"`
	// Recreate, if it differs from Residence.Recreated, is the request to recreate the
	// cluster: see RecreateAnnotation.
	Recreate string `json:",omitempty"`
	// AllowVersion is a version that the control plane may go to from any other: see
	// AllowVersionAnnotation.
	AllowVersion string `json:",omitempty"`
	// ForgetPlaces are ids of places that people say are gone: see
	// ForgetPlaceAnnotation.
	ForgetPlaces []string `json:",omitempty"`

	// Topology, if not nil, says that a ClusterClass makes it, and how it is upgraded.
	Topology *Topology `json:",omitempty"`

	Provider        string                   // infrastructure provider, from the infrastructure kind
	Infrastructure  Object                   // DevCluster, OpenStackCluster, …
	Companions      []Object                 // the provider's other objects that Git holds for it, sorted by kind, namespace and name
	Guests          []Site                   `json:",omitempty"` // other providers that workers are on, sorted by provider
	NamespaceLabels map[string]string        // of its namespace: those that Git holds, and kubernetes.io/metadata.name
	Endpoint        Endpoint                 // of the API server where Git fixes it, else zero
	Network         clusterv1.ClusterNetwork // pod and service ranges, service domain, API port
	ControlPlane    Pool                     // its machines; the zero Pool if none serves the API
	Hosted          *HostedControlPlane      `json:",omitempty"` // what does then; nil otherwise
	Workers         []Pool                   // sorted by name
	KeptPools       []KeptPool               `json:",omitempty"` // that the cloud of the first site keeps, sorted by name
	HealthChecks    []clusterv1.MachineHealthCheck
	Reboots         map[string]RebootRules `json:"RebootRules,omitempty"` // by the names of those HealthChecks that have machines rebooted first
	DrainRules      DrainRules             `json:",omitempty"`            // those of its namespace that select its machines or others, by name
	ResourceSets    []ResourceSet          `json:",omitempty"`            // those of its namespace that select it, by name; no part of a template hash
	Releases        []Release              `json:",omitempty"`            // of Helm, for the HelmChartProxies of its namespace that select it, by namespace and name; no part of a template hash
	Secrets         map[string]SecretData  // by object name, in the cluster's namespace
	ConfigMaps      map[string]map[string]string

	// Neighbors are for its provider, as Residence.
	Neighbors Neighbors `json:",omitzero"`

	// APIElsewhere says that c is what the provider of a guest sees: see At.
	APIElsewhere bool `json:"-"`
}

// WithMade returns c with what it was made with.
func (c *Cluster) WithMade(m *Made) *Cluster {
	if m == nil || len(m.Flags) == 0 {
		return c
	}
	out := *c
	out.Made = m
	return &out
}

// Pools returns the control plane, where machines of the cluster are it, then the workers.
func (c *Cluster) Pools() []Pool {
	if c.ControlPlane.Name == "" {
		return slices.Clone(c.Workers)
	}
	return append([]Pool{c.ControlPlane}, c.Workers...)
}

// Pool returns the pool called name.
func (c *Cluster) Pool(name PoolName) (Pool, bool) {
	if c.Hosted == nil && c.ControlPlane.Name == name {
		return c.ControlPlane, true
	}
	i := slices.IndexFunc(c.Workers, func(p Pool) bool { return p.Name == name })
	if i < 0 {
		return Pool{}, false
	}
	return c.Workers[i], true
}

// WorkersOf returns the pool of the MachineDeployment, or MachineSet, that is called name in Git.
func (c *Cluster) WorkersOf(name string) (Pool, bool) {
	i := slices.IndexFunc(c.Workers, func(p Pool) bool { return p.Kind != LoneMachine && p.deployment() == name })
	if i < 0 {
		return Pool{}, false
	}
	return c.Workers[i], true
}

// ListensAt returns where the API server of a machine of p listens that joins as join says; 0: it
// has none.
func (p *Pool) ListensAt(join Join) int32 {
	switch join {
	case JoinInit:
		return cmp.Or(p.APIPort, 6443)
	case JoinControlPlane:
		return cmp.Or(p.JoinedAPIPort, 6443)
	default:
		return 0
	}
}

// deployment returns what the MachineDeployment of p is called in Git. The pool has another name
// where the control plane is called so too.
func (p *Pool) deployment() string {
	return cmp.Or(p.Labels[clusterv1.MachineDeploymentNameLabel], string(p.Name))
}

// A Role is what a machine is for.
type Role string

// The roles.
const (
	RoleControlPlane Role = "control-plane"
	RoleWorker       Role = "worker"
)

// A Strategy says how machines of an outdated template are replaced.
type Strategy string

// The strategies of a MachineDeployment; a control plane always rolls.
const (
	RollingUpdate Strategy = "RollingUpdate"
	OnDelete      Strategy = "OnDelete"
)

// A DeletionOrder says which machines of a pool go first when it shrinks.
type DeletionOrder string

// The orders of a MachineDeployment.
const (
	DeleteRandom DeletionOrder = "Random"
	DeleteNewest DeletionOrder = "Newest"
	DeleteOldest DeletionOrder = "Oldest"
)

// A PoolKind says which object of Git a pool comes from where it is neither a
// KubeadmControlPlane nor a MachineDeployment: the kind of another control plane, or what
// stands alone.
type PoolKind string

// The kinds of objects that stand alone. Nothing replaces their machines when what
// they are made of changes; a Machine is not replaced by health checks either.
const (
	LoneMachine    PoolKind = "Machine" // a pool of one machine, which has its name
	LoneMachineSet PoolKind = "MachineSet"
)

// A Pool is a group of machines that are made from one template: the control
// plane, one MachineDeployment, or what stands alone.
type Pool struct {
	Name     PoolName
	Role     Role
	Kind     PoolKind `json:",omitempty"` // where that is neither KubeadmControlPlane nor MachineDeployment
	Provider string   `json:",omitempty"` // of the guest that its machines are on; empty: they are on the first site
	Replicas int
	// Scaling, if not nil, says that Replicas is for somebody else than Git to
	// decide.
	Scaling *Scaling `json:",omitempty"`

	Version  string       // Kubernetes version with its v: "v1.34.1"
	Template TemplateHash // over everything that a change of makes machines outdated
	// Former are hashes of the same in schemas of older versions, which machines that
	// these made carry, newest first.
	Former []TemplateHash `json:",omitempty"`

	Bootstrap Bootstrap
	// NamePattern is how its machines are called, with RandomPart for what tells
	// them apart; empty: as NewMachineName calls them.
	NamePattern string `json:",omitzero"`

	Infrastructure Object // DevMachineTemplate, …: its Spec is that of one machine
	FailureDomain  string // of a worker pool, may be empty
	// FailureDomains are those that new machines of a worker pool are spread over; empty: all are in FailureDomain.
	FailureDomains []string `json:",omitempty"`

	Strategy        Strategy
	MaxSurge        int // machines above Replicas during a rollout, resolved
	MaxUnavailable  int // machines below Replicas during a rollout, resolved
	MaxRemediations int // machines of the pool that health checks may replace at once, resolved; negative means no bound
	DeletionOrder   DeletionOrder
	MinReadySeconds int
	Paused          bool

	// Labels are the machine's labels; NodeLabels are those of them that
	// Cluster API propagates to the Node.
	Labels      map[string]string
	NodeLabels  map[string]string
	Annotations map[string]string
	Taints      []clusterv1.MachineTaint

	// ReadinessGates are conditions of the Node that a machine needs to be ready.
	ReadinessGates []clusterv1.MachineReadinessGate `json:",omitempty"`

	// NodeDrainTimeoutSeconds bounds the draining of a machine, and
	// NodeVolumeDetachTimeoutSeconds the wait for its volumes to be detached
	// after that; 0 means no bound.
	NodeDrainTimeoutSeconds        int
	NodeVolumeDetachTimeoutSeconds int `json:",omitempty"`

	// Replace holds machines to replace as if they were outdated, Remediate those
	// to replace as if a health check had found them unhealthy, and why, for people.
	Replace, Remediate map[MachineID]string `json:",omitempty"`

	// RolloutAfter is the time at which machines that are older become outdated;
	// zero: never.
	RolloutAfter time.Time `json:",omitzero"`
	// CertificatesExpiryDays is how many days before its certificates expire a
	// machine becomes outdated; 0: never.
	CertificatesExpiryDays int `json:",omitzero"` // of a control plane

	// Remediation bounds the attempts to replace unhealthy machines.
	Remediation RemediationLimits `json:",omitzero"` // of a control plane

	// APIPort is where the API server of its first machine listens, and JoinedAPIPort where
	// those of machines that join do; 0: 6443.
	APIPort       int32 `json:",omitzero"` // of a control plane
	JoinedAPIPort int32 `json:",omitzero"` // of a control plane
	// Ports are those beside it that machines of the cluster reach its machines at through
	// the endpoint: what balances the load of API servers leads to them too, and firewalls
	// let them in from wherever the API port is let in from.
	Ports []int32 `json:",omitempty"` // of a control plane

	// SkipKubeProxy and SkipCoreDNS leave these of the cluster to somebody else.
	SkipKubeProxy, SkipCoreDNS bool // of a control plane
}

// RemediationLimits bound the attempts to replace an unhealthy machine of a control
// plane; what is nil is as Cluster API has it.
// Source: Cluster API, KubeadmControlPlaneRemediationSpec.
type RemediationLimits struct {
	MaxRetry                *int32 `json:"maxRetry,omitempty"`
	RetryPeriodSeconds      *int32 `json:"retryPeriodSeconds,omitempty"`
	MinHealthyPeriodSeconds *int32 `json:"minHealthyPeriodSeconds,omitempty"`
}

// ObjectKind returns the kind of the object that pools of a role and kind come from.
func ObjectKind(r Role, k PoolKind) string {
	if r == RoleControlPlane {
		return cmp.Or(string(k), "KubeadmControlPlane")
	}
	return cmp.Or(string(k), "MachineDeployment")
}

// An Object is an object of a provider's own kind. Its Spec is canonical JSON
// of the newest version that the provider knows: equal content, equal bytes.
type Object struct {
	GVK         schema.GroupVersionKind
	Namespace   string // empty where the kind has none
	Name        string
	File        string // where it was defined, for messages
	Labels      map[string]string
	Annotations map[string]string
	Spec        json.RawMessage
	Hashed      json.RawMessage    `json:",omitempty"` // of Spec what counts in hashes; nil: all of it
	Secrets     map[Key]SecretData `json:"-"`          // those that it refers to and Git holds; no part of a template hash
	Stored      []Key              `json:"-"`          // the others that it refers to: the secret store has them, if anybody has
	Identities  []Identity         `json:"-"`          // see Kind
	Networks    []string           `json:"-"`          // as Kind.Networks; for validation
}

// An Endpoint is where an API server answers.
type Endpoint struct {
	Host string
	Port int32
}

// IsZero reports whether nothing is known of the endpoint.
func (e Endpoint) IsZero() bool { return e.Host == "" }
