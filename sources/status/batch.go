package status

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// maxActions bounds the actions of a cluster that are kept between two commits.
const maxActions = 100

// A batch is what waits to be written.
type batch struct {
	reports map[fleet.Key]fleet.Report // the newest, with the actions of all
	forgets map[fleet.Key]bool
	fleet   *sources.FleetStatus
	since   time.Time // time of the oldest report
	urgent  bool
}

func newBatch() batch {
	return batch{reports: map[fleet.Key]fleet.Report{}, forgets: map[fleet.Key]bool{}}
}

func (b *batch) isEmpty() bool {
	return len(b.reports) == 0 && len(b.forgets) == 0 && b.fleet == nil
}

func (b *batch) put(r fleet.Report) {
	delete(b.forgets, r.Cluster)
	r.Actions = joinActions(b.reports[r.Cluster].Actions, r.Actions)
	b.reports[r.Cluster] = r
}

func (b *batch) forget(k fleet.Key) {
	delete(b.reports, k)
	b.forgets[k] = true
}

// giveBack adds what could not be written, where nothing newer came since.
func (b *batch) giveBack(old batch) {
	for k, r := range old.reports {
		if b.forgets[k] {
			continue
		}
		if newer, ok := b.reports[k]; ok {
			newer.Actions = joinActions(r.Actions, newer.Actions)
			r = newer
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
		return fmt.Errorf("%w: nobody does, the status branch has no %s; it was %s with epoch %d", ErrDeposed, ownerPath, self.Agent, self.Epoch)
	}
	if now.Is(self) {
		return fmt.Errorf("%w: an agent of the same name does, in %q; this one is in %q", ErrDeposed, now.Place, self.Place)
	}
	return fmt.Errorf("%w: %s does, with epoch %d; this agent is %s with epoch %d", ErrDeposed, now.Agent, now.Epoch, self.Agent, self.Epoch)
}
