package plan

import (
	"cmp"
	"slices"
)

// controlPlaneVictim chooses the machine that goes next, as Cluster API does:
// first whom people marked, then the outdated, the ailing of them before the
// others; of these one in the failure domain with most machines, the oldest.
func controlPlaneVictim(g *group) *machine {
	rank := func(m *machine) int {
		switch {
		case marked(m) && !m.current:
			return 0
		case marked(m):
			return 1
		case !m.current && (broken(m) || !m.serves()):
			return 2
		case !m.current:
			return 3
		case broken(m) || !m.serves():
			return 4
		}
		return 5
	}
	inDomain := map[string]int{}
	for _, m := range g.all {
		inDomain[m.FailureDomain]++
	}
	return slices.MinFunc(slices.Concat(g.fresh, g.old), func(a, b *machine) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(inDomain[b.FailureDomain], inDomain[a.FailureDomain]),
			cmp.Compare(a.FailureDomain, b.FailureDomain),
			a.MadeAt().Compare(b.MadeAt()),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

// nextDomain returns the failure domain for a new control-plane machine: that
// with the fewest up-to-date ones, then the fewest in all.
func (f *facts) nextDomain(g *group) string {
	best, bestFresh, bestAll := "", 0, 0
	for _, d := range f.Observed.Infrastructure.FailureDomains {
		if !d.ControlPlane {
			continue
		}
		fresh, all := 0, 0
		for _, m := range g.all {
			if m.FailureDomain == d.Name {
				all++
				if m.current {
					fresh++
				}
			}
		}
		if best == "" || fresh < bestFresh || (fresh == bestFresh && all < bestAll) {
			best, bestFresh, bestAll = d.Name, fresh, all
		}
	}
	return best
}
