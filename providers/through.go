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
	d := decorated{a, around}
	var out Abilities
	if a.Watcher != nil {
		out.Watcher = struct{ Watcher }{a.Watcher}
	}
	if a.Lister != nil {
		out.Lister = struct{ Lister }{d}
	}
	if a.OrphanRemover != nil {
		out.OrphanRemover = struct{ OrphanRemover }{d}
	}
	if a.Adopter != nil {
		out.Adopter = struct{ Adopter }{d}
	}
	if a.Charts != nil {
		out.Charts = struct{ Charts }{d}
	}
	if a.UntaggedFinder != nil {
		out.UntaggedFinder = struct{ UntaggedFinder }{d}
	}
	if a.NodeIdentifier != nil {
		out.NodeIdentifier = struct{ NodeIdentifier }{a.NodeIdentifier}
	}
	if a.VirtualIPs != nil {
		out.VirtualIPs = struct{ VirtualIPs }{a.VirtualIPs}
	}
	if a.Checker != nil {
		out.Checker = struct{ Checker }{d}
	}
	if a.Rebooter != nil {
		out.Rebooter = struct{ Rebooter }{d}
	}
	if a.EndpointKeeper != nil {
		out.EndpointKeeper = struct{ EndpointKeeper }{d}
	}
	if a.PoolKeeper != nil {
		out.PoolKeeper = struct{ PoolKeeper }{d}
	}
	if a.SecretAnswerer != nil {
		out.SecretAnswerer = struct{ SecretAnswerer }{d}
	}
	if a.Placer != nil {
		out.Placer = struct{ Placer }{a.Placer}
	}
	if a.Closer != nil {
		out.Closer = struct{ Closer }{a.Closer}
	}
	return out
}

// decorated has the abilities of in, with their calls decorated by around.
type decorated struct {
	in     Abilities
	around Around
}

// got makes a decorated call, and returns what it returns.
func got[T any](ctx context.Context, d decorated, u Use, call func() (T, error)) (out T, err error) {
	err = d.around(ctx, u, func() error {
		out, err = call()
		return err
	})
	return out, err
}

// Check implements Checker.
func (d decorated) Check(ctx context.Context, clusters []*fleet.Cluster) ([]Finding, error) {
	u := Use{Method: "Check", Op: "check what clusters need"}
	return got(ctx, d, u, func() ([]Finding, error) { return d.in.Checker.Check(ctx, clusters) })
}

// Clusters implements Lister.
func (d decorated) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	u := Use{Method: "Clusters", Op: "list clusters of fleet " + string(id)}
	return got(ctx, d, u, func() ([]fleet.Key, error) { return d.in.Lister.Clusters(ctx, id) })
}

// Orphans implements OrphanRemover.
func (d decorated) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	u := Use{Method: "Orphans", Op: "look for orphans of fleet " + string(id)}
	return got(ctx, d, u, func() ([]fleet.Orphan, error) { return d.in.OrphanRemover.Orphans(ctx, id, clusters) })
}

// RemoveOrphan implements OrphanRemover.
func (d decorated) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	u := Use{Method: "RemoveOrphan", Op: "remove " + o.Kind + " " + o.ID, Cluster: o.Cluster, Changes: true}
	return d.around(ctx, u, func() error { return d.in.OrphanRemover.RemoveOrphan(ctx, id, clusters, o) })
}

// Adoptable implements Adopter.
func (d decorated) Adoptable(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) ([]string, error) {
	u := Use{Method: "Adoptable", Op: "look what can be adopted for " + c.Key.String(), Cluster: c.Key}
	return got(ctx, d, u, func() ([]string, error) { return d.in.Adopter.Adoptable(ctx, c, machines) })
}

// Adopt implements Adopter.
func (d decorated) Adopt(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) error {
	u := Use{Method: "Adopt", Op: "adopt machines of " + c.Key.String(), Cluster: c.Key, Changes: true}
	return d.around(ctx, u, func() error { return d.in.Adopter.Adopt(ctx, c, machines) })
}

