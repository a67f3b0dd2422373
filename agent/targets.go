package agent

import (
	"sync"
	"time"

	"fairlead.dev/agent/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// targets are the targets of clusters, with the store of newest reports: a cluster
// is forgotten in both at once, so that a pass that ends later does not bring its report
// back.
type targets struct {
	reports *reports.Store

	mu    sync.Mutex
	state rollout.State
}

// decided returns what was decided so far.
func (t *targets) decided() rollout.State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// set replaces what was decided by s.
func (t *targets) set(s rollout.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = s
}

// decide decides on in, after what was decided so far.
func (t *targets) decide(in rollout.Input) rollout.Decision {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decideLocked(in)
}

func (t *targets) decideLocked(in rollout.Input) rollout.Decision {
	in.Before, in.Now = t.state, time.Now()
	d := rollout.Decide(in)
	t.state = d.State
	for _, k := range d.Forgotten {
		t.reports.Forget(k)
	}
	return d
}

// passed takes in p and its report, and returns the newest report. It reports false
// where the cluster was forgotten meanwhile: then the report is of nothing.
func (t *targets) passed(p rollout.Pass, of *reports.Pass, atRest func(fleet.Report) bool) (fleet.Report, rollout.Decision, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.state.Has(p.Report.Cluster) {
		return p.Report, rollout.Decision{}, false
	}
	p.Report = t.reports.Put(p.Report, of)
	p.AtRest = atRest(p.Report)
	return p.Report, t.decideLocked(rollout.Input{Passes: []rollout.Pass{p}}), true
}

// decide decides on what is new, and does what follows from that: add queues the
// clusters that changed, and what is told of the fleet is told.
func (a *session) decide(in rollout.Input, add func(fleet.Key)) rollout.Decision {
	d := a.targets.decide(in)
	a.act(d, add)
	return d
}

// act does what follows from a decision.
func (a *session) act(d rollout.Decision, add func(fleet.Key)) {
	for _, k := range d.Changed {
		add(k)
	}
	for _, k := range d.Forgotten {
		a.reconciler.Forget(k)
		a.survey.Again()
	}
	if d.StatusChanged {
		a.putStatus()
	}
	if d.AnswersDue {
		a.Poll()
	}
}
