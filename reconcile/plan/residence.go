package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// locate compares where the cluster was seen with where it lives. What agrees is
// learned; what contradicts is kept as it was remembered, and nothing is done.
func (v *view) locate() {
	v.residence = v.Memory.Residence
	wish := v.recreate()
	if wish != "" && !v.Observed.Workload.Reachable {
		v.residence = fleet.Residence{Recreated: wish}
	}
	switch v.displaced = v.contradiction(); {
	case v.displaced == "":
		v.learn()
		if wish != "" { // of a cluster that is well there is nothing to make anew, not later either
			v.residence.Recreated = wish
		}
	case wish != "":
		v.note("%s is not heeded: the API server of the cluster answers", fleet.RecreateAnnotation)
	}
	v.Desired = v.Desired.WithResidence(v.residence)
}

// recreate is the wish to forget where the cluster lived, of people who say that it
// is gone for good; empty where there is none that was not heeded before.
func (v *view) recreate() string {
	if w := v.Desired.Recreate; w != v.residence.Recreated && !v.deleting() && !v.paused() {
		return w
	}
	return ""
}

// contradiction says in what the look contradicts where the cluster lives, and what
// people can do; empty where it does not. What is there may be another cluster, or
// what is not there may be alive: neither is to be acted on.
func (v *view) contradiction() string {
	r, i := v.residence, v.Observed.Infrastructure
	if r.Provider != "" && r.Provider != v.Desired.Provider {
		return fmt.Sprintf("the cluster lives on provider %s, and Git names %s: %s", r.Provider, v.Desired.Provider, putBack("the objects of "+r.Provider))
	}
	if home := r.Place().ID; home != "" && len(i.Places) > 0 && i.Places[0].ID != home {
		return fmt.Sprintf("the cluster lives in %s, and the credentials lead to %s: %s", home, i.Places[0].ID, putBack("the credentials"))
	}
	if v.nothingThere() {
		return v.vanished()
	}
	return v.movedEndpoint()
}

// putBack is the advice where a look leads elsewhere.
func putBack(what string) string {
	return "put back " + what + ", or abandon the cluster; where it is gone for good, " + recreateAdvice
}

const recreateAdvice = "annotate the Cluster with " + fleet.RecreateAnnotation + " to have it made anew"

// nothingThere reports whether nothing with the cluster's tags was seen.
func (v *view) nothingThere() bool {
	return !v.Observed.Infrastructure.Exists && len(v.Observed.Infrastructure.Machines) == 0
}

// vanished says that nothing is where something was; empty where nothing ever was,
// or what was there is to go.
func (v *view) vanished() string {
	r, k := v.residence, v.Observed.Secrets.Kubeconfig
	const advice = ": look whether the credentials still lead there and show all of it, or abandon the cluster; where it is gone for good, "
	switch {
	case v.answersWithNodes():
		return fmt.Sprintf("the API server at %s answers and has nodes, and nothing of the cluster is in %s%s%s", host(k.Endpoint), v.where(), advice, recreateAdvice)
	case v.deleting():
	case r.ControlPlane == fleet.InitializedOnce:
		return fmt.Sprintf("nothing of the cluster is in %s, where it was%s%s", v.where(), advice, recreateAdvice)
	case r.IsZero() && k.Exists:
		return fmt.Sprintf("nothing of the cluster is in %s, and it has a kubeconfig for %s already%s%s", v.where(), host(k.Endpoint), advice, recreateAdvice)
	}
	return ""
}

func (v *view) answersWithNodes() bool {
	return v.Observed.Workload.Reachable && len(v.Observed.Workload.Nodes) > 0
}

// where names the place that was looked at.
func (v *view) where() string {
	if p := v.Observed.Infrastructure.Places; len(p) > 0 {
		return p[0].ID
	}
	return "provider " + v.Desired.Provider
}

// movedEndpoint says that the API server seems to be elsewhere than the machines
// know it, and Git does not say so; empty where it is where it was, or what is there
// is to go anyway. A port alone is for Git to change.
func (v *view) movedEndpoint() string {
	was, is := v.knownEndpoint(), v.Observed.Infrastructure.Endpoint
	named := v.Desired.NamedEndpoint().Host
	if v.deleting() || was.IsZero() || is.IsZero() || was.Host == is.Host || named == is.Host || !v.everInitialized() {
		return ""
	}
	return fmt.Sprintf("the machines know the API server at %s, and the infrastructure has it at %s: bring the old address back, or set spec.controlPlaneEndpoint of the Cluster to the new one where machines and certificates are to know that",
		host(was), host(is))
}

