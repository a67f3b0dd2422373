package reconcile_test

import (
	"context"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/workload"
)

// crashing counts the changes made through the API server as calls too.
type crashing struct {
	*workload.Client
	w *world
}

func (c crashing) around(err error) error { c.w.called(); return err }

func (c crashing) SyncNode(ctx context.Context, a providers.Access, n string, m fleet.MachineName, p fleet.Pool) error {
	c.w.called()
	c.w.mu.Lock()
	c.w.syncs++
	c.w.mu.Unlock()
	return c.around(c.Client.SyncNode(ctx, a, n, m, p))
}

func (c crashing) Drain(ctx context.Context, a providers.Access, n string, rules fleet.DrainRules) error {
	c.w.called()
	return c.around(c.Client.Drain(ctx, a, n, rules))
}

func (c crashing) Uncordon(ctx context.Context, a providers.Access, n string) error {
	c.w.called()
	return c.around(c.Client.Uncordon(ctx, a, n))
}

func (c crashing) DeleteNode(ctx context.Context, a providers.Access, n string) error {
	c.w.called()
	return c.around(c.Client.DeleteNode(ctx, a, n))
}

func (c crashing) DeleteExternalResources(ctx context.Context, a providers.Access, resources []fleet.ExternalResource) error {
	c.w.called()
	return c.around(c.Client.DeleteExternalResources(ctx, a, resources))
}

// crashingKubeadm counts the changes that kubeadm makes in clusters as calls too.
type crashingKubeadm struct {
	kubeadm.Distribution
	w *world
}

func (c crashingKubeadm) around(f func() error) error {
	c.w.called()
	err := f()
	c.w.called()
	return err
}

func (c crashingKubeadm) Admit(ctx context.Context, a providers.Access, in providers.BootstrapInput, ttl time.Duration) error {
	return c.around(func() error { return c.Distribution.Admit(ctx, a, in, ttl) })
}

func (c crashingKubeadm) RemoveMember(ctx context.Context, a providers.Access, m fleet.Member) error {
	return c.around(func() error { return c.Distribution.RemoveMember(ctx, a, m) })
}

func (c crashingKubeadm) Apply(ctx context.Context, a providers.Access, in *fleet.Cluster, e fleet.Endpoint, name string) error {
	return c.around(func() error { return c.Distribution.Apply(ctx, a, in, e, name) })
}
