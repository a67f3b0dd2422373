package reconcile

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/exec"
)

// lookAtHosted looks at the control plane of c, where it is hosted, and returns c with where
// that serves. What it gives is compared with what is stored.
func (l *Looker) lookAtHosted(ctx context.Context, c *fleet.Cluster, o *fleet.Observed) (*fleet.Cluster, error) {
	plane, err := l.o.ControlPlanes.Of(c)
	if plane == nil || err != nil {
		return c, err
	}
	store := l.secrets(c)
	seen, err := plane.Observe(ctx, c, store)
	if err != nil {
		return c, err
	}
	o.ControlPlane = &seen.State
	o.ControlPlane.Stale, err = stale(ctx, store, c.Key, seen.Secrets)
	return c.ServedAt(seen.State.Endpoint), err
}

// stale reports whether one of given is not what is stored.
func stale(ctx context.Context, store exec.SecretReader, k fleet.Key, given map[fleet.SecretName]fleet.SecretData) (bool, error) {
	for name, d := range given {
		stored, err := store.Get(ctx, k, name)
		switch {
		case fleet.KindOf(err) == fleet.NotFound:
			return true, nil
		case err != nil:
			return false, err
		case !stored.Equal(d):
			return true, nil
		}
	}
	return false, nil
}
