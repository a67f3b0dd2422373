package rollout

import (
	"cmp"
	"slices"

	"fairlead.dev/fleet"
)

// Workers returns the steps of a worker pool, in the order in which they are taken.
func Workers(p Pool) []Step {
	r := &rolling{Pool: p, removed: make([]bool, len(p.Machines)), minimum: max(p.Replicas-p.MaxUnavailable, 0)}
	for i := range p.Machines {
		switch m := &p.Machines[i]; {
		case m.Leaving:
			r.leaving++
		case m.Current:
			r.current = append(r.current, i)
		default:
			r.outdated = append(r.outdated, i)
		}
		if p.Machines[i].Available {
			r.available++
		}
	}
	r.total = len(p.Machines) + p.Pending + p.Held
	if r.MaxSurge, r.scaleIn = p.surge(r.total); r.scaleIn && p.MaxUnavailable == 0 {
		r.minimum = max(p.Replicas-1, 0)
	}
	r.kept = len(r.current) + p.PendingCurrent
	r.remediate()
	r.scaleDown()
	r.scaleUp()
	r.replace()
	return r.steps
}

// A rolling counts while steps are found.
type rolling struct {
	Pool
	steps             []Step
	current, outdated []int  // machines whose removal had not begun
	removed           []bool // the machines that steps remove

	total     int // machines that are or may be there
	kept      int // up-to-date machines that stay, and those that are asked for
	available int
	minimum   int  // machines that must stay available
	scaleIn   bool // no host is free for a machine more
	leaving   int  // machines whose removal has begun
	removals  int  // of these, how many by these steps
}

func (r *rolling) add(k Kind, machine int) {
	r.steps = append(r.steps, Step{Kind: k, Machine: machine})
}

// remediate removes unhealthy machines.
func (r *rolling) remediate() {
	room := r.MaxRemediations
	for i := range r.Machines {
		if m := &r.Machines[i]; m.Leaving && m.Unhealthy && (m.Current || r.OnDelete) {
			room--
		}
	}
	candidates := r.current
	if r.OnDelete {
		candidates = slices.Concat(r.current, r.outdated)
	}
	for _, i := range candidates {
		switch {
		case !r.Machines[i].Condemned:
		case r.MaxRemediations >= 0 && room <= 0:
			r.add(AwaitRemediation, i)
		default:
			room--
			r.remove(Remediate, i)
		}
	}
}

// scaleDown removes up-to-date machines that are too many. Those that are pending may never come, so
// of those that are there only what people marked goes because of them.
func (r *rolling) scaleDown() {
	r.removeSurplus(r.kept-r.PendingCurrent-r.Replicas, r.current)
	if r.PendingCurrent > 0 {
		unmarked := func(i int) bool { return !r.Machines[i].Marked }
		r.removeSurplus(r.kept-r.Replicas, slices.DeleteFunc(slices.Clone(r.current), unmarked))
	}
}

// removeSurplus removes that many of list, in the order of deletion. One that cannot be spared
// keeps none of the others that can: what does not work may go at any time.
func (r *rolling) removeSurplus(surplus int, list []int) {
	kept := -1
	for _, i := range r.byDeletion(list) {
		switch {
		case surplus <= 0 || r.removed[i]:
		case r.useBudget(i):
			surplus--
			r.remove(RemoveMore, i)
		case kept < 0:
			kept = i
		}
	}
	if surplus > 0 && kept >= 0 {
		r.add(AwaitSpare, kept)
	}
}

// scaleUp creates what is missing, in place of outdated machines too as far as the
// surge allows.
func (r *rolling) scaleUp() {
	lacks := r.Replicas - r.kept - r.Held // none comes in place of one that is held
	room := r.Replicas - r.total
	if !r.OnDelete && !r.NoRoll {
		room += r.MaxSurge
	}
	if lacks <= 0 {
		return
	}
	if r.NoCreate {
		r.add(AwaitCreate, -1)
		return
	}
	replaced := r.byDeletion(r.outdated)
	replaced = replaced[max(len(replaced)-lacks, 0):]
	has := r.total - r.leaving
	for range min(lacks, room) {
		if len(replaced) > 0 && !r.OnDelete {
			r.add(CreateFor, replaced[0])
			replaced = replaced[1:]
		} else {
			r.steps = append(r.steps, Step{Kind: Create, Machine: -1, Has: has})
		}
		has++
		r.total++
	}
}

// replace removes outdated machines as far as enough others are available. Machines
// whose removal began before are in no number that it takes from: they are not
// available, and one whose removal never ends costs only that much.
func (r *rolling) replace() {
	switch {
	case len(r.outdated) == 0:
		return
	case r.OnDelete:
		r.replaceOnDelete()
		return
	case r.NoRoll:
		r.add(AwaitRoll, -1)
		return
	}
	budget := len(r.current) + len(r.outdated) + r.Pending - r.removals - r.minimum - r.notYetAvailable()
	list := r.byDeletion(r.outdated)
	for _, available := range []bool{false, true} {
		for _, i := range list {
			if r.Machines[i].Available != available {
				continue
			}
			if budget <= 0 || !r.useBudget(i) {
				r.add(AwaitAvailable, i)
				return
			}
			budget--
			kind := Replace
			if r.scaleIn && r.MaxUnavailable == 0 {
				kind = ReplaceFirst
			}
			r.remove(kind, i)
		}
	}
}

// notYetAvailable counts the up-to-date machines that are not available, or do not exist yet. They
// use the budget, so a broken template stops the rollout.
func (r *rolling) notYetAvailable() int {
	n := r.PendingCurrent
	for _, i := range r.current {
		if !r.removed[i] && !r.Machines[i].Available {
			n++
		}
	}
	return n
}

// replaceOnDelete removes outdated machines only where the pool has too many.
func (r *rolling) replaceOnDelete() {
	list := slices.DeleteFunc(slices.Clone(r.outdated), func(i int) bool { return r.removed[i] })
	r.removeSurplus(min(r.kept-r.PendingCurrent, r.Replicas)+len(list)-r.Replicas, list)
}

// useBudget takes machine i out of the available ones, unless too few would be left.
// A machine that is not available may go at any time.
func (r *rolling) useBudget(i int) bool {
	if !r.Machines[i].Available {
		return true
	}
	if r.available <= r.minimum {
		return false
	}
	r.available--
	return true
}

// remove begins the removal of machine i.
func (r *rolling) remove(k Kind, i int) {
	r.leaving++
	r.removals++
	r.removed[i] = true
	if r.Machines[i].Current {
		r.kept--
	}
	r.add(k, i)
}

// byDeletion returns list in the order in which machines go: those that people marked,
// the broken, then by the pool's order. Names end in a hash, so their order is the random
// one: arbitrary, and the same every time.
func (r *rolling) byDeletion(list []int) []int {
	if len(list) < 2 {
		return list
	}
	out := slices.Clone(list)
	slices.SortFunc(out, func(i, j int) int {
		a, b := &r.Machines[i], &r.Machines[j]
		return cmp.Or(
			compareBool(b.Marked, a.Marked),
			compareBool(b.Broken, a.Broken),
			byAge(r.Order, a, b),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return out
}

func byAge(o fleet.DeletionOrder, a, b *Machine) int {
	switch o {
	case fleet.DeleteNewest:
		return b.Made.Compare(a.Made)
	case fleet.DeleteOldest:
		return a.Made.Compare(b.Made)
	}
	return 0
}
