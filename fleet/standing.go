package fleet

import (
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A Standing is the progress of a cluster in a rollout. Digests are of a
// RolloutDigest.
type Standing struct {
	Cluster  Key
	Digest   string    // of its target
	Since    time.Time // since when; zero: since it is there, or before anything came in waves
	Arrived  string    // that it was last found to be of wholly; empty: it was never whole
	At       time.Time // when that was first found; zero: it was so from the beginning
	Waits    time.Time // since when something waits; zero: nothing does
	Release  WaveRelease
	Came     WaveOrigin // that brought what waits; zero: nothing waits, or more than one did, or none is recorded
	People   WavePeople
	Stage    string    // in which it took Digest; empty: not known
	Before   Revision  // that was followed when something began to wait; zero: nothing waits, or not known
	Troubled time.Time // since when something of it is lost; zero: nothing is, or not known
}

// A Departure is a cluster that left a stage before its change there was over: it was removed from
// Git, or is to be deleted or abandoned. Later changes wait for it as for one that stayed.
type Departure struct {
	Cluster Key
	Stage   string
	Since   time.Time // when it took what it left with
	At      time.Time // when it was whole with that; zero: it was not
	Trouble string    // why it counts as failed; empty: it does not
}

// WavePeople are the people who took part in what waits of a cluster, or may wait next.
type WavePeople struct {
	Of        string     // the RolloutDigest of what waits; empty: nothing waits, or none is recorded
	Authors   []string   // who wrote it, each as Person has it, sorted; empty: not known
	Approvals []Approver // not of enough people yet
	Later     []string   // who wrote revisions after it that cannot be used yet, as Authors; Of may then be what the cluster has
}

// A WaveOrigin is the step of Git that brought all that waits of a cluster: before it nothing waited,
// or what did was approved.
type WaveOrigin struct {
	Of       string   // the RolloutDigest of what waits
	From, To Revision // what was followed before, and from then on
}

// A RolloutStatus is what people learn of the rollouts of a fleet. The zero
// RolloutStatus is that of a fleet without.
type RolloutStatus struct {
	Stages    []StageStatus // in their order, those that have clusters
	Waiting   []Wait        // sorted by cluster
	Standings []Standing    // sorted by cluster
	Departed  []Departure   // sorted by cluster
}

// IsZero reports whether nothing comes in waves.
func (s *RolloutStatus) IsZero() bool {
	return len(s.Stages)+len(s.Waiting)+len(s.Standings)+len(s.Departed) == 0
}

// Wait returns what is said of cluster k, and whether something waits for its turn there.
func (s *RolloutStatus) Wait(k Key) (Wait, bool) {
	for _, w := range s.Waiting {
		if w.Cluster == k {
			return w, true
		}
	}
	return Wait{}, false
}

// A StageState says how far a stage is.
type StageState string

// The states of a stage.
const (
	StageDone     StageState = "Done"     // nothing waits or is being changed
	StageChanging StageState = "Changing" // clusters are being changed, or may be
	StageWaiting  StageState = "Waiting"  // for a stage before it, a window, or the end of a freeze
	StageSoaking  StageState = "Soaking"  // it is done, and what comes after it waits
	StageHalted   StageState = "Halted"   // too many of its clusters failed
	StageApproval StageState = "Approval" // a person has to approve
)

// A StageStatus is how a stage is.
type StageStatus struct {
	Name     string
	State    StageState
	Why      string    // for people; empty: it is done or gets on
	Until    time.Time // when that ends by itself; zero: with news
	Since    time.Time // since when the first of its clusters waits or is being changed; zero: none is
	Clusters int       // all of it that is not left alone
	Changing int
	Waiting  int
	Failed   []FailedCluster
	Digest   string // of all that waits in it, for an approval; empty: nothing does
	// Approvals is how many people have to approve, and Approved who did; zero: it is for anyone.
	Approvals int
	Approved  []string
}

// A FailedCluster is one that failed on the way to its target, or soon after.
type FailedCluster struct {
	Cluster Key
	Why     string
}

// A Wait is a cluster whose target is not its newest definition yet, and why.
type Wait struct {
	Cluster  Key
	Stage    string
	Revision Revision  // that brought what waits
	Digest   string    // of what waits
	Why      string    // for people, without clocks
	Until    time.Time // when it may be otherwise by itself; zero: with news
	Since    time.Time // when something began to wait
}

// String says why it waits, and until when.
func (w Wait) String() string {
	if w.Until.IsZero() {
		return w.Why
	}
	return w.Why + ", until " + w.Until.UTC().Format(time.RFC3339)
}

// WhileWaiting returns c with what does not wait of next, which does: that it is paused or
// suspended, requests, protection, the drift policy, health checks that are taken away, lower limits
// of machines that these replace at once, credentials, and larger numbers of machines. That a pool
// is to be smaller may be a part of what waits: fewer machines, but stronger ones.
func (c *Cluster) WhileWaiting(next *Cluster) *Cluster {
	out := *c
	out.Paused, out.Suspension, out.Drift = next.Paused, next.Suspension, next.Drift
	out.Protect, out.DeletionRefused = next.Protect, next.DeletionRefused
	out.Rotate, out.Recreate, out.ForgetPlaces = next.Rotate, next.Recreate, next.ForgetPlaces
	out.HealthChecks = slices.DeleteFunc(slices.Clone(c.HealthChecks), func(h clusterv1.MachineHealthCheck) bool {
		return !slices.ContainsFunc(next.HealthChecks, func(n clusterv1.MachineHealthCheck) bool { return n.Name == h.Name })
	})
	if n := &next.ControlPlane; n.Name == c.ControlPlane.Name && n.Kind == c.ControlPlane.Kind {
		out.ControlPlane = c.ControlPlane.whileWaiting(n)
	}
	out.Workers = slices.Clone(c.Workers)
	for i, p := range out.Workers {
		if n, ok := next.Pool(p.Name); ok && n.Role == p.Role && n.Kind == p.Kind {
			out.Workers[i] = p.whileWaiting(&n)
		}
	}
	out.KeptPools = slices.Clone(c.KeptPools)
	for i, p := range out.KeptPools {
		if n, ok := next.KeptPool(p.Name); ok && n.Infrastructure.GVK.Kind == p.Infrastructure.GVK.Kind {
			out.KeptPools[i] = p.whileWaiting(&n)
		}
	}
	out.useCredentials(next)
	return &out
}

// whileWaiting does for a pool what Cluster.WhileWaiting does.
func (p Pool) whileWaiting(next *Pool) Pool {
	p.Replicas = max(p.Replicas, next.Replicas)
	p.Paused, p.Replace, p.Remediate = next.Paused, next.Replace, next.Remediate
	if n := next.MaxRemediations; n >= 0 && (p.MaxRemediations < 0 || n < p.MaxRemediations) { // negative: no limit
		p.MaxRemediations = n
	}
	return p
}
