package ha

import (
	"strings"
	"syscall"
	"testing"

	"fairlead.dev/test/lab/kube"
)

// TestOutage stops the API server with the Leases for longer than any Lease lasts, while
// machines are created, and kills the leader meanwhile. Nobody acts without a Lease. After
// the outage everything goes on.
func TestOutage(t *testing.T) {
	long(t)
	w := newWorldIn(t, kube.Start(t, kube.Own()))
	for _, r := range []string{"r0", "r1", "r2"} {
		w.startReplica(r)
	}
	w.push(1)
	w.converged("the fleet is made")
	before, err := w.machines(t.Context())
	w.must(err)
	leader := w.newLeader("")

	down := w.inACreate(func(string) { w.kube.Down() })
	w.push(3)
	<-down
	const lost = "lost leadership, joining the election again"
	w.eventually("the leader stops", func() string {
		if !strings.Contains(w.log(leader), lost) {
			return "it has not logged: " + lost
		}
		return ""
	})
	acts := w.actors.acts()
	w.push(4)
	if now := w.actors.acts(); now != acts {
		t.Errorf("replicas acted %d times without a Lease", now-acts)
	}
	w.signal(leader, syscall.SIGKILL)
	w.kube.Up()
	w.converged("the API server is back, and the leader is gone")
	w.startReplica(leader)
	w.push(5)
	w.converged("the leader is back")
	after, err := w.machines(t.Context())
	w.must(err)
	for k, id := range before {
		if after[k] != id {
			t.Errorf("machine %s was %s and is %s", k, id, after[k])
		}
	}
}
