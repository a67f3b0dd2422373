package plan

import (
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/text"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
)

// etcdCondition tells whether etcd is well. Its members say so where they were
// looked at. At rest they are not: there the control-plane nodes' static pods say
// it, as each etcd answers for its own member. So the condition is there whether
// or not there was a reason to look closer. An external etcd has none.
// Source: Cluster API, EtcdClusterHealthy of KubeadmControlPlane.
func (d *draft) etcdCondition(l *ledger) {
	e := d.Observed.Workload.Etcd
	var bad []string
	switch {
	case d.Desired.Hosted != nil, d.Observed.Distribution.Traits.External(), !d.everInitialized():
		return
	case d.unreachable:
		l.unknown(controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition,
			controlplanev1.KubeadmControlPlaneEtcdClusterHealthUnknownReason, "The API server does not answer")
		return
	case e == nil && d.out.NeedEtcd:
		l.unknown(controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition,
			controlplanev1.KubeadmControlPlaneEtcdClusterInspectionFailedReason, "The members of etcd could not be looked at")
		return
	case e == nil:
		bad = d.ailingPods()
	default:
		bad = d.ailingMembers(e)
	}
	l.setWanted(controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition,
		controlplanev1.KubeadmControlPlaneEtcdClusterHealthyReason,
		controlplanev1.KubeadmControlPlaneEtcdClusterNotHealthyReason, text.Some(bad))
}

// ailingPods names the control-plane nodes whose static pods are not all ready.
func (f *facts) ailingPods() []string {
	var bad []string
	for _, m := range f.controlPlane().all {
		if m.node != nil && !m.serves() {
			bad = append(bad, m.node.Name+" is not healthy")
		}
	}
	return bad
}

func (f *facts) ailingMembers(e *fleet.Etcd) []string {
	var bad []string
	for _, m := range e.Members {
		switch {
		case m.Name == "":
			bad = append(bad, "a member has not started")
		case m.Learner:
			bad = append(bad, m.Name+" is a learner")
		case !m.Healthy:
			bad = append(bad, m.Name+" is not healthy")
		}
	}
	if o := f.orphan(f.controlPlane()); o != nil && o.Name != "" {
		bad = append(bad, o.Name+" has no machine")
	}
	return bad
}
