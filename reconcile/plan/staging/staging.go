package staging

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
	"k8s.io/apimachinery/pkg/util/version"
)

// A Stage is how far a cluster is on the way to its version: the control plane is upgraded minor
// by minor, and not where kubelets would be too old for it. In a cluster of a class the
// workers follow it when it has arrived, or when it may not go further without them, one
// pool after the other; in any other one a pool has the version that Git asks for. Nothing
// of it is kept: the versions of the machines that are there say how far it is.
// Source: Cluster API, exp/topology/desiredstate.
type Stage struct {
	*fleet.Topology
	to      string // the version that Git asks for
	cluster *fleet.Cluster
	has     map[fleet.PoolName]span
	slots   int // pools that may still begin

	step    string   // version that the control plane is to have now
	next    []string // versions that come after it
	behind  string   // the pool that the control plane waits for
	unknown []string // pools of which the version of a machine is not known
	blocked string   // why there is no way, for people
	begun   bool     // a control-plane machine is not of step yet
	moving  []string // pools that are on their way to step
	waiting []string // pools that wait for the control plane or for their turn
	put     []string // pools whose upgrade people defer, and how
	creates []string // pools without machines, which wait for the control plane

	kept   map[fleet.PoolName]bool   // stays at its version, whatever else its template says
	frozen map[fleet.PoolName]string // why nothing is done to it: a machine of its version cannot be made
	turn   map[fleet.PoolName]string // why its machines are not replaced yet
}

// A span is the oldest and the newest version of the machines of a pool.
type span struct{ oldest, newest string }

func (s span) mixed() bool { return s.oldest != s.newest }

// A Machine is what a Stage needs of one: the name of its pool, which is that of the control
// plane for every machine of it, whatever it was called when the machine was made. What serves of
// a hosted control plane is one without a pool.
type Machine struct {
	Pool    fleet.PoolName
	Version string // of Kubernetes, that it was made for
}

// New returns the stage of c, whose machines are the control plane, with these machines;
// nil where it is not known, since the version of one of the control plane cannot be read.
func New(c *fleet.Cluster, machines []Machine) *Stage {
	d := *c
	d.Workers = slices.Clone(d.Workers)
	topology := d.Topology
	if topology == nil {
		topology = &fleet.Topology{}
	}
	s := &Stage{
		Topology: topology, to: d.ControlPlane.Version, cluster: &d, slots: topology.Concurrency, has: map[fleet.PoolName]span{},
		kept: map[fleet.PoolName]bool{}, frozen: map[fleet.PoolName]string{}, turn: map[fleet.PoolName]string{},
	}
	if topology.Version != "" {
		s.to = topology.Version
	}
	read := make(map[string]bool)
	for _, m := range machines {
		if d.Hosted != nil && m.Pool == "" {
			m.Version = s.listed(m.Version)
		}
		if !read[m.Version] {
			switch _, err := version.ParseSemantic(m.Version); {
			case err != nil && m.Pool == d.ControlPlane.Name:
				return nil
			case err != nil:
				s.unknown = append(s.unknown, string(m.Pool))
				continue
			}
			read[m.Version] = true
		}
		s.see(m.Pool, m.Version)
	}
	s.stageControlPlane()
	s.stageWorkers()
	return s
}

// listed returns the version that the class calls what serves of a hosted control plane, whose keeper decides about
// patches: that of the cluster if its minor is the same, or the keeper is ahead of it, or the newest one of the minor.
func (s *Stage) listed(serves string) string {
	switch _, err := version.ParseSemantic(serves); {
	case err != nil:
		return serves
	case minor(serves) >= minor(s.to):
		return s.to
	}
	for _, o := range slices.Backward(s.Older) {
		if minor(o.Version) == minor(serves) {
			return o.Version
		}
	}
	return serves
}

// Cluster returns the cluster with its pools in their desired state for now.
func (s *Stage) Cluster() *fleet.Cluster { return s.cluster }

func (s *Stage) see(pool fleet.PoolName, version string) {
	h, ok := s.has[pool]
	if !ok || s.older(version, h.oldest) {
		h.oldest = version
	}
	if !ok || s.older(h.newest, version) {
		h.newest = version
	}
	s.has[pool] = h
}

// stageControlPlane decides on the version of the control plane.
func (s *Stage) stageControlPlane() {
	cp := &s.cluster.ControlPlane
	h, ok := s.has[cp.Name]
	s.step = s.to
	if !ok || h.oldest == s.to || s.cluster.AllowsVersion() { // it is new, or there, or people know better
		s.begun = ok && (h.mixed() || h.oldest != s.to)
		return
	}
	steps, why := s.way(h.oldest)
	if why != "" {
		s.blocked, s.step = why, h.oldest
		s.stay(cp, h, why, false)
		return
	}
	s.step, s.next = h.oldest, steps
	if s.behind = s.tooOld(h.oldest, s.next[0]); s.behind == "" {
		s.step, s.next = s.next[0], s.next[1:]
	}
	s.begun = h.mixed() || s.step != h.oldest
	switch {
	case s.step == h.oldest:
		s.stay(cp, h, s.waits(), false)
	case s.step != s.to:
		s.become(cp, s.step)
	}
}

