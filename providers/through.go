package providers

import (
	"context"

	"fairlead.dev/fleet"
)

// A Use is one call of an ability.
type Use struct {
	Method  string    // "RemoveOrphan"
	Op      string    // what it does, as errors say it: "remove port 1"
	Cluster fleet.Key // zero where it is about no single cluster
	Changes bool      // whether it may change anything, anywhere
}

// An Around decorates the calls of abilities. It makes the call, or returns the error that the
// caller gets instead.
type Around func(ctx context.Context, u Use, call func() error) error

// Through returns a with each call of its abilities decorated by around. Each returned ability
// has only its own methods, so that no type assertion bypasses around.
//
// Five abilities are returned unchanged: Watcher, whose only call lasts, NodeIdentifier,
// VirtualIPs, Placer and Closer.
func (a Abilities) Through(around Around) Abilities {
	var out Abilities
	if a.Watcher != nil {
		out.Watcher = struct{ Watcher }{a.Watcher}
	}
	if a.Lister != nil {
		out.Lister = lister{a.Lister, around}
	}
	if a.OrphanRemover != nil {
		out.OrphanRemover = remover{a.OrphanRemover, around}
	}
	if a.Adopter != nil {
		out.Adopter = adopter{a.Adopter, around}
	}
	if a.Charts != nil {
		out.Charts = charts{a.Charts, around}
	}
	if a.UntaggedFinder != nil {
		out.UntaggedFinder = finder{a.UntaggedFinder, around}
	}
	if a.NodeIdentifier != nil {
		out.NodeIdentifier = struct{ NodeIdentifier }{a.NodeIdentifier}
	}
	if a.VirtualIPs != nil {
		out.VirtualIPs = struct{ VirtualIPs }{a.VirtualIPs}
	}
	if a.Checker != nil {
		out.Checker = checker{a.Checker, around}
	}
	if a.Rebooter != nil {
		out.Rebooter = rebooter{a.Rebooter, around}
	}
	if a.EndpointKeeper != nil {
		out.EndpointKeeper = endpointKeeper{a.EndpointKeeper, around}
	}
	if a.PoolKeeper != nil {
		out.PoolKeeper = poolKeeper{a.PoolKeeper, around}
	}
	if a.SecretAnswerer != nil {
		out.SecretAnswerer = secretAnswerer{a.SecretAnswerer, around}
	}
	if a.Placer != nil {
		out.Placer = struct{ Placer }{a.Placer}
	}
	if a.Closer != nil {
		out.Closer = struct{ Closer }{a.Closer}
	}
	return out
}

type lister struct {
	in     Lister
	around Around
}

// Clusters implements Lister.
func (l lister) Clusters(ctx context.Context, id fleet.ID) (out []fleet.Key, err error) {
	u := Use{Method: "Clusters", Op: "list clusters of fleet " + string(id)}
	err = l.around(ctx, u, func() error {
		out, err = l.in.Clusters(ctx, id)
		return err
	})
	return out, err
}

type remover struct {
	in     OrphanRemover
	around Around
}

// Orphans implements OrphanRemover.
func (s remover) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) (out []fleet.Orphan, err error) {
	u := Use{Method: "Orphans", Op: "look for orphans of fleet " + string(id)}
	err = s.around(ctx, u, func() error {
		out, err = s.in.Orphans(ctx, id, clusters)
		return err
	})
	return out, err
}

// RemoveOrphan implements OrphanRemover.
func (s remover) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	u := Use{Method: "RemoveOrphan", Op: "remove " + o.Kind + " " + o.ID, Cluster: o.Cluster, Changes: true}
	return s.around(ctx, u, func() error { return s.in.RemoveOrphan(ctx, id, clusters, o) })
}

type adopter struct {
	in     Adopter
	around Around
}

// Adoptable implements Adopter.
func (a adopter) Adoptable(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) (out []string, err error) {
	u := Use{Method: "Adoptable", Op: "look what can be adopted for " + c.Key.String(), Cluster: c.Key}
	err = a.around(ctx, u, func() error {
		out, err = a.in.Adoptable(ctx, c, machines)
		return err
	})
	return out, err
}

// Adopt implements Adopter.
func (a adopter) Adopt(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) error {
	u := Use{Method: "Adopt", Op: "adopt machines of " + c.Key.String(), Cluster: c.Key, Changes: true}
	return a.around(ctx, u, func() error { return a.in.Adopt(ctx, c, machines) })
}

