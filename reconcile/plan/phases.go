package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// A phaseStep is one stage of a cluster's life. The first step that is not done is
// the phase; the steps after one that is not passable are not tried.
type phaseStep struct {
	phase    fleet.Phase
	plan     func(*draft)      // plans what the step lacks; nothing when it is done
	done     func(*facts) bool // everything of the step is as it should be
	passable func(*facts) bool // the next step may begin
}

func (f *facts) phaseSteps() []phaseStep {
	if f.Desired.Hosted != nil {
		return []phaseStep{
			{fleet.PhaseControlPlane, (*draft).planHosted, (*facts).hostedDone, (*facts).hostedKnown},
			{fleet.PhaseInfrastructure, (*draft).planInfrastructure, (*facts).infrastructureDone, func(f *facts) bool { return f.infrastructureReady() && f.hostedServes() }},
			{fleet.PhaseWorkers, (*draft).planWorkers, (*facts).workersDone, (*facts).workersDone},
		}
	}
	return []phaseStep{
		{fleet.PhaseInfrastructure, (*draft).planInfrastructure, (*facts).infrastructureDone, (*facts).infrastructureReady},
		{fleet.PhaseControlPlane, (*draft).planControlPlane, (*facts).controlPlaneDone, (*facts).initialized},
		{fleet.PhaseWorkers, (*draft).planWorkers, (*facts).workersDone, (*facts).workersDone},
	}
}

// planPhases computes the phase, and plans what may be done on every step that can
// be reached. What keeps a running cluster going is independent of its phase.
func (d *draft) planPhases() {
	d.out.Phase = d.phase()
	d.followRemediation()
	d.out.Fingerprint = d.Memory.Fingerprint
	d.keepTrust()
	d.keepKubeconfig()
	d.keepNetworking()
	d.keepNodes()
	d.tellExpiry()
	d.stepAfterControlPlane()
	d.keepResources()
	d.keepReleases()
	d.keepSites()
	d.rebootMachines()
	for _, r := range d.phaseSteps() {
		r.plan(d)
		if !r.passable(d.facts) {
			return
		}
	}
}

func (f *facts) phase() fleet.Phase {
	for _, r := range f.phaseSteps() {
		if !r.done(f) {
			if f.sites[0].away != "" && f.everInitialized() { // how far the steps before are, cannot be observed
				return fleet.PhaseWorkers
			}
			return r.phase
		}
	}
	if f.staging.Held() { // what runs is well, and is not what Git asks for
		return fleet.PhaseControlPlane
	}
	return fleet.PhaseProvisioned
}

// planInfrastructure makes the CA certificates and what the machines share.
func (d *draft) planInfrastructure() {
	switch {
	case d.sites[0].away != "": // noteAway says so
		return
	case d.Desired.Hosted != nil: // it has what it needs
	case len(d.Observed.Secrets.Missing) == 0:
	case d.notGiven() != "":
		d.wait("the external etcd needs %s: add it to Git, encrypted, or to where the agent keeps secrets", d.notGiven())
	case d.authoritiesLost():
		d.note("missing CA certificates (%s): restore them; they are never created again once machines exist", d.missing())
	case d.unsettled():
	default:
		d.request(fleet.Action{Kind: fleet.EnsureCertificates, Reason: "the cluster has no " + d.missing()})
	}
	if i := d.Observed.Infrastructure; !i.Ready {
		reason := "the cluster has no infrastructure"
		if i.Exists {
			reason = "the infrastructure is not ready"
			d.wait("infrastructure is not ready%s", because(i.Message))
		}
		d.request(fleet.Action{Kind: fleet.EnsureInfrastructure, Reason: reason})
	} else {
		d.mendDrift(d.sites[0])
	}
}

func (f *facts) infrastructureReady() bool {
	return (f.Observed.Infrastructure.Ready || f.sites[0].away != "") && len(f.Observed.Secrets.Missing) == 0
}

func (f *facts) infrastructureDone() bool {
	k := f.Observed.Secrets.Kubeconfig
	if f.Desired.Hosted != nil {
		return f.infrastructureReady()
	}
	return f.infrastructureReady() && k.Exists && k.Endpoint == f.Observed.Infrastructure.Endpoint
}

// authoritiesLost reports whether CA certificates are missing that something
// already trusts, or may.
func (f *facts) authoritiesLost() bool {
	if len(f.Observed.Secrets.Missing) == 0 || f.Desired.Hosted != nil {
		return false
	}
	for _, g := range f.groups {
		if len(g.all)+len(g.pending) > 0 {
			return true
		}
	}
	return len(f.held) > 0 || f.Observed.Workload.Reachable || f.unseen() != nil
}

// notGiven names the first secret that people have to give and did not.
func (f *facts) notGiven() string {
	for _, name := range f.Observed.Distribution.NeedsTo(func(n fleet.SecretNeed) bool { return n.Given }) {
		if slices.Contains(f.Observed.Secrets.Missing, name) {
			return fmt.Sprintf("Secret %s-%s", f.Desired.Key.Name, name)
		}
	}
	return ""
}

// missing names the CA certificates that are not there.
func (f *facts) missing() string {
	var names []string
	for _, s := range f.Observed.Secrets.Missing {
		names = append(names, fmt.Sprintf("%s-%s", f.Desired.Key.Name, s))
	}
	return strings.Join(names, ", ")
}

// keepKubeconfig has the kubeconfig issued and, once half of its life is over
// or the authority of the cluster is another, issued again.
func (d *draft) keepKubeconfig() {
	if d.Desired.Hosted != nil {
		return
	}
	e := d.Observed.Infrastructure.Endpoint
	for _, s := range d.Observed.Secrets.Missing {
		if s == fleet.ClusterCA {
			return
		}
	}
	if e.IsZero() {
		return
	}
	k := d.Observed.Secrets.Kubeconfig
	half := k.NotBefore.Add(k.NotAfter.Sub(k.NotBefore) / 2)
	switch {
	case !k.Exists:
		d.request(fleet.Action{Kind: fleet.EnsureKubeconfig, Reason: "the cluster has no kubeconfig"})
	case k.Endpoint != e:
		d.request(fleet.Action{Kind: fleet.EnsureKubeconfig, Reason: fmt.Sprintf("the API server moved from %s:%d to %s:%d",
			k.Endpoint.Host, k.Endpoint.Port, e.Host, e.Port)})
	case k.Former:
		d.request(fleet.Action{Kind: fleet.EnsureKubeconfig, Reason: "the CA of the cluster is being rotated"})
	case d.Now.After(half):
		d.request(fleet.Action{Kind: fleet.EnsureKubeconfig, Reason: "less than half of the kubeconfig's life is left"})
	default:
		d.wake(half.Sub(d.Now) + time.Second)
	}
}

// because returns ": text", or nothing without a text.
func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
