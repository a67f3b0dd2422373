package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/text"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// conditions tells the state of the cluster in Cluster API's words.
func (d *draft) conditions() []fleet.Condition {
	var l ledger
	suspended := ""
	if !d.Desired.Paused && d.suspended() {
		suspended = d.whyPaused()
	}
	l.set(clusterv1.PausedCondition, d.paused(), clusterv1.PausedReason, clusterv1.NotPausedReason, suspended)
	d.deletingCondition(&l)
	d.infrastructureConditions(&l)
	d.controlPlaneConditions(&l)
	d.machineSummaries(&l)
	d.identifiedCondition(&l)
	d.sitesCondition(&l)
	d.hostsCondition(&l)
	d.clocksCondition(&l)
	d.progressConditions(&l)
	d.topologyCondition(&l)
	d.acceptedCondition(&l)
	d.resourcesCondition(&l)
	d.releaseCondition(&l)
	d.availableCondition(&l)
	return l.sorted()
}

func (d *draft) deletingCondition(l *ledger) {
	switch {
	case d.deleting():
		reason, message := d.deletion()
		l.set(clusterv1.ClusterDeletingCondition, true, reason, "", message)
	case d.Desired.Delete, d.Desired.DeletionRefused:
		l.set(clusterv1.ClusterDeletingCondition, false, "", clusterv1.ClusterNotDeletingReason,
			"Deletion is refused: the cluster has the annotation "+fleet.ProtectAnnotation)
	default:
		l.set(clusterv1.ClusterDeletingCondition, false, "", clusterv1.ClusterNotDeletingReason, "")
	}
}

func (f *facts) infrastructureConditions(l *ledger) {
	i, problem, reason := f.Observed.Infrastructure, "", clusterv1.ClusterInfrastructureNotReadyReason
	switch {
	case f.contradicted != "":
		problem, reason = f.contradicted, fleet.StoppedReason
	case !i.Ready && f.sites[0].away == "":
		problem = cmp.Or(i.Message, "Infrastructure is not ready")
	}
	if away := f.sites[0].away; away != "" && problem == "" {
		l.unknown(clusterv1.ClusterInfrastructureReadyCondition, "SiteAway", away)
	} else {
		l.setWanted(clusterv1.ClusterInfrastructureReadyCondition,
			clusterv1.ClusterInfrastructureReadyReason, reason, problem)
	}

	if f.Desired.Hosted != nil {
		return // its certificates are its keeper's
	}
	problem, reason = "", controlplanev1.KubeadmControlPlaneCertificatesNotAvailableReason
	if missing := f.missing(); missing != "" {
		problem = "Missing: " + missing
		if f.authoritiesLost() {
			reason = fleet.StoppedReason
			problem += ". The cluster trusts them, so they are never created again: restore them. No machine is changed until then"
		}
	}
	l.setWanted(controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition,
		controlplanev1.KubeadmControlPlaneCertificatesAvailableReason, reason, problem)
}

func (d *draft) controlPlaneConditions(l *ledger) {
	problem := ""
	if !d.everInitialized() && !d.initialized() {
		problem = "Control plane not yet initialized"
	}
	l.setWanted(clusterv1.ClusterControlPlaneInitializedCondition,
		clusterv1.ClusterControlPlaneInitializedReason, clusterv1.ClusterControlPlaneNotInitializedReason, problem)

	reason := clusterv1.ClusterControlPlaneNotAvailableReason
	switch lost := d.goneControlPlane(); {
	case lost != "":
		problem, reason = lost, fleet.StoppedReason
	case problem == "":
		problem = d.controlPlaneProblem()
	case d.Desired.Hosted != nil && (!d.Observed.ControlPlane.Ready || d.Observed.Secrets.Kubeconfig.Exists):
		problem = cmp.Or(d.hostedProblem(), problem) // what people can do something about
	}
	if away := d.sites[0].away; away != "" && !d.unreachable && d.Desired.Hosted == nil {
		l.unknown(clusterv1.ClusterControlPlaneAvailableCondition, "SiteAway", away)
	} else {
		l.setWanted(clusterv1.ClusterControlPlaneAvailableCondition,
			clusterv1.ClusterControlPlaneAvailableReason, reason, problem)
	}

	d.etcdCondition(l)
}

// goneControlPlane says why a control plane without machines is not created again; empty: it is, or there are some.
func (d *draft) goneControlPlane() string {
	if d.Desired.Hosted != nil || d.contradicted != "" || d.deleting() || d.paused() || len(d.controlPlane().all) > 0 || d.unseen() != nil {
		return ""
	}
	return d.lostControlPlane()
}

