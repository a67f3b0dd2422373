package metal3

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
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
	var out []adoption
	var errs []error
	for _, m := range machines {
		x, err := got.adoptionOf(m)
		if err == nil {
			err = x.apart(out)
		}
		if err != nil {
			errs = append(errs, ofMachine(m.Name, err))
			continue
		}
		out = append(out, *x)
	}
	if err := fleet.JoinErrors(errs...); err != nil {
		return nil, nil, err
	}
	return out, got, nil
}

// ofMachine returns err with the machine that it is of.
func ofMachine(name fleet.MachineName, err error) error {
	cause := err
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		cause = e.Err
	}
	return fleet.Errorf(fleet.KindOf(err), "take over machine "+string(name), "%w", cause)
}

// adoptionOf finds the host of m, by its provider id.
func (o *observation) adoptionOf(m providers.AdoptedMachine) (*adoption, error) {
	const op = "find its host"
	c := o.cluster
	tags, ok := providers.AdoptionTags(c, m)
	pool, there := c.Pool(m.Pool)
	if !ok || !there {
		return nil, fleet.Errorf(fleet.Invalid, op, "the cluster has no pool %s", m.Pool)
	}
	spec, err := api.ReadMachine(pool.Infrastructure)
	if err != nil {
		return nil, err
	}
	namespace, name, _, ok := machine.ParseProviderID(m.ID)
	if !ok {
		return nil, fleet.Errorf(fleet.Invalid, op, "its provider id %q is none of Metal3, which is like %snamespace/host/machine", m.ID, machine.IDPrefix)
	}
	i := slices.IndexFunc(o.hosts, func(h observedHost) bool { return h.Namespace == namespace && h.Name == name && h.object != nil })
	if i < 0 {
		return nil, fleet.Errorf(fleet.Invalid, op, "Git has no BareMetalHost %s/%s", namespace, name)
	}
	x := &adoption{machine: m.Name, host: &o.hosts[i], tags: tags}
	if err := x.host.running(op, o); err != nil {
		return nil, err
	}
	if x.claims, err = claimsOf(c, x.host, spec, &m); err != nil {
		return nil, err
	}
	x.tag(m)
	if err := x.free(op, c); err != nil {
		return nil, err
	}
	return x, o.checkFree(x)
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

// tag adds to the tags of x what the host says, and what its machine has of Metal3.
func (x *adoption) tag(m providers.AdoptedMachine) {
	h, n := x.host, x.host.node
	if d := h.object.Labels[api.FailureDomainLabel]; d != "" {
		x.tags[TagFailureDomain] = d
	}
	if !n.Updated.IsZero() {
		x.tags[TagCreated] = n.Updated.UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	if m.ID != machine.ProviderID(h.Namespace, h.Name, m.Name) {
		x.tags[TagProviderID] = string(m.ID)
	}
	if m.Index != "" {
		x.tags[TagIndex] = m.Index
	}
	if len(x.claims) > 0 {
		x.tags[addresses.Tag] = addresses.Format(x.claims)
	}
	if n.Instance != "" && n.Instance != instanceOf(x.tags) {
		x.tags[TagInstance] = n.Instance
	}
}

// free says whose the host of x is already.
func (x *adoption) free(op string, c *fleet.Cluster) error {
	r := x.host.record
	for _, tags := range []map[string]string{r.extra, r.info} {
		switch {
		case tags == nil:
		case !c.Owns(tags):
			return fleet.Errorf(fleet.Conflict, op, "host %s belongs to cluster %s of fleet %s", x.host, tags[fleet.TagCluster], tags[fleet.TagFleet])
		case tags[fleet.TagOperation] != string(providers.AdoptionID(c.Key)), tags[fleet.TagMachine] != string(x.machine):
			return fleet.Errorf(fleet.Conflict, op, "host %s was not adopted for it, and carries a mark of machine %s of the cluster", x.host, tags[fleet.TagMachine])
		}
	}
	return nil
}

// apart says what of x one of others has too, which are taken over at one time.
func (x *adoption) apart(others []adoption) error {
	for i := range others {
		o := &others[i]
		if o.host == x.host {
			return fleet.Errorf(fleet.Conflict, "find its host", "%s is the host of machine %s too (one of both has another's provider id)", x.host, o.machine)
		}
		if index := x.tags[TagIndex]; index != "" && index == o.tags[TagIndex] {
			return fleet.Errorf(fleet.Conflict, "keep its index", "machine %s is %s too", o.machine, index)
		}
		for _, c := range x.claims {
			if slices.Contains(o.claims, c) {
				return fleet.Errorf(fleet.Conflict, "keep its addresses", "machine %s has %s of %s too", o.machine, c.Address, c.Pool)
			}
		}
	}
	return nil
}

// claimsOf returns the addresses of pools that m has, in the order in which its data template names
// pools.
func claimsOf(c *fleet.Cluster, h *observedHost, spec *api.MachineSpec, m *providers.AdoptedMachine) ([]addresses.Claim, error) {
	const op = "find its addresses"
	have, err := addresses.Parse(m.Addresses)
	if err != nil {
		return nil, err
	}
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
	var out []addresses.Claim
	for _, ref := range refs {
		pool, err := machine.FindPool(c, ref)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(have, func(x addresses.Claim) bool { return x.Pool == pool.ID })
		if i < 0 {
			return nil, fleet.Errorf(fleet.NotFound, op, "no claim of it has one of %s, which Git names", pool.ID)
		}
		out = append(out, have[i])
		have = slices.Delete(have, i, i+1)
	}
	if len(have) > 0 {
		return nil, fleet.Errorf(fleet.Conflict, op, "it has %s of %s, and its data template does not name that pool", have[0].Address, have[0].Pool)
	}
	return out, nil
}

// checkFree says which of the addresses and the index of x another machine of a fleet has.
func (o *observation) checkFree(x *adoption) error {
	const op = "keep its addresses"
	if len(x.claims) > 0 && o.listing.unknown != nil {
		return wrap(op, o.listing.unknown)
	}
	for _, c := range x.claims {
		if slices.ContainsFunc(o.listing.holders[c], func(other string) bool { return other != x.host.node.UUID }) {
			return fleet.Errorf(fleet.Conflict, op, "another machine of a fleet has %s of %s by its tags", c.Address, c.Pool)
		}
	}
	index := x.tags[TagIndex]
	for i := range o.listing.nodes {
		n := &o.listing.nodes[i]
		if index != "" && n.UUID != x.host.node.UUID && o.listing.machineTags(n)[TagIndex] == index {
			return fleet.Errorf(fleet.Conflict, "keep its index", "another machine of a fleet is %s by its tags", index)
		}
	}
	return nil
}
