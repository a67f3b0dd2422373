package agent

import (
	"hash/fnv"
	"io"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A Pass is what came of one pass over a cluster.
type Pass struct {
	Cluster *fleet.Cluster // the definition held to
	Report  fleet.Report
	// Drift is how much of the shared infrastructure is not as Git says;
	// NotAfter says when certificates of the cluster expire. Both are of the last
	// time that it could be looked at.
	Drift    int
	NotAfter map[string]time.Time
	Actions  []fleet.Action
	Err      error
	Took     time.Duration
}

// clusterCollector shows the newest pass over each cluster with the names that
// dashboards for Cluster API use. A series is there as long as its object is in
// a report: nothing has to be deleted.
type clusterCollector struct {
	descs clusterDescs

	mu       sync.Mutex
	clusters map[fleet.Key]shown
}

// shown is what is shown of one cluster. It is a value: put makes a new one.
type shown struct {
	pass       Pass
	print      uint64    // of what progress changes
	progress   time.Time // when that changed
	phase      time.Time // since when it is in its phase
	success    time.Time // when a pass last succeeded; zero: not since the agent began
	conditions map[subject]transition
}

// A subject is one condition of a cluster or, where it is named, of a machine.
type subject struct {
	machine fleet.MachineName
	kind    string
}

// A transition is a status and since when it is so.
type transition struct {
	status fleet.ConditionStatus
	at     time.Time
}

func newClusterCollector() *clusterCollector {
	return &clusterCollector{descs: newClusterDescs(), clusters: make(map[fleet.Key]shown)}
}

// Recall takes the times at which things changed from the status branch, where
// they were so before this agent began. No series comes of it.
func (m *Metrics) Recall(clusters []status.Cluster) {
	m.clusters.mu.Lock()
	defer m.clusters.mu.Unlock()
	for _, c := range clusters {
		s := shown{
			pass: Pass{Report: c.Report}, print: print(c.Report), conditions: make(map[subject]transition),
		}
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
		s.phase = s.progress // the branch does not tell, and it was then at the latest
		m.clusters.clusters[c.Report.Cluster] = s
	}
}

// put takes a pass that ended at now, and returns what the one before found.
func (c *clusterCollector) put(p Pass, now time.Time) (before fleet.Report, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, known := c.clusters[p.Report.Cluster]
	s := shown{
		pass: p, print: print(p.Report), progress: now, phase: now, success: old.success,
		conditions: make(map[subject]transition),
	}
	if known && old.print == s.print && !old.progress.IsZero() {
		s.progress = old.progress
	}
	if known && old.pass.Report.Phase == p.Report.Phase && !old.phase.IsZero() {
		s.phase = old.phase
	}
	if p.Err == nil {
		s.success = now
	}
	if p.NotAfter == nil { // it could not be looked at
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
	note("", p.Report.Conditions)
	for _, m := range p.Report.Machines {
		note(m.Machine.Name, m.Conditions)
	}
	c.clusters[p.Report.Cluster] = s
	return old.pass.Report, known
}

// print returns a fingerprint of what changes while a cluster gets on: its
// phase, and its machines with what they are at.
func print(r fleet.Report) uint64 {
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

func (c *clusterCollector) forget(k fleet.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.clusters, k)
}

func (c *clusterCollector) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.clusters)
}

// Describe implements prometheus.Collector.
func (c *clusterCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs.all() {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *clusterCollector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	clusters := maps.Clone(c.clusters)
	c.mu.Unlock()
	for _, s := range clusters {
		if s.pass.Cluster != nil { // else nothing was seen of it yet
			c.descs.collect(ch, s)
		}
	}
}
