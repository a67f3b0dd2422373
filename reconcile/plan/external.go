package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// answerGrace is how long a deletion waits for an API server that does not answer:
// without it no controller can remove load balancers and volumes that Kubernetes made.
const answerGrace = 5 * time.Minute

// deleteExternal has controllers of the cluster remove what they keep outside of
// it, and reports whether the deletion waits for that. It needs a cluster that
// works: if no Node is ready, or the API server no longer answers, it is too late.
func (d *draft) deleteExternal() bool {
	if d.Desired.LeaveExternal || d.Desired.Hosted != nil && d.Observed.ControlPlane.External {
		return false
	}
	if d.unreachable {
		d.external = d.awaitAnswer()
		return d.external
	}
	left := d.Observed.Workload.External
	if len(left) == 0 || !d.keptServes() && !slices.ContainsFunc(d.machines, func(m *machine) bool { return m.node != nil && m.node.Ready }) {
		return false
	}
	d.external = true
	if d.heldByHooks() {
		return true
	}
	d.request(fleet.Action{
		Kind: fleet.DeleteExternalResources, External: left,
		Reason: "the cluster is to be deleted, and Kubernetes made " + namesOf(left),
	})
	d.wait("%s to be gone; %s: %s on the Cluster leaves them", namesOf(left), fleet.ExternalResourcesAnnotation, fleet.LeaveExternalResources)
	return true
}

// awaitAnswer reports whether a deletion waits for the API server, which may only
// be away for a moment.
func (d *draft) awaitAnswer() bool {
	if !d.mayAnswer() || d.NeverAnswered || !d.Observed.Secrets.Kubeconfig.Exists {
		return false
	}
	left := answerGrace - d.Now.Sub(latest(d.Since, d.Watched, d.Answered))
	if left <= 0 {
		return false
	}
	d.wake(left)
	d.wait("the API server does not answer, and may know of load balancers and volumes that have to go first%s", because(d.Observed.Workload.Message))
	return true
}

// heldByHooks reports whether hooks keep a machine, and has them reported: their
// controllers may need the volumes.
func (d *draft) heldByHooks() bool {
	held := false
	for _, g := range d.groups {
		for _, m := range g.all {
			held = d.keptByHooks(g, m) || held
		}
	}
	return held
}

// namesOf lists the first of resources.
func namesOf(resources []fleet.ExternalResource) string {
	const shown = 5
	names := make([]string, 0, shown)
	for i, r := range resources {
		if i == shown {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(resources)-shown)
		}
		names = append(names, r.Object.String())
	}
	return strings.Join(names, ", ")
}
