package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kubernetes/images"
)

// A push becomes a cluster that runs pods, grows, shrinks around a disruption
// budget, outlives its agent, and goes without a trace.
func TestLife(t *testing.T) {
	w := newWorld(t, "", "control-plane", "worker", "worker", "balancer")
	c := w.cluster("life", 1, 1)
	w.startAgent()

	w.put("a cluster of one and one", c)
	r := w.waitComplete(c)
	w.measure("1+1: push to Provisioned in the status branch %s", since(w.pushed))
	config := w.kubeconfig(c)
	w.births(config, r)
	w.podsReady(config)
	w.measure("1+1: push to all pods of kube-system ready %s", since(w.pushed))
	w.checkNodes(config, c, r)

	w.killAgent(c)

	c.Workers = 2
	w.put("two workers", c)
	r = w.waitComplete(c)
	w.measure("1+2: push to Provisioned %s", since(w.pushed))
	w.births(config, r)
	w.checkPods(config)

	w.shrink(config, c)

	c.Delete = true
	w.put("no cluster", c)
	w.waitDeleted(c)
	w.checkFree()
}

// cluster returns what Git says of a cluster of this size, on the hosts whose
// roles are control-plane, worker and balancer.
func (w *world) cluster(name string, controlPlanes, workers int) cluster {
	return w.clusterOn("", name, controlPlanes, workers)
}

// clusterOn returns what Git says of a cluster on the hosts of a site.
func (w *world) clusterOn(site, name string, controlPlanes, workers int) cluster {
	w.t.Helper()
	i := slices.IndexFunc(w.hosts, func(h host) bool { return h.Role == site+balancer })
	if i < 0 {
		w.t.Fatalf("no host has the role %s%s", site, balancer)
	}
	return cluster{
		Name: name, Site: site, Endpoint: w.hosts[i].Address, Balancer: w.hosts[i].Name, ControlPlanes: controlPlanes, Workers: workers,
		Version: w.lab.Versions()[0], Hosts: w.hosts, Key: w.key(),
	}
}

// podsReady waits until all pods of kube-system are.
func (w *world) podsReady(config string) {
	w.t.Helper()
	w.wait("pods ready", func() (bool, string) {
		out, err := w.kubectl(config, "", "-n", "kube-system", "get", "pods", "--no-headers")
		if err != nil {
			return false, err.Error()
		}
		for line := range strings.Lines(out) {
			f := strings.Fields(line)
			have, want, _ := strings.Cut(f[1], "/")
			if f[2] != "Running" || have != want {
				return false, out
			}
		}
		return strings.Contains(out, "coredns") && strings.Contains(out, "cni"), out
	})
}

// checkNodes checks that nodes are called as their machines, and have their ids.
func (w *world) checkNodes(config string, c cluster, r fleet.Report) {
	w.t.Helper()
	out, err := w.kubectl(config, "", "get", "nodes", "-o", `jsonpath={range .items[*]}{.metadata.name} {.spec.providerID} {.status.nodeInfo.kubeletVersion}{"\n"}{end}`)
	if err != nil {
		w.t.Fatal(err)
	}
	if got := strings.Count(out, "\n") + 1; got != len(r.Machines) {
		w.t.Errorf("%d nodes for %d machines:\n%s", got, len(r.Machines), out)
	}
	for _, m := range r.Machines {
		if want := fmt.Sprintf("%s %s %s", c.node(m), m.Machine.ProviderID, c.Version); !strings.Contains("\n"+out+"\n", "\n"+want+"\n") {
			w.t.Errorf("there is no node %q among\n%s", want, out)
		}
	}
}

// killAgent ends the agent at once, takes away what is on its disk but the
// clusters' secrets, and checks that the next one finds nothing to do.
func (w *world) killAgent(c cluster) {
	w.t.Helper()
	w.wait("nothing left to do", func() (bool, string) { // what machines left behind is put in order after they are complete
		plan, err := w.plan()
		return err == nil, plan
	})
	before, _ := w.report(c)
	w.stopAgent()
	if plan, err := w.plan(); err != nil {
		w.t.Errorf("the plan after the agent was killed is not empty: %v\n%s", err, plan)
	}
	w.startAgent()
	for range 5 {
		r := w.waitComplete(c)
		for i, m := range r.Machines {
			if m.Machine.ProviderID != before.Machines[i].Machine.ProviderID || m.Machine.Name != before.Machines[i].Machine.Name {
				w.t.Fatalf("another agent made other machines:\n%s\nwere\n%s", describe(r), describe(before))
			}
		}
		time.Sleep(time.Second)
	}
}

