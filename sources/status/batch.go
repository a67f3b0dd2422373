package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// maxActions bounds the actions of a cluster that are kept between two commits.
const maxActions = 100

// A batch is what waits to be written.
type batch struct {
	reports map[fleet.Key]fleet.Report // the newest, with the actions of all
	order   map[fleet.Key]int          // of reports: which came first
	next    int                        // in order
	forgets map[fleet.Key]bool
	fleet   *sources.FleetStatus
	since   time.Time // time of the oldest report
	urgent  bool
	told    []fleet.Notification // what people were told
}

func newBatch() batch {
	return batch{reports: map[fleet.Key]fleet.Report{}, order: map[fleet.Key]int{}, forgets: map[fleet.Key]bool{}}
}

func (b *batch) isEmpty() bool {
	return len(b.reports) == 0 && len(b.forgets) == 0 && b.fleet == nil && len(b.told) == 0
}

func (b *batch) put(r fleet.Report) {
	delete(b.forgets, r.Cluster)
	r.Actions = joinActions(b.reports[r.Cluster].Actions, r.Actions)
	r.Addons = fleet.AddonsAfter(r.Addons, b.reports[r.Cluster].Addons)
	b.reports[r.Cluster] = r
	b.order[r.Cluster] = b.next
	b.next++
}

func (b *batch) forget(k fleet.Key) {
	delete(b.reports, k)
	delete(b.order, k)
	b.forgets[k] = true
}

// inOrder returns the clusters with reports, in the order in which these came.
func (b *batch) inOrder() []fleet.Key {
	return slices.SortedFunc(maps.Keys(b.reports), func(a, c fleet.Key) int { return cmp.Compare(b.order[a], b.order[c]) })
}

// giveBack adds what could not be written, where nothing newer came since.
func (b *batch) giveBack(old batch) {
	for k, r := range old.reports {
		if b.forgets[k] {
			continue
		}
		if newer, ok := b.reports[k]; ok {
			newer.Actions = joinActions(r.Actions, newer.Actions)
			newer.Addons = fleet.AddonsAfter(newer.Addons, r.Addons)
			r = newer
		} else {
			b.order[k] = old.order[k] - old.next // before all that came since
		}
		b.reports[k] = r
	}
	for k := range old.forgets {
		if _, back := b.reports[k]; !back {
			b.forgets[k] = true
		}
	}
	if b.fleet == nil {
		b.fleet = old.fleet
	}
	if !old.since.IsZero() {
		b.since = old.since
	}
	b.urgent = b.urgent || old.urgent
	b.told = append(old.told, b.told...)
}

// joinActions joins both lists, and keeps the newest where there are too many.
func joinActions(a, b []string) []string {
	all := append(append([]string(nil), a...), b...)
	if n := len(all); n > maxActions {
		all = all[n-maxActions:]
	}
	return all
}

func deposedBy(now, self fleet.Owner) error {
	if now == (fleet.Owner{}) {
		return fmt.Errorf("%w: no agent does, the status branch has no %s; it was %s with epoch %d", ErrDeposed, ownerPath, self.Agent, self.Epoch)
	}
	if now.Is(self) && now.Place == self.Place && now.Incarnation == self.Incarnation {
		return fmt.Errorf("%w: another process of this agent with the same number %d does", ErrDeposed, now.Incarnation)
	}
	if now.Is(self) && now.Place == self.Place {
		return fmt.Errorf("%w: process %d of this agent does; this one is process %d", ErrDeposed, now.Incarnation, self.Incarnation)
	}
	if now.Is(self) {
		return fmt.Errorf("%w: an agent of the same name does, in %q; this one is in %q", ErrDeposed, now.Place, self.Place)
	}
	return fmt.Errorf("%w: %s does, with epoch %d; this agent is %s with epoch %d", ErrDeposed, now.Agent, now.Epoch, self.Agent, self.Epoch)
}
