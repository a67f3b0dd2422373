package simulation

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/all"
	"fairlead.dev/providers/workload"
	"fairlead.dev/reconcile"
)

// A reach is the API servers of clusters as an agent reaches them.
type reach struct {
	*workload.Client
	in *incarnation
}

var _ providers.Workload = reach{}

// toKey is the key of contexts for whose API server is called.
type toKey struct{}

func to(ctx context.Context, k fleet.Key) context.Context { return context.WithValue(ctx, toKey{}, k) }

func called(ctx context.Context) fleet.Key {
	k, _ := ctx.Value(toKey{}).(fleet.Key)
	return k
}

// change makes a call that changes something of a's cluster.
func (r reach) change(ctx context.Context, a providers.Access, what string, judged func(*judgement), do func(context.Context) error) error {
	name := what + " of " + a.Cluster.String()
	j := r.in.judge(name, r.in.tags(a.Cluster))
	return alone(through(to(ctx, a.Cluster), r.in, theAPI, name, true, func(ctx context.Context) (struct{}, error) {
		j.change()
		if judged != nil {
			judged(j)
		}
		return struct{}{}, do(ctx)
	}))
}

// Observe implements providers.Workload.
func (r reach) Observe(ctx context.Context, a providers.Access) (fleet.Workload, error) {
	return through(to(ctx, a.Cluster), r.in, theAPI, "observe "+a.Cluster.String(), false, func(ctx context.Context) (fleet.Workload, error) {
		return r.Client.Observe(ctx, a)
	})
}

// SyncNode implements providers.Workload.
func (r reach) SyncNode(ctx context.Context, a providers.Access, node string, m fleet.MachineName, p fleet.Pool) error {
	return r.change(ctx, a, "sync node "+node, nil, func(ctx context.Context) error { return r.Client.SyncNode(ctx, a, node, m, p) })
}

// Drain implements providers.Workload.
func (r reach) Drain(ctx context.Context, a providers.Access, node string, rules fleet.DrainRules) error {
	return r.change(ctx, a, "drain "+node, func(j *judgement) { j.drains(node) }, func(ctx context.Context) error { return r.Client.Drain(ctx, a, node, rules) })
}

// Uncordon implements providers.Workload.
func (r reach) Uncordon(ctx context.Context, a providers.Access, node string) error {
	return r.change(ctx, a, "uncordon "+node, nil, func(ctx context.Context) error { return r.Client.Uncordon(ctx, a, node) })
}

// DeleteNode implements providers.Workload.
func (r reach) DeleteNode(ctx context.Context, a providers.Access, node string) error {
	return r.change(ctx, a, "delete node "+node, func(j *judgement) { j.deletesNode(node) }, func(ctx context.Context) error { return r.Client.DeleteNode(ctx, a, node) })
}

// ApplyResources implements providers.Workload.
func (r reach) ApplyResources(ctx context.Context, a providers.Access, s fleet.ResourceSet, names []string) error {
	return r.change(ctx, a, "apply resources "+s.Name, (*judgement).reapplies, func(ctx context.Context) error { return r.Client.ApplyResources(ctx, a, s, names) })
}

// DeleteExternalResources implements providers.Workload.
func (r reach) DeleteExternalResources(ctx context.Context, a providers.Access, resources []fleet.ExternalResource) error {
	return r.change(ctx, a, "delete external resources", nil, func(ctx context.Context) error { return r.Client.DeleteExternalResources(ctx, a, resources) })
}

// PruneResources implements providers.Workload.
func (r reach) PruneResources(ctx context.Context, a providers.Access, s fleet.ResourceSet, objects []fleet.ObjectRef) error {
	return r.change(ctx, a, "prune resources "+s.Name, nil, func(ctx context.Context) error { return r.Client.PruneResources(ctx, a, s, objects) })
}

// A safe is the secret store as an agent reaches it. What it only reads comes at
// once.
type safe struct {
	reconcile.SecretStore
	in *incarnation
}

// Create implements reconcile.SecretStore.
func (s safe) Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error) {
	return through(ctx, s.in, theSecrets, fmt.Sprintf("create %s of %s", name, c), true, func(ctx context.Context) (fleet.SecretData, error) {
		return s.SecretStore.Create(ctx, c, name, d)
	})
}

// Replace implements reconcile.SecretStore.
func (s safe) Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error {
	return alone(through(ctx, s.in, theSecrets, fmt.Sprintf("replace %s of %s", name, c), true, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.SecretStore.Replace(ctx, c, name, d)
	}))
}

// Delete implements reconcile.SecretStore.
func (s safe) Delete(ctx context.Context, c fleet.Key) error {
	j := s.in.judge("delete secrets of "+c.String(), s.in.tags(c))
	return alone(through(ctx, s.in, theSecrets, "delete all of "+c.String(), true, func(ctx context.Context) (struct{}, error) {
		j.change()
		j.deletesAll()
		j.leavesNothing()
		return struct{}{}, s.SecretStore.Delete(ctx, c)
	}))
}

// A distribution is one as an agent has it, which reaches clusters as reach does.
type distribution struct {
	providers.Distribution
	reach reach
}

var _ providers.Distribution = distribution{}

func (in *incarnation) distributions() providers.Distributions {
	out := make(providers.Distributions)
	for kind, d := range all.Distributions(in.workload) {
		out[kind] = distribution{d, reach{in.workload, in}}
	}
	return out
}

// Observe implements providers.Distribution.
func (d distribution) Observe(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	return alone(through(to(ctx, a.Cluster), d.reach.in, theAPI, "observe the control plane of "+a.Cluster.String(), false, func(ctx context.Context) (struct{}, error) {
		err := d.Distribution.Observe(ctx, a, w)
		l := d.reach.in.life
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil && l.heard[a.Cluster].IsZero() { // the look is whole
			l.heard[a.Cluster] = time.Now()
		}
		return struct{}{}, err
	}))
}

// Members implements providers.Distribution.
func (d distribution) Members(ctx context.Context, a providers.Access) (*fleet.Etcd, error) {
	return through(to(ctx, a.Cluster), d.reach.in, theAPI, "etcd of "+a.Cluster.String(), false, func(ctx context.Context) (*fleet.Etcd, error) {
		return d.Distribution.Members(ctx, a)
	})
}

// RemoveMember implements providers.Distribution.
func (d distribution) RemoveMember(ctx context.Context, a providers.Access, m fleet.Member) error {
	return d.reach.change(ctx, a, fmt.Sprintf("remove member %x", m.ID), func(j *judgement) { j.removesMember(m.ID) }, func(ctx context.Context) error {
		return d.Distribution.RemoveMember(ctx, a, m)
	})
}

// Admit implements providers.Distribution.
func (d distribution) Admit(ctx context.Context, a providers.Access, in providers.BootstrapInput, ttl time.Duration) error {
	return d.reach.change(ctx, a, "ensure token for "+string(in.Machine), nil, func(ctx context.Context) error { return d.Distribution.Admit(ctx, a, in, ttl) })
}

// Apply implements providers.Distribution.
func (d distribution) Apply(ctx context.Context, a providers.Access, c *fleet.Cluster, e fleet.Endpoint, name string) error {
	return d.reach.change(ctx, a, map[string]string{"SyncKubeadmConfig": "sync kubeadm-config", "SyncAddons": "sync addons"}[name], nil, func(ctx context.Context) error {
		return d.Distribution.Apply(ctx, a, c, e, name)
	})
}
