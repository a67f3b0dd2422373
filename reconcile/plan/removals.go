package plan

import (
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// rememberRemovals notes how machines of each worker pool are removed, so that a pool that
// is removed from Git is drained as it said. What is noted of such a pool stays as long as
// it has machines.
func (f *facts) rememberRemovals() {
	for i := range f.Desired.Workers {
		if r, special := f.Desired.RemovalOf(&f.Desired.Workers[i]); special {
			f.removals = append(f.removals, r)
		}
	}
	for _, r := range f.Memory.Removals {
		_, known := f.Desired.Pool(r.Pool)
		has := slices.ContainsFunc(f.machines, func(m *machine) bool { return m.Pool == r.Pool })
		if !known && (has || f.unseen() != nil) {
			f.removals = append(f.removals, r)
		}
	}
	slices.SortFunc(f.removals, func(a, b fleet.PoolRemoval) int { return strings.Compare(string(a.Pool), string(b.Pool)) })
	f.Desired = f.Desired.WithRemovals(f.removals)
}

// removedBy returns the pool that says how m is removed: the one that is in Git, or what is
// remembered of it.
func (f *facts) removedBy(m *machine) *fleet.Pool {
	if m.pool != nil {
		return m.pool
	}
	p := f.Desired.Departed(m.Pool)
	return &p
}
