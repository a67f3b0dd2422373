package e2e

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kubernetes/lab"
)

const controlPlaneCheck = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata:
  name: three
spec:
  clusterName: three
  selector:
    matchLabels: {cluster.x-k8s.io/control-plane: ""}
  checks:
    unhealthyNodeConditions:
    - {type: Ready, status: Unknown, timeoutSeconds: 5}
`

// A control plane grows from one machine to three with stacked etcd. One of them
// loses its power: the cluster goes on, and another takes its place.
func TestControlPlane(t *testing.T) {
	w := newWorld(t, "", "control-plane", "control-plane", "control-plane", "control-plane", "worker", "balancer")
	c := w.cluster("three", 1, 1)
	c.Extra = controlPlaneCheck
	w.startAgent()
	w.put("a cluster of one and one", c)
	config := w.kubeconfigOf(c)
	c.ControlPlanes = 3
	w.put("three control planes", c)
	r := w.waitComplete(c)
	w.measure("3+1 from 1+1: push to Provisioned %s", since(w.pushed))
	w.births(config, r)
	w.podsReady(config)
	w.members(r)

	dead := r.Machines[slices.IndexFunc(r.Machines, isControlPlane)].Machine
	on, err := w.hostOf(dead)
	if err != nil {
		t.Fatal(err)
	}
	api := w.probeAPI(config)
	if err := on.Kill(); err != nil {
		t.Fatal(err)
	}
	off := time.Now()
	w.wait("a control plane in the place of "+string(dead.Name), func() (bool, string) {
		r, _ := w.report(c)
		running := slices.DeleteFunc(slices.Clone(r.Machines), func(m fleet.MachineReport) bool {
			return !isControlPlane(m) || m.Machine.Name == dead.Name || m.Phase != fleet.MachinePhaseRunning
		})
		return len(running) == 3, describe(r)
	})
	w.measure("a control plane without power: replaced %s after, of which Kubernetes takes 50 s until it notices, and the health check 5 s", since(off))
	api.end()
	if err := on.Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.wait(on.Name+" free", func() (bool, string) {
		r, _ := w.report(c)
		return complete(c, r) && !slices.ContainsFunc(r.Machines, func(m fleet.MachineReport) bool { return m.Machine.Name == dead.Name }), describe(r)
	})
	r, _ = w.report(c)
	w.members(r)
	w.checkFree(on.Name)
}

func isControlPlane(m fleet.MachineReport) bool { return m.Machine.Role == fleet.RoleControlPlane }

// kubeconfigOf waits until c is complete, and returns its kubeconfig.
func (w *world) kubeconfigOf(c cluster) string {
	w.t.Helper()
	w.waitComplete(c)
	w.measure("%d+%d: push to Provisioned %s", c.ControlPlanes, c.Workers, since(w.pushed))
	return w.kubeconfig(c)
}

// members checks that etcd's members are the machines of the control plane, and vote.
func (w *world) members(r fleet.Report) {
	w.t.Helper()
	var want, got []string
	var on *lab.Machine
	for _, m := range r.Machines {
		if !isControlPlane(m) {
			continue
		}
		want = append(want, string(m.Machine.Name))
		var err error
		if on, err = w.hostOf(m.Machine); err != nil {
			w.t.Fatal(err)
		}
	}
	const pki = "/etc/kubernetes/pki/etcd/"
	out, err := on.Exec(w.ctx, "curl", "--silent", "--fail-with-body", "--cacert", pki+"ca.crt", "--cert", pki+"server.crt", "--key", pki+"server.key",
		"--data", "{}", "https://127.0.0.1:2379/v3/cluster/member/list")
	if err != nil {
		w.t.Fatal(err)
	}
	var list struct {
		Members []struct {
			Name      string `json:"name"`
			IsLearner bool   `json:"isLearner"`
		} `json:"members"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	for _, m := range list.Members {
		if !m.IsLearner {
			got = append(got, m.Name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("voting members of etcd are %v, machines of the control plane %v", got, want)
	}
}
