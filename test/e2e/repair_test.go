package e2e

import (
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

const healthCheck = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata:
  name: repair
spec:
  clusterName: repair
  selector:
    matchLabels: {cluster.x-k8s.io/deployment-name: repair-md-0}
  checks:
    unhealthyNodeConditions:
    - {type: Ready, status: Unknown, timeoutSeconds: 5}
`

// A worker that loses its power is replaced on another host. Its own host, once
// it has power again, is cleaned and free.
func TestRepair(t *testing.T) {
	w := newWorld(t, "", "control-plane", "worker", "worker", "balancer")
	c := w.cluster("repair", 1, 1)
	c.Extra = healthCheck
	w.startAgent()
	w.put("a cluster of one and one", c)
	dead := w.worker(w.waitComplete(c))
	on, err := w.hostOf(dead)
	if err != nil {
		t.Fatal(err)
	}
	if err := on.Kill(); err != nil {
		t.Fatal(err)
	}
	off := time.Now()
	w.wait("a worker in the place of "+string(dead.Name), func() (bool, string) {
		r, _ := w.report(c)
		return slices.ContainsFunc(r.Machines, func(m fleet.MachineReport) bool {
			return m.Machine.Role == fleet.RoleWorker && m.Machine.Name != dead.Name && m.Phase == fleet.MachinePhaseRunning
		}), describe(r)
	})
	w.measure("a worker without power: replaced %s after, of which Kubernetes takes 50 s until it notices, and the health check 5 s", since(off))
	if err := on.Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	r := w.waitComplete(c)
	w.measure("its host: free %s after it had power again", since(back))
	if now := w.worker(r); now.Name == dead.Name {
		t.Errorf("%s is still the worker", now.Name)
	}
	w.checkFree(on.Name)
}

// worker returns the one worker of r.
func (w *world) worker(r fleet.Report) fleet.Machine {
	w.t.Helper()
	i := slices.IndexFunc(r.Machines, func(m fleet.MachineReport) bool { return m.Machine.Role == fleet.RoleWorker })
	if i < 0 {
		w.t.Fatalf("there is no worker: %s", describe(r))
	}
	return r.Machines[i].Machine
}
