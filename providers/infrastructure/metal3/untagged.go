package metal3

import (
	"context"
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// Untagged implements providers.UntaggedFinder. The provider id of a machine names its host, and its
// instance_uuid follows from its name: that of a machine that was adopted says nothing.
func (p *Provider) Untagged(ctx context.Context, c *fleet.Cluster, ids []fleet.ProviderID) ([]fleet.Machine, error) {
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return nil, ironic.WrapLook("look for machines of "+c.Key.String()+" without tags", err)
	}
	var out []fleet.Machine
	for _, id := range ids {
		namespace, name, m, ok := machine.ParseProviderID(id)
		n := got.listing.byName[machine.NodeName(namespace, name)]
		if !ok || n == nil || n.Instance != ironic.InstanceID(string(c.Fleet), c.Key.String(), string(m)) || got.machineOn(n) != nil {
			continue
		}
		out = append(out, fleet.Machine{Name: m, ProviderID: id, State: fleet.MachineRunning, Damaged: lostTags(n)})
	}
	return out, nil
}

// lostTags says that n is claimed for a machine of the cluster, and does not say so in its tags.
func lostTags(n *ironic.Node) string {
	return fmt.Sprintf("node %s has its instance_uuid, and neither extra nor instance_info has its tags", n.Name)
}

// machineOn returns the host of a machine of the cluster whose node n is; nil: none is on it.
func (o *observation) machineOn(n *ironic.Node) *observedHost {
	i := slices.IndexFunc(o.machines, func(h *observedHost) bool { return h.node != nil && h.node.UUID == n.UUID })
	if i < 0 {
		return nil
	}
	return o.machines[i]
}

// elsewhere says what came of a claim that Ironic refused since the machine has another host. That is
// its own where another process was quicker.
func (q *search) elsewhere(ctx context.Context, instance string) error {
	const op = "claim a host"
	c := q.o.cluster
	o := snapshot.OwnerOf(c).Part(q.request.Name)
	q.o.listings.Changed(o)
	got, err := q.p.look(ctx, c, o)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(got.listing.nodes, func(n ironic.Node) bool { return n.Instance == instance })
	if i < 0 {
		return fleet.Errorf(fleet.Unavailable, op, "another host had its instance_uuid, and was released meanwhile")
	}
	n := &got.listing.nodes[i]
	if got.machineOn(n) == nil {
		return fleet.Errorf(fleet.Conflict, op, "%s (put its tags back, or release the node in Ironic)", lostTags(n))
	}
	return nil
}
