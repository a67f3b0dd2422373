package rollout

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"fairlead.dev/fleet"
)

// State is what was decided about a fleet. It is a value: Decide returns another one
// and leaves the one before unchanged. The zero State knows no cluster.
type State struct {
	id          fleet.ID       // of the newest revision; before the first, of the record
	revision    fleet.Revision // newest that was rendered; zero before the first
	applied     fleet.Revision // the same; before the first, what the agent before applied
	config      fleet.Config   // of the newest revision
	problems    []fleet.Problem
	folders     []fleet.Problem // of the newest revision that was rendered: those of a folder, not of a cluster
	refused     fleet.Revision  // newest that can never be used
	late        late
	clusters    clusterMap
	unavailable map[fleet.Key]fleet.Problem // clusters whose last good definition cannot be got yet
	tagged      map[string][]fleet.Key      // clusters with tags of the fleet, by provider
	unknown     []fleet.Key                 // those of them that Git never had, sorted
	accepted    map[fleet.Key][]fleet.Request
	lastPasses  map[fleet.Key]lastPass // over clusters that something is asked of
	sizes       map[fleet.Key][]fleet.Scale
	waves       waves
	rollout     fleet.RolloutStatus // of the record, until the first revision
	// unpruned says why clusters that vanished with applied stay: they are orphans then, which do not say since when.
	unpruned []fleet.Problem
	// orphansUnknown says that the record does not say which clusters were removed before.
	orphansUnknown bool
	alone          bool // no older revision is looked up
}

// A late revision is the newest one, which cannot be got yet, and why.
type late struct {
	revision fleet.Revision
	problem  fleet.Problem
}

// A cluster is what is known of one.
type cluster struct {
	definition *fleet.Cluster  // that passes work towards; nil: it is known by name alone
	recorded   *fleet.Report   // where there is no definition: says where the last good one may be found
	problems   []fleet.Problem // why the newest revision is not applied
	inGit      bool            // the newest revision has it, good or broken
	orphan     bool            // removed from Git and left alone
	pruned     bool            // removed from Git and to be deleted
	next       *fleet.Cluster  // newest definition, which waits for its turn; nil: nothing does
	nextDigest string          // of next
	wave       wave
	serves     string         // oldest version of Kubernetes that its control plane serves; empty: none yet, or it is not known
	refused    *fleet.Cluster // newest definition, whose version the control plane may not go to; nil: it may
	behind     bool           // no pass has found it at rest at its definition
	damaged    string         // why the status branch cannot tell what became of it
	gone       bool           // of damaged: Git did not have it before either, as far as folders could be rendered
}

// A Record is what the status branch says of a fleet.
type Record struct {
	Fleet   fleet.ID
	Applied fleet.Revision
	Reports []fleet.Report
	Orphans []fleet.Key
	Damaged map[fleet.Key]string // clusters whose file cannot be read, and why
	Rollout fleet.RolloutStatus
	// Problems are those of the revision Applied.
	Problems []fleet.Problem
}

// Recorded returns the state before the first revision: clusters are known by name
// alone.
func Recorded(r Record) State {
	s := State{id: r.Fleet, applied: r.Applied, rollout: r.Rollout}
	standings := make(map[fleet.Key]fleet.Standing, len(r.Rollout.Standings))
	for _, st := range r.Rollout.Standings {
		standings[st.Cluster] = st
	}
	waits := make(map[fleet.Key]string, len(r.Rollout.Waiting)) // digests
	for _, w := range r.Rollout.Waiting {
		waits[w.Cluster] = w.Digest
	}
	s.unpruned = unprunedOf(r.Problems)
	s.waves.departed = r.Rollout.Departed
	for i := range r.Reports {
		k := r.Reports[i].Cluster
		s.clusters.put(k, cluster{recorded: &r.Reports[i], orphan: slices.Contains(r.Orphans, k), wave: waveOf(&r.Reports[i], standings[k], waits[k]), serves: servedVersion(&r.Reports[i])})
	}
	for k, why := range r.Damaged {
		s.clusters.put(k, cluster{damaged: why, orphan: true, gone: slices.Contains(r.Orphans, k)})
	}
	return s
}

// WithoutOrphans returns s for a record that says neither which clusters were removed from Git
// before nor how far the others came. A cluster that the first revision does not have is left alone, and not deleted. The others
// are done with what they have once they are found at rest, and have soaked.
func (s State) WithoutOrphans() State {
	s.orphansUnknown = true
	s.clusters = s.clusters.mapped(func(_ fleet.Key, c cluster) cluster {
		if c.recorded != nil && !c.wave.fresh {
			c.wave.arrived = arrivalUnknown
		}
		return c
	})
	return s
}

// Alone returns s for those who look up no older revision: what waits comes by its own labels alone.
func (s State) Alone() State {
	s.alone = true
	return s
}

// overlay returns the folder that the cluster was last rendered from.
func (c cluster) overlay() string {
	switch {
	case c.definition != nil:
		return c.definition.Overlay
	case c.recorded != nil:
		return c.recorded.Overlay
	}
	return ""
}

// deleting reports whether deletion was asked for, or had begun when the record was
// written.
func (c cluster) deleting() bool {
	if c.definition != nil {
		return c.definition.Delete
	}
	return c.recorded != nil && (c.recorded.Phase == fleet.PhaseDeleting || c.recorded.Phase == fleet.PhaseDeleted)
}

// abandoned reports whether the cluster is to be forgotten, once Git does not have it
// any more.
func (c cluster) abandoned() bool {
	if c.definition != nil {
		return c.definition.Abandon
	}
	return c.recorded != nil && c.recorded.Phase == fleet.PhaseAbandoned
}

