// Package remediation decides which unhealthy machine of a control plane is replaced
// next, and how often that is tried. It knows no clock and no etcd: who calls it says how
// long ago attempts were, and which machines can be counted on.
//
//	next := remediation.Next(remediation.ControlPlane{Replicas: 3, Machines: machines})
//	switch next.Kind {
//	case remediation.Remove: // next.Machine
//	}
//
// The rules are those of a KubeadmControlPlane's remediation, in the order in which they
// are applied:
//
//   - A machine that the control plane lacks is made before another one is removed, so that
//     machines that become unhealthy one after the other do not leave fewer and fewer. Unlike a
//     rollout it waits for one machine that is well only, for none that is coming or going,
//     and for etcd to bear a member that never starts. (preflight checks while a remediation
//     is in progress)
//   - The last machine stays: a rollout makes another one first. (minimum of one)
//   - No machine is removed while another one joins. (waiting for provisioning)
//   - None is removed unless another one is well. One that is well, but that people want
//     replaced, is well for that until it goes.
//   - The worst goes first: one without a Node, then one without a vote in etcd, then what
//     people asked for, then one that does not serve, the oldest of these. Cluster API takes
//     marked machines before all others, and waits where etcd cannot spare them.
//   - Attempts that fail one after the other are counted. There are at most MaxRetry beside
//     the first, RetryPeriod lies between two, and MinHealthy after the last one counting
//     starts again. It also does for a machine that is outdated, since what it failed of may
//     be fixed, and for one that people want replaced. (spec.remediation)
//   - One that limits hold does not stand in the way of the next.
//   - One that works, and is unhealthy anyway, stays while the control plane is not
//     whole without it.
//
// Whether etcd keeps its quorum without a machine is asked of fleet.Etcd when its member is
// to be removed.
package remediation
