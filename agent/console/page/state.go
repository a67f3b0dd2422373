package page

import (
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// News is what a feed knows at one time.
type News struct {
	Status   status.Status
	Head     fleet.Revision  // of the status branch
	History  []sources.Entry // of the status branch, the newest first
	Requests []fleet.Request
	Plans    []status.Plan // of pull requests
	Facts    []Fact        // about the process, for the view of the agent
	Trouble  string        // why the feed cannot read what is newest; empty: it can
}

// A Fact is one thing to know about the agent.
type Fact struct {
	Name  string    `json:"name"`
	Value string    `json:"value,omitempty"`
	At    time.Time `json:"at,omitzero"` // of what is a time
}

// A state is what the pages show at one time. It does not change.
type state struct {
	News

	seq      int
	listed   int // the state in which a cluster last came or went
	clusters []*cluster
	byKey    map[fleet.Key]*cluster
	labels   []string // keys, sorted
}

// A cluster is one of a state. States share those that did not change.
type cluster struct {
	status.Cluster
	fleetFlags

	row     Row
	changed int // the state in which it last changed

	once      sync.Once
	cell, tab []byte // rendered
}

// fleetFlags is what the status of the fleet says about a cluster.
type fleetFlags struct {
	damage string // why the file cannot be read
	orphan bool
	behind bool
	waits  string // for its turn, in words; empty: it does not
}

// next returns the state of n after s.
func (s *state) next(n News) *state {
	n.Status = statusview.WithRefused(n.Status)
	out := &state{
		News: n, seq: s.seq + 1, listed: s.listed,
		byKey: make(map[fleet.Key]*cluster, len(n.Status.Clusters)), clusters: make([]*cluster, 0, len(n.Status.Clusters)),
	}
	orphans, behind := setOf(n.Status.Fleet.Orphans), setOf(n.Status.Fleet.Behind)
	waits := make(map[fleet.Key]string, len(n.Status.Fleet.Rollout.Waiting))
	for _, w := range n.Status.Fleet.Rollout.Waiting {
		waits[w.Cluster] = statusview.WaitText(w)
	}
	for i := range n.Status.Clusters {
		c := &n.Status.Clusters[i]
		k := c.Report.Cluster
		out.add(s.byKey[k], c, fleetFlags{orphan: orphans[k], behind: behind[k], waits: waits[k]})
	}
	for _, d := range n.Status.Damaged {
		if _, twice := out.byKey[d.Cluster]; !twice {
			c := &status.Cluster{Report: fleet.Report{Cluster: d.Cluster}}
			out.add(s.byKey[d.Cluster], c, fleetFlags{damage: d.Err.Error()})
		}
	}
	if len(out.clusters) != len(s.clusters) {
		out.listed = out.seq
	}
	slices.SortFunc(out.clusters, func(a, b *cluster) int { return a.Report.Cluster.Compare(b.Report.Cluster) })
	out.labels = labelsOf(out.clusters)
	return out
}

// add adds c, which was old before; nil: it was not there.
func (s *state) add(old *cluster, c *status.Cluster, t fleetFlags) {
	if old == nil {
		s.listed = s.seq
	}
	if old == nil || !old.same(c, t) {
		old = &cluster{Cluster: *c, fleetFlags: t, changed: s.seq}
		old.row = rowOf(old)
	}
	s.byKey[c.Report.Cluster] = old
	s.clusters = append(s.clusters, old)
}

func setOf(list []fleet.Key) map[fleet.Key]bool {
	out := make(map[fleet.Key]bool, len(list))
	for _, k := range list {
		out[k] = true
	}
	return out
}

// same reports whether c shows o already.
func (c *cluster) same(o *status.Cluster, t fleetFlags) bool {
	return c.fleetFlags == t && (c.shares(o) || reflect.DeepEqual(&c.Cluster, o))
}

// shares reports whether c and o are one that was decoded once, as feeds give again what did
// not change: to compare ten thousand clusters in full takes long.
func (c *cluster) shares(o *status.Cluster) bool {
	a, b := &c.Report, &o.Report
	return a.Revision == b.Revision && a.Phase == b.Phase && a.Version == b.Version && a.Failure == b.Failure && a.Overlay == b.Overlay && a.Provider == b.Provider &&
		len(a.Machines) > 0 && one(a.Machines, b.Machines) && one(a.Pools, b.Pools) && one(a.Waiting, b.Waiting) && one(a.Problems, b.Problems) && one(a.Addons, b.Addons) && maps.EqualFunc(a.Certificates, b.Certificates, time.Time.Equal) && maps.Equal(a.Labels, b.Labels) &&
		one(c.Cluster.Cluster.Status.Conditions, o.Cluster.Status.Conditions) && one(c.Machines, o.Machines)
}

// one reports whether a and b are the same memory.
func one[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// idOf returns what elements of cluster k are called in a page.
func idOf(k fleet.Key) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.String()))
	return strconv.FormatUint(h.Sum64(), 36)
}

// A store has the newest state, and tells when there is a newer one.
type store struct {
	mu    sync.Mutex
	state *state
	news  chan struct{} // closed when there is a newer state
}

func newStore() *store {
	return &store{state: &state{byKey: map[fleet.Key]*cluster{}}, news: make(chan struct{})}
}

// set makes n the newest.
func (s *store) set(n News) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = s.state.next(n)
	close(s.news)
	s.news = make(chan struct{})
}

// now returns the newest state, and what is closed once there is a newer one.
func (s *store) now() (*state, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.news
}
