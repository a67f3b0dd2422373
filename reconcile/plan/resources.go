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
	"fairlead.dev/reconcile/plan/text"
)

// refreshResources is how long after it was applied last a set that is to be
// reconciled is applied again, in case somebody changed what is in the cluster:
// to look at every object costs as much as to apply it, which changes nothing
// where nothing differs.
const refreshResources = time.Hour

// keepResources has the ClusterResourceSets of the cluster applied, from when its
// control plane is initialized, and what left them deleted.
// Source: Cluster API, core/reconcilers/clusterresourceset.
func (d *draft) keepResources() {
	if d.unreachable || !d.initialized() {
		return
	}
	for i := range d.Desired.ResourceSets {
		s := &d.Desired.ResourceSets[i]
		if !s.Paused {
			d.keepResourceSet(s, d.resourceState(s.Name))
		}
	}
	for i := range d.Observed.Workload.ResourceSets {
		have := &d.Observed.Workload.ResourceSets[i]
		if _, ok := d.Desired.ResourceSet(have.Name); !ok && !leftBehind(have) {
			d.prune(fleet.ResourceSet{Name: have.Name}, have, "it is not in Git any more for this cluster")
		}
	}
}

func (f *facts) resourceState(name string) *fleet.ResourceSetState {
	sets := f.Observed.Workload.ResourceSets
	if i := slices.IndexFunc(sets, func(s fleet.ResourceSetState) bool { return s.Name == name }); i >= 0 {
		return &sets[i]
	}
	return &fleet.ResourceSetState{Name: name}
}

func (d *draft) keepResourceSet(s *fleet.ResourceSet, have *fleet.ResourceSetState) {
	apply := func(names []string, reason string) {
		d.request(fleet.Action{Kind: fleet.ApplyResources, Addon: s.Name, Resources: names, Mark: s.Mark(), Reason: reason})
	}
	names := s.Pending(*have)
	switch {
	case len(names) > 0 && !s.Untried(*have, names) && d.tooSoon(have):
	case len(names) > 0:
		apply(names, d.whyApply(s, have, names))
	case have.Strategy != s.Strategy || have.Prune != s.Prune:
		apply(nil, "its strategy has to be known after it left Git")
	case s.Strategy != fleet.ReconcileStrategy:
	case len(d.retired(s, have)) > 0:
		d.prune(*s, have, "they were removed from Git")
	case d.Now.Sub(have.Applied) >= refreshResources && (d.Desired.Drift == "" || d.Desired.Drift == fleet.DriftCorrect):
		var all []string
		for _, r := range s.Resources {
			all = append(all, r.Name)
		}
		apply(all, "somebody may have changed what it applied")
	}
}

// whyApply says why the resources of s called names are applied.
func (f *facts) whyApply(s *fleet.ResourceSet, have *fleet.ResourceSetState, names []string) string {
	switch {
	case len(have.Resources) == 0:
		return fmt.Sprintf("the cluster does not have its %s", objects(len(s.Refs())))
	case !s.Untried(*have, names) && len(have.Failures) > 0:
		return "not all of it could be applied before"
	case !s.Untried(*have, names) && have.Strategy == s.Strategy:
		return "applying it was cut off"
	}
	return text.Some(names) + " changed"
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
func (d *draft) tooSoon(have *fleet.ResourceSetState) bool {
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
	left := wait - d.Now.Sub(d.from(have.Tried))
	if left > 0 {
		d.wake(left)
	}
	return left > 0
}

// retired returns the objects of the inventory that s does not have.
func (f *facts) retired(s *fleet.ResourceSet, have *fleet.ResourceSetState) []fleet.ObjectRef {
	refs := s.Refs()
	return slices.DeleteFunc(slices.Clone(have.Objects), func(o fleet.ObjectRef) bool { return slices.ContainsFunc(refs, o.SameObject) })
}

// deletable returns those of retired that may be deleted: neither what another
// set of the cluster has, nor what others may have put something into.
func (f *facts) deletable(retired []fleet.ObjectRef) []fleet.ObjectRef {
	var kept []fleet.ObjectRef
	for i := range f.Desired.ResourceSets {
		kept = append(kept, f.Desired.ResourceSets[i].Refs()...)
	}
	return slices.DeleteFunc(slices.Clone(retired), func(o fleet.ObjectRef) bool {
		return o.Lasting() || slices.ContainsFunc(kept, o.SameObject)
	})
}

// prune has what s does not have any more deleted and forgotten.
func (d *draft) prune(s fleet.ResourceSet, have *fleet.ResourceSetState, why string) {
	if d.tooSoon(have) {
		return
	}
	var gone []fleet.ObjectRef
	if have.Prune || s.Resources != nil {
		gone = d.deletable(d.retired(&s, have))
	}
	reason := why
	if len(gone) > 0 {
		reason = why + ": " + text.Some(texts(gone))
	}
	d.request(fleet.Action{Kind: fleet.PruneResources, Addon: s.Name, Objects: gone, Mark: have.Tried.UTC().Format(time.RFC3339Nano), Reason: reason})
}

func texts(refs []fleet.ObjectRef) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.String())
	}
	return out
}

