package plan

import (
	"fmt"
	"time"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// failedRetry is how long a machine that failed to start stays before another is
// tried in its place: want of capacity, the most common reason, takes time to go.
const failedRetry = 5 * time.Minute

// checkFailed condemns machines that failed before they ever had a Node: there
// is nothing on them to lose, and they will never run. Machines that a health
// check looks after are its own.
func (f *facts) checkFailed() {
	for _, m := range f.machines {
		if m.State != fleet.MachineFailed || m.node != nil || m.pool == nil || m.checked || m.duplicate || skipsRemediation(m) {
			continue
		}
		if f.unreachable && !f.failedFirst(m) {
			continue // a Node is not known to be missing
		}
		since := f.madeAt(m)
		if f.unreachable {
			since = latest(since, f.silentSince(m))
		}
		if left := failedRetry - f.Now.Sub(since); left >= 0 {
			f.wake(left + time.Second)
			continue
		}
		m.unhealthy = &defect{
			clusterv1.MachineHealthCheckNodeStartupTimeoutReason,
			fmt.Sprintf("failed to start, another is tried every %s%s", failedRetry, because(m.Message)),
		}
		m.condemned = !m.leaving
	}
}
