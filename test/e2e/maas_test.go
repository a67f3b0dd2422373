package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/maas/maastest"
	"fairlead.dev/test/lab/doubles/maas/guests"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// maasHost is the role of machines that are hosts of a MAAS.
const maasHost = "maas"

// One machine is a cluster: a host that is deployed boots, and kubeadm runs on it behind a name that MAAS serves.
func TestMAASOne(t *testing.T) {
	m := newMAAS(t, 1)
	m.c.ControlPlanes, m.c.Workers = 1, 0
	m.startAgent()
	config := m.reach("a cluster of one", "made")
	m.podsReady(config)
	m.delete()
}

// A cluster on six hosts through its life: it grows to three control planes and two workers, is upgraded by a minor
// with one host to spare, a host of it dies, and it goes.
func TestMAAS(t *testing.T) {
	m := newMAAS(t, 6)
	versions := m.lab.Versions()
	if len(versions) < 2 {
		t.Fatalf("machines of the lab have Kubernetes %v alone: `make lab-images` makes two versions", versions)
	}
	m.c.Version, m.c.Extra = versions[1], strings.ReplaceAll(controlPlaneCheck, "three", m.c.Name)
	m.startAgent()
	config := m.reach("a cluster of one and one", "made")
	m.podsReady(config)
	m.killAgent(m.c)

	m.c.ControlPlanes, m.c.Workers = 3, 2
	m.reach("three control planes and two workers", "scaled to 3+2")
	m.c.Version = versions[0]
	m.reach("the next minor", "upgraded 3+2 with one host to spare")
	m.podsReady(config)
	m.loseHost()
	m.killAgent(m.c)
	m.delete()
}

// A maasWorld is a world whose machines are hosts of a double of MAAS in this process.
type maasWorld struct {
	*world
	region *maastest.Region
	guests *guests.Guests
	c      cluster
}

func newMAAS(t *testing.T, machines int) *maasWorld {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_MAAS") == "" {
		t.Skip("it needs root, images of the lab and minutes: `make e2e-maas` runs it")
	}
	m := &maasWorld{world: newWorld(t, "", slices.Repeat([]string{maasHost}, machines)...)}
	m.c = cluster{
		Name: "maas", Template: maasYAML, ControlPlanes: 1, Workers: 1, Version: m.lab.Versions()[0], MAAS: m.newRegion(),
	}
	return m
}

// newRegion serves one whose hosts are the machines of the lab, and returns what Git says of it.
func (m *maasWorld) newRegion() *maasRegion {
	t := m.t
	t.Helper()
	log, err := os.Create(filepath.Join(m.logs, "guests.log"))
	if err != nil {
		t.Fatal(err)
	}
	m.region = maastest.NewRegion()
	m.region.SetTimes(maastest.Times{Deploy: 5 * time.Second, PowerOff: 2 * time.Second, Erase: 5 * time.Second})
	for _, v := range m.lab.Versions() {
		m.region.AddImage("custom/kube-" + v)
	}
	say := func(s string) { _, _ = fmt.Fprintln(log, time.Now().Format(time.TimeOnly), s) } // a log
	m.guests, err = guests.New(m.region, m.lab.Machines(), nil, say)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.guests.Close)

	listen := &net.ListenConfig{}
	api, err := listen.Listen(m.ctx, "tcp", lab.Gateway+":0")
	if err != nil {
		t.Fatal(err)
	}
	names, err := listen.ListenPacket(m.ctx, "udp", lab.Gateway+":53")
	if err != nil {
		t.Fatal(err)
	}
	m.resolver = filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(m.resolver, []byte("nameserver "+lab.Gateway+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(m.ctx))
	var served sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		served.Wait()
	})
	served.Go(func() {
		if err := m.region.Serve(ctx, api); err != nil {
			t.Error(err)
		}
	})
	served.Go(func() {
		if err := m.region.ServeNames(ctx, names); err != nil {
			t.Error(err)
		}
	})
	m.flags = append(m.flags, "--maas-tick=2s", "--maas-settle=5s", "--maas-rate=100")
	at := &maasRegion{Endpoint: "http://" + api.Addr().String() + "/MAAS", Key: m.region.AddUser("fleet", true).Key(), hosts: make(map[string]string)}
	for _, h := range m.region.Machines() {
		at.hosts[h.SystemID] = h.Hostname
	}
	return at
}

// reach pushes the cluster as it is to be, waits until it is so, and returns its kubeconfig.
func (m *maasWorld) reach(push, what string) string {
	m.t.Helper()
	m.put(push, m.c)
	r := m.waitComplete(m.c)
	m.measure("%s: push to Provisioned %s", what, since(m.pushed))
	config := m.kubeconfig(m.c)
	m.checkNodes(config, m.c, r)
	return config
}

// loseHost has a host of the control plane die: it runs nothing, and its BMC is silent. Another host takes its place;
// when the BMC is back the host is released.
func (m *maasWorld) loseHost() {
	m.t.Helper()
	r, _ := m.report(m.c)
	lost := r.Machines[slices.IndexFunc(r.Machines, isControlPlane)].Machine
	id := path.Base(string(lost.ProviderID))
	m.region.Change(id, func(_ *maastest.Machine, h *maastest.Host) { h.NoBMC = true })
	if err := m.guests.Machine(id).Kill(); err != nil {
		m.t.Fatal(err)
	}
	off := time.Now()
	m.wait("another control plane than "+string(lost.Name), func() (bool, string) {
		r, _ := m.report(m.c)
		running := 0
		for _, at := range r.Machines {
			if isControlPlane(at) && at.Machine.Name != lost.Name && at.Phase == fleet.MachinePhaseRunning {
				running++
			}
		}
		return running == m.c.ControlPlanes, describe(r)
	})
	m.measure("a host that died, %s: a third control plane %s after", m.c.MAAS.hosts[id], since(off))
	m.region.Change(id, func(_ *maastest.Machine, h *maastest.Host) { h.NoBMC = false })
	back := time.Now()
	m.wait("the cluster whole, and the host released", func() (bool, string) {
		r, _ := m.report(m.c)
		on := slices.ContainsFunc(r.Machines, func(at fleet.MachineReport) bool { return at.Machine.Name == lost.Name })
		return !on && complete(m.c, r), describe(r)
	})
	m.measure("its BMC is back: released %s after", since(back))
}

// delete takes the cluster out of the world, and checks that all hosts are off and empty, and that no name is left.
func (m *maasWorld) delete() {
	m.t.Helper()
	m.c.Delete = true
	m.put("no cluster", m.c)
	m.waitDeleted(m.c)
	m.measure("deleted %s after the push", since(m.pushed))
	m.wait("hosts that are Ready, off and empty", func() (bool, string) {
		for _, at := range m.region.Machines() {
			if _, h := m.region.Machine(at.SystemID); at.Status != maastest.Ready || at.Owner != "" || h.On || h.OnDisk != nil {
				return false, fmt.Sprintf("%s has the state %d and the owner %q, on: %t, installed: %t", at.Hostname, at.Status, at.Owner, h.On, h.OnDisk != nil)
			}
		}
		i := slices.IndexFunc(m.lab.Machines(), (*lab.Machine).On)
		return i < 0, fmt.Sprintf("machine %d is on", i+1)
	})
	if left := m.region.Names(); len(left) > 0 {
		m.t.Errorf("names are left: %v", left)
	}
	changes := 0
	calls := m.region.Calls()
	for _, c := range calls {
		if c.Changes() {
			changes++
		}
	}
	m.measure("%d calls of MAAS, of which %d may change something", len(calls), changes)
}
