// Package health judges machines as a MachineHealthCheck does: which are unhealthy, since
// when, and whether so many may be replaced. It knows no clock: who calls it says for how
// long conditions have had their status.
//
//	v := health.Examine("workers", health.Machine{Joined: true, Conditions: conditions})
//	if v.Reason != "" && health.Limit{AtMost: &most}.Allows(unhealthy, total) {
//		// it is unhealthy, as v.Message says, and may be replaced
//	}
//
// The rules, which are those of Cluster API's MachineHealthCheck:
//
//   - A condition makes a machine unhealthy once it has lasted for longer than the check
//     allows, to the second. (spec.checks.unhealthyNodeConditions, unhealthyMachineConditions)
//   - A machine without a Node is unhealthy once it has had longer than it may take to get
//     one. (spec.checks.nodeStartupTimeoutSeconds; 0: it may take for ever)
//   - With too many unhealthy machines nothing is replaced: the fault is elsewhere, and
//     replacing them would make it worse. A percentage is rounded down.
//     (spec.remediation.triggerIf)
//   - A Node is not Ready, or not healthy, as its worst condition says; pressure is bad where
//     it is true. It became bad with the first condition that is, and good with the last.
//     (conditions NodeReady and NodeHealthy of Machines)
//
// How long a condition lasts is measured by what agents saw. What the last report said counts while
// the machine, the status and the transition in its Node are the same; else the
// time begins with this look. Clocks that differ are so no reason to replace anything.
//
// Which unhealthy machine is replaced when is decided by the packages rollout, for workers,
// and remediation, for control planes.
package health
