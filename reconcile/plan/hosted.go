package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// planHosted has a hosted control plane made as Git says, and keeps what the secret store
// has of it. One that somebody else keeps is only waited for.
func (d *draft) planHosted() {
	p := d.Observed.ControlPlane
	refused, steps := cmp.Or(d.staging.Blocked(), d.hostedVersionRefused()), d.staging.Next()
	switch {
	case p.External && !p.Ready:
		d.wait("the control plane is not ready%s", because(p.Message))
	case p.External:
	case p.Exists && refused != "": // its keeper would change all of it at once
		d.refuse("%s", refused)
	case !p.Exists:
		d.request(fleet.Action{Kind: fleet.EnsureControlPlane, Reason: "the cluster has no control plane"})
	case !p.Ready:
		d.wait("the control plane is not ready%s", because(p.Message))
		d.request(fleet.Action{Kind: fleet.EnsureControlPlane, Reason: "the control plane is not ready"})
	case len(steps) > 1, len(steps) > 0 && len(p.Drift) == 0: // what was observed compares with the last of them
		d.request(fleet.Action{Kind: fleet.EnsureControlPlane, Mark: steps[0], Reason: fmt.Sprintf("version %s → %s", d.served(), strings.Join(steps, " → "))})
	case len(p.Drift) > 0:
		d.request(fleet.Action{Kind: fleet.EnsureControlPlane, Reason: strings.Join(p.Drift, "; ")})
	}
	if !p.Ready {
		return
	}
	if p.Message != "" {
		d.note("the control plane has a problem%s", because(p.Message))
	}
	d.keepGiven()
	if d.hostedServes() {
		d.stepHosted()
	}
	if d.unreachable && d.Observed.Secrets.Kubeconfig.Exists {
		d.wait("the API server does not answer%s", because(d.Observed.Workload.Message))
	}
}

// hostedVersionRefused says why the hosted control plane, which Fairlead makes, may not go to
// the version that Git asks for; empty where it may.
func (f *facts) hostedVersionRefused() string {
	to := f.Desired.Version()
	if step := f.Desired.VersionStep(f.served()); step.Why != "" {
		return step.String()
	}
	if f.Desired.AllowsVersion() || !NewerMinor(to, f.served()) {
		return ""
	}
	for _, m := range f.machines {
		if fleet.KubeletTooOld(m.Version, to) {
			return fmt.Sprintf("the control plane stays at %s until machine %s of pool %s, which has %s, is upgraded: a kubelet is at most %d minor versions older than an API server; %s: %s allows more",
				f.served(), m.Name, m.Pool, m.Version, fleet.MaxKubeletSkew, fleet.AllowVersionAnnotation, to)
		}
	}
	for i := range f.Observed.Workload.Nodes { // machines of a site that is away show as Nodes alone
		if n := &f.Observed.Workload.Nodes[i]; f.unseen() != nil && fleet.KubeletTooOld(n.KubeletVersion, to) {
			return fmt.Sprintf("the control plane stays at %s until node %s, which has %s, is upgraded: a kubelet is at most %d minor versions older than an API server; %s: %s allows more",
				f.served(), n.Name, n.KubeletVersion, fleet.MaxKubeletSkew, fleet.AllowVersionAnnotation, to)
		}
	}
	for _, k := range f.kept {
		if k.unknown() {
			return fmt.Sprintf("the control plane stays at %s until the version of pool %s is known: a kubelet is at most %d minor versions older than an API server; %s: %s allows more",
				f.served(), k.name, fleet.MaxKubeletSkew, fleet.AllowVersionAnnotation, to)
		}
		if fleet.KubeletTooOld(k.oldest, to) {
			return fmt.Sprintf("the control plane stays at %s until pool %s, which has %s, is upgraded: a kubelet is at most %d minor versions older than an API server; %s: %s allows more",
				f.served(), k.name, k.oldest, fleet.MaxKubeletSkew, fleet.AllowVersionAnnotation, to)
		}
	}
	return ""
}

// stepHosted takes the step of the distribution that is due inside the cluster.
func (d *draft) stepHosted() {
	for _, s := range d.Observed.Distribution.Steps[d.Desired.Version()] {
		if s.When != fleet.Never { // keepNetworking tells those
			d.request(fleet.Action{Kind: fleet.ApplyStep, Step: s.Name, Reason: s.Reason})
		}
	}
}

// keepGiven stores what the control plane gives, and makes what workers need besides.
func (d *draft) keepGiven() {
	switch s := d.Observed.Secrets; {
	case !d.Observed.ControlPlane.Stale:
	case !s.Kubeconfig.Exists:
		d.request(fleet.Action{Kind: fleet.EnsureKubeconfig, Reason: "the cluster has no kubeconfig"})
	default:
		d.request(fleet.Action{Kind: fleet.EnsureKubeconfig, Reason: "kubeconfig or CA of the control plane differ from the stored ones"})
	}
	given := d.Observed.Distribution.NeedsTo(func(n fleet.SecretNeed) bool { return n.Hosted })
	if slices.ContainsFunc(d.Observed.Secrets.Missing, func(n fleet.SecretName) bool { return !slices.Contains(given, n) }) && !d.unsettled() {
		d.request(fleet.Action{Kind: fleet.EnsureCertificates, Reason: "the cluster has nothing to make bootstrap tokens of"})
	}
}

