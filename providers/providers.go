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

// An Observer looks at what a cluster runs on, and changes nothing.
type Observer interface {
	// Observe reports everything that carries c's tags. It returns all of it or
	// an error, never a part: the planner takes absence as proof. It changes
	// nothing anywhere: who may look need not be who may act.
	Observe(ctx context.Context, c *fleet.Cluster) (fleet.Infrastructure, error)
}

// Infrastructure creates what a cluster runs on. It is safe for concurrent use.
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

	// EnsureInfrastructure creates or repairs what c's machines share. It does
	// not wait: Observe tells when it is ready. Where c.ServedElsewhere, all of them are
	// workers, and nothing is made for the API server: it answers at c.Endpoint.
	EnsureInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error

	// DeleteInfrastructure removes it. Nothing there is success. While machines
	// of c are on it the error is of kind Conflict.
	DeleteInfrastructure(ctx context.Context, op fleet.OperationID, c *fleet.Cluster) error

	// CreateMachine starts the machine and does not wait for it. A machine that
	// exists with the same name and template is adopted; one that differs gives
	// the kind Conflict. A name that is free is given again, and has the same op then:
	// an API that remembers tokens of requests, and answers a repeated one with what
	// came of the first, is given one of op and r.Origin.Made, which is when this
	// machine was decided on. What an agent that ended before asked for shows within
	// Settle, and is asked for again only after that.
	CreateMachine(ctx context.Context, op fleet.OperationID, r MachineRequest) error

	// DeleteMachine removes the machine called name; where id is not empty, only
	// the one with that id. Nothing there is success.
	DeleteMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error

	// Settle is how long a change may take to show in Observe.
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
	// Endpoint is where UserData has the API server: what Observe told.
	Endpoint fleet.Endpoint
}

// Tags returns the ownership tags of the machine, made by op.
func (r MachineRequest) Tags(op fleet.OperationID) map[string]string {
	tags := r.Cluster.MachineTags(r.Pool, r.Name, op)
	maps.Copy(tags, r.Origin.Tags())
	return tags
}

// A WorkloadObserver looks into workload clusters, and changes nothing in them.
type WorkloadObserver interface {
	// Observe reports nodes, the inventories of resource sets and the labels of releases
	// of Helm. What a Distribution observes is not in it.
	Observe(ctx context.Context, a Access) (fleet.Workload, error)
}

// Workload reaches into workload clusters through their API servers. It is safe
// for concurrent use and keeps connections between calls. An API server that
// does not answer gives the kind Unavailable, never an empty answer.
type Workload interface {
	WorkloadObserver

	// SyncNode brings labels, annotations and taints of node, which is that of
	// machine m, in line with its pool p, and removes the uninitialized taint. A node
	// may be called otherwise than its machine.
	SyncNode(ctx context.Context, a Access, node string, m fleet.MachineName, p fleet.Pool) error

	// Drain takes one step: it marks and cordons the node, evicts the pods whose
	// turn it is by rules, and notes when none is left that has to go. What is
	// there shows in Node.Pods of the next Observe. A node with a pre-drain hook
	// is marked and nothing else.
	Drain(ctx context.Context, a Access, node string, rules fleet.DrainRules) error

	// Uncordon takes Drain back: it removes its marks from the node, and the cordon unless the
	// node was cordoned before. A node that is not marked, or not there, stays as it is.
	Uncordon(ctx context.Context, a Access, node string) error

	// DeleteNode removes a Node object. Nothing there is success.
	DeleteNode(ctx context.Context, a Access, node string) error

	// ApplyResources applies those resources of s that are called names, and keeps
	// the inventory of s in the cluster: what is about to be applied before, what
	// was and what was refused after. Objects of ApplyOnce that are there stay as
	// they are. What the API server refuses of one object holds up no other and is
	// no error: it shows in the next Observe.
	ApplyResources(ctx context.Context, a Access, s fleet.ResourceSet, names []string) error

	// PruneResources deletes objects of s, those that still carry its name, and
	// forgets what s does not have any more; with the last object its inventory
	// goes. Nothing there is success, refusals are as in ApplyResources.
	PruneResources(ctx context.Context, a Access, s fleet.ResourceSet, objects []fleet.ObjectRef) error

	// DeleteExternalResources asks the controllers of the cluster to remove what
	// resources keep outside of it: Services are deleted, claims of volumes are, and
	// so are the pods that use these claims and the StatefulSets that would claim
	// anew, whatever their disruption budgets say. It does not wait: what is left
	// shows in Workload.External of the next Observe. What is not there is success.
	DeleteExternalResources(ctx context.Context, a Access, resources []fleet.ExternalResource) error

	// Watch calls changed when nodes of the cluster change, until Forget or ctx
	// ends. A second call for the same cluster replaces the first one's access.
	Watch(ctx context.Context, a Access, changed func())

	// Forget closes what is kept for a cluster.
	Forget(k fleet.Key)
}

// Access is what is needed to reach the API server of a cluster.
type Access struct {
	Cluster    fleet.Key
	Kubeconfig fleet.Secret
	// Secrets are those that the Distribution needs inside, by name; what is not there
	// is not stored.
	Secrets map[fleet.SecretName]fleet.SecretData

	// Certificates has a Distribution look when the certificates of servers expire.
	Certificates bool
	// External has Observe look for external resources.
	External bool
}