// Release implements Adopter.
func (d decorated) Release(ctx context.Context, c *fleet.Cluster, machines []AdoptedMachine) error {
	u := Use{Method: "Release", Op: "release adopted machines of " + c.Key.String(), Cluster: c.Key, Changes: true}
	return d.around(ctx, u, func() error { return d.in.Adopter.Release(ctx, c, machines) })
}

// Untagged implements UntaggedFinder.
func (d decorated) Untagged(ctx context.Context, c *fleet.Cluster, ids []fleet.ProviderID) ([]fleet.Machine, error) {
	u := Use{Method: "Untagged", Op: "find machines of " + c.Key.String() + " without tags", Cluster: c.Key}
	return got(ctx, d, u, func() ([]fleet.Machine, error) { return d.in.UntaggedFinder.Untagged(ctx, c, ids) })
}

// SwitchMachine implements Rebooter.
func (d decorated) SwitchMachine(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID, to fleet.HostPower) error {
	u := Use{Method: "SwitchMachine", Op: "switch machine " + string(name) + " " + string(to), Cluster: c.Key, Changes: true}
	return d.around(ctx, u, func() error { return d.in.Rebooter.SwitchMachine(ctx, op, c, name, id, to) })
}

// LeaveEndpoint implements EndpointKeeper.
func (d decorated) LeaveEndpoint(ctx context.Context, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	u := Use{Method: "LeaveEndpoint", Op: "lead the endpoint away from machine " + string(name), Cluster: c.Key, Changes: true}
	return d.around(ctx, u, func() error { return d.in.EndpointKeeper.LeaveEndpoint(ctx, c, name, id) })
}

// EnsurePool implements PoolKeeper.
func (d decorated) EnsurePool(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, p fleet.KeptPool) error {
	u := Use{Method: "EnsurePool", Op: "create or change pool " + string(p.Name), Cluster: c.Key, Changes: true}
	return d.around(ctx, u, func() error { return d.in.PoolKeeper.EnsurePool(ctx, op, c, p) })
}

// DeletePool implements PoolKeeper.
func (d decorated) DeletePool(ctx context.Context, op fleet.OperationID, c *fleet.Cluster, name fleet.PoolName) error {
	u := Use{Method: "DeletePool", Op: "delete pool " + string(name), Cluster: c.Key, Changes: true}
	return d.around(ctx, u, func() error { return d.in.PoolKeeper.DeletePool(ctx, op, c, name) })
}

// Install implements Charts.
func (d decorated) Install(ctx context.Context, a Access, r fleet.Release) error {
	u := Use{Method: "Install", Op: "install release " + r.String(), Cluster: a.Cluster, Changes: true}
	return d.around(ctx, u, func() error { return d.in.Charts.Install(ctx, a, r) })
}

// Uninstall implements Charts.
func (d decorated) Uninstall(ctx context.Context, a Access, ref fleet.ReleaseRef) error {
	u := Use{Method: "Uninstall", Op: "remove release " + ref.String(), Cluster: a.Cluster, Changes: true}
	return d.around(ctx, u, func() error { return d.in.Charts.Uninstall(ctx, a, ref) })
}

// Tries implements Charts. It makes no request, so it is not decorated.
func (d decorated) Tries(k fleet.Key) []fleet.ReleaseTry { return d.in.Charts.Tries(k) }

// Forget implements Charts. It does nothing if around refuses the call.
func (d decorated) Forget(k fleet.Key) {
	u := Use{Method: "Forget", Op: "end what runs for " + k.String(), Cluster: k, Changes: true}
	_ = d.around(context.Background(), u, func() error { d.in.Charts.Forget(k); return nil })
}

// AnswerSecrets implements SecretAnswerer.
func (d decorated) AnswerSecrets(ctx context.Context, c *fleet.Cluster, p fleet.Pool) (map[string]fleet.SecretData, error) {
	u := Use{Method: "AnswerSecrets", Op: "answer Secrets of " + c.Key.String(), Cluster: c.Key}
	return got(ctx, d, u, func() (map[string]fleet.SecretData, error) { return d.in.SecretAnswerer.AnswerSecrets(ctx, c, p) })
}
