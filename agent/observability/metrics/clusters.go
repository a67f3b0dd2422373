package metrics

import (
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// clusterStates are the newest passes over clusters. A series is there as long as its object is in
// the newest report.
type clusterStates struct {
	mu       sync.Mutex
	clusters map[fleet.Key]*clusterState
}

// clusterState is what is shown of one cluster. It never changes: put makes a new one.
type clusterState struct {
	report      fleet.Report
	pass        reports.Pass // zero: no pass has seen the cluster yet
	fingerprint uint64       // of what changes while a cluster gets on
	progress    time.Time    // when fingerprint changed
	phase       time.Time    // since when the cluster is in its phase
	success     time.Time    // when a pass last succeeded; zero: not since the agent began
	conditions  map[subject]transition
}

// A subject is one condition of a machine or, without a name, of the cluster.
type subject struct {
	machine fleet.MachineName
	kind    string
}

// A transition is a status, and since when a condition has it.
type transition struct {
	status fleet.ConditionStatus
	at     time.Time
}

func newClusterStates() *clusterStates {
	return &clusterStates{clusters: make(map[fleet.Key]*clusterState)}
}

// Restore takes from the status branch when phases and conditions changed before this
// agent began. It shows nothing of those clusters.
func (m *Metrics) Restore(clusters []status.Cluster) {
	m.clusters.mu.Lock()
	defer m.clusters.mu.Unlock()
	for _, c := range clusters {
		s := &clusterState{report: c.Report, fingerprint: fingerprint(c.Report), conditions: make(map[subject]transition)}
		note := func(machine fleet.MachineName, list []metav1.Condition) {
			for _, cond := range list {
				at := cond.LastTransitionTime.Time
				s.conditions[subject{machine, cond.Type}] = transition{fleet.ConditionStatus(cond.Status), at}
				if at.After(s.progress) {
					s.progress = at
				}
			}
		}
		note("", c.Cluster.Status.Conditions)
		for _, machine := range c.Machines {
			note(fleet.MachineName(machine.Name), machine.Status.Conditions)
		}
		s.phase = s.progress // the latest time that it can have begun: the branch does not say
		m.clusters.clusters[c.Report.Cluster] = s
	}
}

// put shows the report of a pass that ended at now, and returns the report before it.
func (c *clusterStates) put(r fleet.Report, p reports.Pass, now time.Time) (before fleet.Report, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, known := c.clusters[r.Cluster]
	if !known {
		old = &clusterState{}
	}
	s := &clusterState{
		report: r, pass: p, fingerprint: fingerprint(r), progress: now, phase: now, success: old.success,
		conditions: make(map[subject]transition),
	}
	if known && old.fingerprint == s.fingerprint && !old.progress.IsZero() {
		s.progress = old.progress
	}
	if known && old.report.Phase == r.Phase && !old.phase.IsZero() {
		s.phase = old.phase
	}
	if p.Err == nil {
		s.success = now
	}
	if p.NotAfter == nil { // the cluster could not be looked at
		s.pass.Drift, s.pass.NotAfter = old.pass.Drift, old.pass.NotAfter
	}
	note := func(machine fleet.MachineName, list []fleet.Condition) {
		for _, cond := range list {
			k := subject{machine, cond.Type}
			t, ok := old.conditions[k]
			if !ok || t.status != cond.Status {
				t = transition{cond.Status, now}
			}
			s.conditions[k] = t
		}
	}
	note("", r.Conditions)
	for _, m := range r.Machines {
		note(m.Machine.Name, m.Conditions)
	}
	c.clusters[r.Cluster] = s
	return old.report, known
}

// fingerprint is a hash of what changes while a cluster gets on: its phase, and its
// machines with their phases.
func fingerprint(r fleet.Report) uint64 {
	h := fnv.New64a()
	write := func(texts ...string) {
		for _, t := range texts {
			_, _ = io.WriteString(h, t+"\x00") // a hash takes all
		}
	}
	write(string(r.Phase))
	for _, p := range r.Pools {
		write(string(p.Name), strconv.Itoa(p.Current), strconv.Itoa(p.UpToDate), strconv.Itoa(p.Ready))
	}
	for _, m := range r.Machines {
		write(string(m.Machine.Name), string(m.Machine.ProviderID), string(m.Phase), m.Node)
	}
	return h.Sum64()
}

func (c *clusterStates) forget(k fleet.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.clusters, k)
}

func (c *clusterStates) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.clusters)
}

// all returns the clusters that a pass has seen, by name.
func (c *clusterStates) all() []*clusterState {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*clusterState, 0, len(c.clusters))
	for _, s := range c.clusters {
		if s.pass.Definition != nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *clusterState) int { return a.report.Cluster.Compare(b.report.Cluster) })
	return out
}
