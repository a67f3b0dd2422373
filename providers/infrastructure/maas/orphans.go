package maas

import (
	"cmp"
	"context"
	"strconv"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// The kinds of orphans.
const (
	orphanHost = "host"
	orphanName = "name"
)

var _ providers.OrphanRemover = (*Provider)(nil)

// A lost is a host or a name of a cluster that is gone.
type lost struct {
	site *site
	user string
	host *region.Machine
	tags map[string]string
	name int64
}

// Orphans implements providers.OrphanRemover.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	found, failed := p.lost(ctx, id, clusters, nil)
	return driver.Orphans(found), region.WrapLook("look for orphans", fleet.JoinErrors(failed...))
}

// lost looks for orphans. If only is one of them, it looks for that in its region, with a new listing.
func (p *Provider) lost(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, only *fleet.Orphan) ([]driver.Lost[lost], []error) {
	s := driver.Search[*site, lost]{
		Places: func(c *fleet.Cluster) ([]*site, error) {
			s, err := p.siteOf(ctx, c)
			return []*site{s}, err
		},
		Same: func(a, b *site) (bool, error) { return a == b, nil },
		List: func(s *site) (out []driver.Lost[lost], err error) {
			var owner snapshot.Owner
			if only != nil {
				if s.place().ID != only.Place {
					return nil, nil
				}
				owner = snapshot.Owner{Fleet: id, Cluster: only.Cluster}
				s.changed(owner)
				s.named(owner)
			}
			l, err := s.listings.Get(ctx, owner)
			if err != nil {
				return nil, err
			}
			names, err := s.names.Get(ctx, owner)
			if err != nil {
				return nil, err
			}
			return s.orphans(l, names, id, clusters), nil
		},
	}
	return s.In(clusters)
}

// orphans returns those of a region.
func (s *site) orphans(l *listing, names []region.Name, id fleet.ID, clusters []*fleet.Cluster) (out []driver.Lost[lost]) {
	add := func(tags map[string]string, kind, id, name, reason string, thing lost) {
		k, _ := fleet.ParseKey(tags[fleet.TagCluster])
		out = append(out, driver.Lost[lost]{Thing: thing, Orphan: fleet.Orphan{
			Provider: api.ProviderName, Place: s.place().ID, Cluster: k, Kind: kind, ID: id, Name: name,
			Reason: reason + " of cluster " + tags[fleet.TagCluster] + ", which the fleet does not have", Created: createdOf(tags),
		}})
	}
	for i := range l.machines {
		m := &l.machines[i]
		if tags := l.tags[m.SystemID]; driver.IsLost(tags, id, clusters) {
			add(tags, orphanHost, m.SystemID, m.Hostname, "it has machine "+tags[fleet.TagMachine], lost{site: s, user: l.user.Name, host: m, tags: tags})
		}
	}
	for i := range names {
		n := &names[i]
		if tags := ownerIn(n); driver.IsLost(tags, id, clusters) {
			add(tags, orphanName, strconv.FormatInt(n.ID, 10), n.FQDN, "it is the endpoint", lost{site: s, name: n.ID})
		}
	}
	return out
}

// RemoveOrphan implements providers.OrphanRemover.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove orphan " + o.Name
	found, failed := p.lost(ctx, id, clusters, &o)
	is := driver.Find(found, o)
	if is == nil {
		return region.WrapLook(op, fleet.JoinErrors(failed...)) // what was not listed may be there
	}
	owner, s := snapshot.Owner{Fleet: id, Cluster: o.Cluster}, is.Thing.site
	defer s.changed(owner)
	defer s.named(owner)
	p.found.Forget(owner)
	if is.Thing.host != nil {
		return is.Thing.release(ctx, op)
	}
	err := s.client.RemoveName(ctx, is.Thing.name)
	if region.IsMissing(err) {
		return nil
	}
	return region.Wrap(op, err)
}

// release releases a host whose cluster is gone, if a second look still finds the machine there.
func (x *lost) release(ctx context.Context, op string) error {
	m, err := x.site.client.Machine(ctx, x.host.SystemID)
	switch {
	case region.IsMissing(err):
		return nil
	case err != nil:
		return region.WrapLook(op, err)
	case m.Owner != x.user:
		return nil
	}
	tags, err := x.site.recognise(ctx, &m)
	if err != nil {
		return region.WrapLook(op, err)
	}
	switch damaged := fleet.MachineFromTags(tags).Damaged; {
	case lifeOf(tags) != lifeOf(x.tags) || tags[fleet.TagFleet] != x.tags[fleet.TagFleet]:
		return nil
	case damaged != "":
		return fleet.Errorf(fleet.Conflict, op, "the tags of the host are damaged: %s", damaged)
	case m.State == region.Releasing, m.State == region.Erasing:
		return nil
	case m.Locked:
		return fleet.Errorf(fleet.Conflict, op, "the host is locked in MAAS (unlock it)")
	}
	return region.Wrap(op, x.site.client.Release(ctx, m.SystemID, eraseHost(&m, cmp.Or(tags[tagErase], string(api.EraseQuick)))))
}
