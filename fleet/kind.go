package fleet

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A KindRole says what a kind is for.
type KindRole string

// The roles of infrastructure kinds.
const (
	InfrastructureCluster         KindRole = "InfrastructureCluster"         // what spec.infrastructureRef of a Cluster names
	InfrastructureMachineTemplate KindRole = "InfrastructureMachineTemplate" // what a machine is made from
	InfrastructureMachine         KindRole = "InfrastructureMachine"         // what a Machine that stands alone is made from
	InfrastructureMachinePool     KindRole = "InfrastructureMachinePool"     // what a MachinePool names
	InfrastructureClusterTemplate KindRole = "InfrastructureClusterTemplate" // what a ClusterClass makes an InfrastructureCluster from
	InfrastructureCompanion       KindRole = "InfrastructureCompanion"       // what the others refer to by name: an identity, a pool of addresses

	InfrastructureMachinePoolTemplate KindRole = "InfrastructureMachinePoolTemplate" // what a ClusterClass makes an InfrastructureMachinePool from
)

// A Kind describes one kind of a provider, or of a distribution, to the decoder, which
// does not know them. Objects of it are decoded strictly.
//
// Paths of fields have no indices ("spec.backend.docker"). A path that only one version
// has is for that version; one that several have means the same in all of them.
type Kind struct {
	Provider string // empty for a kind of a distribution
	Role     KindRole
	Group    string
	Kind     string
	Versions []string // newest first

	// Choice is the path of the field with which an object of the kind chooses this provider, where
	// several have the kind: "spec.backend.docker". An object that has the choice of none is read as
	// one of the first. Each refuses the choices of the others. Empty: no other provider has the kind.
	Choice string

	// OwnMachines says of an InfrastructureMachinePool, or of a template of one, that Fairlead creates the machines of
	// such a pool, as those of a MachineDeployment, each from the spec of the object. Otherwise the cloud keeps the pool.
	OwnMachines bool
	// Rollout returns how many machines of such a pool may be more and less than wanted while they are replaced, by what
	// Normalise returned, and which are the first to go. Nil means one more, and any.
	Rollout func(spec any) (clusterv1.MachineDeploymentRolloutStrategyRollingUpdate, clusterv1.MachineSetDeletionOrder)

	// Adoptable says of a HostedControlPlane, or of an InfrastructureMachinePool, that the Adopter of the provider takes over what
	// Cluster API made of it.
	Adoptable bool

	// Configured reports of an InfrastructureMachinePool, by what Normalise returned, whether the machines of a pool that
	// the cloud keeps are set up by a bootstrap configuration, which its MachinePool then names. Nil means that the cloud sets up
	// all.
	Configured func(spec any) bool
	// Range returns the bounds in which the cloud decides the number of machines of a pool that it keeps, of an
	// InfrastructureMachinePool, by what Normalise returned. Nil, or nil returned, means that only its MachinePool may name some.
	Range func(spec any) *PoolRange

	// Distribution is the name of the distribution that a kind of one is of: a control
	// plane and the bootstrap configurations of the workers beside it have the same.
	Distribution string
	// V1Beta1Contract are the versions whose machineTemplate is shaped as in Cluster API's
	// v1beta1: of a ControlPlaneTemplate.
	V1Beta1Contract []string

	// New returns a pointer to a zero value of version: a struct with the JSON
	// fields apiVersion, kind, metadata, spec and status.
	New func(version string) any

	// Normalise turns what New returned, decoded, into the newest version's
	// spec with defaults filled in, and says what is wrong with it. What it
	// returns is marshalled to Object.Spec: the spec of the shared
	// infrastructure, of what a template makes (spec.template.spec), of the machine,
	// or of the companion.
	//
	// For a control plane it returns a *ControlPlaneManifest, for a hosted one a
	// *HostedManifest, for a bootstrap configuration and a template of one a
	// *BootstrapManifest. The template of a control
	// plane, hosted or not, is not normalised: what a class makes of it is.
	Normalise func(v any) (spec any, errs field.ErrorList)

	// Resolve completes spec, which Normalise returned, with what the companions that
	// it names say, so that a change of theirs is a change of it. companions returns
	// the normalised specs of those of a kind in the namespace of the object, by name;
	// nil stands for one that could not be read. It changes neither spec nor them.
	// Nil means that the spec names no companions in this way.
	Resolve func(spec any, companions func(kind string) map[string]any) (any, field.ErrorList)

	// Serving says what of spec, of an InfrastructureCluster that Normalise returned, is wrong
	// where machines on this site serve the API server. Nil means nothing ever is.
	Serving func(spec any) field.ErrorList

	// Elsewhere says what of spec, of an InfrastructureCluster that Normalise returned, would
	// be made for an API server where the control plane is hosted, and so is not. Nil means
	// nothing ever is.
	Elsewhere func(spec any) field.ErrorList

	// Networks returns the addresses of machines that spec, which Normalise returned, names: as
	// "10.6.0.0/24" or "10.6.0.10-10.6.0.20". Nil means that the kind names none.
	Networks func(spec any) []string

	// Hashed returns what of a spec, normalised and resolved, counts in template
	// hashes, and in what tells whether a definition changed; nil: all of it. Whatever
	// a released version counted, and nothing else, is in it for ever: where Normalise
	// fills in a default that it did not, Hashed leaves that out, or all machines would
	// be replaced.
	Hashed func(spec any) any

	// Secrets names the Secrets that an object refers to whose normalised spec
	// is spec and whose own namespace is namespace. Those that Git holds come
	// with the Object; for the others the provider asks the secret store. Nil
	// means that the kind refers to none.
	Secrets func(spec any, namespace string) []Key

	// Answers returns the Secrets that the provider answers when a machine is made from an object of the kind
	// called name, and the keys of each: manifests refer to them, and Git need not hold them. A Secret of that
	// name in Git wins. Nil means that there are none.
	Answers func(name string) map[string][]string

	// Identities returns which things in the world an object is about whose normalised spec is spec.
	// Nil means that objects may be about the same things.
	Identities func(spec any) []Identity

	// Reboots returns how machines are rebooted, of a companion that a MachineHealthCheck
	// names in spec.remediation.templateRef, by what Normalise returned. Nil means that the
	// kind is no template of a remediation.
	Reboots func(spec any) RebootRules

	// ClusterScoped says that objects of the kind have no namespace.
	ClusterScoped bool

	// Refused maps the path of a field that is known and not honoured to the reason and
	// the way out, Limited one that is honoured in part to which of its values are, and
	// Unused one that may be there and does nothing to why.
	Refused, Limited, Unused map[string]string

	// Rotations are those of a cluster's trust that a control plane of the kind can go
	// through.
	Rotations []Rotation

	// Values maps the path of a text to the values that it may have.
	Values map[string][]string
	// NonNegative says that no number may be negative.
	NonNegative bool
	// Renamed maps, by version, paths as errors call them to what they are called in that
	// version.
	Renamed map[string]map[string]string
}
