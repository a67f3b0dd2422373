package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Clouds are the clusters of a fleet, and what leads to where they are.
type Clouds struct {
	Clusters []*fleet.Cluster // with where they live already
	// Open returns the provider of that name. It has to refuse changes.
	Open func(name string) (providers.Infrastructure, error)
}

// Clouds checks for each provider whether it opens; for each cluster whether its credentials
// lead to where it can be looked at; and, where the provider can tell, whether what Git
// names is there and has room.
func (r *Report) Clouds(ctx context.Context, c Clouds) {
	at := make(map[string][]*fleet.Cluster)
	for _, one := range c.Clusters {
		if one.Provider != "" {
			at[one.Provider] = append(at[one.Provider], one.At(""))
		}
		for _, guest := range one.GuestProviders() {
			at[guest] = append(at[guest], one.At(guest))
		}
	}
	var names []string
	for name := range at {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p, err := c.Open(name)
		if err != nil {
			r.Unreachable("provider", name, err)
			continue
		}
		r.provider(ctx, name, p, at[name])
	}
}

func (r *Report) provider(ctx context.Context, name string, p providers.Infrastructure, clusters []*fleet.Cluster) {
	var seen []*fleet.Cluster
	for _, c := range clusters {
		got, err := p.Observe(ctx, c)
		if err != nil {
			r.Unreachable("cloud", c.Key.String(), err)
			continue
		}
		seen = append(seen, c)
		r.Note("cloud", c.Key.String(), fmt.Sprintf("%s answers: %s of this cluster", name, output.Count(len(got.Machines), "machine")), nil)
	}
	checker := providers.AbilitiesOf(p).Checker
	if checker == nil || len(seen) == 0 {
		return
	}
	found, err := checker.Check(ctx, seen)
	if err != nil {
		r.Note("needs", name, "", err)
	}
	for _, f := range found {
		var keys []string
		for _, k := range f.Clusters {
			keys = append(keys, k.String())
		}
		r.Note(f.What, subject(keys), f.Text, f.Err)
	}
}

// subject names clusters, not all of many.
func subject(keys []string) string {
	const most = 3
	if len(keys) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:most], ", "), len(keys)-most)
	}
	return strings.Join(keys, ", ")
}
