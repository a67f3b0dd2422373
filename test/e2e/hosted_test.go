package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/test/lab/kubernetes/lab"
)

// Workers join a control plane that somebody else keeps, which is newer than they are. They
// run pods, shrink, are upgraded and go without a trace; the control plane stays with what is
// in it.
func TestHostedControlPlane(t *testing.T) {
	w := newWorld(t, "", "worker", "worker")
	versions := w.lab.Versions()
	if len(versions) < 2 {
		t.Fatalf("machines of the lab have Kubernetes %v alone: `make lab-images` makes two versions", versions)
	}
	p := w.newPlane(versions[0])
	c := cluster{
		Name: "hosted", Endpoint: lab.Gateway, Workers: 2, Version: versions[1],
		Hosts: w.hosts, Key: w.key(), Template: hostedYAML,
	}
	w.startAgent()

	w.put("two workers", c)
	w.waitsFor(c, "its kubeconfig is not there")
	w.giveKubeconfig(c, p)
	w.waitsFor(c, "no ConfigMap kube-system/kubeadm-config")
	p.prepare()
	r := w.waitComplete(c)
	w.measure("0+2: push to Provisioned %s", since(w.pushed))
	if m := r.Machines; slices.ContainsFunc(m, isControlPlane) {
		t.Errorf("machines of a control plane: %s", describe(r))
	}
	config := w.kubeconfig(c)
	w.births(config, r)
	w.podsReady(config)
	w.checkNodes(config, c, r)
	w.run(config, 1)
	if out, err := w.kubectl(config, "", "exec", "deployment/web", "--", "hostname"); err != nil {
		t.Errorf("a command in a pod: %v, %s", err, out)
	}
	w.killAgent(c)

	c.Workers = 1
	w.put("one worker", c)
	r = w.waitComplete(c)
	w.measure("0+1: push to Provisioned %s", since(w.pushed))
	w.checkNodes(config, c, r)

	c.Version = versions[0]
	w.put("the next minor", c)
	r = w.waitComplete(c)
	w.measure("0+1 from %s to %s: push to Provisioned %s", versions[1], versions[0], since(w.pushed))
	w.checkNodes(config, c, r)
	w.podsReady(config)

	c.Delete = true
	w.put("no cluster", c)
	w.waitDeleted(c)
	w.checkFree()
	p.check()
	p.checkLeft()
}

// waitsFor waits until the cluster says that it waits for something, and has no machine.
func (w *world) waitsFor(c cluster, what string) {
	w.t.Helper()
	w.wait("waiting: "+what, func() (bool, string) {
		r, _ := w.report(c)
		if len(r.Machines) > 0 {
			w.t.Fatalf("there are machines, and %s: %s", what, describe(r))
		}
		return strings.Contains(fmt.Sprint(r.Waiting), what), describe(r)
	})
}

// giveKubeconfig lays the kubeconfig of p where the agent keeps secrets, as a person does.
func (w *world) giveKubeconfig(c cluster, p *plane) {
	w.t.Helper()
	out, err := exec.CommandContext(w.ctx, w.binary, "secrets", "set", "--secrets", w.secrets, "prod/"+c.Name+"-kubeconfig", "--from-file", "value="+p.admin()).CombinedOutput()
	if err != nil {
		w.t.Fatalf("fairlead secrets set: %v: %s", err, out)
	}
}

// checkLeft checks that the control plane has what its keeper put into it, and no Node.
func (p *plane) checkLeft() {
	p.w.t.Helper()
	for want, args := range map[string][]string{
		"":                         {"get", "nodes", "-o", "name"},
		"deployment.apps/coredns":  {"-n", "kube-system", "get", "deployment", "coredns", "-o", "name"},
		"daemonset.apps/cni":       {"-n", "kube-system", "get", "daemonset", "cni", "-o", "name"},
		"configmap/kubeadm-config": {"-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "name"},
		"deployment.apps/web":      {"get", "deployment", "web", "-o", "name"},
	} {
		out, err := p.w.kubectl(p.admin(), "", args...)
		if err != nil || out != want {
			p.w.t.Errorf("left in the control plane, by kubectl %s: %q, want %q (%v)", strings.Join(args, " "), out, want, err)
		}
	}
}
