package providers

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/endpoint"
)

// Abilities are what an Infrastructure can do beyond the contract; nil: it cannot. The
// provider declares them, and whatever stands before it declares them again, as they
// are to be used.
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
	Placer         Placer
	Closer         Closer
}

// AbilitiesOf returns what p declares; nothing where p declares nothing.
func AbilitiesOf(p Observer) Abilities {
	if d, ok := p.(interface{ Abilities() Abilities }); ok {
		return d.Abilities()
	}
	return Abilities{}
}

// Watcher is an Infrastructure that can tell when machines change.
type Watcher interface {
	// Watch calls changed with the cluster until ctx ends. Events may be lost
	// and repeated: they say when to look, never what is.
	Watch(ctx context.Context, changed func(fleet.Key)) error
}

// Lister is an Infrastructure that can list the clusters of a fleet by their
// tags, for finding orphans.
type Lister interface {
	Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error)
}

// OrphanRemover is an Infrastructure that finds what a fleet left behind.
type OrphanRemover interface {
	// Orphans lists what carries the tags of fleet id, or was made by one of its
	// clusters for itself, and belongs to none of clusters: their machines and
	// shared infrastructure are no orphans, parts of machines that are gone are.
	// It looks wherever the credentials of clusters reach. Sorted. An error says what
	// could not be looked at; what was found elsewhere is given with it.
	Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error)

	// RemoveOrphan removes o, one of what Orphans gave for the same arguments,
	// after it made sure that o still is an orphan. Nothing there is success.
	RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error
}

// An UntaggedFinder is an Infrastructure some of whose machines carry nothing but their tags that
// says whose they are: where somebody takes these off, Observe does not tell the machine from what
// is of others.
type UntaggedFinder interface {
	// Untagged returns those of ids that are there and do not carry the tags of c, each with its
	// id and with what is wrong as Damaged. It knows neither their names nor their pools for
	// certain. What is gone, and what carries the tags of c, is left out. As with Observe, a part
	// is an error.
	Untagged(ctx context.Context, c *fleet.Cluster, ids []fleet.ProviderID) ([]fleet.Machine, error)
}

// A NodeIdentifier is an Infrastructure whose Nodes nobody gives an id: there is no
// cloud controller manager for it.
type NodeIdentifier interface {
	// NodeID is the provider id that a machine's kubelet registers its Node with, in
	// variables of user data.
	NodeID() string
}

// VirtualIPs is an Infrastructure that makes nothing for the endpoints of some clusters:
// their servers serve them.
type VirtualIPs interface {
	// VirtualIP returns how the servers of c serve its endpoint, which is an address that
	// they have by turns; nil where something else does. It asks nobody. The distribution of c
	// adds what that takes to the user data of servers, unless people bring their own.
	VirtualIP(c *fleet.Cluster) (*endpoint.VirtualIP, error)
}

// A Rebooter is an Infrastructure that can reboot machines. Its looks tell the Power of each.
type Rebooter interface {
	// SwitchMachine has the machine called name, with an id, switched on or off. It does not
	// wait: Power of the next look tells. What is on or off already is success, and so is a
	// machine that is not there. Off is without asking the machine, which may hang: when it
	// shows as off nothing of it runs. As long as Git, or [fleet.Cluster.Rebooting], says so, a
	// machine that is off stays off.
	SwitchMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error
}

// An EndpointKeeper is an Infrastructure that leads the endpoint of a control plane to single
// machines, by the members of a load balancer or by a floating address.
type EndpointKeeper interface {
	// LeaveEndpoint has the endpoint of c lead to other machines of the control plane than
	// the one called name, with an id, which leaves etcd next and is deleted then: an API
	// server without etcd answers nothing. Where the endpoint would not lead to each machine
	// that stays, or cannot be changed now, the error is of kind Conflict and the machine
	// keeps its etcd. It may be repeated. A machine that is not there is success, and so is
	// the only one of a control plane.
	LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error
}

// A Placer is an Infrastructure that asks several places, of which one may be silent while
// the others answer.
type Placer interface {
	// PlaceOf names what is asked for c, in the words of people: an API by its address. It is
	// the same for all clusters that wait where it does not answer. It asks nothing but the
	// store of Secrets.
	PlaceOf(ctx context.Context, c *fleet.Cluster) (string, error)
}

// A Closer is an Infrastructure that keeps something open, such as connections.
type Closer interface{ Close() }
