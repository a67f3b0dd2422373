package providers

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/endpoint"
)

// Abilities are what an Infrastructure can do beyond the contract; nil: it cannot. The
// provider declares them. Each decorator declares them again, so that its calls are used.
type Abilities struct {
	Watcher        Watcher
	Lister         Lister
	OrphanRemover  OrphanRemover
	Adopter        Adopter
	Charts         Charts
	UntaggedFinder UntaggedFinder
	NodeIdentifier NodeIdentifier
	VirtualIPs     VirtualIPs
	Checker        Checker
	Rebooter       Rebooter
	EndpointKeeper EndpointKeeper
	PoolKeeper     PoolKeeper
	SecretAnswerer SecretAnswerer
	Placer         Placer
	Closer         Closer
}

// AbilitiesOf returns the abilities that p declares.
func AbilitiesOf(p Observer) Abilities {
	if d, ok := p.(interface{ Abilities() Abilities }); ok {
		return d.Abilities()
	}
	return Abilities{}
}

// Watcher is an Infrastructure that reports changes of machines.
type Watcher interface {
	// Watch calls changed with the cluster of a changed machine until ctx ends. Events may be
	// lost and repeated: after each one the cluster is observed again.
	Watch(ctx context.Context, changed func(fleet.Key)) error
}

// Lister is an Infrastructure that can list the clusters of a fleet by their
// tags, for finding orphans.
type Lister interface {
	Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error)
}

// OrphanRemover is an Infrastructure that finds and removes orphaned resources.
type OrphanRemover interface {
	// Orphans lists resources that carry the tags of fleet id, or that one of its clusters
	// created for itself, and that belong to no cluster of clusters. Parts of deleted machines
	// are orphans, too. It lists every place that the credentials of clusters lead to, sorted.
	// If a place cannot be listed, it returns an error and the orphans of the other places.
	Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error)

	// RemoveOrphan removes o, which Orphans returned for the same arguments, if it still is an
	// orphan. It succeeds if o does not exist.
	RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error
}

// An UntaggedFinder is an Infrastructure on which only tags identify some machines: if a person
// removes the tags, Observe cannot distinguish the machine from those of others.
type UntaggedFinder interface {
	// Untagged returns the machines of ids that exist without the tags of c, each with its id, and
	// the reason in Damaged. Names and pools may be missing. As with Observe, an incomplete result
	// is an error.
	Untagged(ctx context.Context, c *fleet.Cluster, ids []fleet.ProviderID) ([]fleet.Machine, error)
}

// A NodeIdentifier is an Infrastructure without a cloud controller manager that sets the
// provider ids of Nodes.
type NodeIdentifier interface {
	// NodeID is the provider id with which the kubelet of a machine registers its Node. It may
	// contain variables of user data.
	NodeID() string
}

// VirtualIPs is an Infrastructure that creates no endpoint for some clusters: their servers
// share an address.
type VirtualIPs interface {
	// VirtualIP returns how the servers of c serve its endpoint, an address that one of them has
	// at a time; nil if something else serves it. It makes no requests. The distribution of c adds
	// the program for it to the user data of servers, unless the manifests already contain one.
	VirtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error)
}

// A Rebooter is an Infrastructure that can reboot machines. Its observations have their Power.
type Rebooter interface {
	// SwitchMachine switches the machine with that name and id on or off. It does not wait: the
	// next observation shows its Power. It succeeds if the machine is already on or off, or does
	// not exist. Off is a hard power-off, since the machine may hang: nothing of it runs when it
	// is observed as off. A machine stays off while Git, or [fleet.Cluster.Rebooting], requires it.
	SwitchMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error
}

// An EndpointKeeper is an Infrastructure that connects the endpoint of a control plane with single
// machines, by members of a load balancer or by a floating address.
type EndpointKeeper interface {
	// LeaveEndpoint takes the machine with that name and id off the endpoint of c. The machine
	// leaves etcd next, and is deleted then: an API server without etcd answers no request. If a
	// remaining machine would not be behind the endpoint, or the endpoint cannot be changed now,
	// the error has the kind Conflict, and the machine stays in etcd. It may be repeated. It
	// succeeds for a machine that does not exist, and for the only one of a control plane.
	LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error
}

// A PoolKeeper is an Infrastructure whose cloud keeps pools: it creates, joins, drains and deletes their
// machines by itself. Its kinds of pools have the role [fleet.InfrastructureMachinePool]. Observe reports
// them in Infrastructure.Pools, and none of their machines in Machines. DeleteInfrastructure gives the kind
// Conflict while a pool exists.
type PoolKeeper interface {
	// EnsurePool creates p, or changes it to what p says, one change at a time if the cloud does not
	// accept several. The number of machines is written only if p has no Range or the pool is new. It does
	// not wait: Observe reports how far the cloud is, and in Drift what EnsurePool would change beside
	// count, range and version. It may be repeated with the same op. A pool of that name which does not
	// carry the tags of c gives the kind Conflict, and so does one that accepts no change now. What the
	// cloud cannot change is left, and reported in Fixed. A version is never set to an older one.
	EnsurePool(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, p fleet.KeptPool) error

	// DeletePool deletes the pool of that name with its machines. It succeeds if the pool does not exist,
	// or does not carry the tags of c.
	DeletePool(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.PoolName) error
}

// A SecretAnswerer is an Infrastructure that answers Secrets to which manifests of machines refer: those that
// [fleet.Kind.Answers] of its kinds names.
type SecretAnswerer interface {
	// AnswerSecrets returns those for a machine of pool p of c, by name. It changes nothing.
	AnswerSecrets(ctx context.Context, c *fleet.Cluster, p fleet.Pool) (map[string]fleet.SecretData, error)
}

// A Placer is an Infrastructure with several places, of which one may not answer while the
// others do.
type Placer interface {
	// PlaceOf names the API that serves c, for example by its address, for messages. Clusters
	// that wait for the same API have the same place. It reads Secrets, and makes no other request.
	PlaceOf(ctx context.Context, c *fleet.Cluster) (string, error)
}

// A Closer is an Infrastructure with connections or other resources to close.
type Closer interface{ Close() }
