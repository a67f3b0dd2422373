package docker_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/docker"
	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/docker/dockertest"
)

const secret = "s3cr3tabcdef0123"

// request is for a machine of pool.
func request(c *fleet.Cluster, pool fleet.Pool, name fleet.MachineName) providers.MachineRequest {
	data := "#cloud-config\nruncmd: ['kubeadm join --token " + secret + "']\n"
	return providers.MachineRequest{
		Cluster: c, Pool: pool, Name: name, Origin: fleet.Origin{Made: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)},
		UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte(data))},
	}
}

// A life is a cluster on a daemon, and the agent that has it now.
type life struct {
	testing.TB
	d *dockertest.Daemon
	p *docker.Provider
	c fleet.Cluster
}

func newLife(t testing.TB) *life {
	d := dockertest.New(nodeImage, balancerImage)
	return &life{TB: t, d: d, p: newProvider(t, d), c: cluster()}
}

func (l *life) observe() fleet.Infrastructure {
	l.Helper()
	time.Sleep(2 * tick)
	got, err := l.p.Observe(l.Context(), &l.c)
	if err != nil {
		l.Fatal(err)
	}
	return got
}

// step does what the planner does next, for a server and a worker, or for none. It reports whether nothing is left.
func (l *life) step(want bool) (done bool, err error) {
	got, err := l.p.Observe(l.Context(), &l.c)
	if err != nil {
		return false, err
	}
	for _, m := range got.Machines {
		if !want || m.State == fleet.MachineFailed {
			return false, l.p.DeleteMachine(l.Context(), "op-delete", &l.c, m.Name, m.ProviderID)
		}
	}
	switch {
	case !want && !got.Exists:
		return true, nil
	case !want:
		return false, l.p.DeleteInfrastructure(l.Context(), "op-delete", &l.c)
	case !got.Ready || len(got.Upkeep) > 0:
		return false, l.p.EnsureInfrastructure(l.Context(), "op-infra", &l.c)
	case len(got.Machines) == 0:
		return false, l.p.CreateMachine(l.Context(), "op-cp", request(&l.c, l.c.ControlPlane, "cp-0"))
	case len(got.Machines) == 1:
		return false, l.p.CreateMachine(l.Context(), "op-md", request(&l.c, l.c.Workers[0], "md-0"))
	}
	return got.Machines[0].State == fleet.MachineRunning && got.Machines[1].State == fleet.MachineRunning, nil
}

// until steps until nothing is left. What fails is tried again after a settle window.
func (l *life) until(want bool) {
	l.Helper()
	var last error
	for range 60 {
		done, err := l.step(want)
		if done {
			return
		}
		if last = err; err != nil {
			time.Sleep(2 * settle)
		}
		time.Sleep(2 * tick)
	}
	l.Fatalf("not done: %v: %+v", last, l.d.Containers())
}

// TestKilledAtEveryCall: an agent that ends after any of its changes, with or without its effect, leaves a cluster
// that the next agent completes and deletes, with nothing twice and nothing left.
func TestKilledAtEveryCall(t *testing.T) {
	for _, lose := range []bool{true, false} {
		for nth := range 40 {
			hit := 0
			t.Run(fmt.Sprintf("%d lost %t", nth, lose), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLife(t)
					end := l.d.Inject(dockertest.Fault{Changes: true, Skip: nth, Times: 1, Lose: lose, Status: 500})
					for _, want := range []bool{true, false} {
						for range 30 { // until the fault, by the agent that ends
							if done, err := l.step(want); done || err != nil {
								break
							}
							time.Sleep(2 * tick)
						}
						l.p = newProvider(t, l.d)
						time.Sleep(2 * settle)
						l.until(want)
						if n := len(l.d.Containers()); want && n != 3 || !want && n != 0 {
							t.Errorf("there are %d containers, want a server, a worker and a load balancer, or nothing", n)
						}
					}
					hit = end()
				})
			})
			if hit == 0 {
				if nth < 10 {
					t.Errorf("only %d changes were made", nth)
				}
				break
			}
		}
	}
}

// TestContainerEnds: a container that was killed is started again, and the load balancer has its new address.
func TestContainerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.until(true)
		for _, c := range l.d.Containers() {
			if c.Labels[fleet.TagMachine] == "cp-0" {
				l.d.Change(c.ID, func(c *dockertest.Container) { c.State, c.Address = "exited", "" })
			}
		}
		got := l.observe()
		if m := got.Machines[0]; m.Power != fleet.HostOff || m.State != fleet.MachineRunning || len(got.Upkeep) == 0 {
			t.Errorf("a container that ended is %+v with upkeep %q", m, got.Upkeep)
		}
		l.until(true)
		if got := l.observe(); len(got.Upkeep) > 0 || got.Machines[0].Power != fleet.HostOn {
			t.Errorf("the machine is %+v with upkeep %q, want it on", got.Machines[0], got.Upkeep)
		}
	})
}

