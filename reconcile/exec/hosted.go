package exec

import (
	"context"
	"maps"
	"slices"

	"fairlead.dev/fleet"
)

// changeHosted makes or deletes a hosted control plane.
func (e *Executor) changeHosted(ctx context.Context, w Environment, a fleet.Action) error {
	switch {
	case w.ControlPlane == nil:
		return fleet.Errorf(fleet.Invalid, describe(a), "machines are the control plane of %s", w.Cluster.Key)
	case a.Kind == fleet.DeleteControlPlane:
		return w.ControlPlane.Delete(ctx, a.Operation, w.Cluster)
	}
	return w.ControlPlane.Ensure(ctx, a.Operation, w.Cluster)
}

// storeHosted stores what a hosted control plane gives: its kubeconfig, and the certificate
// of its authority.
func (e *Executor) storeHosted(ctx context.Context, w Environment) error {
	seen, err := w.ControlPlane.Observe(ctx, w.Cluster, w.Secrets)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(seen.Secrets)) {
		stored, err := w.Secrets.Get(ctx, w.Cluster.Key, name)
		switch {
		case err != nil && fleet.KindOf(err) != fleet.NotFound:
			return err
		case err == nil && stored.Equal(seen.Secrets[name]):
			continue
		}
		if err := w.Secrets.Replace(ctx, w.Cluster.Key, name, seen.Secrets[name]); err != nil {
			return err
		}
	}
	return nil
}
