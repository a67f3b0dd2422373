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
func (f *facts) locate() {
	f.residence = f.Memory.Residence
	wish := f.recreate()
	if wish != "" && !f.Observed.Workload.Reachable {
		f.residence = fleet.Residence{Recreated: wish, Guests: f.residence.Guests}
	}
	if f.sites[0].away == "" {
		f.contradicted = f.contradiction()
	}
	f.hear()
	switch {
	case f.contradicted == "":
		f.learn()
		if wish != "" { // a cluster that is well is not recreated, not later either
			f.residence.Recreated = wish
		}
	case wish != "":
		f.note("%s is not heeded: the API server of the cluster answers", fleet.RecreateAnnotation)
	}
	f.Desired = f.Desired.WithResidence(f.residence)
}

// recreate is the request to forget where the cluster lived, of people who say that it
// is permanently lost; empty if there is none that was not acted on before.
func (f *facts) recreate() string {
	if w := f.Desired.Recreate; w != f.residence.Recreated && !f.deleting() && !f.paused() {
		return w
	}
	return ""
}

// hear forgets that the control plane never answered once it did, wherever the credentials
// of the infrastructure lead and whether or not they work: the agent that got the answer may be
// the only one that ever does.
func (f *facts) hear() {
	switch {
	case f.residence.ControlPlane != fleet.NeverInitialized:
	case f.answersWithNodes():
		f.residence.ControlPlane = fleet.InitializedOnce
	case !f.NeverAnswered:
		f.residence.ControlPlane = "" // if only to refuse: what comes of it will show
	}
}

// contradiction says in what the look contradicts where the cluster lives, and what
// people can do; empty where it does not. What is there may be another cluster, or
// what is not there may be alive: neither is to be acted on.
func (f *facts) contradiction() string {
	r, i := f.residence, f.Observed.Infrastructure
	if r.Provider != "" && r.Provider != f.Desired.Provider {
		return fmt.Sprintf("the cluster lives on provider %s, and Git names %s: %s", r.Provider, f.Desired.Provider, putBack("the objects of "+r.Provider))
	}
	if home := r.Place().ID; home != "" && len(i.Places) > 0 && i.Places[0].ID != home {
		return fmt.Sprintf("the cluster lives in %s, and the credentials lead to %s: %s", home, i.Places[0].ID, putBack("the credentials"))
	}
	if f.Desired.Hosted != nil {
		if why := f.machinesServe(); why != "" {
			return why
		}
	}
	if f.nothingThere() {
		return f.vanished()
	}
	return f.movedEndpoint()
}

// putBack is the advice where a look leads elsewhere.
func putBack(what string) string {
	return "put back " + what + ", or abandon the cluster; if it is gone permanently, " + recreateAdvice
}

const recreateAdvice = "annotate the Cluster with " + fleet.RecreateAnnotation + " to have it recreated"

// nothingThere reports whether nothing with the cluster's tags was seen on the first site.
func (f *facts) nothingThere() bool {
	i := f.Observed.Infrastructure
	return !i.Exists && len(i.Pools) == 0 && len(f.machinesOn(f.sites[0])) == 0
}

// planeThere reports whether a hosted control plane is there that is deleted with the cluster.
func (f *facts) planeThere() bool {
	p := f.Observed.ControlPlane
	return f.Desired.Hosted != nil && p != nil && !p.External && p.Exists
}

// vanished says that nothing is where something was; empty where nothing ever was,
// or what was there is to go.
func (f *facts) vanished() string {
	r, k := f.residence, f.Observed.Secrets.Kubeconfig
	const advice = ": check that the credentials still lead there and show all of it, or abandon the cluster; if it is gone permanently, "
	switch {
	case f.Desired.Hosted != nil:
		if n := f.aliveElsewhere(); n != "" && (f.deleting() || !f.planeThere()) { // with its control plane there is something
			return fmt.Sprintf("node %s is ready, and nothing of the cluster is in %s: check that the credentials still lead there and show all of it, or abandon the cluster", n, f.where())
		}
	case f.answersWithNodes():
		return fmt.Sprintf("the API server at %s answers and has nodes, and nothing of the cluster is in %s%s%s", host(k.Endpoint), f.where(), advice, recreateAdvice)
	case f.deleting(): // all of it was to go: people, or an agent that ended before it told so, have removed it
	case r.ControlPlane == fleet.InitializedOnce:
		return fmt.Sprintf("nothing of the cluster is in %s, where it was%s%s", f.where(), advice, recreateAdvice)
	case r.IsZero() && k.Exists:
		return fmt.Sprintf("nothing of the cluster is in %s, and it has a kubeconfig for %s already%s%s", f.where(), host(k.Endpoint), advice, recreateAdvice)
	}
	return ""
}

func (f *facts) answersWithNodes() bool {
	if f.Desired.Hosted != nil {
		return f.aliveElsewhere() != "" || f.keptServes()
	}
	return f.Observed.Workload.Reachable && len(f.Observed.Workload.Nodes) > 0
}

