package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// refreshResources is how long after it was applied last a set that is to be
// reconciled is applied again, in case somebody changed what is in the cluster:
// to look at every object costs as much as to apply it, which changes nothing
// where nothing differs.
const refreshResources = time.Hour

// keepResources has the ClusterResourceSets of the cluster applied, from when its
// control plane is initialized, and what left them deleted.
// Source: Cluster API, core/reconcilers/clusterresourceset.
func (v *view) keepResources() {
	if v.blind || !v.initialized() {
		return
	}
	for i := range v.Desired.ResourceSets {
		s := &v.Desired.ResourceSets[i]
		if !s.Paused {
			v.keepResourceSet(s, v.resourceState(s.Name))
		}
	}
	for i := range v.Observed.Workload.ResourceSets {
		have := &v.Observed.Workload.ResourceSets[i]
		if _, ok := v.Desired.ResourceSet(have.Name); !ok && !leftBehind(have) {
			v.prune(fleet.ResourceSet{Name: have.Name}, have, "it is not in Git any more for this cluster")
		}
	}
}

func (v *view) resourceState(name string) *fleet.ResourceSetState {
	sets := v.Observed.Workload.ResourceSets
	if i := slices.IndexFunc(sets, func(s fleet.ResourceSetState) bool { return s.Name == name }); i >= 0 {
		return &sets[i]
	}
	return &fleet.ResourceSetState{Name: name}
}

func (v *view) keepResourceSet(s *fleet.ResourceSet, have *fleet.ResourceSetState) {
	apply := func(names []string, reason string) {
		v.do(fleet.Action{Kind: fleet.ApplyResources, Addon: s.Name, Resources: names, Mark: s.Mark(), Reason: reason})
	}
	names := s.Pending(*have)
	switch {
	case len(names) > 0 && !s.Untried(*have, names) && v.tooSoon(have):
	case len(names) > 0:
		apply(names, v.whyApply(s, have, names))
	case have.Strategy != s.Strategy || have.Prune != s.Prune:
		apply(nil, "its strategy is to be known when Git holds it no more")
	case s.Strategy != fleet.ReconcileStrategy:
	case len(v.retired(s, have)) > 0:
		v.prune(*s, have, "Git has them no more")
	case v.Now.Sub(have.Applied) >= refreshResources && (v.Desired.Drift == "" || v.Desired.Drift == fleet.DriftCorrect):
		var all []string
		for _, r := range s.Resources {
			all = append(all, r.Name)
		}
		apply(all, "somebody may have changed what it applied")
	}
}