// way returns the versions through which a control plane goes from one version
// to that of the cluster: the newest of each minor in between.
func (s *Stage) way(from string) (steps []string, why string) {
	if refused := s.cluster.VersionStep(from); refused.Why != "" {
		return nil, refused.String()
	}
	last := minor(from)
	for _, o := range s.Older {
		switch m := minor(o.Version); {
		case m <= minor(from) || m >= minor(s.to):
		case len(steps) > 0 && m == last:
			steps[len(steps)-1] = o.Version
		default:
			steps, last = append(steps, o.Version), m
		}
	}
	steps = append(steps, s.to)
	last = minor(from)
	for _, v := range steps {
		if minor(v) > last+1 {
			return nil, fmt.Sprintf("no way leads from %s to %s: ClusterClass %s has no version of the minor after %[1]s in kubernetesVersions", from, s.to, s.Class)
		}
		last, from = minor(v), v
	}
	return steps, ""
}

// tooOld names the worker pool with the oldest machines if kubelets of them would be too old, or may
// be, for a control plane that goes to another version; empty if there is none.
func (s *Stage) tooOld(from, control string) string {
	if len(s.unknown) > 0 && minor(control) > minor(from) {
		return s.unknown[0]
	}
	oldest, name := "", fleet.PoolName("")
	for _, p := range s.cluster.Workers {
		h, ok := s.has[p.Name]
		if ok && (oldest == "" || s.older(h.oldest, oldest)) {
			oldest, name = h.oldest, p.Name
		}
	}
	for _, p := range s.cluster.KeptPools {
		h, ok := s.has[p.Name]
		if ok && (oldest == "" || s.older(h.oldest, oldest)) {
			oldest, name = h.oldest, p.Name
		}
	}
	if !fleet.KubeletTooOld(oldest, control) {
		return ""
	}
	return string(name)
}

// older reports whether version a is older than b. Versions that differ in their
// build alone are in the order of the class.
func (s *Stage) older(a, b string) bool {
	if a == b {
		return false
	}
	x, errA := version.ParseSemantic(a)
	y, errB := version.ParseSemantic(b)
	if errA != nil || errB != nil {
		return false
	}
	if x.LessThan(y) || y.LessThan(x) {
		return x.LessThan(y)
	}
	return s.place(a) < s.place(b)
}

// place is where a version is in the list of the class, that of the cluster last.
func (s *Stage) place(v string) int {
	if v == s.to {
		return len(s.Older)
	}
	return slices.IndexFunc(s.Older, func(o fleet.ClassVersion) bool { return o.Version == v })
}

// minor returns the minor version of Kubernetes; of what cannot be read 0.
func minor(v string) int {
	p, err := version.ParseSemantic(v)
	if err != nil {
		return 0
	}
	return int(p.Minor())
}

// Keeps reports whether machines of pool that have its version are up to date as
// long as it stays at that: a change beside the version waits for it, so that nothing is
// replaced twice. A nil Stage keeps none.
func (s *Stage) Keeps(pool fleet.PoolName) bool { return s != nil && s.kept[pool] }

// Held reports whether the control plane stays at a version that is not yet that of the
// cluster, until somebody or something else than its own machines changes.
func (s *Stage) Held() bool { return s != nil && (s.blocked != "" || s.behind != "") }

// Blocked says why no way leads to the version of the cluster; empty where one does.
func (s *Stage) Blocked() string {
	if s == nil {
		return ""
	}
	return s.blocked
}

// waits says what the control plane waits for.
func (s *Stage) waits() string {
	if slices.Contains(s.unknown, s.behind) {
		return fmt.Sprintf("control plane %s waits until the version of pool %s is known", s.cluster.ControlPlaneName(), s.behind)
	}
	return fmt.Sprintf("control plane %s waits until pool %s is upgraded", s.cluster.ControlPlaneName(), s.behind)
}

// Behind names the pool that the control plane waits for; empty where it waits for none.
func (s *Stage) Behind() string {
	if s == nil {
		return ""
	}
	return s.behind
}

// Waits says which pool a control plane that no class makes waits for; empty where it does not.
func (s *Stage) Waits() string {
	if s == nil || s.behind == "" || s.cluster.Topology != nil {
		return ""
	}
	return fmt.Sprintf("%s: a kubelet is at most %d minor versions older than an API server (%s: %s allows more)",
		s.waits(), fleet.MaxKubeletSkew, fleet.AllowVersionAnnotation, s.to)
}

// Frozen says why nothing is done to pool; empty where something may be.
func (s *Stage) Frozen(pool fleet.PoolName) string {
	if s == nil {
		return ""
	}
	return s.frozen[pool]
}

// Next returns the version that the control plane goes to now, and those that come after it; empty: it goes to none.
func (s *Stage) Next() []string {
	if s == nil || !s.begun || s.Held() {
		return nil
	}
	return append([]string{s.step}, s.next...)
}

// Holds says why no machine of pool is replaced yet; empty where one may be.
func (s *Stage) Holds(pool fleet.PoolName) string {
	if s == nil {
		return ""
	}
	return s.turn[pool]
}
