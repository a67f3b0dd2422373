package plan

import (
	"cmp"

	"fairlead.dev/fleet"
)

// replaceable reports whether the removal of m, a machine of g, may begin although a machine has
// to be made in its place. The removal waits as long as the manifests give no user data for the
// new machine, which joins as join says, or none may be made: the pool would stay one machine short.
func (d *draft) replaceable(g *group, m *machine, join fleet.Join) bool {
	why := cmp.Or(d.Observed.Distribution.WhyUnmade(g.pool, join), d.unlistedOn(g.pool.Provider))
	if why == "" {
		return true
	}
	stay := 0
	for _, o := range g.all {
		if !o.leaving && !o.duplicate {
			stay++
		}
	}
	if stay > g.pool.Replicas {
		return true // the replacement is there
	}
	d.wait("machine %s stays, since no machine can be made in its place: %s", m.Name, why)
	return false
}

// replaceWorker begins the removal of the worker m of g if a machine can be made in its place.
func (d *draft) replaceWorker(g *group, m *machine, reason string) {
	if d.replaceable(g, m, fleet.JoinWorker) {
		d.beginRemoval(m, reason)
	}
}