// whyApply says why the resources of s called names are applied.
func (v *view) whyApply(s *fleet.ResourceSet, have *fleet.ResourceSetState, names []string) string {
	switch {
	case len(have.Resources) == 0:
		return fmt.Sprintf("the cluster does not have its %s", objects(len(s.Refs())))
	case !s.Untried(*have, names) && len(have.Failures) > 0:
		return "not all of it could be applied before"
	case !s.Untried(*have, names) && have.Strategy == s.Strategy:
		return "applying it was cut off"
	}
	return some(names) + " changed"
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

// The bounds of the time between two tries of what failed.
const (
	firstRetry  = 5 * time.Second
	retry       = time.Minute
	slowRetry   = 10 * time.Minute // of what will not work until somebody changes something
	retryGrowth = 2                // a wait is the time since the first try, divided by this
)

// tooSoon reports whether the last try failed so lately that another one is of no
// use yet.
func (v *view) tooSoon(have *fleet.ResourceSetState) bool {
	if len(have.Failures) == 0 {
		return false
	}
	most := slowRetry
	for _, f := range have.Failures {
		switch f.Kind {
		case fleet.Invalid, fleet.Unauthorized, fleet.Exhausted:
		default:
			most = retry
		}
	}
	wait := min(max(have.Tried.Sub(have.Since)/retryGrowth, firstRetry), most)
	left := wait - v.Now.Sub(v.from(have.Tried))
	if left > 0 {
		v.wake(left)
	}
	return left > 0
}

// retired returns the objects of the inventory that s does not have.
func (v *view) retired(s *fleet.ResourceSet, have *fleet.ResourceSetState) []fleet.ObjectRef {
	refs := s.Refs()
	return slices.DeleteFunc(slices.Clone(have.Objects), func(o fleet.ObjectRef) bool { return slices.ContainsFunc(refs, o.Same) })
}

// deletable returns those of retired that may be deleted: neither what another
// set of the cluster has, nor what others may have put something into.
func (v *view) deletable(retired []fleet.ObjectRef) []fleet.ObjectRef {
	var kept []fleet.ObjectRef
	for i := range v.Desired.ResourceSets {
		kept = append(kept, v.Desired.ResourceSets[i].Refs()...)
	}
	return slices.DeleteFunc(slices.Clone(retired), func(o fleet.ObjectRef) bool {
		return o.Lasting() || slices.ContainsFunc(kept, o.Same)
	})
}

// prune has what s does not have any more deleted and forgotten.
func (v *view) prune(s fleet.ResourceSet, have *fleet.ResourceSetState, why string) {
	if v.tooSoon(have) {
		return
	}
	var gone []fleet.ObjectRef
	if have.Prune || s.Resources != nil {
		gone = v.deletable(v.retired(&s, have))
	}
	reason := why
	if len(gone) > 0 {
		reason = why + ": " + some(texts(gone))
	}
	v.do(fleet.Action{Kind: fleet.PruneResources, Addon: s.Name, Objects: gone, Mark: have.Tried.UTC().Format(time.RFC3339Nano), Reason: reason})
}

func texts(refs []fleet.ObjectRef) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.String())
	}
	return out
}

// leftBehind reports whether a set that is not in Git for this cluster stays as
// it is: nobody said that what it applied is to go with it.
func leftBehind(have *fleet.ResourceSetState) bool {
	return !have.Prune && have.Strategy == fleet.ReconcileStrategy && len(have.Objects) > 0
}

// resourcesCondition tells whether all ClusterResourceSets are applied.
func (v *view) resourcesCondition(l *ledger) {
	const kind = addonsv1.ClusterResourceSetResourcesAppliedCondition
	sets, states := v.Desired.ResourceSets, v.Observed.Workload.ResourceSets
	switch {
	case v.deleting() || len(sets)+len(states) == 0:
		return
	case v.blind && v.everInitialized():
		l.unknown(kind, clusterv1.ConnectionDownReason, "The API server does not answer")
		return
	case v.blind || !v.initialized():
		l.set(kind, false, "", addonsv1.ClusterResourceSetResourcesNotAppliedReason, "Control plane not yet initialized")
		return
	}
	var bad, notes []string
	for i := range sets {
		s, have := &sets[i], v.resourceState(sets[i].Name)
		switch {
		case s.Paused:
			notes = append(notes, s.Name+" is paused")
		case len(have.Failures) > 0:
			bad = append(bad, s.Name+": "+failures(have))
		case len(s.Pending(*have)) > 0:
			bad = append(bad, s.Name+" is being applied")
		}
	}
	for i := range states {
		have := &states[i]
		if _, ok := v.Desired.ResourceSet(have.Name); ok {
			continue
		}
		if leftBehind(have) {
			notes = append(notes, fmt.Sprintf("%s is not in Git any more for this cluster, and its %s stay", have.Name, objects(len(have.Objects))))
		} else if len(have.Failures) > 0 {
			bad = append(bad, have.Name+": "+failures(have))
		}
	}
	l.set(kind, len(bad) == 0, addonsv1.ClusterResourceSetResourcesAppliedReason, addonsv1.ClusterResourceSetResourcesNotAppliedReason,
		cmp.Or(strings.Join(bad, "; "), strings.Join(notes, "; ")))
}

// failures tells why objects of a set could not be applied or deleted.
func failures(have *fleet.ResourceSetState) string {
	var out []string
	for _, f := range have.Failures {
		out = append(out, f.Object.String()+": "+f.Message)
	}
	return some(out)
}