// controlPlaneProblem says why the control plane is not available; empty when
// it answers, one of its machines is well, and etcd has its quorum.
func (f *facts) controlPlaneProblem() string {
	if f.Desired.Hosted != nil {
		return f.hostedProblem()
	}
	if f.unreachable {
		return "The API server does not answer" + because(f.Observed.Workload.Message)
	}
	if e := f.Observed.Workload.Etcd; e != nil {
		voting, healthy := 0, 0
		for _, m := range e.Members {
			if !m.Learner {
				voting++
				if m.Healthy {
					healthy++
				}
			}
		}
		if healthy < voting/2+1 {
			return "etcd has lost its quorum"
		}
	}
	for _, m := range slices.Concat(f.controlPlane().all, f.controlPlane().held) {
		if m.serves() {
			return ""
		}
	}
	return "No control-plane machine is ready"
}

// machineSummaries tells about the machines of the control plane and of the
// workers, each in one condition.
func (f *facts) machineSummaries(l *ledger) {
	workers := f.workers()
	f.summary(l, f.ownControlPlane(), clusterv1.ClusterControlPlaneMachinesReadyCondition, clusterv1.ClusterControlPlaneMachinesUpToDateCondition)
	f.summary(l, workers, clusterv1.ClusterWorkerMachinesReadyCondition, clusterv1.ClusterWorkerMachinesUpToDateCondition)

	var short, unseen []string
	for _, g := range workers {
		if g.pool == nil {
			continue
		}
		if f.away(g) != "" {
			unseen = append(unseen, fmt.Sprintf("pool %s is on a site that is away", g.name))
			continue
		}
		if r := g.report(); r.Available < g.pool.Replicas-g.pool.MaxUnavailable {
			short = append(short, fmt.Sprintf("pool %s has too few available machines", g.name))
		}
	}
	short = append(short, f.keptShort()...)
	switch {
	case len(f.Desired.Workers)+len(f.Desired.KeptPools) == 0:
		l.set(clusterv1.ClusterWorkersAvailableCondition, true, clusterv1.ClusterWorkersAvailableNoWorkersReason, "", "")
	case f.unreachable && (f.anyMachine(workers) || slices.ContainsFunc(f.kept, func(k *keptPool) bool { return k.has() > 0 })):
		l.unknown(clusterv1.ClusterWorkersAvailableCondition, clusterv1.ClusterWorkersAvailableUnknownReason, "The API server does not answer")
	case len(short) == 0 && len(unseen) > 0:
		l.unknown(clusterv1.ClusterWorkersAvailableCondition, clusterv1.ClusterWorkersAvailableUnknownReason, text.Some(unseen))
	default:
		l.setWanted(clusterv1.ClusterWorkersAvailableCondition,
			clusterv1.ClusterWorkersAvailableReason, clusterv1.ClusterWorkersNotAvailableReason, text.Some(short))
	}
}

func (f *facts) anyMachine(groups []*group) bool {
	return slices.ContainsFunc(groups, func(g *group) bool { return len(g.all) > 0 })
}

func (f *facts) summary(l *ledger, groups []*group, ready, upToDate string) {
	var all []*machine
	unseen := ""
	for _, g := range groups {
		all = append(all, g.all...)
		unseen = cmp.Or(f.away(g), unseen)
	}
	known := func(kind, yes, no, unknown, problem string) {
		if unseen != "" && problem == "" {
			l.unknown(kind, unknown, unseen)
			return
		}
		l.setWanted(kind, yes, no, problem)
	}
	if len(all) == 0 && unseen == "" {
		l.set(ready, true, clusterv1.NoReplicasReason, "", "")
		l.set(upToDate, true, clusterv1.NoReplicasReason, "", "")
		return
	}
	if f.unreachable {
		l.unknown(ready, clusterv1.ReadyUnknownReason, "The API server does not answer")
	} else {
		known(ready, clusterv1.ReadyReason, clusterv1.NotReadyReason, clusterv1.ReadyUnknownReason,
			after("Not ready: ", named(all, func(m *machine) bool { return f.notReady(m) != "" })))
	}
	known(upToDate, clusterv1.UpToDateReason, clusterv1.NotUpToDateReason, clusterv1.UpToDateUnknownReason,
		after("Not up to date: ", named(all, func(m *machine) bool { return !m.current })))
}

