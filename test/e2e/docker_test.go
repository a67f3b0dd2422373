package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/docker/podman"
	"fairlead.dev/test/lab/kubernetes/images"
)

// One container is a cluster: kubeadm runs in it, and pods run on it.
func TestDockerOne(t *testing.T) {
	d := newDocker(t)
	d.c.ControlPlanes, d.c.Workers = 1, 0
	d.startAgent()
	d.podsReady(d.reach("a cluster of one", "1+0"))
	d.delete()
}

// A cluster of containers through its life: it is made, grows to three control planes and three workers, is upgraded
// by a minor, outlives a container that is killed and a daemon that is started again, and goes without a trace.
func TestDocker(t *testing.T) {
	d := newDocker(t)
	versions := d.lab.Versions()
	if len(versions) < 2 {
		t.Fatalf("machines of the lab have Kubernetes %v alone: `make lab-images` makes two versions", versions)
	}
	d.c.Version, d.c.ControlPlanes, d.c.Workers = versions[1], 1, 2
	d.startAgent()
	config := d.reach("a cluster of one and two", "1+2")
	d.podsReady(config)
	d.checkPods(config)
	d.killAgent(d.c)
	if _, err := d.kubectl(config, "", "delete", "pdb", "web"); err != nil {
		t.Error(err)
	}

	d.c.ControlPlanes, d.c.Workers = 3, 3
	d.reach("three and three", "3+3 from 1+2")

	d.c.Version = versions[0]
	d.reach("the next minor", "upgraded 3+3")
	d.podsReady(config)

	d.kill(config)
	if err := d.daemon.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.killAgent(d.c)
	d.delete()
}

// A dockerWorld is a world whose machines are containers of a podman that belongs to the test.
type dockerWorld struct {
	*world
	daemon *podman.Daemon
	c      cluster
}

func newDocker(t *testing.T) *dockerWorld {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_E2E_DOCKER") == "" {
		t.Skip("it needs root, podman, images of the lab and minutes: `make e2e-docker` runs it")
	}
	d := &dockerWorld{world: newWorld(t, "")}
	dir, err := images.Dir()
	if err != nil {
		t.Fatal(err)
	}
	if d.daemon, err = podman.Start(t.Context(), filepath.Join(dir, "docker"), os.Stdout); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			d.keepLogs()
		}
		d.stopAgent()
		if err := d.daemon.Stop(context.WithoutCancel(d.ctx)); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("DOCKER_HOST", d.daemon.Host()) // for `fairlead plan`
	d.env = append(d.env, "DOCKER_HOST="+d.daemon.Host())
	d.c = cluster{
		Name: "boxes", Template: dockerYAML, ControlPlanes: 1, Workers: 1, Version: d.lab.Versions()[0],
		Docker: &docker{Repository: podman.Repository(), BalancerTag: podman.BalancerTag},
	}
	return d
}

// keepLogs keeps what a failed test is understood with.
func (d *dockerWorld) keepLogs() {
	ctx := context.WithoutCancel(d.ctx)
	names, err := d.daemon.Podman(ctx, "ps", "--all", "--format", "{{.Names}}")
	if err != nil {
		d.t.Error(err)
	}
	for _, name := range strings.Fields(names) {
		out, err := d.daemon.Podman(ctx, "exec", name, "sh", "-c", "cat /fairlead/output; journalctl --no-pager -n 200")
		if err != nil {
			out = err.Error()
		}
		if err := os.WriteFile(filepath.Join(d.logs, name+".log"), []byte(out), 0o600); err != nil {
			d.t.Error(err)
		}
	}
}

// reach pushes the cluster as it is to be, waits until it is so, and returns its kubeconfig.
func (d *dockerWorld) reach(push, what string) string {
	d.t.Helper()
	d.put(push, d.c)
	r := d.waitComplete(d.c)
	d.measure("%s: push to Provisioned %s", what, since(d.pushed))
	config := d.kubeconfig(d.c)
	d.checkNodes(config, d.c, r)
	return config
}

// kill kills the container of a worker, and waits until its node is ready again.
func (d *dockerWorld) kill(config string) {
	d.t.Helper()
	r, _ := d.report(d.c)
	i := slices.IndexFunc(r.Machines, func(m fleet.MachineReport) bool { return strings.Contains(string(m.Machine.Name), "-md-0-") })
	victim := r.Machines[i].Machine
	if _, err := d.daemon.Podman(d.ctx, "kill", strings.TrimPrefix(string(victim.ProviderID), "docker:////")); err != nil {
		d.t.Fatal(err)
	}
	d.wait("the container runs again", func() (bool, string) {
		out, err := d.daemon.Podman(d.ctx, "ps", "--no-trunc", "--quiet")
		return err == nil && strings.Contains(out, strings.TrimPrefix(string(victim.ProviderID), "docker:////")), fmt.Sprint(out, err)
	})
	d.was = ""
	d.waitComplete(d.c)
	d.podsReady(config)
}

// delete removes the cluster, and checks that nothing of it is left.
func (d *dockerWorld) delete() {
	d.t.Helper()
	d.c.Delete = true
	d.put("no cluster", d.c)
	d.waitDeleted(d.c)
	for _, kind := range []string{"ps --all --quiet", "volume ls --quiet"} {
		if out, err := d.daemon.Podman(d.ctx, strings.Fields(kind)...); err != nil || out != "" {
			d.t.Errorf("podman %s: %s, %v, want nothing", kind, out, err)
		}
	}
}