// keysOf returns the clusters of some that which is true of, in their order.
func keysOf(some iter.Seq2[fleet.Key, *cluster], which func(*cluster) bool) []fleet.Key {
	var out []fleet.Key
	for k, c := range some {
		if which(c) {
			out = append(out, k)
		}
	}
	return out
}

// ID returns the id of the fleet; empty: nothing says it yet.
func (s State) ID() fleet.ID { return s.id }

// Revision returns the newest revision that was rendered; zero before the first.
func (s State) Revision() fleet.Revision { return s.revision }

// Applied returns the newest revision that clusters work towards; before the first, what the agent
// before applied.
func (s State) Applied() fleet.Revision { return s.applied }

// Refused returns the newest revision where that can never be used; zero otherwise.
func (s State) Refused() fleet.Revision { return s.refused }

// Unavailable returns the newest revision and its problem where it cannot be got yet; zero
// otherwise.
func (s State) Unavailable() (fleet.Revision, fleet.Problem) { return s.late.revision, s.late.problem }

// Newest returns the newest revision that was seen: good, refused, or late.
func (s State) Newest() fleet.Revision {
	switch {
	case !s.late.revision.IsZero():
		return s.late.revision
	case !s.refused.IsZero():
		return s.refused
	}
	return s.revision
}

// Config returns what fleet.yaml of the applied revision says.
func (s State) Config() fleet.Config { return s.config }

// Problems returns what is wrong with the newest revision.
func (s State) Problems() []fleet.Problem { return s.problems }

// Has reports whether cluster k is known.
func (s State) Has(k fleet.Key) bool {
	_, known := s.clusters.get(k)
	return known
}

// Keys returns all clusters that are known, sorted.
func (s State) Keys() []fleet.Key {
	return keysOf(s.clusters.seen(), func(*cluster) bool { return true })
}

// Definitions returns what passes over cluster k work towards, and what waits for its turn: those of
// both that there are.
func (s State) Definitions(k fleet.Key) []*fleet.Cluster {
	c := s.clusters.of(k)
	return slices.DeleteFunc([]*fleet.Cluster{c.definition, c.next}, func(d *fleet.Cluster) bool { return d == nil })
}

// Damaged returns the clusters whose record cannot be read, sorted.
func (s State) Damaged() []fleet.Key {
	return keysOf(s.clusters.seenNotable(), func(c *cluster) bool { return c.damaged != "" })
}

// Providers returns the names of the infrastructure providers in use, sorted.
func (s State) Providers() []string { return slices.Sorted(maps.Keys(s.clusters.providers)) }

// StoredSecrets returns the Secrets in the store that clusters refer to, sorted.
func (s State) StoredSecrets() []fleet.Key {
	var keys []fleet.Key
	for _, c := range s.clusters.all() {
		for _, d := range []*fleet.Cluster{c.definition, c.next, c.refused} { // WhileWaiting uses credentials of newer ones
			if d != nil {
				keys = append(keys, d.StoredSecrets()...)
			}
		}
	}
	return sorted(keys)
}

// A Target is what passes over one cluster work towards.
type Target struct {
	// Cluster is the definition with the accepted requests, the numbers of machines and
	// the drift policy; nil: no definition can be used.
	Cluster    *fleet.Cluster
	Definition *fleet.Cluster  // as its revision has it
	Requests   []fleet.Request // that were accepted
	Next       *fleet.Cluster  // newest definition, which waits for its turn, as Cluster has the present one; nil: nothing waits
	Wait       fleet.Wait      // of Next
	Stage      string          // that the cluster belongs to; empty: nothing comes in waves
	Changing   bool            // it is on its way to Cluster
	Back       bool            // and that is what it was found whole at before
	Problems   []fleet.Problem // why the newest revision is not applied
	InGit      bool            // the newest revision has it, good or broken
	Pruned     bool            // removed from Git and to be deleted
	// Why says, for people, why nothing is done to the cluster; empty: it is worked on.
	Why string

	of    cluster
	drift fleet.DriftPolicy
}

// Why nothing is done to a cluster.
const (
	whyRemoved      = "the cluster was removed from Git and is left alone"
	whyNoDefinition = "no definition of the cluster can be used"
)

// Target returns the target of cluster k, and whether the cluster is known.
func (s State) Target(k fleet.Key) (Target, bool) {
	c, known := s.clusters.get(k)
	t := Target{
		Definition: c.definition, Requests: s.accepted[k], Problems: c.problems, InGit: c.inGit, Pruned: c.pruned,
		of: c, drift: s.config.Drift,
	}
	switch {
	case c.damaged != "":
		t.Why = c.damaged
	case c.orphan:
		t.Why = whyRemoved
	case c.definition == nil:
		t.Why = whyNoDefinition
	}
	if c.definition != nil {
		held := c.definition
		if newest := cmp.Or(c.refused, c.next); newest != nil {
			held = held.WhileWaiting(newest)
		}
		t.Cluster = held.WithRequests(t.Requests).WithScales(s.sizes[k]).WithDrift(s.config.Drift)
	}
	t.Stage, t.Changing = c.wave.verdict.stage, c.next == nil && c.wave.verdict.stage != "" && c.wave.moving()
	t.Back = t.Changing && c.wave.arrived == c.wave.digest
	if c.next != nil {
		t.Next = c.next.WithRequests(t.Requests).WithScales(s.sizes[k]).WithDrift(s.config.Drift)
		t.Wait, _ = c.wait(k)
	}
	return t, known
}
