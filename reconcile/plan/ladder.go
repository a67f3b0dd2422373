package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// A rung is one stage of a cluster's life. The first rung that is not done is
// the phase; the rungs above one that is not passable are not tried.
type rung struct {
	phase    fleet.Phase
	climb    func(*view)      // plans what the rung lacks; nothing when it is done
	done     func(*view) bool // everything of the rung is as it should be
	passable func(*view) bool // the next rung may begin
}

func ladder() []rung {
	return []rung{
		{fleet.PhaseInfrastructure, (*view).planInfrastructure, (*view).infrastructureDone, (*view).infrastructureReady},
		{fleet.PhaseControlPlane, (*view).planControlPlane, (*view).controlPlaneDone, (*view).initialized},
		{fleet.PhaseWorkers, (*view).planWorkers, (*view).workersDone, (*view).workersDone},
	}
}

// climb computes the phase, and plans what may be done on every rung that can
// be reached. What keeps a running cluster going is independent of its phase.
func (v *view) climb() {
	v.out.Phase = v.phase()
	v.followRemediation()
	v.out.Fingerprint = v.Memory.Fingerprint
	v.keepTrust()
	v.keepKubeconfig()
	v.keepNetworking()
	v.keepNodes()
	v.keepAddons()
	v.keepResources()
	v.keepReleases()
	for _, r := range ladder() {
		r.climb(v)
		if !r.passable(v) {
			return
		}
	}
}

func (v *view) phase() fleet.Phase {
	for _, r := range ladder() {
		if !r.done(v) {
			return r.phase
		}
	}
	return fleet.PhaseProvisioned
}

// planInfrastructure makes the authorities and what the machines share.
func (v *view) planInfrastructure() {
	switch {
	case len(v.Observed.Secrets.Missing) == 0:
	case v.notGiven() != "":
		v.wait("the external etcd needs %s: add it to Git, encrypted, or to where the agent keeps secrets", v.notGiven())
	case v.authoritiesLost():
		v.note("authorities that are missing (%s): restore them, they are never made anew once machines exist", v.missing())
	case v.unsettled():
	default:
		v.do(fleet.Action{Kind: fleet.EnsureCertificates, Reason: "the cluster has no " + v.missing()})
	}
	if i := v.Observed.Infrastructure; !i.Ready {
		reason := "the cluster has no infrastructure"
		if i.Exists {
			reason = "the infrastructure is not ready"
			v.wait("infrastructure is not ready%s", because(i.Message))
		}
		v.do(fleet.Action{Kind: fleet.EnsureInfrastructure, Reason: reason})
	} else {
		v.mendDrift()
	}
}

func (v *view) infrastructureReady() bool {
	return v.Observed.Infrastructure.Ready && len(v.Observed.Secrets.Missing) == 0
}

func (v *view) infrastructureDone() bool {
	k := v.Observed.Secrets.Kubeconfig
	return v.infrastructureReady() && k.Exists && k.Endpoint == v.Observed.Infrastructure.Endpoint
}

// authoritiesLost reports whether authorities are missing that something
// already trusts, or may.
func (v *view) authoritiesLost() bool {
	if len(v.Observed.Secrets.Missing) == 0 {
		return false
	}
	for _, g := range v.groups {
		if len(g.all)+len(g.pending) > 0 {
			return true
		}
	}
	return len(v.held) > 0 || v.Observed.Workload.Reachable
}

// notGiven names the first secret that people have to give and did not.
func (v *view) notGiven() string {
	for _, name := range v.Desired.Given() {
		if slices.Contains(v.Observed.Secrets.Missing, name) {
			return fmt.Sprintf("Secret %s-%s", v.Desired.Key.Name, name)
		}
	}
	return ""
}

// missing names the authorities that are not there.
func (v *view) missing() string {
	var names []string
	for _, s := range v.Observed.Secrets.Missing {
		names = append(names, fmt.Sprintf("%s-%s", v.Desired.Key.Name, s))
	}
	return strings.Join(names, ", ")
}

// keepKubeconfig has the kubeconfig issued and, once half of its life is over
// or the authority of the cluster is another, issued again.
func (v *view) keepKubeconfig() {
	e := v.Observed.Infrastructure.Endpoint
	for _, s := range v.Observed.Secrets.Missing {
		if s == fleet.ClusterCA {
			return
		}
	}
	if e.IsZero() {
		return
	}
	k := v.Observed.Secrets.Kubeconfig
	half := k.NotBefore.Add(k.NotAfter.Sub(k.NotBefore) / 2)
	switch {
	case !k.Exists:
		v.do(fleet.Action{Kind: fleet.EnsureKubeconfig, Reason: "the cluster has no kubeconfig"})
	case k.Endpoint != e:
		v.do(fleet.Action{Kind: fleet.EnsureKubeconfig, Reason: fmt.Sprintf("the API server moved from %s:%d to %s:%d",
			k.Endpoint.Host, k.Endpoint.Port, e.Host, e.Port)})
	case k.Former:
		v.do(fleet.Action{Kind: fleet.EnsureKubeconfig, Reason: "the authority of the cluster is being rotated"})
	case v.Now.After(half):
		v.do(fleet.Action{Kind: fleet.EnsureKubeconfig, Reason: "less than half of the kubeconfig's life is left"})
	default:
		v.wake(half.Sub(v.Now) + time.Second)
	}
}

// because returns ": text", or nothing without a text.
func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