// where names the place that was looked at.
func (f *facts) where() string {
	if p := f.Observed.Infrastructure.Places; len(p) > 0 {
		return p[0].ID
	}
	return "provider " + f.Desired.Provider
}

// movedEndpoint says that the API server seems to be elsewhere than the machines
// know it, and Git does not say so; empty where it is where it was, or what is there
// is to go anyway. A port alone is for Git to change.
func (f *facts) movedEndpoint() string {
	was, is := f.knownEndpoint(), f.Observed.Infrastructure.Endpoint
	named := f.Desired.NamedEndpoint().Host
	if f.deleting() || was.IsZero() || is.IsZero() || was.Host == is.Host || named == is.Host || !f.everInitialized() {
		return ""
	}
	return fmt.Sprintf("the machines know the API server at %s, and the infrastructure has it at %s: bring the old address back, or set spec.controlPlaneEndpoint of the Cluster to the new one where machines and certificates are to know that",
		host(was), host(is))
}

// knownEndpoint is where the API server was last. If it is not remembered, the
// kubeconfig does.
func (f *facts) knownEndpoint() fleet.Endpoint {
	if e := f.residence.Endpoint; !e.IsZero() {
		return e
	}
	if k := f.Observed.Secrets.Kubeconfig; k.Exists && f.residence.Recreated == "" {
		return k.Endpoint
	}
	return fleet.Endpoint{}
}

func host(e fleet.Endpoint) string { return cmp.Or(e.Host, "an endpoint that is not known") }

// learn notes where the cluster lives once something of it is there or was asked
// for. What is deleted, down to nothing, is forgotten but for where it was.
func (f *facts) learn() {
	f.rememberGuests()
	if f.sites[0].away != "" {
		return
	}
	r, i := &f.residence, f.Observed.Infrastructure
	asked := f.begunOn("")
	switch {
	case len(i.Pools) > 0 || f.keptBegun(""):
		r.MachinePools = true
	case i.Exists && f.settled():
		r.MachinePools = false
	}
	gone := f.deleting() && f.nothingThere() && !f.Observed.Workload.Reachable
	switch {
	case gone, r.ControlPlane == fleet.DeletionBegan && len(f.machines)+len(f.held) == 0 && !f.Observed.Workload.Reachable:
		r.ControlPlane = fleet.NeverInitialized // of what would be created again
	case r.ControlPlane == fleet.DeletionBegan && (f.deleting() || f.controlPlaneGoes()): // what still answers may not for long
	case r.ControlPlane == fleet.DeletionBegan && !f.initialized() && !f.answersWithNodes(): // until it answers
	case f.everInitialized() || f.answersWithNodes() || !f.Memory.Milestones.ControlPlane.IsZero() && len(f.machines) > 0:
		r.ControlPlane = fleet.InitializedOnce
	case r.ControlPlane == "" && len(f.machines) == 0 && !asked && !f.Observed.Secrets.Kubeconfig.Exists:
		r.ControlPlane = fleet.NeverInitialized
	}
	if f.nothingThere() && !asked && !f.planeThere() {
		return
	}
	r.Provider = f.Desired.Provider
	if !i.Endpoint.IsZero() {
		r.Endpoint = i.Endpoint
	}
	if len(i.Places) > 0 {
		r.Places = f.places(f.sites[0])
	}
}

// begunOn reports whether this agent asked for something of the cluster on a site that may
// not show yet.
func (f *facts) begunOn(provider string) bool {
	return slices.ContainsFunc(f.Attempts, func(a fleet.Attempt) bool {
		return (a.Action.Kind == fleet.EnsureInfrastructure || a.Action.Kind == fleet.CreateMachine) && a.Action.Provider == provider && f.recent(a, f.settleOf(provider))
	})
}

// places returns those that have something of the cluster, or may: what was asked
// for there may not show yet, and what is about to be asked for may be all that the
// next agent knows of.
func (f *facts) places(s *site) []fleet.Place {
	seen := s.seen.Places
	out := []fleet.Place{seen[0].Place}
	idle := f.settled() && !f.begunOn(s.provider)
	for _, p := range seen[1:] {
		if p.Used || !idle || p.Named && f.lacksMachines(s.provider) {
			out = append(out, p.Place)
		}
	}
	slices.SortFunc(out[1:], func(a, b fleet.Place) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// lacksMachines reports whether machines are to be made, now or later.
func (f *facts) lacksMachines(provider string) bool {
	return slices.ContainsFunc(f.groups, func(g *group) bool {
		return g.pool != nil && g.pool.Provider == provider && len(g.fresh) < g.pool.Replicas
	})
}

// keepMemory is the plan for a cluster that was looked for elsewhere than where it lives:
// all that was remembered stays so.
func (d *draft) keepMemory() {
	d.out.Phase = fleet.PhaseInfrastructure
	if d.deleting() {
		d.out.Phase = fleet.PhaseDeleting
	}
	d.out.Remediation, d.out.Fingerprint, d.out.ObservedConditions = d.Memory.Remediation, d.Memory.Fingerprint, d.Memory.ObservedConditions
	d.note("%s", d.contradicted)
}
