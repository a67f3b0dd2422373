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
	// not wait: Observe tells when it is ready.
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
	Origin        fleet.Origin
}

// Tags returns the ownership tags of the machine, made by op.
func (r MachineRequest) Tags(op fleet.OperationID) map[string]string {
	tags := r.Cluster.MachineTags(r.Pool, r.Name, op)
	maps.Copy(tags, r.Origin.Tags())
	return tags
}

// A WorkloadObserver looks into workload clusters, and changes nothing in them.
type WorkloadObserver interface {
	// Observe reports nodes, their static pods, bootstrap tokens, the state of
	// kubeadm-config, the inventories of resource sets and the labels of releases of
	// Helm.
	Observe(ctx context.Context, a Access) (fleet.Workload, error)
}

// Workload reaches into workload clusters through their API servers. It is safe
// for concurrent use and keeps connections between calls. An API server that
// does not answer gives the kind Unavailable, never an empty answer.
type Workload interface {
	WorkloadObserver

	// Etcd reports the members of a stacked etcd.
	Etcd(ctx context.Context, a Access) (*fleet.Etcd, error)

	// EnsureToken stores t as a bootstrap token that is good for ttl from now,
	// or makes an existing one last that long, and publishes its authorities.
	EnsureToken(ctx context.Context, a Access, t Token, ttl time.Duration) error

	// SyncNode brings labels, annotations and taints of node, which is that of
	// machine m, in line with its pool p, and removes the uninitialized taint. A node
	// may be called otherwise than its machine.
	SyncNode(ctx context.Context, a Access, node string, m fleet.MachineName, p fleet.Pool) error

	// Drain takes one step: it marks and cordons the node, evicts the pods whose
	// turn it is by rules, and notes when none is left that has to go. What is
	// there shows in Node.Pods of the next Observe. A node with a pre-drain hook
	// is marked and nothing else.
	Drain(ctx context.Context, a Access, node string, rules fleet.DrainRules) error

	// RemoveMember takes a member out of etcd, after it handed leadership to
	// another if it led. A member that is not there is success.
	RemoveMember(ctx context.Context, a Access, id uint64) error

	// DeleteNode removes a Node object. Nothing there is success.
	DeleteNode(ctx context.Context, a Access, node string) error

	// SyncKubeadmConfig writes config, a ClusterConfiguration, over the one in
	// kubeadm-config: what config does not speak of stays. It also grants what
	// machines of newer versions of kubeadm rely on, and leaves mark.
	SyncKubeadmConfig(ctx context.Context, a Access, config []byte, mark string) error

	// SyncAddons brings the images of kube-proxy and CoreDNS in line with the
	// control plane p, migrates the configuration of CoreDNS, and leaves mark.
	// What is not there, or is to be skipped, is left alone.
	SyncAddons(ctx context.Context, a Access, p fleet.Pool, mark string) error

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
	EtcdCA     fleet.SecretData // for a client certificate of a stacked etcd

	// Certificates has Observe look when the certificates of control-plane nodes
	// expire.
	Certificates bool
	// External has Observe look for external resources.
	External bool
}

// A Token is a bootstrap token, "id.secret".
type Token struct {
	ID     string // 6 characters of [a-z0-9]
	Secret fleet.Secret
	// Authorities are, in PEM form, what its bearer is to trust, where that is no
	// more what kubeadm init has published: it has to be published before.
	Authorities []byte
}

// Bootstrap issues what a cluster's machines boot with and trust. Its results
// depend on nothing but its arguments, but for NewAuthorities, which is random.
type Bootstrap interface {
	// NewAuthorities returns new authorities for c, with the algorithm its
	// ClusterConfiguration asks for.
	NewAuthorities(c *fleet.Cluster, now time.Time) (map[fleet.SecretName]fleet.SecretData, error)

	// Rotate returns the authority called name, of which d is stored, at the next
	// stage of its rotation. What is there already is returned as it is; a stage
	// that is not the next gives the kind Conflict. A new authority is random.
	Rotate(c *fleet.Cluster, name fleet.SecretName, d fleet.SecretData, to fleet.RotationState) (fleet.SecretData, error)

	// NewKubeconfig issues the administrator's kubeconfig.
	NewKubeconfig(c *fleet.Cluster, e fleet.Endpoint, ca fleet.SecretData, now time.Time) (fleet.SecretData, error)

	// InspectKubeconfig describes a kubeconfig.
	InspectKubeconfig(s fleet.SecretData) (fleet.KubeconfigState, error)

	// Token returns the bootstrap token of a machine. The same machine always
	// gets the same token, so that a repeated create is the same request.
	Token(c *fleet.Cluster, ca fleet.SecretData, m fleet.MachineName) (Token, error)

	// ClusterConfiguration returns kubeadm's configuration of c, as machines of
	// the version of its control plane read it.
	ClusterConfiguration(c *fleet.Cluster, e fleet.Endpoint) ([]byte, error)

	// UserData returns what the machine boots with.
	UserData(in BootstrapInput) (UserData, error)
}

// BootstrapInput is all that user data may depend on.
type BootstrapInput struct {
	Cluster     *fleet.Cluster
	Pool        fleet.Pool
	Machine     fleet.MachineName
	Join        fleet.Join
	Endpoint    fleet.Endpoint
	Authorities map[fleet.SecretName]fleet.SecretData
	Token       Token // of Machine; not used with JoinInit
	// NodeID is what the kubelet is told as its provider id, unless the user says
	// something of that; empty: nothing.
	NodeID string
}
