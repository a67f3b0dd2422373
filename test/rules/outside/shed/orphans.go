package shed

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
)

// Clusters implements providers.Lister.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	var out []fleet.Key
	for _, in := range []string{clusters, machines} {
		things, err := p.shed.list(ctx, in, func(tags map[string]string) bool { return tags[fleet.TagFleet] == string(id) })
		if err != nil {
			return nil, classify("list clusters", err)
		}
		for _, t := range things {
			if k, err := fleet.ParseKey(t.Tags[fleet.TagCluster]); err == nil {
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return slices.Compact(out), nil
}

// Orphans implements providers.OrphanRemover.
func (p *Provider) Orphans(ctx context.Context, id fleet.ID, known []*fleet.Cluster) ([]fleet.Orphan, error) {
	var out []fleet.Orphan
	for _, in := range []string{machines, clusters} { // machines go first
		things, err := p.orphaned(ctx, in, id, known)
		if err != nil {
			return nil, classify("look for orphans", err)
		}
		for _, t := range things {
			k, _ := fleet.ParseKey(t.Tags[fleet.TagCluster])
			out = append(out, fleet.Orphan{
				Provider: Name, Place: string(p.shed), Cluster: k, Kind: in, ID: t.ID, Name: t.Tags[fleet.TagMachine],
				Reason: "no cluster of the fleet is called " + t.Tags[fleet.TagCluster], Created: t.Created,
			})
		}
	}
	return out, nil
}

// orphaned returns things of fleet id that belong to none of known.
func (p *Provider) orphaned(ctx context.Context, in string, id fleet.ID, known []*fleet.Cluster) ([]thing, error) {
	return p.shed.list(ctx, in, func(tags map[string]string) bool {
		return tags[fleet.TagFleet] == string(id) && !slices.ContainsFunc(known, func(c *fleet.Cluster) bool { return c.Owns(tags) })
	})
}

// RemoveOrphan implements providers.OrphanRemover.
func (p *Provider) RemoveOrphan(ctx context.Context, id fleet.ID, known []*fleet.Cluster, o fleet.Orphan) error {
	op := "remove " + o.Kind + " " + o.ID
	things, err := p.orphaned(ctx, o.Kind, id, known)
	if err != nil {
		return classify(op, err)
	}
	if i := slices.IndexFunc(things, func(t thing) bool { return t.ID == o.ID }); i >= 0 {
		return classify(op, things[i].remove())
	}
	return nil
}
