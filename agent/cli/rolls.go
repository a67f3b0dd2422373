package cli

import (
	"context"
	"fmt"
	"strings"

	"fairlead.dev/agent/assembly"
	"fairlead.dev/fleet"
	"fairlead.dev/render/decode"
)

// A roll is a pool whose machines a revision replaces that another one leaves.
type roll struct {
	Cluster  string   `json:"cluster"`
	Pool     string   `json:"pool"`
	Machines int      `json:"machines"`
	Class    string   `json:"class,omitempty"` // that the cluster is made from
	Because  []string `json:"because"`         // fields that differ
}

// base returns the part at the revision that is compared with: a branch, tag or
// commit of its repository, another folder, or the URL of a repository.
func (p part) base(ctx context.Context, name string) (part, error) {
	s := p.settings
	if !assembly.IsFolder(s.Source) {
		s.Ref = name
		return part{settings: s, path: p.path}, nil
	}
	s.Source, s.Ref, s.Path = name, "", ""
	if !assembly.IsFolder(name) {
		return part{settings: s, path: p.path}, nil
	}
	b, err := locate(ctx, s)
	if err != nil {
		return part{}, fmt.Errorf("--base %s: the source is a folder, so it names another folder, or the URL of a repository: %w", name, err)
	}
	return b, nil
}

// roll adds the pools that are made of something else than at the base.
func (out *planned) roll(ctx context.Context, p part, name string, now fleet.Fleet, o assembly.RenderOptions) error {
	b, err := p.base(ctx, name)
	if err != nil {
		return err
	}
	before, err := b.load(ctx, o)
	if err != nil {
		return fmt.Errorf("cannot read what to compare with: %w", err)
	}
	was := make(map[fleet.Key]*fleet.Cluster, len(before.Clusters))
	for i := range before.Clusters {
		was[before.Clusters[i].Key] = &before.Clusters[i]
	}
	for _, c := range now.Clusters {
		old := was[c.Key]
		if old == nil {
			continue // it is new
		}
		for _, pool := range c.Pools() {
			then, ok := old.Pool(pool.Name)
			because := decode.Differences(&then, &pool)
			if !ok || len(because) == 0 {
				continue
			}
			r := roll{Cluster: c.Key.String(), Pool: string(pool.Name), Machines: pool.Replicas, Because: because}
			if c.Topology != nil {
				r.Class = c.Topology.Class.String()
			}
			out.Rolls = append(out.Rolls, r)
		}
	}
	return nil
}

// String returns the roll as a line.
func (r roll) String() string {
	const most = 5
	because := r.Because
	if len(because) > most {
		because = append(because[:most:most], fmt.Sprintf("%d more", len(because)-most))
	}
	of := ""
	if r.Class != "" {
		of = " of ClusterClass " + r.Class
	}
	return fmt.Sprintf("%s pool %s, %s%s: %s", r.Cluster, r.Pool, count(r.Machines, "machine"), of, strings.Join(because, ", "))
}
