package providers

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/endpoint"
)

// A Distribution implements one kind of control plane: user data and trust of machines, members
// of etcd, and the distribution's own objects in a running cluster. The kind of its control plane
// decides which one a cluster has: see Distributions. Workload implements what is equal for all:
// Nodes, drains, resources and watches. The planner decides the order of steps and keeps the
// quorum. A Distribution is safe for concurrent use.
//
// # Pure methods
//
// The methods before Observe make no requests. Their results depend on their arguments only,
// except new secrets, which are random. The same arguments give the same bytes on every agent and
// after every restart: a repeated create is the same request.
//
// # Methods that call the cluster
//
// Observe and those after it call the cluster, by Access. Errors are *fleet.Error. If an API
// server or a member does not answer, the kind is Unavailable, and the result never empty: the
// planner takes absence as proof.
//
// # Differences
//
// kubeadm is the zero value of fleet.Traits. K3s and RKE2 differ:
//
//   - Members are not listed by etcd's JSON API, but by GET /db/info at the port for joining,
//     with the server token. Learners and members of deleted machines are included. A member is
//     called <node>-<8 hex digits>: Member.Node is the part before the last hyphen.
//   - A member leaves by an annotation of its Node (etcd.k3s.cattle.io/remove,
//     etcd.rke2.cattle.io/remove). RemoveMember writes it and returns; the member has left when
//     Members does not list it (Traits.LeaveIsAsked). The service on the machine ends then, and
//     its kubelet: the planner drains before.
//   - Deleting a Node removes its member (Traits.NodeIsMember), and a name is refused while the
//     Node of its former machine exists: the planner reuses no name that a Node has.
//   - The server token decrypts the keys of all CAs and the datastore. So it is one of Needs,
//     created once and stored, not derived from another secret, and not given to workers. Workers
//     join with their own bootstrap token (group system:bootstrappers:k3s:default-node-token);
//     servers cannot.
//   - Versions have a build: "v1.34.1+k3s1". Kubelets of k0s omit part of it.
type Distribution interface {
	// Traits returns how control planes of its kind work.
	Traits(c *fleet.Cluster) fleet.Traits

	// Needs returns the secrets that c requires, in the order in which they are stored.
	Needs(c *fleet.Cluster) []fleet.SecretNeed

	// NewSecrets creates those of Needs that people did not provide, as c's manifests require.
	// It is called once in the life of a cluster.
	NewSecrets(c *fleet.Cluster, now time.Time) (map[fleet.SecretName]fleet.SecretData, error)

	// Rotate returns the CA with that name, stored as d, at the stage to of its rotation. It
	// returns d if d is at that stage. If to is not the next stage, the error has the kind
	// Conflict. A new CA is random.
	Rotate(c *fleet.Cluster, name fleet.SecretName, d fleet.SecretData, to fleet.RotationState) (fleet.SecretData, error)

	// NewKubeconfig issues the administrator's kubeconfig with the CAs in secrets, which has the
	// needs of c that people did not provide.
	NewKubeconfig(c *fleet.Cluster, e fleet.Endpoint, secrets map[fleet.SecretName]fleet.SecretData, now time.Time) (fleet.SecretData, error)

	// InspectKubeconfig describes a kubeconfig.
	InspectKubeconfig(s fleet.SecretData) (fleet.KubeconfigState, error)

	// UserData returns the user data of the machine.
	UserData(in BootstrapInput) (UserData, error)

	// Registered returns the labels and taints of p's bootstrap configuration with which kubelets
	// register their Nodes.
	Registered(p fleet.Pool) (map[string]string, []corev1.Taint)

	// Steps returns the changes that make the observed cluster w match c's control plane.
	Steps(c *fleet.Cluster, w *fleet.Workload) []fleet.Step

	// Observe adds to w, which Workload observed, the servers, what the distribution applied, and
	// the settings that the cluster was created with.
	Observe(ctx context.Context, a Access, w *fleet.Workload) error

	// Members reports all members of etcd on which the members agree, with learners and members
	// without a machine. It is not called for a control plane with an external datastore.
	Members(ctx context.Context, a Access) (*fleet.Etcd, error)

	// RemoveMember removes m, which Members reported, from etcd, after it moved leadership to
	// another member if m led. It checks again that the others keep the quorum; otherwise the error
	// has the kind Conflict. It succeeds if m is no member.
	RemoveMember(ctx context.Context, a Access, m fleet.Member) error

	// Admit lets the machine of in join the cluster for ttl from now, or renews that. The token of
	// the machine depends on in only: a repeated call has the same effect.
	Admit(ctx context.Context, a Access, in BootstrapInput, ttl time.Duration) error

	// Apply carries out the step of Steps with that name. During an upgrade in several versions,
	// the pools of c are those of the current one.
	Apply(ctx context.Context, a Access, c *fleet.Cluster, e fleet.Endpoint, name string) error
}

// BootstrapInput is everything that user data may depend on.
type BootstrapInput struct {
	Cluster  *fleet.Cluster
	Pool     fleet.Pool
	Machine  fleet.MachineName
	Join     fleet.Join
	Endpoint fleet.Endpoint
	// Secrets are the needs of the cluster; for a worker, only those in its user data.
	Secrets map[fleet.SecretName]fleet.SecretData
	// VirtualIP is how servers serve the endpoint; nil: something else serves it.
	VirtualIP *endpoint.VirtualIP
	// NodeID is the provider id of the kubelet, unless the manifests set one; empty: none.
	NodeID string
}

// Distributions are those of a program, by the kind of the control plane:
// "KubeadmControlPlane".
type Distributions map[string]Distribution

// Of returns the distribution of c. Without one the error has the kind Invalid.
func (d Distributions) Of(c *fleet.Cluster) (Distribution, error) {
	kind := c.ControlPlaneKind()
	if found, ok := d[kind]; ok {
		return found, nil
	}
	return nil, fleet.Errorf(fleet.Invalid, "find the distribution of "+c.Key.String(),
		"no distribution is built in for the kind %s; there are those for %q", kind, slices.Sorted(maps.Keys(d)))
}

// Facts returns what a plan for c, observed as o, needs of d.
func Facts(d Distribution, c *fleet.Cluster, o *fleet.Observed) fleet.Distribution {
	out := fleet.Distribution{Traits: d.Traits(c), Needs: d.Needs(c), Steps: make(map[string][]fleet.Step)}
	if c.Hosted != nil { // its operator changes it, but for what is kept inside the cluster
		if steps := d.Steps(c, &o.Workload); len(steps) > 0 && o.Workload.Reachable {
			out.Steps[c.Version()] = steps
		}
		return out
	}
	add := func(p fleet.Pool) {
		if _, ok := out.Steps[p.Version]; !ok {
			staged := *c
			staged.ControlPlane = p
			out.Steps[p.Version] = d.Steps(&staged, &o.Workload)
		}
	}
	p := c.ControlPlane
	add(p)
	if c.Topology == nil {
		return out
	}
	for _, v := range c.Topology.Older {
		if b, ok := v.Pools[p.Name]; ok {
			add(p.At(v.Version, b))
		}
	}
	for _, m := range o.Infrastructure.Machines { // a version that the class no longer lists
		if m.Role == fleet.RoleControlPlane && m.Version != "" {
			p.Version = m.Version
			add(p)
		}
	}
	return out
}
