package hosts

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// orphanMachine is the kind of an orphan: a host that is claimed for a cluster which
// is not there.
const orphanMachine = "host"

// Orphans implements providers.OrphanRemover: a claim is one whose cluster is none of
// clusters. It looks at the hosts that Git holds for clusters; one that does not answer
// is an error, beside what the others have.
func (r *reader) Orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	found, err := r.lost(ctx, id, clusters)
	return driver.Orphans(found), err
}

// orphan returns f as people see it.
func (f *hostMachine) orphan() fleet.Orphan {
	key := f.claim.Tags[fleet.TagCluster]
	o := fleet.Orphan{
		Provider: api.ProviderName, Place: f.host.Pool, Kind: orphanMachine, ID: string(f.claim.ProviderID()),
		Name: f.host.Name, Reason: "the fleet has no cluster " + key, Created: f.claim.Created,
	}
	o.Cluster, _ = fleet.ParseKey(key) // zero if there is none
	return o
}

func (r *reader) lost(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]driver.Lost[hostMachine], error) {
	silent := make(map[string]bool) // clusters may share a pool
	s := driver.Search[*fleet.Cluster, hostMachine]{
		Places: func(c *fleet.Cluster) ([]*fleet.Cluster, error) {
			if c.Provider != api.ProviderName {
				return nil, nil
			}
			return []*fleet.Cluster{c}, nil
		},
		Same: func(a, b *fleet.Cluster) (bool, error) { return a == b, nil },
		List: func(c *fleet.Cluster) (out []driver.Lost[hostMachine], err error) {
			all, err := r.look(ctx, c)
			if err != nil {
				return nil, err
			}
			var errs []error
			for _, s := range all {
				switch {
				case s.silent():
					if !silent[s.host.Name] {
						errs = append(errs, s.err)
					}
					silent[s.host.Name] = true
				case s.host.Lost, s.state.Claim == nil, s.state.Progress == host.Releasing:
				case driver.IsLost(s.state.Claim.Tags, id, clusters):
					f := hostMachine{claim: *s.state.Claim, host: s.host, state: s.state}
					out = append(out, driver.Lost[hostMachine]{Orphan: f.orphan(), Key: f.claim.ID, Thing: f})
				}
			}
			return out, fleet.JoinErrors(errs...)
		},
	}
	found, failed := s.In(clusters)
	return found, wrap("list orphans", fleet.JoinErrors(failed...))
}

// RemoveOrphan implements providers.OrphanRemover: the host cleans itself, and is free.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	found, unseen := p.lost(ctx, id, clusters)
	is := driver.Find(found, o)
	if is == nil {
		return unseen // else it is gone, or has an owner
	}
	_, err := p.run(ctx, is.Thing.host, host.Release(is.Thing.claim.ID, is.Thing.host.restarts()))
	return wrap("remove "+o.Kind+" "+o.Name, err)
}
