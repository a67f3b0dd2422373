package decisions

import (
	"sync"
	"time"

	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// A Queue takes clusters that a pass has something new to say about. See reconcile/queue.
type Queue interface {
	Add(k fleet.Key)
	// AddBulk is for clusters that wait behind those of Add.
	AddBulk(k fleet.Key)
}

// Decisions are what is decided of one fleet. They are safe for concurrent use.
type Decisions struct {
	queue   Queue
	reports *reports.Store

	mu        sync.Mutex
	state     rollout.State
	followers []func(rollout.Decision)
	neighbors *neighbors // as state and reports have them; nil: they are not made yet
}

// New returns the decisions of a fleet of which nothing is known yet.
func New(q Queue, r *reports.Store) *Decisions { return &Decisions{queue: q, reports: r} }

// Follow has f called with each decision from now on, after its clusters were queued. Calls
// come from the goroutines that decide, also several at a time; f may read decisions and have more made.
func (d *Decisions) Follow(f func(rollout.Decision)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.followers = append(d.followers, f)
}

// Now returns what was decided so far.
func (d *Decisions) Now() rollout.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// Report returns the newest report of cluster k, and whether a pass of this agent has seen
// the cluster.
func (d *Decisions) Report(k fleet.Key) (fleet.Report, bool) { return d.reports.Last(k) }

// NeighborPlaces returns the places of the other clusters of k's namespace: see [reports.Store.NeighborPlaces].
func (d *Decisions) NeighborPlaces(k fleet.Key) []fleet.Place { return d.reports.NeighborPlaces(k) }

// Restore replaces what was decided by what an agent before this one decided and reported.
// No function of Follow is called.
func (d *Decisions) Restore(s rollout.State, recorded []fleet.Report) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reports.Restore(recorded)
	d.state, d.neighbors = s, nil
}

// Decide decides on in, after what was decided so far. Clusters that changed are looked at
// at once.
func (d *Decisions) Decide(in rollout.Input) rollout.Decision { return d.make(in, d.queue.Add) }

// DecideBulk does what Decide does, for what may change many clusters: they wait behind
// those that are under way.
func (d *Decisions) DecideBulk(in rollout.Input) rollout.Decision {
	return d.make(in, d.queue.AddBulk)
}

// Passed takes in a pass, and what it saw, and returns the newest report of its cluster. It
// reports false where the cluster was forgotten meanwhile: then the report is of nothing.
// AtRest says of the newest report whether the pass found nothing to do.
func (d *Decisions) Passed(p rollout.Pass, saw *reports.Pass, atRest func(fleet.Report) bool) (fleet.Report, bool) {
	newest, made, known := d.takePass(p, saw, atRest)
	if known {
		d.hand(made, d.queue.Add)
	}
	return newest, known
}

func (d *Decisions) takePass(p rollout.Pass, saw *reports.Pass, atRest func(fleet.Report) bool) (fleet.Report, rollout.Decision, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.state.Has(p.Report.Cluster) {
		return p.Report, rollout.Decision{}, false
	}
	before, _ := d.reports.Last(p.Report.Cluster)
	p.Report = d.reports.Put(p.Report, saw)
	if before.Residence.Endpoint != p.Report.Residence.Endpoint {
		d.neighbors = nil
	}
	p.AtRest = atRest(p.Report)
	return p.Report, d.decideLocked(rollout.Input{Passes: []rollout.Pass{p}}), true
}

func (d *Decisions) make(in rollout.Input, add func(fleet.Key)) rollout.Decision {
	d.mu.Lock()
	made := d.decideLocked(in)
	d.mu.Unlock()
	d.hand(made, add)
	return made
}

func (d *Decisions) decideLocked(in rollout.Input) rollout.Decision {
	in.Before, in.Now = d.state, time.Now()
	made := rollout.Decide(in)
	d.state = made.State
	if in.Newest != nil || len(in.Older)+len(in.Repaired)+len(made.Changed)+len(made.Forgotten) > 0 {
		d.neighbors = nil
	}
	for _, k := range made.Forgotten {
		d.reports.Forget(k)
	}
	return made
}

// hand hands a decision to the queue and to those that follow.
func (d *Decisions) hand(made rollout.Decision, add func(fleet.Key)) {
	for _, k := range made.Changed {
		add(k)
	}
	d.mu.Lock()
	followers := d.followers
	d.mu.Unlock()
	for _, f := range followers {
		f(made)
	}
}
