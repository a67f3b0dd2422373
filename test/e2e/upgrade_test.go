package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// A cluster of three control planes goes from one minor version of Kubernetes to
// the next while requests, and commands in its pods, go on.
func TestUpgrade(t *testing.T) {
	w := newWorld(t, "", "control-plane", "control-plane", "control-plane", "control-plane", "worker", "worker", "balancer")
	versions := w.lab.Versions()
	if len(versions) < 2 {
		t.Fatalf("machines of the lab have Kubernetes %v alone: `make lab-images` makes two versions", versions)
	}
	c := w.cluster("rolling", 3, 1)
	c.Version = versions[1]
	w.startAgent()
	w.put("a cluster of three and one", c)
	config := w.kubeconfigOf(c)
	w.podsReady(config)
	w.run(config, 1)

	api := w.probeAPI(config)
	execs := w.probe("kubectl exec", time.Second, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // a person tries again, too
		defer cancel()
		out, err := exec.CommandContext(ctx, w.lab.Kubectl(), "--kubeconfig", config, "exec", "deployment/web", "--", "hostname").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	c.Version = versions[0]
	w.put("the next minor", c)
	r := w.waitComplete(c)
	w.measure("3+1 from %s to %s: push to Provisioned %s", versions[1], versions[0], since(w.pushed))
	w.births(config, r)
	api.end()
	for _, text := range execs.end() {
		if strings.Contains(text, "orbidden") {
			t.Errorf("an API server was not allowed to execute a command: %s", text)
		}
	}
	w.podsReady(config)
	w.checkNodes(config, c, r)
	w.members(r)
	w.execByEach(config, r)
	for _, image := range []string{"kube-proxy:" + c.Version, "kube-apiserver:" + c.Version} {
		if out, err := w.kubectl(config, "", "-n", "kube-system", "get", "pods", "-o", "jsonpath={..image}"); err != nil || !strings.Contains(out, image) {
			t.Errorf("no pod has the image %s: %v, %s", image, err, out)
		}
	}
}

// execByEach executes a command in a pod by way of each API server, which needs a
// right that kubeadm gives to new versions when they begin a cluster, and not when
// they join one.
func (w *world) execByEach(config string, r fleet.Report) {
	w.t.Helper()
	for _, m := range r.Machines {
		if !isControlPlane(m) {
			continue
		}
		on, err := w.hostOf(m.Machine)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.kubectl(config, "", "--server", "https://"+on.Address+":6443", "exec", "deployment/web", "--", "hostname"); err != nil {
			w.t.Errorf("by the API server of %s: %v", m.Machine.Name, err)
		}
	}
}
