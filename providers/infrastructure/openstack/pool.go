package openstack

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/machine"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

const poolKind = "OpenStackFloatingIPPool"

// pools are the OpenStackFloatingIPPools of a cluster.
type pools struct{ c *fleet.Cluster }

func (p pools) find(name string) *fleet.Object {
	return objects.Companion(p.c, poolKind, name)
}

// names returns those that Git has.
func (p pools) names() map[string]bool {
	out := make(map[string]bool)
	for i := range p.c.Companions {
		if o := &p.c.Companions[i]; o.GVK.Kind == poolKind {
			out[o.Name] = true
		}
	}
	return out
}

// keep reports whether the cluster keeps the floating IPs of the pool called
// name for its next machine. One that is to go keeps nothing. Those of a pool that Git
// does not have are kept: it may have said Retain, and the cloud would give the addresses
// to others. They are orphans then, which people remove.
func (p pools) keep(name string) bool {
	if p.c.Delete {
		return false
	}
	o := p.find(name)
	if o == nil {
		return true
	}
	spec, err := api.ReadFloatingIPPool(*o)
	return err != nil || spec.ReclaimPolicy == api.ReclaimRetain
}

// floatingPool returns the pool that machines of template get a floating IP from,
// or nil. external is the network of the cluster's own floating IPs.
func floatingPool(c *fleet.Cluster, template *api.OpenStackMachineSpec, home api.OpenStackIdentityReference, s *cloud.Snapshot, external string) (*machine.Pool, error) {
	ref := template.FloatingIPPoolRef
	if ref == nil {
		return nil, nil //nolint:nilnil // none is asked for
	}
	op := "find OpenStackFloatingIPPool " + ref.Name
	o := pools{c}.find(ref.Name)
	if o == nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "the overlay of the cluster holds none of that name in namespace %s (add it, or correct floatingIPPoolRef)", c.Key.Namespace)
	}
	spec, err := api.ReadFloatingIPPool(*o)
	if err != nil {
		return nil, err
	}
	if template.IdentityRef != nil {
		home = *template.IdentityRef
	}
	if spec.IdentityRef != home {
		return nil, fleet.Errorf(fleet.Invalid, op, "its identityRef is not that of the machines, whose project the addresses have to be in (make them equal)")
	}
	out := &machine.Pool{Name: ref.Name, Spec: spec, Network: external}
	if over := out.ExcessLength(snapshot.OwnerOf(c)); over > 0 {
		return nil, fleet.Errorf(fleet.Invalid, op, "its name is %d characters too long to be in the description of its addresses (shorten it)", over)
	}
	if spec.FloatingIPNetwork != nil {
		n, err := network.FindNetwork(s, "floatingIPNetwork", spec.FloatingIPNetwork)
		if err != nil {
			return nil, err
		}
		out.Network = n.ID
	}
	if out.Network == "" {
		return nil, fleet.Errorf(fleet.Invalid, op, "the cluster has no external network (name one in floatingIPNetwork)")
	}
	return out, nil
}
