package maas

import (
	"context"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/region"
)

var _ providers.Adopter = (*Provider)(nil)

// An adoption is of a host with a machine that CAPMAAS made. It gets an annotation, and nothing else changes.
type adoption = driver.Adoption[*region.Machine]

// adoptions returns the hosts of machines. If one cannot be adopted, there are only the reasons.
func (p *Provider) adoptions(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]adoption, *observation, error) {
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return nil, nil, err
	}
	out, err := driver.Adoptions(machines, got.adoptionOf, region.Wrap)
	return out, got, err
}

// adoptionOf finds the host of m by its provider id.
func (o *observation) adoptionOf(m providers.AdoptedMachine) (x adoption, err error) {
	const op = "find its host"
	c := o.cluster
	tags, ok := providers.AdoptionTags(c, m)
	if !ok {
		return x, fleet.Errorf(fleet.Invalid, op, "the cluster has no pool %s", m.Pool)
	}
	id := systemIDOf(m.ID)
	if id == "" {
		return x, fleet.Errorf(fleet.Invalid, op, "its provider id %q is none of MAAS, which is like %szone/system-id", m.ID, idPrefix)
	}
	i := slices.IndexFunc(o.listing.machines, func(m region.Machine) bool { return m.SystemID == id })
	if i < 0 {
		return x, fleet.Errorf(fleet.NotFound, op, "user %s of MAAS has no machine %s (use the key that CAPMAAS used: only the user who has a machine may annotate it)", o.listing.user.Name, id)
	}
	host := &o.listing.machines[i]
	switch {
	case host.Locked:
		return x, fleet.Errorf(fleet.Conflict, op, "host %s is locked in MAAS (unlock it)", host.Hostname)
	case host.State != region.Deployed || host.OSystem == "":
		return x, fleet.Errorf(fleet.Conflict, op, "host %s is %s in MAAS, and one with a machine is Deployed (wait until CAPMAAS has finished)", host.Hostname, host.StateName)
	}
	tags[tagZone], tags[tagProviderID] = host.Zone.Name, string(m.ID)
	x = adoption{Machine: m.Name, Thing: host, ID: id, Where: "host " + host.Hostname, Tags: tags}
	return x, isFree(&x, op, c, o.listing.tags[id])
}

// isFree says whose the host of x is already, by its tags.
func isFree(x *adoption, op string, c *fleet.Cluster, tags map[string]string) error {
	switch {
	case len(tags) == 0:
		return nil
	case !c.Owns(tags):
		return fleet.Errorf(fleet.Conflict, op, "%s belongs to cluster %s of fleet %s", x.Where, tags[fleet.TagCluster], tags[fleet.TagFleet])
	case !isAdopted(tags) || tags[fleet.TagMachine] != string(x.Machine):
		return fleet.Errorf(fleet.Conflict, op, "%s has the tags of machine %s of the cluster, and was not adopted for machine %s", x.Where, tags[fleet.TagMachine], x.Machine)
	}
	return nil
}

// isMarked reports whether the host of x has its tags.
func (o *observation) isMarked(x *adoption) bool {
	have := maps.Clone(o.listing.tags[x.ID])
	delete(have, tagCreated)
	return maps.Equal(have, x.Tags)
}

// unmarkedName returns the name that is the endpoint and that CAPMAAS made; nil: there is none.
func (o *observation) unmarkedName(ctx context.Context) (*region.Name, error) {
	host := o.cluster.NamedEndpoint().Host
	all, err := o.names.Get(ctx, snapshot.OwnerOf(o.cluster))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(n region.Name) bool { return n.FQDN == host })
	if i < 0 {
		return nil, nil
	}
	tags := ownerIn(&all[i])
	switch {
	case o.cluster.Owns(tags):
		return nil, nil
	case tags != nil:
		return nil, fleet.Errorf(fleet.Conflict, "adopt the name "+host, "it belongs to cluster %s of fleet %s", tags[fleet.TagCluster], tags[fleet.TagFleet])
	}
	return &all[i], nil
}

// Adoptable implements providers.Adopter.
func (p *Provider) Adoptable(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]string, error) {
	op := "adopt " + c.Key.String()
	all, got, err := p.adoptions(ctx, c, machines)
	if err != nil {
		return nil, region.WrapLook(op, err)
	}
	var out []string
	for i := range all {
		if !got.isMarked(&all[i]) {
			out = append(out, all[i].Where)
		}
	}
	name, err := got.unmarkedName(ctx)
	if err != nil {
		return nil, region.WrapLook(op, err)
	}
	if name != nil {
		out = append(out, "name "+name.FQDN)
	}
	slices.Sort(out)
	return out, nil
}

// Adopt implements providers.Adopter.
func (p *Provider) Adopt(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "adopt " + c.Key.String()
	all, got, err := p.adoptions(ctx, c, machines)
	if err != nil {
		return region.Wrap(op, err)
	}
	name, err := got.unmarkedName(ctx)
	if err != nil {
		return region.Wrap(op, err)
	}
	owner := snapshot.OwnerOf(c)
	defer got.changed(owner)
	for i := range all {
		x := &all[i]
		if got.isMarked(x) {
			continue
		}
		switch now, err := got.client.Machine(ctx, x.ID); {
		case err != nil:
			return region.Wrap(op, err)
		case now.Owner != got.listing.user.Name || now.State != region.Deployed || now.Annotations[annotation] != x.Thing.Annotations[annotation]:
			return fleet.Errorf(fleet.Conflict, op, "%s changed while it was being adopted: it is %s now", x.Where, now.StateName)
		}
		tags := maps.Clone(x.Tags)
		tags[tagCreated] = time.Now().UTC().Truncate(time.Second).Format(time.RFC3339) // MAAS does not tell when it was deployed
		if err := got.client.Annotate(ctx, x.ID, map[string]string{annotation: textOf(tags)}); err != nil {
			return region.Wrap(op+": annotate "+x.Where, err)
		}
	}
	if name == nil {
		return nil
	}
	defer got.named(owner)
	return got.ofDNS(op+": add a TXT record to "+name.FQDN, got.client.AddText(ctx, name.FQDN, textFor(c)))
}

// Release implements providers.Adopter.
func (p *Provider) Release(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "release " + c.Key.String()
	got, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return region.Wrap(op, err)
	}
	var seen []fleet.Machine
	for _, h := range got.hosts {
		m := h.machine
		if h.lost {
			m.Damaged = m.Message
		}
		seen = append(seen, m)
	}
	if err := driver.MayRelease(op, c, seen, machines, systemIDOf); err != nil {
		return err
	}
	owner := snapshot.OwnerOf(c)
	defer got.changed(owner)
	for _, h := range got.hosts {
		if err := got.client.Annotate(ctx, h.SystemID, map[string]string{annotation: ""}); err != nil {
			return region.Wrap(op+": remove the annotation of "+h.String(), err)
		}
	}
	p.found.Forget(owner)
	defer got.named(owner)
	for _, n := range got.ours() {
		for _, t := range n.Texts {
			if t.Text != textFor(c) {
				continue
			}
			if err := got.client.RemoveText(ctx, t.ID); err != nil && !region.IsMissing(err) {
				return got.ofDNS(op+": remove the TXT record of "+n.fqdn, err)
			}
		}
	}
	return nil
}
