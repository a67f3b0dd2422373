package metal3

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/machine"
)

// adoptions returns the hosts of machines. Where one cannot be taken over, there are only the
// reasons.
func (p *Provider) adoptions(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]adoption, *observation, error) {
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return nil, nil, err
	}
	out, err := driver.Adoptions(machines, got.adoptionOf, ofMachine)
	return out, got, err
}

// ofMachine returns err, which is of one machine, as what could not be done.
func ofMachine(op string, err error) error {
	cause := err
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		cause = e.Err
	}
	return fleet.Errorf(fleet.KindOf(err), op, "%w", cause)
}

// adoptionOf finds the host of m, by its provider id.
func (o *observation) adoptionOf(m providers.AdoptedMachine) (x adoption, err error) {
	const op = "find its host"
	c := o.cluster
	tags, ok := providers.AdoptionTags(c, m)
	pool, there := c.Pool(m.Pool)
	if !ok || !there {
		return x, fleet.Errorf(fleet.Invalid, op, "the cluster has no pool %s", m.Pool)
	}
	spec, err := api.ReadMachine(pool.Infrastructure)
	if err != nil {
		return x, err
	}
	namespace, name, _, ok := machine.ParseProviderID(m.ID)
	if !ok {
		return x, fleet.Errorf(fleet.Invalid, op, "its provider id %q is none of Metal3, which is like %snamespace/host/machine", m.ID, machine.IDPrefix)
	}
	i := slices.IndexFunc(o.hosts, func(h observedHost) bool { return h.Namespace == namespace && h.Name == name && h.object != nil })
	if i < 0 {
		return x, fleet.Errorf(fleet.Invalid, op, "Git has no BareMetalHost %s/%s", namespace, name)
	}
	h := &o.hosts[i]
	if err := h.running(op, o); err != nil {
		return x, err
	}
	x = adoption{Machine: m.Name, Thing: h, ID: h.node.UUID, Where: "host " + h.String(), Index: m.Index, Tags: tags}
	if x.Claims, err = claimsOf(c, h, spec, &m); err != nil {
		return x, err
	}
	addTags(&x, m)
	if err := isFree(&x, op, c); err != nil {
		return x, err
	}
	if err := x.KeepsAddresses(o.listing.holders, wrap("keep its addresses", o.listing.unknown)); err != nil {
		return x, err
	}
	return x, o.keepsIndex(&x)
}

// running says why h is none that a machine of another controller runs on.
func (h *observedHost) running(op string, o *observation) error {
	n := h.node
	switch {
	case n == nil:
		return fleet.Errorf(fleet.NotFound, op, "%s has no node %s (name the Ironic of Metal3 in Secret %s/%s)", o.place().ID, machine.NodeName(h.Namespace, h.Name), o.cluster.Key.Namespace, api.IronicSecret)
	case n.Fault == ironic.PowerFault:
		return fleet.Errorf(fleet.Unavailable, op, "the BMC of host %s does not answer: %s", h, n.MaintenanceReason)
	case h.declared.Shared != "":
		return fleet.Errorf(fleet.Conflict, op, "host %s: %s", h, h.declared.Shared)
	case n.Maintenance:
		return fleet.Errorf(fleet.Conflict, op, "host %s is in maintenance: %s (end that in Ironic)", h, n.MaintenanceReason)
	case n.State != ironic.Active:
		return fleet.Errorf(fleet.Conflict, op, "host %s is %q in Ironic, and one with a machine is %q (wait until Metal3 has finished)", h, n.State, ironic.Active)
	}
	return nil
}

// addTags adds to the tags of x what the host says, and what its machine has of Metal3.
func addTags(x *adoption, m providers.AdoptedMachine) {
	h, n := x.Thing, x.Thing.node
	if d := h.object.Labels[api.FailureDomainLabel]; d != "" {
		x.Tags[TagFailureDomain] = d
	}
	if !n.Updated.IsZero() {
		x.Tags[TagCreated] = n.Updated.UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	if m.ID != machine.ProviderID(h.Namespace, h.Name, m.Name) {
		x.Tags[TagProviderID] = string(m.ID)
	}
	if m.Index != "" {
		x.Tags[TagIndex] = m.Index
	}
	if len(x.Claims) > 0 {
		x.Tags[addresses.Tag] = addresses.Format(x.Claims)
	}
	if n.Instance != "" && n.Instance != instanceOf(x.Tags) {
		x.Tags[TagInstance] = n.Instance
	}
}

// isFree says whose the host of x is already.
func isFree(x *adoption, op string, c *fleet.Cluster) error {
	r := x.Thing.record
	for _, tags := range []map[string]string{r.extra, r.info} {
		switch {
		case tags == nil:
		case !c.Owns(tags):
			return fleet.Errorf(fleet.Conflict, op, "%s belongs to cluster %s of fleet %s", x.Where, tags[fleet.TagCluster], tags[fleet.TagFleet])
		case tags[fleet.TagOperation] != string(providers.AdoptionID(c.Key)), tags[fleet.TagMachine] != string(x.Machine):
			return fleet.Errorf(fleet.Conflict, op, "%s was not adopted for it, and carries a mark of machine %s of the cluster", x.Where, tags[fleet.TagMachine])
		}
	}
	return nil
}

// claimsOf returns the addresses of pools that m has, in the order in which its data template names
// pools.
func claimsOf(c *fleet.Cluster, h *observedHost, spec *api.MachineSpec, m *providers.AdoptedMachine) ([]addresses.Claim, error) {
	d := &machine.Data{
		Host:    machine.Host{Namespace: h.Namespace, Name: h.Name, Labels: h.object.Labels, Annotations: h.object.Annotations},
		Machine: machine.Machine{Name: m.Name},
	}
	if pool, ok := c.Pool(m.Pool); ok {
		d.Machine.Labels, d.Machine.Annotations = pool.Labels, pool.Annotations
	}
	refs, err := d.Pools(spec.Data)
	if err != nil {
		return nil, err
	}
	var pools []string
	for _, ref := range refs {
		pool, err := machine.FindPool(c, ref)
		if err != nil {
			return nil, err
		}
		pools = append(pools, pool.ID)
	}
	return driver.ClaimsOf(*m, pools, "claim", "its data template does not name that pool")
}

// keepsIndex says which other machine of a fleet has the index of x.
func (o *observation) keepsIndex(x *adoption) error {
	for i := range o.listing.nodes {
		n := &o.listing.nodes[i]
		if x.Index != "" && n.UUID != x.ID && o.listing.machineTags(n)[TagIndex] == x.Index {
			return fleet.Errorf(fleet.Conflict, "keep its index", "another machine of a fleet is %s by its tags", x.Index)
		}
	}
	return nil
}