// hostedKnown reports whether enough is known of the hosted control plane for what
// machines share.
func (f *facts) hostedKnown() bool {
	return f.Observed.ControlPlane.Ready && len(f.Observed.Secrets.Missing) == 0 && f.Observed.Secrets.Kubeconfig.Exists
}

// hostedServes reports whether machines can join the hosted control plane.
func (f *facts) hostedServes() bool { return f.hostedKnown() && !f.unreachable }

// hostedDone reports whether the hosted control plane is as Git says.
func (f *facts) hostedDone() bool {
	p := f.Observed.ControlPlane
	return f.hostedServes() && len(p.Drift) == 0 && !p.Stale
}

// hostedProblem says why the hosted control plane is not available, or "".
func (f *facts) hostedProblem() string {
	switch p := f.Observed.ControlPlane; {
	case !p.Ready:
		return cmp.Or(p.Message, "The control plane is not ready")
	case f.unreachable:
		return "The API server does not answer" + because(f.Observed.Workload.Message)
	}
	return ""
}

// served returns the version of Kubernetes that the hosted control plane serves; empty
// where that is not known. What the API server says comes first: it is what kubelets meet.
func (f *facts) served() string {
	return cmp.Or(f.Observed.Workload.Version, f.Observed.ControlPlane.Version)
}

// preflightHosted checks a hosted control plane before g changes. Kubelets are never newer
// than the API server, whatever Git says of that.
// Source: Kubernetes, version skew policy.
func (f *facts) preflightHosted(g *group) gate {
	var out gate
	switch served := f.served(); {
	case f.Observed.Workload.Closed != "":
		out.create = fmt.Sprintf("pool %s waits: %s", g.name, f.Observed.Workload.Closed)
	case served == "":
		out.create = fmt.Sprintf("pool %s waits until it is known what version the API server is of", g.name)
	case NewerMinor(g.pool.Version, served):
		out.create = fmt.Sprintf("pool %s waits: its version %s is newer than the API server's %s", g.name, g.pool.Version, served)
	}
	out.roll = cmp.Or(out.create, f.staging.Holds(g.name))
	stays := f.hostedServes() && f.hostedVersionRefused() != ""
	if out.roll == "" && !f.hostedDone() && !stays {
		out.roll = fmt.Sprintf("pool %s waits until the control plane is stable", g.name)
	}
	return out
}

// aliveElsewhere names a Node of the cluster that is ready and is not being removed: a
// machine is behind it, wherever that is.
func (f *facts) aliveElsewhere() string {
	kept := f.mayHaveKept()
	for i := range f.Observed.Workload.Nodes {
		n := &f.Observed.Workload.Nodes[i]
		if n.Ready && !n.Draining && (f.wasOurs(n) || kept && !n.ControlPlane) && !f.deleted(n) {
			return n.Name
		}
	}
	return ""
}

// mayHaveKept reports whether Nodes that say nothing may be of pools that the cloud keeps: such pools were there, or
// the cluster is to go, Git has some, and it is not remembered.
func (f *facts) mayHaveKept() bool {
	r := f.Memory.Residence
	return r.MachinePools || f.deleting() && r.IsZero() && len(f.Desired.KeptPools) > 0
}

// machinesServe says that machines are, or were made to be, the control plane that Git has
// elsewhere; empty where none is.
func (f *facts) machinesServe() string {
	for _, m := range f.Observed.Infrastructure.Machines {
		if m.Role == fleet.RoleControlPlane && m.Damaged == "" {
			return fmt.Sprintf("machine %s is of the control plane, and Git has that elsewhere, in %s %s: put the object of the control plane back",
				m.Name, f.Desired.ControlPlaneKind(), f.Desired.ControlPlaneName())
		}
	}
	return ""
}

// deleteNodes deletes the Nodes of workers that are gone from a control plane that stays,
// and reports whether there are any.
func (d *draft) deleteNodes() bool {
	if d.Desired.Hosted == nil || !d.Observed.ControlPlane.External || d.unreachable {
		return false
	}
	for _, n := range d.orphanNodes {
		if n.Ready && !n.Draining {
			d.wait("node %s is still ready, though its machine is gone", n.Name)
			continue
		}
		d.request(fleet.Action{
			Kind: fleet.DeleteNode, Node: n.Name, Machine: fleet.MachineName(n.Name),
			Reason: "the cluster is to be deleted, and its machine is gone",
		})
	}
	return len(d.orphanNodes) > 0
}

// deleteHosted deletes a hosted control plane, unless somebody else keeps it, and reports
// whether there is something to delete.
func (d *draft) deleteHosted() bool {
	if d.Desired.Hosted == nil || d.Observed.ControlPlane.External || !d.Observed.ControlPlane.Exists {
		return false
	}
	d.request(fleet.Action{Kind: fleet.DeleteControlPlane, Reason: "the cluster is to be deleted, and its machines are gone"})
	return true
}
