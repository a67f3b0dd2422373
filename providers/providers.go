// Package providers defines what the reconciler needs from the systems that
// clusters run on and from the cluster's own API server. Implementations live
// in the folders below it; every infrastructure provider passes package
// conformance.
package providers

import (
	"context"
	"maps"
	"time"

	"fairlead.dev/fleet"
)

// An Observer observes the infrastructure of clusters, and changes nothing.
type Observer interface {
	// Observe reports everything that carries c's tags. It returns all of it or
	// an error, never a part: the planner takes absence as proof. It changes
	// nothing: agents without ownership and commands call it, too.
	Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error)
}

// Infrastructure creates the machines and networks of clusters. It is safe for concurrent use.
//
// Every change may be repeated with the same operation id: the second call
// finishes or confirms what the first began. Everything created carries the
// ownership tags of package fleet, and only what carries the tags of this fleet
// and cluster is ever returned, changed or deleted.
//
// Errors are *fleet.Error. A call that was sent and got no answer gives the
// kind Unanswered; one that cannot have been sent gives Unavailable.
type Infrastructure interface {
	Observer

	// EnsureInfrastructure creates or repairs what c's machines share. It does not wait: Observe
	// reports when it is ready. If c.ServedElsewhere, all machines are workers, and nothing is
	// created for the API server, which is at c.Endpoint.
	EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error

	// DeleteInfrastructure deletes it. It succeeds if nothing exists. While machines of c are on
	// it, the error has the kind Conflict.
	DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error

	// CreateMachine requests the machine and does not wait for it. An existing machine with the
	// same name and template is adopted; for one that differs the error has the kind Conflict.
	//
	// A later machine of the same name has the same op. If the API remembers idempotency tokens,
	// derive the token from op and r.Origin.Made, the time at which this machine was decided.
	// What a former agent requested shows within Settle, and is not requested again before.
	CreateMachine(ctx context.Context, op fleet.OperationID, r MachineRequest) error

	// DeleteMachine deletes the machine with that name, and that id if it is not empty. It
	// succeeds if the machine does not exist.
	DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error

	// Settle is the time that a change may take to show in Observe.
	Settle() time.Duration
}

// A MachineRequest is a machine to create.
type MachineRequest struct {
	Cluster       *fleet.Cluster
	Pool          fleet.Pool
	Name          fleet.MachineName
	FailureDomain string
	UserData      UserData
	APIPort       int32 // where the API server of the machine will listen, of a control plane
	Origin        fleet.Origin
	// Endpoint is the address of the API server in UserData, as Observe returned it.
	Endpoint fleet.Endpoint
}

// Tags returns the ownership tags of the machine, made by op.
func (r MachineRequest) Tags(op fleet.OperationID) map[string]string {
	tags := r.Cluster.MachineTags(r.Pool, r.Name, op)
	maps.Copy(tags, r.Origin.Tags())
	return tags
}

// A WorkloadObserver observes workload clusters through their API servers, and changes nothing.
type WorkloadObserver interface {
	// Observe reports nodes, the inventories of resource sets and the labels of releases of Helm,
	// without what a Distribution adds.
	Observe(ctx context.Context, a Access) (fleet.Workload, error)
}

// Workload reaches into workload clusters through their API servers. It is safe
// for concurrent use and keeps connections between calls. An API server that
// does not answer gives the kind Unavailable, never an empty answer.
type Workload interface {
	WorkloadObserver

	// SyncNode sets labels, annotations and taints of node, that of machine m, as its pool p
	// requires, and removes the uninitialized taint. Node and machine may have different names.
	SyncNode(ctx context.Context, a Access, node string, m fleet.MachineName, p fleet.Pool) error

	// Drain takes one step: it marks and cordons the node, evicts the pods that are next by rules,
	// and records when no pod is left to evict. Node.Pods of the next Observe has the remaining
	// pods. A node with a pre-drain hook is only marked.
	Drain(ctx context.Context, a Access, node string, rules fleet.DrainRules) error

	// Uncordon reverts Drain: it removes its marks from the node, and the cordon unless the node
	// was cordoned before. It does nothing for a node without marks, or that does not exist.
	Uncordon(ctx context.Context, a Access, node string) error

	// DeleteNode deletes a Node object. It succeeds if the Node does not exist.
	DeleteNode(ctx context.Context, a Access, node string) error

	// ApplyResources applies the resources of s with these names. It updates the inventory of s in
	// the cluster before, with what is to be applied, and after, with the results. Existing objects
	// of ApplyOnce are not changed. A refusal of one object by the API server delays no other and is
	// no error: the next Observe has it.
	ApplyResources(ctx context.Context, a Access, s fleet.ResourceSet, names []string) error

	// PruneResources deletes objects of s that still carry its name, and removes them from its
	// inventory, which is deleted with the last object. It succeeds if an object does not exist;
	// refusals are as in ApplyResources.
	PruneResources(ctx context.Context, a Access, s fleet.ResourceSet, objects []fleet.ObjectRef) error

	// DeleteExternalResources deletes Services and PersistentVolumeClaims, so that the controllers
	// of the cluster remove their load balancers and volumes. It also deletes the pods that use
	// these claims, and the StatefulSets that would recreate them, regardless of disruption
	// budgets. It does not wait: Workload.External of the next Observe has what is left. It
	// succeeds if an object does not exist.
	DeleteExternalResources(ctx context.Context, a Access, resources []fleet.ExternalResource) error

	// Watch calls changed when nodes of the cluster change, until Forget is called or ctx ends.
	// A second call for the same cluster replaces the access of the first one.
	Watch(ctx context.Context, a Access, changed func())

	// Forget closes the connections and watches of a cluster.
	Forget(k fleet.Key)
}

// Access has the credentials for the API server of a cluster.
type Access struct {
	Cluster    fleet.Key
	Kubeconfig fleet.Secret
	// Tokens, if not nil, gives tokens that requests are authenticated with: Kubeconfig has no credential.
	Tokens Tokens
	// Secrets are those that the Distribution needs inside the cluster, by name. A missing one is
	// not stored.
	Secrets map[fleet.SecretName]fleet.SecretData

	// Hosted is what Git says of a hosted control plane; nil: machines are it. What of the cluster a Distribution looks at may
	// depend on it.
	Hosted *fleet.HostedControlPlane

	// Certificates makes a Distribution read the expiry of the certificates of servers.
	Certificates bool
	// External makes Observe list external resources.
	External bool
}
