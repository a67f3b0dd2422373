// Package reports keeps the newest report of each cluster: what the status branch
// told when the agent began, then what each pass found. It is the one place that
// has them and forgets them; the status branch, metrics, answers to requests and
// numbers of machines follow it or read it.
//
//	store := reports.New()
//	store.Follow(func(c reports.Change) { … })
//	newest := store.Put(report, pass)
package reports

import (
	"maps"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// A Change is a report that is new, or a cluster that is forgotten.
type Change struct {
	Cluster fleet.Key
	Report  fleet.Report // zero where the cluster is forgotten
	Pass    *Pass        // that the report is of; nil: of no pass
	Gone    bool
}

// A Pass is what a pass knows of a cluster beside its report.
type Pass struct {
	Definition *fleet.Cluster // that the pass worked towards
	// Drift is how many things of the shared infrastructure are not as Git says;
	// NotAfter says when certificates of the cluster expire. Both are of the last time
	// that the cluster could be looked at; a nil NotAfter says that it could not.
	Drift    int
	NotAfter map[string]time.Time
	Err      error
}

// A Store keeps reports. It is safe for concurrent use.
type Store struct {
	mu        sync.Mutex
	last      map[fleet.Key]entry
	extras    map[string]map[fleet.Key]fleet.Report // the reports that tell of places beside their first ones, by namespace; few do
	followers []func(Change)
}

// An entry is the newest report of a cluster.
type entry struct {
	report fleet.Report
	passed bool // a pass of this agent has seen the cluster
}

// New returns a store that knows of no cluster.
func New() *Store {
	return &Store{last: make(map[fleet.Key]entry), extras: make(map[string]map[fleet.Key]fleet.Report)}
}

// Follow has f called with each change from now on, one after the other in the
// order in which they happen. f must not wait, nor use the store.
func (s *Store) Follow(f func(Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers = append(s.followers, f)
}

// Restore takes in what was reported before this agent began. No function is called.
func (s *Store) Restore(list []fleet.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range list {
		s.keep(entry{report: r})
	}
}

// Last returns the newest report of k, zero where there is none, and whether a
// pass of this agent has seen the cluster.
func (s *Store) Last(k fleet.Key) (r fleet.Report, passed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.last[k]
	return e.report, e.passed
}

// NeighborPlaces returns the places beside their first ones in which the other clusters of k's namespace were
// last seen, sorted.
func (s *Store) NeighborPlaces(k fleet.Key) []fleet.Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fleet.NeighborPlacesOf(k, slices.Collect(maps.Values(s.extras[k.Namespace])))
}

// Put takes in the report of a pass and returns the newest one; pass is nil where no pass
// was made, and is not changed any more. Where the pass could not see the cluster, which a report without a phase says, what was seen last
// stays, with what the pass says of the definition and of its failure.
func (s *Store) Put(r fleet.Report, pass *Pass) fleet.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.last[r.Cluster]
	next := entry{report: r, passed: true}
	if r.Phase == "" {
		next.passed = old.passed
		if known {
			next.report = old.report
			next.report.Revision, next.report.Overlay, next.report.Digest = r.Revision, r.Overlay, r.Digest
			next.report.Failure, next.report.Problems, next.report.Actions = r.Failure, r.Problems, r.Actions
		}
	}
	s.keep(next)
	s.notify(Change{Cluster: r.Cluster, Report: next.report, Pass: pass})
	return next.report
}

// keep makes e the newest of its cluster.
func (s *Store) keep(e entry) {
	k := e.report.Cluster
	s.last[k] = e
	if len(e.report.Residence.Extras()) == 0 {
		delete(s.extras[k.Namespace], k)
		return
	}
	if s.extras[k.Namespace] == nil {
		s.extras[k.Namespace] = make(map[fleet.Key]fleet.Report)
	}
	s.extras[k.Namespace][k] = e.report
}

// Forget drops what is known of k: a cluster of that name that comes later is
// another one.
func (s *Store) Forget(k fleet.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, k)
	delete(s.extras[k.Namespace], k)
	s.notify(Change{Cluster: k, Gone: true})
}

func (s *Store) notify(c Change) {
	for _, f := range s.followers {
		f(c)
	}
}
