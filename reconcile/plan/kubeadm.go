package plan

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// syncConfig has kubeadm-config brought in line before a control-plane machine
// joins, and reports whether that is to be waited for: kubeadm join makes the
// control plane of what it reads there, of the version that it finds. As long as
// nothing was ever rolled out it is as kubeadm init wrote it.
// Source: Cluster API, controlplane/kubeadm/reconcilers/kubeadmcontrolplane/update.go.
func (v *view) syncConfig(g *group) bool {
	k := v.Observed.Workload.Kubeadm
	if k == nil || k.Config == g.pool.ConfigMark() {
		return false
	}
	if k.Config == "" && k.Version == g.pool.Version && len(g.old) == 0 {
		return false
	}
	reason := "machines join with another configuration"
	if k.Version != g.pool.Version {
		reason = fmt.Sprintf("machines join with version %s → %s", k.Version, g.pool.Version)
	}
	v.do(fleet.Action{Kind: fleet.SyncKubeadmConfig, Pool: g.name, Reason: reason})
	return true
}

// keepAddons has kube-proxy and CoreDNS brought in line once the whole control
// plane is: kube-proxy must not be newer than an API server.
// Source: Kubernetes, version skew policy.
func (v *view) keepAddons() {
	k, g := v.Observed.Workload.Kubeadm, v.groups[0]
	if k == nil || g.pool.Paused || k.Addons == g.pool.AddonsMark() || !g.settled() ||
		slices.ContainsFunc(g.all, func(m *machine) bool { return m.node == nil }) {
		return
	}
	v.do(fleet.Action{Kind: fleet.SyncAddons, Pool: g.name, Reason: "kube-proxy and CoreDNS follow the control plane to " + g.pool.Version})
}
