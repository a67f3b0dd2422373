package preview_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// A thing is a cluster as it is.
type thing struct {
	seen   fleet.Observed
	memory fleet.Memory
	phase  fleet.Phase
	held   *fleet.Cluster // by the last pass
}

// A future is a fleet on the in-memory model, with an agent.
type future struct {
	state  rollout.State
	now    time.Time
	there  map[fleet.Key]thing
	fleets map[fleet.Revision]*fleet.Fleet
	made   int
}

func (f *future) branch() *future {
	out := *f
	out.there = maps.Clone(f.there)
	return &out
}

func (f *future) decide(in rollout.Input) {
	in.Before, in.Now = f.state, f.now
	in.Reports = make(map[fleet.Key]fleet.Report)
	for k := range f.there {
		in.Reports[k] = f.report(k)
	}
	f.state = rollout.Decide(in).State
	for len(f.state.MissingDefinitions()) > 0 {
		older := rollout.Input{Before: f.state, Now: f.now}
		for rev := range f.state.MissingDefinitions() {
			older.Older = append(older.Older, rollout.Revision{Revision: rev, Fleet: f.fleets[rev]})
		}
		f.state = rollout.Decide(older).State
	}
}

func (f *future) push(of fleet.Fleet) {
	f.fleets[of.Revision] = &of
	f.decide(rollout.Input{Newest: &rollout.Revision{Revision: of.Revision, Fleet: &of}})
}

// see returns what is seen of cluster c.
func (f *future) see(c *fleet.Cluster) fleet.Observed {
	o := f.there[c.Key].seen
	o.At = f.now
	o.Distribution = providers.Facts(kubeadm.New(nil), c, &o)
	return o
}

func (f *future) report(k fleet.Key) fleet.Report {
	is := f.there[k]
	r := fleet.Report{Cluster: k, Phase: is.phase, Memory: is.memory}
	if is.held != nil {
		r.Overlay, r.Revision, r.Digest = is.held.Overlay, is.held.Revision, is.held.Digest
	}
	if len(is.seen.Infrastructure.Machines) > 0 {
		r.Residence.ControlPlane = fleet.InitializedOnce
	}
	for _, p := range is.seen.Infrastructure.Pools {
		r.Pools = append(r.Pools, fleet.PoolReport{Name: p.Name, Kind: fleet.MachinePoolKind, Phase: fleet.KeptPhaseRunning, Current: p.Count, Version: p.Version})
	}
	for _, m := range is.seen.Infrastructure.Machines {
		r.Machines = append(r.Machines, fleet.MachineReport{Machine: m})
	}
	return r
}

// pass has each cluster worked on until it is at rest.
func (f *future) pass() {
	for _, k := range f.state.Keys() {
		t, _ := f.state.Target(k)
		if t.Cluster == nil || t.Why != "" {
			continue
		}
		is := f.there[k]
		done := forecast.Of(plan.Input{Desired: t.Cluster, Memory: is.memory, Observed: f.see(t.Cluster), Now: f.now})
		is.seen, is.memory, is.held, is.phase = done.Observed, done.Memory, t.Definition, fleet.PhaseProvisioned
		f.rename(&is.seen)
		switch {
		case t.Cluster.Abandon:
			is.phase = fleet.PhaseAbandoned
		case t.Cluster.Delete && len(is.seen.Infrastructure.Machines) == 0:
			is.phase = fleet.PhaseDeleted
		}
		f.there[k] = is
		f.decide(rollout.Input{Passes: []rollout.Pass{{Target: t, Report: f.report(k), AtRest: true}}})
		if is.phase != fleet.PhaseProvisioned && !t.InGit {
			delete(f.there, k)
			f.decide(rollout.Input{Gone: []fleet.Key{k}})
		}
	}
}