// Release implements Adopter.
func (a adopter) Release(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) error {
	u := Use{Method: "Release", Op: "release adopted machines of " + c.Key.String(), Cluster: c.Key, Changes: true}
	return a.around(ctx, u, func() error { return a.in.Release(ctx, c, machines) })
}

type finder struct {
	in     UntaggedFinder
	around Around
}

// Untagged implements UntaggedFinder.
func (f finder) Untagged(ctx context.Context, c *fleet.Cluster, ids []fleet.ProviderID) (out []fleet.Machine, err error) {
	u := Use{Method: "Untagged", Op: "find machines of " + c.Key.String() + " without tags", Cluster: c.Key}
	err = f.around(ctx, u, func() error {
		out, err = f.in.Untagged(ctx, c, ids)
		return err
	})
	return out, err
}

type rebooter struct {
	in     Rebooter
	around Around
}

// SwitchMachine implements Rebooter.
func (r rebooter) SwitchMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error {
	u := Use{Method: "SwitchMachine", Op: "switch machine " + string(name) + " " + string(to), Cluster: c.Key, Changes: true}
	return r.around(ctx, u, func() error { return r.in.SwitchMachine(ctx, op, c, name, id, to) })
}

type endpointKeeper struct {
	in     EndpointKeeper
	around Around
}

// LeaveEndpoint implements EndpointKeeper.
func (k endpointKeeper) LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	u := Use{Method: "LeaveEndpoint", Op: "lead the endpoint away from machine " + string(name), Cluster: c.Key, Changes: true}
	return k.around(ctx, u, func() error { return k.in.LeaveEndpoint(ctx, c, name, id) })
}

type poolKeeper struct {
	in     PoolKeeper
	around Around
}

// EnsurePool implements PoolKeeper.
func (k poolKeeper) EnsurePool(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, p fleet.KeptPool) error {
	u := Use{Method: "EnsurePool", Op: "create or change pool " + string(p.Name), Cluster: c.Key, Changes: true}
	return k.around(ctx, u, func() error { return k.in.EnsurePool(ctx, op, c, p) })
}

// DeletePool implements PoolKeeper.
func (k poolKeeper) DeletePool(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.PoolName) error {
	u := Use{Method: "DeletePool", Op: "delete pool " + string(name), Cluster: c.Key, Changes: true}
	return k.around(ctx, u, func() error { return k.in.DeletePool(ctx, op, c, name) })
}

type charts struct {
	in     Charts
	around Around
}

// Install implements Charts.
func (c charts) Install(ctx context.Context, a Access, r fleet.Release) error {
	u := Use{Method: "Install", Op: "install release " + r.String(), Cluster: a.Cluster, Changes: true}
	return c.around(ctx, u, func() error { return c.in.Install(ctx, a, r) })
}

// Uninstall implements Charts.
func (c charts) Uninstall(ctx context.Context, a Access, ref fleet.ReleaseRef) error {
	u := Use{Method: "Uninstall", Op: "remove release " + ref.String(), Cluster: a.Cluster, Changes: true}
	return c.around(ctx, u, func() error { return c.in.Uninstall(ctx, a, ref) })
}

// Tries implements Charts. It makes no request, so it is not decorated.
func (c charts) Tries(k fleet.Key) []fleet.ReleaseTry { return c.in.Tries(k) }

// Forget implements Charts. It does nothing if around refuses the call.
func (c charts) Forget(k fleet.Key) {
	u := Use{Method: "Forget", Op: "end what runs for " + k.String(), Cluster: k, Changes: true}
	_ = c.around(context.Background(), u, func() error { c.in.Forget(k); return nil })
}

type secretAnswerer struct {
	in     SecretAnswerer
	around Around
}

// AnswerSecrets implements SecretAnswerer.
func (s secretAnswerer) AnswerSecrets(ctx context.Context, c *fleet.Cluster, p fleet.Pool) (out map[string]fleet.SecretData, err error) {
	u := Use{Method: "AnswerSecrets", Op: "answer Secrets of " + c.Key.String(), Cluster: c.Key}
	err = s.around(ctx, u, func() error {
		out, err = s.in.AnswerSecrets(ctx, c, p)
		return err
	})
	return out, err
}
