package fleet

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// The roles of the kinds of a distribution.
const (
	ControlPlaneKind               KindRole = "ControlPlane"               // what spec.controlPlaneRef of a Cluster names
	ControlPlaneTemplateKind       KindRole = "ControlPlaneTemplate"       // what a ClusterClass makes a control plane from
	HostedControlPlaneKind         KindRole = "HostedControlPlane"         // the same, where no machine serves the API
	HostedControlPlaneTemplateKind KindRole = "HostedControlPlaneTemplate" // what a ClusterClass makes a HostedControlPlane from
	BootstrapConfigKind            KindRole = "BootstrapConfig"            // what a Machine that stands alone is set up with
	BootstrapConfigTemplateKind    KindRole = "BootstrapConfigTemplate"    // what machines of a pool of workers are set up with
)

// A ControlPlaneManifest is what Normalise returns for a kind of the role ControlPlane:
// what its object says, in the terms of Cluster API's contract for control planes. The
// decoder fills in defaults that are the same for all (one replica, the v of a version,
// maxSurge 1) and keeps the rules that are (versions, references, taints, names, an odd
// number of machines). Errors of these rules name fields as KubeadmControlPlane v1beta2
// does; Kind.Renamed says what they are called in the object.
type ControlPlaneManifest struct {
	// Object is the whole object in the newest version of its kind, a pointer to a struct,
	// as templates of Helm values see it.
	Object any

	Replicas *int32
	Version  string

	// InfrastructureRef is the template of its machines. OldInfrastructureRef stands for
	// it where the object refers to it as Cluster API's v1beta1 does.
	InfrastructureRef    clusterv1.ContractVersionedObjectReference
	OldInfrastructureRef *corev1.ObjectReference

	Metadata       clusterv1.ObjectMeta // of its machines
	Deletion       clusterv1.MachineDeletionSpec
	Taints         []clusterv1.MachineTaint
	ReadinessGates []clusterv1.MachineReadinessGate
	NameTemplate   string // of its machines

	RolloutAfter           metav1.Time
	CertificatesExpiryDays int
	MaxSurge               *intstr.IntOrString
	Remediation            RemediationLimits

	// Even says that any number of machines is good, since none has a member of etcd.
	Even bool
	// APIPort is where the API server of its first machine listens, and JoinedAPIPort where
	// those of machines that join do; 0: 6443.
	APIPort, JoinedAPIPort int32
	// Ports are those of Pool.Ports.
	Ports                      []int32
	SkipKubeProxy, SkipCoreDNS bool

	Bootstrap BootstrapManifest
}

// A HostedManifest is what Normalise returns for a kind of the role HostedControlPlane. The
// decoder adds the v of the version, and checks it.
type HostedManifest struct {
	Version  string   // of Kubernetes; empty: the object says none
	Endpoint Endpoint // zero: the object names none
	// External says that somebody else keeps it: its endpoint is for Git to name, here, in
	// the Cluster or in the object of its infrastructure.
	External bool
	// Spec is a value whose JSON becomes the Spec of the object.
	Spec any
	// Secrets are the values of Secrets in Git that it refers to, in its own namespace.
	Secrets []SecretRef
}

// A BootstrapManifest is what Normalise returns for a bootstrap configuration or a
// template of one.
type BootstrapManifest struct {
	// Kind is that of Bootstrap.Kind: empty for kubeadm's. Of a control plane it is the
	// kind of the control plane, and else of the configuration, also where a template
	// says it: paths of fields that differ are below spec of that kind.
	Kind string
	// Path is where the object has the configuration, in the newest version of its kind:
	// "spec.kubeadmConfigSpec".
	Path string
	// Spec is a value whose JSON becomes Bootstrap.Spec.
	Spec any
	// Hashed is what of Spec counts in template hashes, of the same type; nil: all of it.
	Hashed any
	// Settled is Spec in one form for all that gives the same user data, of the same type: it
	// counts in template hashes from schema 3 on. Nil: Spec is.
	Settled any
	// Secrets are the values of Secrets that it refers to, in its own namespace.
	Secrets []SecretRef
}

// A SecretRef is a reference to the value of a key of a Secret.
type SecretRef struct {
	Field     string // path in the object, in the newest version of its kind
	Name, Key string
}