const pods = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
      containers:
      - name: web
        image: IMAGE
        command: [sh, -c, 'mkdir -p /tmp/www; hostname > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www']
        readinessProbe: {httpGet: {port: 8080, path: /}, periodSeconds: 1}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  minAvailable: 2
  selector: {matchLabels: {app: web}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
`

// run runs two pods of which budget are always ready.
func (w *world) run(config string, budget int) {
	w.t.Helper()
	manifests := strings.NewReplacer("IMAGE", images.Shell, "minAvailable: 2", fmt.Sprintf("minAvailable: %d", budget)).Replace(pods)
	if _, err := w.kubectl(config, manifests, "apply", "-f", "-"); err != nil {
		w.t.Fatal(err)
	}
	w.wait("two pods", func() (bool, string) {
		out, err := w.kubectl(config, "", "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}")
		return err == nil && out == "2", fmt.Sprint(out, err)
	})
}

// checkPods runs pods on both workers, which find each other by the name of
// their Service.
func (w *world) checkPods(config string) {
	w.t.Helper()
	w.run(config, 2)
	names, err := w.kubectl(config, "", "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		w.t.Fatal(err)
	}
	seen := make(map[string]bool)
	w.wait("both pods by the name of their service", func() (bool, string) {
		out, err := w.kubectl(config, "", "exec", strings.Fields(names)[0], "--", "curl", "-s", "-m", "5", "http://web.default.svc.cluster.local")
		if err == nil {
			seen[out] = true
		}
		return len(seen) == 2, fmt.Sprint(seen, err)
	})
}

// shrink takes a worker away under a budget that lets no pod go: it waits. With
// the budget gone, its pods go elsewhere and the worker goes.
func (w *world) shrink(config string, c cluster) {
	w.t.Helper()
	c.Workers = 1
	w.put("one worker", c)
	w.wait("a drain that waits for the budget", func() (bool, string) {
		r, _ := w.report(c)
		return strings.Contains(fmt.Sprint(describe(r)), "web"), describe(r)
	})
	if out, err := w.kubectl(config, "", "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}"); err != nil || out != "2" {
		w.t.Errorf("the budget did not hold: %s pods are ready, %v", out, err)
	}
	if _, err := w.kubectl(config, "", "delete", "pdb", "web"); err != nil {
		w.t.Fatal(err)
	}
	start := time.Now()
	w.waitComplete(c)
	w.measure("1+1 again: %s after the budget was gone", since(start))
}

// waitDeleted waits until c is gone.
func (w *world) waitDeleted(c cluster) {
	w.t.Helper()
	w.wait("deleted", func() (bool, string) {
		r, _ := w.report(c)
		return r.Phase == fleet.PhaseDeleted, describe(r)
	})
	w.measure("deletion: push to Deleted %s", since(w.pushed))
}

// checkFree checks that machines, or all, are as they were before: no claim, no
// cluster.
func (w *world) checkFree(names ...string) {
	w.t.Helper()
	for _, m := range w.machines(names...) {
		out, err := m.Exec(w.ctx, "sh", "-c", "ls -d /var/lib/fairlead/host/claim /var/lib/fairlead/host/machines/* /etc/kubernetes/manifests/* /etc/kubernetes/*.conf "+
			"/etc/kubernetes/pki/* /var/lib/etcd/* /etc/cni/net.d/* 2>/dev/null; pgrep -l 'kube|etcd|coredns'; hostname")
		if err != nil {
			w.t.Fatal(err)
		}
		if got := strings.TrimSpace(out); got != m.Name {
			w.t.Errorf("%s is not free again:\n%s", m.Name, got)
		}
	}
}