// knownEndpoint is where the API server was last. Where nobody remembers, the
// kubeconfig does.
func (v *view) knownEndpoint() fleet.Endpoint {
	if e := v.residence.Endpoint; !e.IsZero() {
		return e
	}
	if k := v.Observed.Secrets.Kubeconfig; k.Exists && v.residence.Recreated == "" {
		return k.Endpoint
	}
	return fleet.Endpoint{}
}

func host(e fleet.Endpoint) string { return cmp.Or(e.Host, "an endpoint that is not known") }

// learn notes where the cluster lives once something of it is there or was asked
// for. What is deleted, down to nothing, is forgotten but for where it was.
func (v *view) learn() {
	r, i := &v.residence, v.Observed.Infrastructure
	asked := v.begunHere()
	gone := v.deleting() && v.nothingThere() && !v.Observed.Workload.Reachable
	switch {
	case gone, r.ControlPlane == fleet.DeletionBegan && len(v.machines)+len(v.held) == 0 && !v.Observed.Workload.Reachable:
		r.ControlPlane = fleet.NeverInitialized // of what would be made again
	case r.ControlPlane == fleet.DeletionBegan && (v.deleting() || v.controlPlaneGoes()): // what still answers may not for long
	case r.ControlPlane == fleet.DeletionBegan && !v.initialized() && !v.answersWithNodes(): // until it answers
	case v.everInitialized() || v.answersWithNodes() || !v.Memory.Milestones.ControlPlane.IsZero() && len(v.machines) > 0:
		r.ControlPlane = fleet.InitializedOnce
	case r.ControlPlane == fleet.NeverInitialized && !v.NeverAnswered:
		r.ControlPlane = "" // something answered, if only to refuse: what comes of it will show
	case r.ControlPlane == "" && len(v.machines) == 0 && !asked && !v.Observed.Secrets.Kubeconfig.Exists:
		r.ControlPlane = fleet.NeverInitialized
	}
	if v.nothingThere() && !asked {
		return
	}
	r.Provider = v.Desired.Provider
	if !i.Endpoint.IsZero() {
		r.Endpoint = i.Endpoint
	}
	if len(i.Places) > 0 {
		r.Places = v.places()
	}
}

// begunHere reports whether this agent asked for something of the cluster that may
// not show yet.
func (v *view) begunHere() bool {
	return slices.ContainsFunc(v.Attempts, func(a fleet.Attempt) bool {
		return (a.Action.Kind == fleet.EnsureInfrastructure || a.Action.Kind == fleet.CreateMachine) && v.recent(a, v.Settle)
	})
}

// places returns those that have something of the cluster, or may: what was asked
// for there may not show yet, and what is about to be asked for may be all that the
// next agent knows of.
func (v *view) places() []fleet.Place {
	seen := v.Observed.Infrastructure.Places
	out := []fleet.Place{seen[0].Place}
	idle := v.settled() && !v.begunHere()
	for _, p := range seen[1:] {
		if p.Used || !idle || p.Named && v.lacksMachines() {
			out = append(out, p.Place)
		}
	}
	slices.SortFunc(out[1:], func(a, b fleet.Place) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// lacksMachines reports whether machines are to be made, now or later.
func (v *view) lacksMachines() bool {
	return slices.ContainsFunc(v.groups, func(g *group) bool { return g.pool != nil && len(g.fresh) < g.pool.Replicas })
}

// stay is the plan for a cluster that was looked for elsewhere than where it lives:
// all that was remembered stays so.
func (v *view) stay() {
	v.out.Phase = fleet.PhaseInfrastructure
	if v.deleting() {
		v.out.Phase = fleet.PhaseDeleting
	}
	v.out.Remediation, v.out.Fingerprint, v.out.Spells = v.Memory.Remediation, v.Memory.Fingerprint, v.Memory.Spells
	v.note("%s", v.displaced)
}