// leftBehind reports whether a set that is not in Git for this cluster stays
// there: no annotation says that what it applied is to go with it.
func leftBehind(have *fleet.ResourceSetState) bool {
	return !have.Prune && have.Strategy == fleet.ReconcileStrategy && len(have.Objects) > 0
}

// judgeSet says how a set is that Git has for the cluster, and why.
func (f *facts) judgeSet(s *fleet.ResourceSet) (fleet.AddonState, string) {
	have := f.resourceState(s.Name)
	switch names := s.Pending(*have); {
	case s.Paused:
		return fleet.AddonPaused, ""
	case len(have.Failures) > 0:
		return fleet.AddonFailed, failures(have)
	case len(names) > 0:
		return fleet.AddonPending, f.whyApply(s, have, names)
	}
	return fleet.AddonReady, ""
}

// judgeLeftSet says how a set is that Git does not have for the cluster, and why.
func judgeLeftSet(have *fleet.ResourceSetState) (fleet.AddonState, string) {
	switch {
	case leftBehind(have):
		return fleet.AddonKept, fmt.Sprintf("not in Git any more for this cluster, which keeps its %s", objects(len(have.Objects)))
	case len(have.Failures) > 0:
		return fleet.AddonFailed, failures(have)
	}
	return fleet.AddonRemoving, whyReleaseNotInGit
}

// resourcesCondition tells whether all ClusterResourceSets are applied.
func (f *facts) resourcesCondition(l *ledger) {
	const kind = addonsv1.ClusterResourceSetResourcesAppliedCondition
	sets, states := f.Desired.ResourceSets, f.Observed.Workload.ResourceSets
	switch {
	case f.deleting() || len(sets)+len(states) == 0:
		return
	case f.unreachable && f.everInitialized():
		l.unknown(kind, clusterv1.ConnectionDownReason, "The API server does not answer")
		return
	case f.unreachable || !f.initialized():
		l.set(kind, false, "", addonsv1.ClusterResourceSetResourcesNotAppliedReason, "Control plane not yet initialized")
		return
	}
	var bad, notes []string
	for i := range sets {
		s := &sets[i]
		switch state, why := f.judgeSet(s); state {
		case fleet.AddonPaused:
			notes = append(notes, s.Name+" is paused")
		case fleet.AddonFailed:
			bad = append(bad, s.Name+": "+why)
		case fleet.AddonPending:
			bad = append(bad, s.Name+" is being applied")
		default:
		}
	}
	for i := range states {
		have := &states[i]
		if _, ok := f.Desired.ResourceSet(have.Name); ok {
			continue
		}
		switch state, why := judgeLeftSet(have); state {
		case fleet.AddonKept:
			notes = append(notes, have.Name+" is "+why)
		case fleet.AddonFailed:
			bad = append(bad, have.Name+": "+why)
		default:
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
	return text.Some(out)
}
