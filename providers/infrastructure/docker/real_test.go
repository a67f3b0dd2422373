package docker_test

import (
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/docker"
	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// TestRealDaemon has machines on the daemon FAIRLEAD_TEST_DOCKER, "unix:///run/podman.sock", from the node image
// FAIRLEAD_TEST_DOCKER_IMAGE, which has systemd.
func TestRealDaemon(t *testing.T) {
	host, image := os.Getenv("FAIRLEAD_TEST_DOCKER"), os.Getenv("FAIRLEAD_TEST_DOCKER_IMAGE")
	if host == "" || image == "" {
		t.Skip("FAIRLEAD_TEST_DOCKER and FAIRLEAD_TEST_DOCKER_IMAGE name no daemon and no node image")
	}
	p, err := docker.New(docker.Options{Engine: engine.Options{Host: host}, Tick: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	c := cluster()
	c.Fleet = "real-test"
	c.Infrastructure = newObject("DockerCluster", api.DockerClusterSpec{
		Shared: api.Shared{LoadBalancer: api.LoadBalancer{Disable: true}}, ControlPlaneEndpoint: api.APIEndpoint{Host: "192.0.2.10", Port: 6443},
	})
	c.Workers[0].Infrastructure = newObject("DockerMachineTemplate", api.DockerMachineSpec{Container: api.Container{PoolContainer: api.PoolContainer{CustomImage: image}, BootstrapTimeout: &metav1.Duration{Duration: 2 * time.Minute}}})
	for _, o := range orphans(t, p) { // of a test that was killed
		if err := p.RemoveOrphan(t.Context(), c.Fleet, nil, o); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, name := range []fleet.MachineName{"good-0", "bad-0"} {
			_ = p.DeleteMachine(t.Context(), "op-delete", &c, name, "")
		}
	})
	if err := p.EnsureInfrastructure(t.Context(), "op-infra", &c); err != nil {
		t.Fatal(err)
	}
	for name, command := range map[fleet.MachineName]string{"good-0": "hostname", "bad-0": "echo no luck with " + secret + "; exit 3"} {
		data := "#cloud-config\nwrite_files: [{path: /etc/made, content: made, permissions: '0600'}]\nruncmd: ['" + command + "']\n"
		r := providers.MachineRequest{
			Cluster: &c, Pool: c.Workers[0], Name: name,
			UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte(data))},
		}
		if err := p.CreateMachine(t.Context(), "op-"+fleet.OperationID(name), r); err != nil {
			t.Fatal(err)
		}
		if err := p.CreateMachine(t.Context(), "op-"+fleet.OperationID(name), r); err != nil {
			t.Errorf("the same request again = %v, want the machine that is there", err)
		}
	}
	good := await(t, p, &c, "bad-0 failed and good-0 runs", func(m map[fleet.MachineName]fleet.Machine) bool {
		return m["bad-0"].State == fleet.MachineFailed && m["good-0"].State == fleet.MachineRunning && len(m["good-0"].Addresses) == 1
	})
	if m := good["bad-0"].Message; !strings.HasPrefix(m, "the user data failed:") || !strings.Contains(m, "no luck with …") {
		t.Errorf("bad-0 says %q", m)
	}
	m := good["good-0"]
	for _, to := range []fleet.HostPower{fleet.HostOff, fleet.HostOn} {
		if err := p.SwitchMachine(t.Context(), "op-power", &c, m.Name, m.ProviderID, to); err != nil {
			t.Fatal(err)
		}
		await(t, p, &c, "good-0 is "+string(to), func(all map[fleet.MachineName]fleet.Machine) bool { return all["good-0"].Power == to })
	}
	for _, gone := range []fleet.Machine{m, good["bad-0"]} {
		if err := p.DeleteMachine(t.Context(), "op-delete", &c, gone.Name, gone.ProviderID); err != nil {
			t.Fatal(err)
		}
	}
	await(t, p, &c, "both are gone", func(all map[fleet.MachineName]fleet.Machine) bool { return len(all) == 0 })
	if left := orphans(t, p); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func orphans(t *testing.T, p *docker.Provider) []fleet.Orphan {
	t.Helper()
	out, err := p.Orphans(t.Context(), "real-test", nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// await observes c until its machines are as they should be.
func await(t *testing.T, p *docker.Provider, c *fleet.Cluster, what string, is func(map[fleet.MachineName]fleet.Machine) bool) map[fleet.MachineName]fleet.Machine {
	t.Helper()
	all := make(map[fleet.MachineName]fleet.Machine)
	for range 180 {
		got, err := p.Observe(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		clear(all)
		for _, m := range got.Machines {
			all[m.Name] = m
		}
		if is(all) {
			t.Log(what)
			return all
		}
		time.Sleep(time.Second)
	}
	t.Fatalf("not in time: %s: %+v", what, all)
	return nil
}
