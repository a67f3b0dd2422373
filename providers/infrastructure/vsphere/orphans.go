package vsphere

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// orphanVM is the kind of an orphan.
const orphanVM = "VM"

// A lostVM is the VM of a machine whose cluster is gone.
type lostVM struct {
	site    *observedSite
	machine *machine.Owned
}

// Orphans implements providers.OrphanRemover. It looks at every vCenter that clusters are on,
// as far as their accounts see.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	found, failed := p.lost(ctx, id, clusters, nil)
	return driver.Orphans(found), vcenter.WrapLook("look for orphans", fleet.JoinErrors(failed...))
}

// lost looks for them; where only is one of them, in its vCenter alone.
func (p *Provider) lost(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, only *fleet.Orphan) ([]driver.Lost[lostVM], []error) {
	s := driver.Search[site, lostVM]{
		Places: func(c *fleet.Cluster) ([]site, error) {
			sites, _, err := p.sites(ctx, c)
			return sites, err
		},
		Same: func(a, b site) (bool, error) { return a.Client == b.Client, nil },
		List: func(at site) (out []driver.Lost[lostVM], err error) {
			s := &observedSite{site: at}
			var owner snapshot.Owner
			if only != nil {
				if s.place().ID != only.Place {
					return nil, nil
				}
				owner = snapshot.Owner{Fleet: id, Cluster: only.Cluster}
			}
			if s.look, err = s.Look(ctx, owner); err != nil {
				return nil, err
			}
			instance, err := s.InstanceUUID(ctx)
			if err != nil {
				return nil, err
			}
			s.owned = p.orphaned(s.look, id, clusters)
			for i := range s.owned {
				m := &s.owned[i]
				out = append(out, driver.Lost[lostVM]{Orphan: orphan(&at, s.look, m), Key: instance + "/" + m.VM.Ref.Value, Thing: lostVM{s, m}})
			}
			return out, nil
		},
	}
	return s.In(clusters)
}

// orphaned returns the machines in l of clusters of fleet id that are none of clusters.
func (p *Provider) orphaned(l *vcenter.Look, id fleet.ID, clusters []*fleet.Cluster) []machine.Owned {
	all := &listing{machines: machine.NewIndex(convert(l))}
	var out []machine.Owned
	for _, o := range ownersIn(l) {
		if o.Fleet == id && !slices.ContainsFunc(clusters, func(c *fleet.Cluster) bool { return c.Key == o.Cluster }) {
			out = append(out, p.owned(all, &fleet.Cluster{Fleet: id, Key: o.Cluster})...)
		}
	}
	return out
}

// ownersIn returns the clusters that VMs in l have the tags of, each once, in no order.
func ownersIn(l *vcenter.Look) []snapshot.Owner {
	all := make(map[snapshot.Owner]bool)
	for _, vm := range l.Tagged() {
		if o, ok := vm.Owner(); ok {
			all[o.Shared()] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

func orphan(s *site, l *vcenter.Look, m *machine.Owned) fleet.Orphan {
	k, _ := fleet.ParseKey(m.Tags[fleet.TagCluster])
	reason := fmt.Sprintf("its tags name cluster %s, which the fleet does not have", k)
	if e, err := addresses.EndpointOf(m.Tags); err == nil && e.Address.IsValid() {
		reason += fmt.Sprintf("; it keeps %s of %s as the endpoint of that", e.Address, e.Pool)
	}
	return fleet.Orphan{
		Provider: api.ProviderName, Place: s.place().ID, Cluster: k, Kind: orphanVM, ID: m.VM.Ref.Value, Name: l.Path(l.VM(m.VM.Ref)),
		Reason: reason, Created: m.Machine.Created,
	}
}

// RemoveOrphan implements providers.OrphanRemover.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove orphan " + o.Name
	owner := snapshot.Owner{Fleet: id, Cluster: o.Cluster}
	found, failed := p.lost(ctx, id, clusters, &o)
	is := driver.Find(found, o)
	if is == nil {
		return vcenter.WrapLook(op, fleet.JoinErrors(failed...)) // an unread VM may be there
	}
	s, m := is.Thing.site, is.Thing.machine
	switch {
	case m.Machine.Damaged != "":
		return fleet.Errorf(fleet.Conflict, op, "what it is is not certain: %s", m.Machine.Damaged)
	case m.VM.Busy != "":
		return fleet.Errorf(fleet.Unavailable, op, "%s is under way on it", m.VM.Busy)
	}
	defer s.Changed(owner)
	p.forgetFound(owner)
	return wrap(op, p.remove(ctx, &work{site: s, machine: m}, machine.Removal{Mode: api.PowerOffTrySoft, Timeout: time.Minute}))
}
