package rollout

// Departed returns the steps of a worker pool that is removed from Git. All its machines go. At
// most as many are busy at a time as may be unavailable in a rollout, and one if none may be: a
// pool that was removed by mistake keeps the others when it comes back.
func Departed(p Pool) []Step {
	r := &rolling{Pool: p, removed: make([]bool, len(p.Machines))}
	budget, kept := max(p.MaxUnavailable, 1), -1
	var list []int
	for i := range p.Machines {
		if !p.Machines[i].Leaving {
			list = append(list, i)
		} else if p.Machines[i].Busy {
			budget--
		}
	}
	for _, i := range r.byDeletion(list) {
		switch {
		case !p.Machines[i].Available:
			r.remove(RemoveMore, i)
		case budget > 0:
			budget--
			r.remove(RemoveMore, i)
		case kept < 0:
			kept = i
		}
	}
	if kept >= 0 {
		r.add(AwaitOthers, kept)
	}
	return r.steps
}