// TestDaemonRestarts: if the load balancer gets another address than machines know, the cluster is not ready and
// says why.
func TestDaemonRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.until(true)
		l.c.Residence = fleet.Residence{Provider: "docker", ControlPlane: fleet.InitializedOnce, Endpoint: l.observe().Endpoint}
		l.d.Restart()
		for range 3 {
			if err := l.p.EnsureInfrastructure(t.Context(), "op-infra", &l.c); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * tick)
		}
		got := l.observe()
		if got.Ready || !strings.Contains(got.Message, "The addresses of containers changed") || got.Endpoint.Host != l.c.Residence.Endpoint.Host {
			t.Errorf("ready %t, message %q, endpoint %v", got.Ready, got.Message, got.Endpoint)
		}
	})
}

// TestOutputOfUserData: a machine whose user data failed says so in the words of the user data, without secrets.
func TestOutputOfUserData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.until(true)
		l.d.FailBoot("error: token " + secret + " is not valid\n")
		if err := l.p.CreateMachine(t.Context(), "op-1", request(&l.c, l.c.Workers[0], "md-1")); err != nil {
			t.Fatal(err)
		}
		for _, m := range l.observe().Machines {
			if m.Name == "md-1" && (m.State != fleet.MachineFailed || m.Message != "the user data failed: error: token … is not valid") {
				t.Errorf("state %s, message %q", m.State, m.Message)
			}
		}
	})
}

// TestKubeadmInContainers: kubeadm ignores what containers cannot have, and kube-proxy leaves the limits of the host alone.
func TestKubeadmInContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.until(true)
		r := request(&l.c, l.c.ControlPlane, "cp-1")
		r.UserData.Content = fleet.NewSecret([]byte("#cloud-config\nruncmd: ['kubeadm init --config /run/kubeadm/kubeadm.yaml && echo done']\n"))
		if err := l.p.CreateMachine(t.Context(), "op-1", r); err != nil {
			t.Fatal(err)
		}
		for _, c := range l.d.Containers() {
			if c.Labels[fleet.TagMachine] != "cp-1" {
				continue
			}
			want := "grep -q KubeProxyConfiguration /run/kubeadm/kubeadm.yaml || cat /fairlead/kube-proxy.yaml >> /run/kubeadm/kubeadm.yaml; " +
				"kubeadm init --ignore-preflight-errors=SystemVerification,Swap,FileContent--proc-sys-net-bridge-bridge-nf-call-iptables --config /run/kubeadm/kubeadm.yaml && echo done\n"
			if !strings.Contains(c.Steps, base64.StdEncoding.EncodeToString([]byte(want))) || !strings.Contains(c.Files["fairlead/kube-proxy.yaml"], "maxPerCore: 0") {
				t.Errorf("steps %s\nconfiguration of kube-proxy %s", c.Steps, c.Files["fairlead/kube-proxy.yaml"])
			}
		}
	})
}

// TestNameInConflict: a container of somebody else with the name of a machine is left alone, and named.
func TestNameInConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.until(true)
		l.d.Add("acme.prod.eu-1.md-1")
		err := l.p.CreateMachine(t.Context(), "op-1", request(&l.c, l.c.Workers[0], "md-1"))
		if fleet.KindOf(err) != fleet.Conflict || !strings.Contains(err.Error(), "already in use") {
			t.Errorf("CreateMachine = %v, want a conflict", err)
		}
	})
}

// TestServerLeavesFirst: a server is behind the load balancer no longer when its container is removed.
func TestServerLeavesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.until(true)
		time.Sleep(2 * tick)
		removed := false
		l.d.Watch(func(c dockertest.Call) {
			if c.Method != "DELETE" {
				return
			}
			removed = true
			for _, x := range l.d.Containers() {
				if strings.Contains(x.Files["usr/local/etc/haproxy/haproxy.cfg"], "server cp-0") {
					t.Error("the load balancer leads to a server whose container is being removed")
				}
			}
		})
		for _, m := range l.observe().Machines {
			if m.Name == "cp-0" {
				if err := l.p.DeleteMachine(t.Context(), "op-delete", &l.c, m.Name, m.ProviderID); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !removed {
			t.Error("no container was removed")
		}
	})
}

// TestImagesAreLoaded: a container has the images of preLoadImages before it starts, and is not made without one.
func TestImagesAreLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		l.until(true)
		pool := l.c.Workers[0]
		preload := func(image string) fleet.Object {
			return newObject("DevMachineTemplate", api.DevMachineSpec{Backend: api.DevMachineBackend{Docker: &api.Container{
				PoolContainer: api.PoolContainer{PreLoadImages: []string{image}}, BootstrapTimeout: &metav1.Duration{Duration: time.Minute},
			}}})
		}
		pool.Infrastructure = preload(balancerImage)
		if err := l.p.CreateMachine(t.Context(), "op-1", request(&l.c, pool, "md-1")); err != nil {
			t.Fatal(err)
		}
		loaded := false
		for _, c := range l.d.Containers() {
			_, has := c.Files["fairlead/images/"+balancerImage]
			loaded = loaded || c.Labels[fleet.TagMachine] == "md-1" && has
		}
		if !loaded {
			t.Error("the container has no image in fairlead/images")
		}
		pool.Infrastructure = preload("theirs:v1")
		if err := l.p.CreateMachine(t.Context(), "op-2", request(&l.c, pool, "md-2")); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "theirs:v1") {
			t.Errorf("CreateMachine = %v, want that the image is missing", err)
		}
	})
}
