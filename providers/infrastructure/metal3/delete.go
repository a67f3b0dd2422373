package metal3

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/host"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

// Remove implements driver.Driver: it has Ironic release the host. One whose BMC is silent is not
// released: Ironic would forget whose it is while the machine runs on. It is on its way out, and is
// released when the BMC is back.
func (p machines) Remove(ctx context.Context, what string, c *fleet.Cluster, got *observation, m driver.Seen[*observedHost]) error {
	defer got.listings.Changed(snapshot.OwnerOf(c).Part(m.Name))
	return p.release(ctx, got, m.Thing, what)
}

// release has the machine on h go, if a second look still finds it there.
func (p *Provider) release(ctx context.Context, o *observation, was *observedHost, op string) error {
	h, err := p.again(ctx, o, was)
	switch {
	case err != nil:
		return err
	case !sameMachine(h, was):
		return nil
	case h.machine.Damaged != "":
		return fleet.Errorf(fleet.Conflict, op, "what host %s is is not certain: %s (put its tags right, or release it in Ironic)", h, h.machine.Damaged)
	case h.lost:
		return fleet.Errorf(fleet.Conflict, op, "%s (if the host is gone permanently, annotate the Cluster with %s: %s)", h.machine.Message, fleet.ForgetPlaceAnnotation, hostsOf(o.at))
	case h.declared.Paused:
		return fleet.Errorf(fleet.Conflict, op, "host %s is paused, or detached (remove that annotation of its BareMetalHost, and its machine is deleted)", h)
	case h.machine.Silent:
		p.going.Note(lifeOf(h.tags), snapshot.OwnerOf(o.cluster))
		return nil
	}
	n, c := h.node, o.cluster
	d := h.declared
	d.Machine = &host.Machine{Instance: d.Machine.Instance, Name: d.Machine.Name, Running: d.Machine.Running, Release: true}
	switch next := host.Next(d, n); next.Step {
	case host.Undeploy:
		if n.State == ironic.DeployFailed || c.RebootOf(h.machine.Name, h.machine.ProviderID).GivenUp {
			if err := o.noteFailure(ctx, h); err != nil {
				return err
			}
		}
		err = o.client.Undeploy(ctx, n.UUID)
	case host.Unclaim:
		err = o.client.Unclaim(ctx, n.UUID, n.Instance)
	case host.None:
		if next.Held != "" {
			return fleet.Errorf(fleet.Conflict, op, "host %s: %s", h, next.Held)
		}
		if n.State == ironic.Deleting {
			return nil
		}
		p.going.Note(lifeOf(h.tags), snapshot.OwnerOf(o.cluster)) // Ironic lets no client interrupt what it does: it goes when that ended
		return nil
	default:
		p.going.Note(lifeOf(h.tags), snapshot.OwnerOf(o.cluster))
		return nil
	}
	if ironic.IsLocked(err) {
		p.going.Note(lifeOf(h.tags), snapshot.OwnerOf(o.cluster))
		return nil
	}
	if err == nil {
		p.undo(n.UUID, nil) // its claim showed: nothing is to be waited for
	}
	return err
}

// noteFailure notes at Ironic that the deployment of h failed, or that no reboot was of use: other
// machines try it last.
func (o *observation) noteFailure(ctx context.Context, h *observedHost) error {
	_, err := o.client.Claim(ctx, h.node.UUID, ironic.Claim{Instance: h.node.Instance, Info: h.node.Info, Extra: extraOf(h.tags, true)})
	return err
}

// RemoveShared implements driver.Driver. Hosts stay enrolled: they are no cluster's.
func (p machines) RemoveShared(_ context.Context, _ string, c *fleet.Cluster, _ *observation) error {
	p.found.Forget(snapshot.OwnerOf(c))
	return nil
}
