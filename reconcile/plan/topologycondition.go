package plan

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// topologyCondition tells how far a cluster of a class is on the way to its
// version, and what waits for what.
func (v *view) topologyCondition(l *ledger) {
	if v.Desired.Topology == nil {
		return
	}
	reason, message := v.topologyState()
	l.set(clusterv1.ClusterTopologyReconciledCondition, reason == "", clusterv1.ClusterTopologyReconcileSucceededReason, reason, message)
}

// topologyState returns no reason where every pool may be as Git asks for it.
func (v *view) topologyState() (reason, message string) {
	s := v.staging
	switch {
	case v.deleting():
		return clusterv1.ClusterTopologyReconciledDeletingReason, "Cluster is deleting"
	case v.paused():
		return clusterv1.ClusterTopologyReconcilePausedReason, v.whyPaused()
	case s == nil:
		return "", ""
	case s.blocked != "":
		return clusterv1.ClusterTopologyReconciledFailedReason, s.blocked
	}
	var parts []string
	tell := func(who []string, what string) {
		if len(who) > 0 {
			slices.Sort(who)
			parts = append(parts, some(who)+" "+what)
		}
	}
	cp := string(v.Desired.ControlPlane.Name)
	then := after(", then ", strings.Join(s.next, ", "))
	switch {
	case s.begun:
		tell([]string{cp}, "goes to "+s.step+then)
	case s.behind != "":
		tell([]string{cp}, "waits at "+s.step+" until "+s.behind+" is upgraded"+then)
	}
	tell(s.moving, "upgrading to "+s.step)
	tell(s.waiting, "waiting to be upgraded")
	if len(s.put) > 0 {
		parts = append(parts, some(s.put))
	}
	tell(s.creates, "created once the control plane has "+s.to)
	if len(parts) == 0 {
		return "", ""
	}
	reason = clusterv1.ClusterTopologyReconciledClusterUpgradingReason
	if len(s.put) > 0 && !s.begun && len(s.moving)+len(s.waiting) == 0 {
		reason = clusterv1.ClusterTopologyReconciledMachineDeploymentsUpgradeDeferredReason
	}
	return reason, "Upgrading to " + s.to + ": " + strings.Join(parts, "; ")
}

// Obstacles says, for people, what of in.Desired repeated Compute does not come to
// as long as Git does not change: all of it where the cluster was not found where it
// lives, else what a class or people keep from being upgraded.
func Obstacles(in Input) []string {
	in.foreseeing = true
	v := look(in)
	s := v.staging
	if v.displaced != "" && !v.paused() {
		return []string{v.displaced}
	}
	if s == nil || v.paused() {
		return nil
	}
	out := slices.Clone(s.put)
	if s.blocked != "" {
		out = append(out, s.blocked)
	}
	if s.behind != "" {
		out = append(out, fmt.Sprintf("%s stays at %s as long as %s is not upgraded", v.Desired.ControlPlane.Name, s.step, s.behind))
	}
	for _, why := range s.frozen {
		out = append(out, why)
	}
	slices.Sort(out)
	return out
}

// stops returns the versions by whose way the machines of a pool get to that of
// the pool, for people.
func (s *staging) stops(p *fleet.Pool) string {
	if s == nil || s.blocked != "" {
		return ""
	}
	h, control := s.has[p.Name], s.has[s.cluster.ControlPlane.Name]
	steps, _ := s.way(control.oldest)
	var stops []string
	last, reached := h.oldest, control.oldest
	for _, step := range steps {
		if p.Role == fleet.RoleControlPlane && s.older(h.oldest, reached) || p.Role == fleet.RoleWorker && minor(step) > minor(last)+mostSkew {
			stops, last = append(stops, reached), reached
		}
		if reached = step; step == p.Version {
			break
		}
	}
	return after(" by way of ", strings.Join(stops, ", "))
}