// rename gives new machines ids that no forecast gives.
func (f *future) rename(o *fleet.Observed) {
	machines := slices.Clone(o.Infrastructure.Machines)
	for i := range machines {
		old := machines[i].ProviderID
		if !strings.HasPrefix(string(old), "forecast://") {
			continue
		}
		f.made++
		machines[i].ProviderID = fleet.ProviderID(fmt.Sprint("sim://", f.made))
		nodes := slices.Clone(o.Workload.Nodes)
		for j := range nodes {
			if nodes[j].ProviderID == old {
				nodes[j].ProviderID = machines[i].ProviderID
			}
		}
		o.Workload.Nodes = nodes
	}
	o.Infrastructure.Machines = machines
}

// rest runs the fleet until nothing happens, or a year is over.
func (f *future) rest() {
	end := f.now.AddDate(1, 0, 0)
	for range 100 {
		f.pass()
		wake := f.state.WakeAt(f.now)
		if wake.IsZero() || wake.After(end) {
			return
		}
		f.now = wake
		f.decide(rollout.Input{})
	}
}

// recorded is what the status branch says.
func (f *future) recorded(requests []fleet.Request) status.Status {
	told := f.state.Status()
	var s status.Status
	s.Fleet.Fleet, s.Fleet.Revision, s.Fleet.Applied, s.Fleet.Orphans, s.Fleet.Rollout = told.Fleet, told.Revision, told.Applied, told.Orphans, told.Rollout
	for _, k := range slices.SortedFunc(maps.Keys(f.there), fleet.Key.Compare) {
		s.Clusters = append(s.Clusters, status.Cluster{Report: f.report(k)})
	}
	s.Requests = requests
	return s
}

// held says what a cluster is held to, and whether something waits.
func (f *future) held(k fleet.Key) string {
	t, known := f.state.Target(k)
	switch is := f.there[k]; {
	case !known, is.phase == fleet.PhaseDeleted && (t.Cluster == nil || t.Cluster.Delete), is.phase == fleet.PhaseAbandoned && (t.Cluster == nil || t.Cluster.Abandon):
		return "nothing to look after"
	}
	own := fleet.DriftPolicy("")
	if t.Definition != nil {
		own = t.Definition.Drift
	}
	return fmt.Sprintln(written(t.Cluster), t.Why, t.Pruned, own)
}

// written is a definition without what says where it comes from.
func written(c *fleet.Cluster) string {
	if c == nil {
		return "none"
	}
	out := *c
	out.Revision, out.Digest, out.DeletionRefused = fleet.Revision{}, "", false
	out.Drift = "" // the fleet's is told with fleet.yaml
	b, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (f *future) waits(k fleet.Key) bool {
	t, _ := f.state.Target(k)
	return t.Next != nil
}

// wanted is what a cluster is held to once nothing waits any more.
func (f *future) wanted(k fleet.Key) string {
	if t, _ := f.state.Target(k); t.Next != nil {
		return written(t.Next)
	}
	t, _ := f.state.Target(k)
	return written(t.Cluster) + t.Why
}

// is says what is there of a cluster.
func (f *future) is(k fleet.Key) string {
	if held := f.held(k); held == "nothing to look after" {
		return held
	}
	var lines []string
	for _, m := range f.there[k].seen.Infrastructure.Machines {
		lines = append(lines, fmt.Sprint(m.Pool, m.Template, m.Version))
	}
	for _, n := range f.there[k].seen.Workload.Nodes {
		lines = append(lines, fmt.Sprint(n.Taints))
	}
	for _, p := range f.there[k].seen.Infrastructure.Pools {
		lines = append(lines, fmt.Sprint(p.Name, p.State, p.Count, p.Version))
	}
	slices.Sort(lines)
	next := ""
	if t, _ := f.state.Target(k); t.Next != nil {
		next = "\n waits: " + written(t.Next)
	}
	return f.held(k) + strings.Join(lines, "\n") + next
}

// looker looks at a future.
type looker struct{ f *future }

func (l looker) Look(_ context.Context, c *fleet.Cluster) (fleet.Observed, error) {
	return l.f.see(c), nil
}
