package preview

import (
	"cmp"
	"slices"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
)

// A Difference is how a plan differs from that of the fleet without it.
type Difference struct {
	Added     []Change // that come with the plan alone, or come earlier
	Pending   []Change // that come without it, too
	Withdrawn []Change // that come without it, and with it do not
}

// Since returns how p differs from before, the plan of what comes without it. Both stand on one look.
func (p *Plan) Since(before *Plan) Difference {
	var d Difference
	// A change may come more than once, as of releases of one chart: each is one.
	left := slices.Clone(before.Changes)
	take := func(is func(Change) bool) bool {
		i := slices.IndexFunc(left, is)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		return i >= 0
	}
	for _, c := range p.Changes {
		sooner := func(old Change) bool { return same(old, c) && (c.Waits || !old.Waits) }
		if take(sooner) {
			d.Pending = append(d.Pending, c)
			continue
		}
		take(func(old Change) bool { return same(old, c) })
		d.Added = append(d.Added, c)
	}
	for _, old := range left {
		if !slices.ContainsFunc(d.Added, func(c Change) bool { return concern(old, c) }) {
			d.Withdrawn = append(d.Withdrawn, old)
		}
	}
	return d
}

// same reports whether a and b come to the same, now or later.
func same(a, b Change) bool {
	a.Waits, b.Waits = false, false
	a.Reason, b.Reason = fleet.StableText(a.Reason), fleet.StableText(b.Reason)
	return a == b
}

// concern reports whether a and b change the same thing, whatever to.
func concern(a, b Change) bool {
	return a.Cluster == b.Cluster && a.Pool == b.Pool && a.Machine == b.Machine && a.Addon == b.Addon && a.Host == b.Host
}

// identityOf returns what identifies that which c, a change of a cluster that is to be as desired, changes to.
func identityOf(c Change, desired *fleet.Cluster) string {
	pool, _ := desired.Pool(fleet.PoolName(c.Pool))
	switch forecast.ChangeKind(c.Change) {
	case forecast.CreateCluster, forecast.UpdateShared:
		of := []any{desired.Endpoint, desired.Network}
		for _, o := range append([]fleet.Object{desired.Infrastructure}, desired.Companions...) {
			of = append(of, o.GVK.Kind, o.Name, string(o.Spec))
		}
		for _, g := range desired.Guests {
			of = append(of, g.Provider, string(g.Infrastructure.Spec))
			for _, o := range g.Companions {
				of = append(of, o.GVK.Kind, o.Name, string(o.Spec))
			}
		}
		if h := desired.Hosted; h != nil {
			of = append(of, h.Version, string(h.Object.Spec))
		}
		return fleet.DigestOf(of...)
	case forecast.CreateMachine, forecast.ReplaceMachine:
		return fleet.DigestOf(string(pool.Template), pool.Version, pool.FailureDomain, pool.NodeLabels, pool.Taints)
	case forecast.CreatePool, forecast.UpdatePool:
		p, _ := desired.KeptPool(fleet.PoolName(c.Pool))
		p.Infrastructure.File = ""
		return fleet.DigestOf(p)
	case forecast.UpdateNode:
		return fleet.DigestOf(pool.Labels, pool.NodeLabels, pool.Annotations, pool.Taints)
	case forecast.ApplyResources:
		s, _ := desired.ResourceSet(c.Addon)
		return s.Mark()
	case forecast.InstallRelease, forecast.UpgradeRelease:
		i := slices.IndexFunc(desired.Releases, func(r fleet.Release) bool { return r.ReleaseRef.String() == c.Addon })
		if i >= 0 {
			return desired.Releases[i].Digest
		}
	}
	return ""
}

// waits reports whether what changes of cluster k waits for its turn.
func (p *Plan) waits(k fleet.Key) bool {
	return slices.ContainsFunc(p.Turns, func(t Turn) bool { return t.Cluster == k.String() && !t.Now })
}

// Alike reports whether cluster k has the same target in both plans, and as soon.
func Alike(a, b *Plan, k fleet.Key) bool {
	of := func(p *Plan) string {
		i, ok := slices.BinarySearchFunc(p.desired.Clusters, k, func(c *fleet.Cluster, k fleet.Key) int { return c.Key.Compare(k) })
		if !ok {
			return ""
		}
		c := p.desired.Clusters[i]
		return fleet.DigestOf(c.Digest, string(cmp.Or(c.Drift, fleet.DriftCorrect)), c.Delete, c.Abandon, p.waits(k))
	}
	return of(a) == of(b)
}

// CompareTerms adds what ends or changes with the plan's revision and not with before, and no change
// tells yet. It follows Look. A change that is in the plan of before, too, tells nothing of the
// difference; a plan that is nil has none.
func (p *Plan) CompareTerms(before fleet.Fleet, without *Plan) {
	since := Difference{Added: slices.Clone(p.Changes)}
	if without != nil {
		since = p.Since(without)
	}
	changes := slices.Concat(since.Added, since.Withdrawn)
	for _, c := range p.desired.Clusters {
		if without != nil && without.waits(c.Key) && !p.waits(c.Key) && !tells(changes, c.Key.String(), "") {
			p.addTerm(Change{Change: document.ChangeSetting, Cluster: c.Key.String(), Reason: "the waiting change starts now"})
		}
	}
	defer func() { document.Sort(p.Changes) }()
	was, is := &before.Config, &p.o.Fleet.Config
	if p.o.Scope == scope.All {
		for _, c := range settings(was, is) {
			p.addTerm(c)
		}
	}
	for i := range p.o.Fleet.Clusters {
		c := &p.o.Fleet.Clusters[i]
		j, ok := slices.BinarySearchFunc(before.Clusters, c.Key, func(o fleet.Cluster, k fleet.Key) int { return o.Key.Compare(k) })
		if !ok {
			if !tells(changes, c.Key.String(), "") {
				p.addTerm(Change{Change: document.ChangeSetting, Cluster: c.Key.String(), Reason: "the cluster is new in Git, and nothing is to be done for it now"})
			}
			continue
		}
		if before.Clusters[j].Digest == c.Digest {
			continue
		}
		for _, one := range terms(&before.Clusters[j], c, was, is, changes, p.waits(c.Key)) {
			p.addTerm(one)
		}
	}
}

// tells reports whether one of changes is of a cluster, in that pool where one is named.
func tells(changes []Change, cluster, pool string) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Cluster == cluster && (pool == "" || c.Pool == pool) })
}

// addTerm adds c unless the plan has it: once is enough of the same kind for a cluster.
func (p *Plan) addTerm(c Change) {
	if c.Change == document.AbandonCluster && slices.ContainsFunc(p.Changes, func(o Change) bool { return o.Change == c.Change && o.Cluster == c.Cluster }) {
		return
	}
	p.Changes = append(p.Changes, c)
}
