package shed

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
)

// Clusters implements providers.Lister.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	out, failed := driver.Clusters(id, []string{clusters, machines}, func(in string) (all []snapshot.Owner, err error) {
		things, err := p.shed.list(ctx, in, func(map[string]string) bool { return true })
		for _, t := range things {
			if o, ok := driver.OwnerOf(t.Tags); ok {
				all = append(all, o)
			}
		}
		return all, err
	}, nil)
	return out, classify("list clusters", fleet.JoinErrors(failed...))
}

// Orphans implements providers.OrphanRemover.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, known []*fleet.Cluster) ([]fleet.Orphan, error) {
	found, err := p.lost(ctx, id, known)
	return driver.Orphans(found), classify("look for orphans", err)
}

// lost returns the things of fleet id that belong to none of known.
func (p *Provider) lost(ctx context.Context, id fleet.ID, known []*fleet.Cluster) (out []driver.Lost[thing], err error) {
	for _, in := range []string{machines, clusters} { // machines go first
		things, err := p.shed.list(ctx, in, func(tags map[string]string) bool { return driver.IsLost(tags, id, known) })
		if err != nil {
			return nil, err
		}
		for _, t := range things {
			k, _ := fleet.ParseKey(t.Tags[fleet.TagCluster])
			out = append(out, driver.Lost[thing]{Thing: t, Orphan: fleet.Orphan{
				Provider: Name, Place: string(p.shed), Cluster: k, Kind: in, ID: t.ID, Name: t.Tags[fleet.TagMachine],
				Reason: "no cluster of the fleet is called " + t.Tags[fleet.TagCluster], Created: t.Created,
			}})
		}
	}
	return out, nil
}

// RemoveOrphan implements providers.OrphanRemover.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, known []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove " + o.Kind + " " + o.ID
	found, err := p.lost(ctx, id, known)
	if is := driver.Find(found, o); is != nil {
		err = is.Thing.remove()
	}
	return classify(op, err)
}
