package vsphere

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// orphanVM is the kind of an orphan.
const orphanVM = "VM"

// Orphans implements providers.OrphanRemover. It looks at every vCenter that clusters are on,
// as far as their accounts see.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	sites, failed := p.allSites(ctx, clusters)
	var out []fleet.Orphan
	seen := make(map[string]bool) // by two accounts, or in one vCenter by two names
	for i := range sites {
		s := &sites[i]
		look, err := s.Look(ctx, snapshot.Owner{})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		instance, err := s.InstanceUUID(ctx)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, m := range p.orphaned(look, id, clusters) {
			if one := instance + "/" + m.VM.Ref.Value; !seen[one] {
				seen[one] = true
				out = append(out, orphan(s, look, &m))
			}
		}
	}
	slices.SortFunc(out, func(a, b fleet.Orphan) int {
		return cmp.Or(a.Cluster.Compare(b.Cluster), cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID))
	})
	return out, vcenter.WrapLook("look for orphans", fleet.JoinErrors(failed...))
}

// allSites returns the vCenters of clusters, each account of each once.
func (p *Provider) allSites(ctx context.Context, clusters []*fleet.Cluster) (out []site, failed []error) {
	for _, c := range clusters {
		sites, _, err := p.sites(ctx, c)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, s := range sites {
			if !slices.ContainsFunc(out, func(t site) bool { return t.Client == s.Client }) {
				out = append(out, s)
			}
		}
	}
	return out, failed
}

// orphaned returns the machines in l of clusters of fleet id that are none of clusters.
func (p *Provider) orphaned(l *vcenter.Look, id fleet.ID, clusters []*fleet.Cluster) []machine.Owned {
	known := make(map[fleet.Key]bool)
	for _, c := range clusters {
		known[c.Key] = true
	}
	all := &listing{machines: machine.NewIndex(convert(l))}
	var out []machine.Owned
	for _, k := range keysOf(l, id) {
		if !known[k] {
			out = append(out, p.owned(all, &fleet.Cluster{Fleet: id, Key: k})...)
		}
	}
	return out
}

// keysOf returns the clusters of fleet id that VMs in l have the tags of, sorted.
func keysOf(l *vcenter.Look, id fleet.ID) []fleet.Key {
	var out []fleet.Key
	for _, vm := range l.Tagged() {
		if o, ok := vm.Owner(); ok && o.Fleet == id {
			out = append(out, o.Cluster)
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return slices.Compact(out)
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
	sites, failed := p.allSites(ctx, clusters)
	for i := range sites {
		s := &observedSite{site: sites[i]}
		if s.place().ID != o.Place {
			continue
		}
		owner := snapshot.Owner{Fleet: id, Cluster: o.Cluster}
		look, err := s.Look(ctx, owner)
		if err != nil {
			return vcenter.WrapLook(op, err)
		}
		s.look, s.owned = look, p.orphaned(look, id, clusters)
		for _, m := range s.owned {
			switch {
			case m.VM.Ref.Value != o.ID:
			case m.Machine.Damaged != "":
				return fleet.Errorf(fleet.Conflict, op, "what it is is not certain: %s", m.Machine.Damaged)
			case m.VM.Busy != "":
				return fleet.Errorf(fleet.Unavailable, op, "%s is under way on it", m.VM.Busy)
			default:
				defer s.Changed(owner)
				p.forgetFound(owner)
				return wrap(op, p.remove(ctx, &work{site: s, machine: &m}, machine.Removal{Mode: api.PowerOffTrySoft, Timeout: time.Minute}))
			}
		}
	}
	return vcenter.WrapLook(op, fleet.JoinErrors(failed...))
}
