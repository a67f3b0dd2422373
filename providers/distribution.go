package providers

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/endpoint"
)

// A Distribution knows one kind of control plane: what machines boot with and trust, who
// is a member, and what a running cluster has of the distribution's own. Which one a
// cluster has follows from the kind of its control plane: see Distributions. What is the
// same for all is elsewhere: Nodes, drains, resources and watches are Workload's, the
// order of steps and the care for a quorum are the planner's. It is safe for concurrent
// use.
//
// # What is pure
//
// The first half asks nobody. Its results depend on nothing but its arguments, but for
// secrets that are new, which are random. The same arguments give the same bytes on every
// agent and after every restart: a repeated create is the same request.
//
// # What is asked of the cluster
//
// The second half reaches into the cluster, by Access. Errors are *fleet.Error; an API
// server or a member that does not answer gives the kind Unavailable, never an empty
// answer: the planner takes absence as proof.
//
// # What differs
//
// What kubeadm does is the zero value of fleet.Traits. Others differ so:
//
//   - K3s and RKE2 serve no members by etcd's JSON API: GET /db/info at the port for
//     joining lists them, learners and those of machines that are gone included, for
//     whoever has the server token. A member is called <node>-<8 hex digits>: Member.Node
//     is the part before the last hyphen.
//   - There a member leaves by an annotation of its Node
//     (etcd.k3s.cattle.io/remove, etcd.rke2.cattle.io/remove). RemoveMember writes that and
//     returns; the member is out when Members does not list it (Traits.LeaveIsAsked). The
//     service on the machine ends then, its kubelet with it: the planner drains before.
//   - There to delete a Node is to remove its member (Traits.NodeIsMember), and a name is
//     refused as long as the Node of its former machine is there: the planner gives no
//     name that a Node has.
//   - Their server token opens the keys of every authority: it is one of Needs that is
//     made once and stored, that no worker is given and that is never derived from another
//     secret, since the datastore is encrypted with it. Workers join by a bootstrap token
//     of their own (group system:bootstrappers:k3s:default-node-token); servers cannot.
//   - Versions have a build: "v1.34.1+k3s1". Kubelets of k0s leave part of it out.
type Distribution interface {
	// Traits says how control planes of its kind work.
	Traits(c *fleet.Cluster) fleet.Traits

	// Needs returns the secrets that c cannot do without, in the order in which they are
	// stored.
	Needs(c *fleet.Cluster) []fleet.SecretNeed

	// NewSecrets returns those of Needs that are not given, new, as c's manifests ask
	// for. It is called once in the life of a cluster.
	NewSecrets(c *fleet.Cluster, now time.Time) (map[fleet.SecretName]fleet.SecretData, error)

	// Rotate returns the authority called name, of which d is stored, at the next
	// stage of its rotation. What is there already is returned as it is; a stage
	// that is not the next gives the kind Conflict. A new authority is random.
	Rotate(c *fleet.Cluster, name fleet.SecretName, d fleet.SecretData, to fleet.RotationState) (fleet.SecretData, error)

	// NewKubeconfig issues the administrator's kubeconfig by the authorities among
	// secrets, the needs of c that are not given.
	NewKubeconfig(c *fleet.Cluster, e fleet.Endpoint, secrets map[fleet.SecretName]fleet.SecretData, now time.Time) (fleet.SecretData, error)

	// InspectKubeconfig describes a kubeconfig.
	InspectKubeconfig(s fleet.SecretData) (fleet.KubeconfigState, error)

	// UserData returns what the machine boots with.
	UserData(in BootstrapInput) (UserData, error)

	// Registered returns labels and taints with which kubelets of p register their
	// Nodes, as far as p's bootstrap configuration says.
	Registered(p fleet.Pool) (map[string]string, []corev1.Taint)

	// Steps returns what in the cluster that w was observed of is not as c's control
	// plane asks for.
	Steps(c *fleet.Cluster, w *fleet.Workload) []fleet.Step

	// Observe adds to w, which Workload observed, the servers, what the distribution
	// applied and what the cluster was made with.
	Observe(ctx context.Context, a Access, w *fleet.Workload) error

	// Members reports all members of etcd, as they agree on them: those that joined and
	// do not vote yet, and those that nobody is behind any more, too. A control plane
	// whose data is elsewhere is not asked.
	Members(ctx context.Context, a Access) (*fleet.Etcd, error)

	// RemoveMember takes m, one that Members told, out of etcd, after it handed
	// leadership to another if it led. It asks once more whether etcd can spare it, and
	// gives the kind Conflict where it cannot. A member that is not there is success.
	RemoveMember(ctx context.Context, a Access, m fleet.Member) error

	// Admit has the cluster let the machine of in join, for ttl from now, or has that
	// last as long. Who is let in, and what the machine shows for it, depends on in
	// alone: a repeated call is the same.
	Admit(ctx context.Context, a Access, in BootstrapInput, ttl time.Duration) error

	// Apply takes the step of Steps that is called name. Where c is on its way to a
	// version, its pools are as they are to be at this point of the way.
	Apply(ctx context.Context, a Access, c *fleet.Cluster, e fleet.Endpoint, name string) error
}

// BootstrapInput is all that user data may depend on.
type BootstrapInput struct {
	Cluster  *fleet.Cluster
	Pool     fleet.Pool
	Machine  fleet.MachineName
	Join     fleet.Join
	Endpoint fleet.Endpoint
	// Secrets are the needs of the cluster; of a worker those alone that it is made with.
	Secrets map[fleet.SecretName]fleet.SecretData
	// VirtualIP says how servers serve the endpoint; nil: something else does.
	VirtualIP *endpoint.VirtualIP
	// NodeID is what the kubelet is told as its provider id, unless the user says
	// something of that; empty: nothing.
	NodeID string
}

// Distributions are those that a program was built with, by the kind of the control
// plane: "KubeadmControlPlane".
type Distributions map[string]Distribution

// Of returns the distribution of c. A kind that none is for gives the kind Invalid.
func (d Distributions) Of(c *fleet.Cluster) (Distribution, error) {
	kind := c.ControlPlaneKind()
	if found, ok := d[kind]; ok {
		return found, nil
	}
	return nil, fleet.Errorf(fleet.Invalid, "find the distribution of "+c.Key.String(),
		"no distribution is built in for the kind %s; there are those for %q", kind, slices.Sorted(maps.Keys(d)))
}

// Facts returns what a plan for c, of which o was observed, has to know of d.
func Facts(d Distribution, c *fleet.Cluster, o *fleet.Observed) fleet.Distribution {
	out := fleet.Distribution{Traits: d.Traits(c), Needs: d.Needs(c), Steps: make(map[string][]fleet.Step)}
	if c.Hosted != nil { // whoever sees to it keeps what is its own
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
	for _, m := range o.Infrastructure.Machines { // one that the class does not have any more
		if m.Role == fleet.RoleControlPlane && m.Version != "" {
			p.Version = m.Version
			add(p)
		}
	}
	return out
}
