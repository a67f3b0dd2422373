package plan

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// syncConfig has kubeadm-config brought in line before a control-plane machine
// joins, and reports whether that is to be waited for: kubeadm join makes the
// control plane of what it reads there, of the version that it finds. A control
// plane at rest keeps it in line too, since workers read it as well: one that is
// of a newer kubeadm, left by a rollout that was taken back, lets none join. As
// long as nothing was ever rolled out it is as kubeadm init wrote it.
// Source: Cluster API, controlplane/kubeadm/reconcilers/kubeadmcontrolplane/update.go.
func (d *draft) syncConfig(g *group) bool {
	k := d.Observed.Workload.Kubeadm
	var reason string
	switch {
	case k == nil:
		reason = "no machine can join: kubeadm-config is gone"
	case k.Config == g.pool.ConfigMark():
		return false
	case k.Version == "":
		reason = "no machine can join: kubeadm-config names no version"
	case k.Version != g.pool.Version:
		reason = fmt.Sprintf("machines join with version %s → %s", k.Version, g.pool.Version)
	case k.Config == "" && len(g.old) == 0:
		return false
	default:
		reason = "machines join with another configuration"
	}
	if !d.unsettled() { // a machine that nobody knows of would join with it
		d.do(fleet.Action{Kind: fleet.SyncKubeadmConfig, Pool: g.name, Reason: reason})
	}
	return true
}

// keepAddons has kube-proxy and CoreDNS brought in line once the whole control
// plane is: kube-proxy must not be newer than an API server.
// Source: Kubernetes, version skew policy.
func (d *draft) keepAddons() {
	k, g := d.Observed.Workload.Kubeadm, d.groups[0]
	if k == nil || g.pool.Paused || k.Addons == g.pool.AddonsMark() || !g.settled() ||
		slices.ContainsFunc(g.all, func(m *machine) bool { return m.node == nil }) {
		return
	}
	d.do(fleet.Action{Kind: fleet.SyncAddons, Pool: g.name, Reason: "kube-proxy and CoreDNS follow the control plane to " + g.pool.Version})
}
