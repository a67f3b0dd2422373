package hosts

import (
	"cmp"
	"context"
	"slices"

	"fairlead.dev/fleet"
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
	list, err := r.orphans(ctx, id, clusters)
	out := make([]fleet.Orphan, 0, len(list))
	for _, f := range list {
		out = append(out, f.orphan())
	}
	return out, err
}

// orphan returns f as people see it.
func (f *hostMachine) orphan() fleet.Orphan {
	key := f.claim.Tags[fleet.TagCluster]
	o := fleet.Orphan{
		Provider: api.ProviderName, Place: f.host.Pool, Kind: orphanMachine, ID: string(f.claim.ProviderID()),
		Name: f.host.Name, Reason: "the fleet has no cluster " + key, Created: f.claim.Created,
	}
	o.Cluster, _ = fleet.ParseKey(key) // zero where it is none
	return o
}

func (r *reader) orphans(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster) ([]hostMachine, error) {
	var out []hostMachine
	var errs []error
	seenClaims, silent := make(map[string]bool), make(map[string]bool)
	for _, c := range clusters {
		if c.Provider != api.ProviderName {
			continue
		}
		all, err := r.look(ctx, c)
		if err != nil {
			errs = append(errs, wrap("list orphans", err))
			continue
		}
		for _, s := range all {
			if s.silent() {
				if !silent[s.host.Name] { // clusters may share a pool
					errs = append(errs, wrap("list orphans", s.err))
				}
				silent[s.host.Name] = true
				continue
			}
			if s.host.Lost || s.state.Claim == nil || seenClaims[s.state.Claim.ID] {
				continue
			}
			k := s.state.Claim
			theirs := slices.ContainsFunc(clusters, func(c *fleet.Cluster) bool { return c.Key.String() == k.Tags[fleet.TagCluster] })
			leaving := s.state.Progress == host.Releasing
			if k.Tags[fleet.TagFleet] != string(id) || theirs || leaving {
				continue
			}
			seenClaims[k.ID] = true
			out = append(out, hostMachine{claim: *k, host: s.host, state: s.state})
		}
	}
	slices.SortFunc(out, func(a, b hostMachine) int {
		x, y := a.orphan(), b.orphan()
		return cmp.Or(x.Cluster.Compare(y.Cluster), cmp.Compare(x.Place, y.Place), cmp.Compare(x.Name, y.Name))
	})
	return out, fleet.JoinErrors(errs...)
}

// RemoveOrphan implements providers.OrphanRemover: the host cleans itself, and is free.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, clusters []*fleet.Cluster, o fleet.Orphan) error {
	list, unseen := p.orphans(ctx, id, clusters)
	for _, f := range list {
		if string(f.claim.ProviderID()) == o.ID {
			_, err := p.run(ctx, f.host, host.Release(f.claim.ID, f.host.restarts()))
			return wrap("remove "+o.Kind+" "+o.Name, err)
		}
	}
	return unseen // else it is gone, or somebody's
}