// identifiedCondition tells which machines are held. It is there while one is.
func (f *facts) identifiedCondition(l *ledger) {
	if texts := f.heldTexts(); texts != "" {
		l.set("MachinesIdentified", false, "", "MachinesHeld", texts)
	}
}

// acceptedCondition tells what Git asks for and cannot be done. It is there while there is
// something.
func (d *draft) acceptedCondition(l *ledger) {
	if len(d.refusals) > 0 {
		l.set(fleet.AcceptedCondition, false, "", fleet.RefusedReason, strings.Join(sorted(d.refusals), "; "))
	}
}

// progressConditions tells what is going on.
func (f *facts) progressConditions(l *ledger) {
	var rolling, up, down []string
	var sick []*machine
	for _, g := range f.groups {
		for _, m := range g.all {
			if m.condemned || (m.leaving && m.unhealthy != nil) {
				sick = append(sick, m)
			}
		}
		if f.away(g) != "" {
			continue
		}
		if g.pool == nil {
			down = append(down, fmt.Sprintf("pool %s is not in Git any more", g.name))
			continue
		}
		has := len(g.fresh) + len(g.old) + countNames(g.held)
		switch want := fmt.Sprintf("%s wants %s", g.name, machines(g.pool.Replicas)); {
		case f.deleting() && len(g.all) > 0:
			down = append(down, fmt.Sprintf("%s is being deleted", g.name))
		case f.deleting():
		case has < g.pool.Replicas:
			up = append(up, want)
		case has > g.pool.Replicas && len(g.old) == 0:
			down = append(down, want)
		}
		if g.pool.Kind == "" && slices.ContainsFunc(g.all, func(m *machine) bool { return !m.current }) {
			rolling = append(rolling, string(g.name)+": "+g.outdated())
		}
	}
	for _, k := range f.kept {
		r, u, w := f.keptProgress(k)
		rolling, up, down = append(rolling, r...), append(up, u...), append(down, w...)
	}
	l.setUnwanted(clusterv1.ClusterRollingOutCondition, clusterv1.ClusterRollingOutReason, clusterv1.ClusterNotRollingOutReason, text.Some(rolling))
	l.setUnwanted(clusterv1.ClusterScalingUpCondition, clusterv1.ClusterScalingUpReason, clusterv1.ClusterNotScalingUpReason, text.Some(up))
	l.setUnwanted(clusterv1.ClusterScalingDownCondition, clusterv1.ClusterScalingDownReason, clusterv1.ClusterNotScalingDownReason, text.Some(down))
	remediating := after("Replacing unhealthy machines: ", named(sick, func(*machine) bool { return true }))
	l.set(clusterv1.ClusterRemediatingCondition, remediating != "",
		clusterv1.ClusterRemediatingReason, clusterv1.ClusterNotRemediatingReason,
		cmp.Or(remediating, strings.Join(f.overLimit, "; ")))
}

// outdated says in what the machines of g differ from what is asked for.
func (g *group) outdated() string {
	var why []string
	for _, m := range g.all {
		if !m.current {
			why = append(why, differs(m, g.pool))
		}
	}
	slices.Sort(why)
	return text.Some(slices.Compact(why))
}

// availableCondition sums up. It names what is not as it should be.
func (f *facts) availableCondition(l *ledger) {
	var bad []string
	unknown := 0
	for _, c := range l.sorted() {
		switch c.Type {
		case clusterv1.ClusterInfrastructureReadyCondition, clusterv1.ClusterControlPlaneAvailableCondition, clusterv1.ClusterWorkersAvailableCondition:
			if c.Status != fleet.True {
				bad = append(bad, c.Type+because(c.Message))
			}
		case clusterv1.ClusterDeletingCondition:
			if c.Status == fleet.True {
				bad = append(bad, c.Type)
			}
		}
	}
	for _, g := range f.Desired.AvailabilityGates {
		switch text, known := l.gate(g); {
		case !known:
			unknown++
			fallthrough
		case text != "":
			bad = append(bad, text)
		}
	}
	if len(bad) > 0 && len(bad) == unknown {
		l.unknown(clusterv1.ClusterAvailableCondition, clusterv1.ClusterAvailableUnknownReason, strings.Join(bad, "; "))
		return
	}
	l.setWanted(clusterv1.ClusterAvailableCondition, clusterv1.ClusterAvailableReason, clusterv1.ClusterNotAvailableReason, strings.Join(bad, "; "))
}

// after returns prefix and text, or nothing without a text.
func after(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
