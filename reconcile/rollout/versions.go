package rollout

import (
	"slices"

	"fairlead.dev/fleet"
)

// refuseVersions returns f without the definitions that take a control plane to a version of
// Kubernetes that it may not go to, with a problem for each, and those definitions. The
// cluster stays at its last good definition, as where Cluster API's webhook refuses an update.
func (s State) refuseVersions(f fleet.Fleet) (fleet.Fleet, map[fleet.Key]*fleet.Cluster) {
	refused := make(map[fleet.Key]*fleet.Cluster)
	var problems []fleet.Problem
	for i := range f.Clusters {
		c := &f.Clusters[i]
		if step := s.clusters.of(c.Key).refuses(c); step.Why != "" {
			refused[c.Key] = c
			problems = append(problems, versionProblem(c, step))
		}
	}
	if len(refused) > 0 {
		f.Problems = slices.Concat(f.Problems, problems)
		f.Clusters = slices.DeleteFunc(slices.Clone(f.Clusters), func(c fleet.Cluster) bool { return refused[c.Key] != nil })
	}
	return f, refused
}

// VersionProblems returns a problem for each cluster of after whose control plane may not go
// to its version from the one that it has in before: what Git alone can tell.
func VersionProblems(before, after fleet.Fleet) []fleet.Problem {
	was := make(map[fleet.Key]string, len(before.Clusters))
	for i := range before.Clusters {
		was[before.Clusters[i].Key] = before.Clusters[i].Version()
	}
	var out []fleet.Problem
	for i := range after.Clusters {
		c := &after.Clusters[i]
		if step := c.VersionStep(was[c.Key]); step.Why != "" && !c.Delete && !c.Abandon {
			out = append(out, versionProblem(c, step))
		}
	}
	return out
}

// versionProblem is the problem of c, whose step to its version is refused.
func versionProblem(c *fleet.Cluster, step fleet.VersionStep) fleet.Problem {
	p := fleet.Problem{
		Overlay: c.Overlay, Cluster: c.Key, Object: c.ControlPlaneKind() + " " + fleet.Key{Namespace: c.Key.Namespace, Name: c.ControlPlaneName()}.String(),
		Field: "spec.version", Message: step.Why, Hint: step.Hint,
	}
	if c.Topology != nil {
		p.Object, p.Field = "Cluster "+c.Key.String(), "spec.topology.version"
	}
	return p
}

// refuses judges the version of next, a newer definition of c. A version that c already has as its
// target is not judged again.
func (c cluster) refuses(next *fleet.Cluster) fleet.VersionStep {
	switch {
	case c.serves == "", c.orphan, c.pruned, c.deleting(), c.abandoned(), next.Delete, next.Abandon, next.Version() == c.version():
		return fleet.VersionStep{}
	}
	return next.VersionStep(c.serves)
}

// version returns the version of Kubernetes of the target of c; empty: it is not known.
func (c cluster) version() string {
	switch {
	case c.definition != nil:
		return c.definition.Version()
	case c.recorded != nil:
		return c.recorded.Version
	}
	return ""
}

// servedVersion returns the oldest version of Kubernetes that the control plane of r serves;
// empty: it never served, or that is not known. Machines on their way out count where there
// are no others.
func servedVersion(r *fleet.Report) string {
	if r.Residence.ControlPlane != fleet.InitializedOnce {
		return ""
	}
	stays, leaves := "", ""
	for _, m := range r.Machines {
		oldest := &stays
		if m.Phase == fleet.MachinePhaseDeleting {
			oldest = &leaves
		}
		if v := m.Machine.Version; m.Machine.Role == fleet.RoleControlPlane && (*oldest == "" || fleet.OlderVersion(v, *oldest)) {
			*oldest = v
		}
	}
	switch {
	case stays != "":
		return stays
	case leaves != "":
		return leaves
	}
	return r.Version // of a hosted control plane
}

// serve notes which version a pass found that the control plane of cluster k serves. A
// definition that was refused for an older one may be taken now.
func (d *Decision) serve(k fleet.Key, r *fleet.Report) {
	s := &d.State
	c := s.clusters.of(k)
	if v := servedVersion(r); v != "" && v != c.serves {
		c.serves = v
		s.clusters.put(k, c)
	}
	next := c.refused
	if next == nil || c.refuses(next).Why != "" {
		return
	}
	s.problems = slices.DeleteFunc(slices.Clone(s.problems), func(p fleet.Problem) bool { return slices.Contains(c.problems, p) })
	c.refused, c.problems = nil, nil
	if s.config.Waves.Declared() {
		old := c
		c = old.heldBack(next, true)
		c.wave.people = c.peopleAfter(old, nil)
		s.unsettle()
	} else {
		c.definition, c.recorded = next, nil
	}
	c.behind = true
	s.clusters.put(k, c)
	d.Changed, d.StatusChanged = append(d.Changed, k), true
}
