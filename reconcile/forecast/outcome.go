package forecast

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// changes returns the changes that result from all actions: the cluster, its machines by pool,
// what they share, hosts of the inventory, its addons.
func (r *record) changes() []Change {
	if r.cluster.Delete && !r.cluster.Protect {
		return r.deletion()
	}
	var out, updates []Change
	for _, c := range r.shared {
		if c.Kind == CreateCluster {
			out = append(out, c)
		} else {
			updates = append(updates, c)
		}
	}
	for _, p := range r.pools {
		out = append(out, r.changesOf(p)...)
	}
	out = slices.Concat(out, r.kept, r.reboots, updates, r.hosts, r.resumed)
	if r.unseen {
		return out
	}
	slices.SortStableFunc(r.addons, func(a, b Change) int { return r.order(a) - r.order(b) })
	return append(out, r.addons...)
}

// order puts addons that Git has before others, and ClusterResourceSets before releases.
func (r *record) order(c Change) int {
	switch _, known := r.cluster.ResourceSet(c.Addon); {
	case known:
		return 0
	case c.Kind == ApplyResources || c.Kind == PruneResources:
		return 1
	case c.Kind == UninstallRelease:
		return 3
	}
	return 2
}

// deletion returns what goes with the whole cluster.
func (r *record) deletion() []Change {
	const reason = "the cluster is to be deleted"
	var out []Change
	if !r.deletes {
		return nil
	}
	for _, p := range r.pools {
		for _, d := range p.gone {
			out = append(out, r.change(DeleteMachine, d.Pool, d.Name, d.reason))
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return compare(string(a.Machine), string(b.Machine)) })
	return slices.Concat([]Change{r.change(DeleteCluster, "", "", reason)}, out, r.kept, r.resumed)
}

// changesOf pairs the machines of p that go with those that come. Where more go than
// come, the last to go are the ones that are replaced.
func (r *record) changesOf(p *poolRecord) []Change {
	p.made = slices.DeleteFunc(p.made, func(a fleet.Action) bool { return a.Machine == "" })
	goes := map[fleet.MachineName]bool{}
	for i := range p.gone {
		goes[p.gone[i].Name] = true
	}
	for i := range r.resumed {
		goes[r.resumed[i].Machine] = true
	}
	spare := max(len(p.gone)-len(p.made), 0)
	var out []Change
	for i, d := range p.gone {
		if i < spare {
			out = append(out, r.change(DeleteMachine, p.name, d.Name, d.reason))
			continue
		}
		c := r.change(ReplaceMachine, p.name, d.Name, p.why(d, len(p.gone)-spare))
		c.By = p.made[i-spare].Machine
		out = append(out, c)
	}
	for _, a := range p.made[len(p.gone)-spare:] {
		out = append(out, r.change(CreateMachine, p.name, a.Machine, a.Reason))
	}
	for _, m := range r.before {
		c, synced := r.nodes[m.Name]
		if synced && c.Pool == p.name && !goes[m.Name] {
			out = append(out, c)
		}
	}
	return out
}

// outdatedVersion begins the reason of a removal for the version, which is then the
// next one on the way and not the last.
const outdatedVersion = "outdated: version "

// why says why d is replaced. Where others come in between, of other versions or of the
// same one, it says so too.
func (p *poolRecord) why(d departure, replaced int) string {
	last := p.versions[p.made[len(p.made)-1].Machine]
	var stops []string
	for _, a := range p.between {
		if v := p.versions[a.Machine]; v != last && v != d.Version && !slices.Contains(stops, v) {
			stops = append(stops, v)
		}
	}
	if strings.HasPrefix(d.reason, outdatedVersion) {
		text := fmt.Sprintf("%s%s → %s", outdatedVersion, d.Version, last)
		if len(stops) > 0 {
			text += " by way of " + strings.Join(stops, ", ")
		}
		if strings.HasSuffix(d.reason, plan.NoSpare) {
			text += plan.NoSpare
		}
		return text
	}
	if times := 1 + len(p.between)/max(replaced, 1); times > 1 {
		return fmt.Sprintf("%s, %d times in all", d.reason, times)
	}
	return d.reason
}
