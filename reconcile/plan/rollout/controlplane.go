package rollout

import (
	"cmp"
	"slices"
)

// ControlPlane returns the one change of a control plane that is due, or in its place
// what is waited for before it; nothing where none is due.
func ControlPlane(p Pool) []Step {
	change, due := p.change()
	if !due {
		return nil
	}
	removed := -1
	if change.Kind == Replace || change.Kind == ReplaceFirst || change.Kind == RemoveMore {
		removed = change.Machine
	}
	var waits []Step
	for i, m := range p.Machines {
		if i != removed && !m.Well {
			waits = append(waits, Step{Kind: AwaitWell, Machine: i})
		}
	}
	if slices.ContainsFunc(p.Learners, func(i int) bool { return i < 0 || i != removed }) {
		waits = append(waits, Step{Kind: AwaitMember, Machine: -1})
	}
	if len(waits) > 0 {
		return waits
	}
	return []Step{change}
}

// change returns the change that is due, whatever it waits for.
func (p *Pool) change() (Step, bool) {
	total := len(p.Machines)
	surge, scaleIn := p.surge(total)
	if p.Replicas < 3 {
		surge = max(p.MaxSurge, 1) // fewer than three cannot spare one
	}
	outdated := slices.ContainsFunc(p.Machines, func(m Machine) bool { return !m.Leaving && !m.Current })
	next := p.next()
	switch {
	case total < p.Replicas:
		return Step{Kind: Create, Machine: -1, Has: total}, true
	case next < 0:
		return Step{}, false
	case outdated && total < p.Replicas+surge:
		return Step{Kind: CreateFor, Machine: next}, true
	case outdated && scaleIn:
		return Step{Kind: ReplaceFirst, Machine: next}, true
	case outdated:
		return Step{Kind: Replace, Machine: next}, true
	case total > p.Replicas:
		return Step{Kind: RemoveMore, Machine: next}, true
	}
	return Step{}, false
}

// next returns the machine that goes next: one that people marked, then an outdated one,
// one that does not work before one that does; of these one in the failure domain with
// most machines, the oldest. It is -1 where all are leaving.
func (p *Pool) next() int {
	rank := func(m *Machine) int {
		switch {
		case m.Marked && !m.Current:
			return 0
		case m.Marked:
			return 1
		case !m.Current && m.Broken:
			return 2
		case !m.Current:
			return 3
		case m.Broken:
			return 4
		}
		return 5
	}
	inDomain := map[string]int{}
	var candidates []int
	for i, m := range p.Machines {
		inDomain[m.Domain]++
		if !m.Leaving {
			candidates = append(candidates, i)
		}
	}
	if len(candidates) == 0 {
		return -1
	}
	return slices.MinFunc(candidates, func(i, j int) int {
		a, b := &p.Machines[i], &p.Machines[j]
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(inDomain[b.Domain], inDomain[a.Domain]),
			cmp.Compare(a.Domain, b.Domain),
			a.Made.Compare(b.Made),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

// Domain returns the failure domain for a new machine: that with the fewest
// up-to-date ones, then the fewest in all, then the first of domains.
func Domain(domains []string, machines []Machine) string {
	best, bestCurrent, bestAll := "", 0, 0
	for _, d := range domains {
		current, all := 0, 0
		for _, m := range machines {
			if m.Domain == d {
				all++
				if m.Current {
					current++
				}
			}
		}
		if best == "" || current < bestCurrent || (current == bestCurrent && all < bestAll) {
			best, bestCurrent, bestAll = d, current, all
		}
	}
	return best
}
