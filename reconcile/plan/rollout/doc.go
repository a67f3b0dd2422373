// Package rollout decides which machine of one pool is made, removed or replaced next. It
// counts, and knows neither clusters nor time: who calls it says of each machine what
// counts, and why nothing may change where that is so.
//
//	steps := rollout.Workers(rollout.Pool{Replicas: 3, MaxSurge: 1, Machines: machines})
//	for _, s := range steps {
//		// s.Kind says what to do now, or what is waited for, and s.Machine with which machine.
//	}
//
// Workers are rolled as Cluster API rolls a MachineDeployment; what is there more than
// once is done at once. The rules, in the order in which they are applied:
//
//   - An unhealthy machine goes, at most MaxRemediations at a time, those included
//     whose removal has begun. Outdated machines go as outdated, unless the pool replaces
//     on deletion alone. (MachineHealthCheck, strategy.remediation.maxInFlight)
//   - Up-to-date machines that are too many go in the order of the pool: marked by people,
//     then broken, then by age. (MachineSet, deletePolicy)
//   - Machines that are missing come: never more than Replicas in all, or than Replicas and
//     MaxSurge where the pool rolls. A machine that is held keeps its place.
//   - Outdated machines go, broken ones first. (rollingUpdate.maxSurge, maxUnavailable)
//   - What is available goes only as long as Replicas - MaxUnavailable others stay available.
//     What is not available may go at any time.
//   - Up-to-date machines that are not available slow a rollout down, as they may never be.
//   - Where machines are on hosts of an inventory, and none is free for one more that MaxSurge
//     allows, one goes first: without a host to spare MaxSurge waits for ever.
//   - A pool that replaces on deletion alone (OnDelete) loses outdated machines only where it
//     has too many.
//
// All machines of a pool that is removed from Git go, as many at a time as MaxUnavailable says,
// and one if it says none.
//
// A removal that never ends costs only its own machine: it is not available, and it
// is no part of what may still go. Cluster API breaks that dead lock by another rule, since
// its MachineDeployment does not know which machine a MachineSet removes.
//
// A control plane changes by one machine at a time, as a KubeadmControlPlane does:
//
//   - Every other machine is well before one is added or removed, and no other member of
//     etcd is joining. (preflight checks of KubeadmControlPlane)
//   - Outdated machines are replaced: by one more first where MaxSurge allows it, or where
//     fewer than three cannot spare one. (rolloutStrategy.rollingUpdate.maxSurge) Three or more
//     without a host to spare spare one.
//   - Next goes what people marked, then what is outdated, what does not work before what
//     does; of these one in the failure domain with most machines, the oldest.
//     (selectMachineForInPlaceUpdateOrScaleDown)
//   - Next comes a machine in the failure domain with the fewest up-to-date machines, then
//     with the fewest in all. (NextFailureDomainForScaleUp)
//
// Which cluster of a fleet is upgraded when is decided by fairlead.dev/reconcile/rollout.
package rollout
