package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/lab/kubernetes/lab"
	"fairlead.dev/test/lab/metal/guests"
)

// endpointOfMetal is where clusters on bare metal are reached: an address of the lab's network.
const endpointOfMetal = "10.77.0.241"

// metalHost is the role of machines that are hosts of an Ironic.
const metalHost = "metal"

// One machine is a cluster: a host that is deployed boots, and kubeadm runs on it.
func TestMetalOne(t *testing.T) {
	m := newMetal(t, 1)
	m.c.ControlPlanes, m.c.Workers = 1, 0
	m.startAgent()
	config := m.reach("a cluster of one", "made")
	m.podsReady(config)
	m.delete()
}

// A cluster on six hosts through its life: it is made, grows to three control planes, is
// upgraded with a host to spare, has all its machines replaced with none, a host of it dies, and
// it goes.
func TestMetal(t *testing.T) {
	m := newMetal(t, 6)
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
	m.replaceAll()
	m.podsReady(config)
	m.c.Workers = 2
	m.reach("two workers", "scaled to 3+2")
	m.loseHost()
	m.killAgent(m.c)
	m.delete()
}

// Workers of a pool that has all hosts are replaced: with nowhere to surge into each goes first,
// which is told, and the next has its host.
func TestMetalFull(t *testing.T) {
	m := newMetal(t, 2)
	m.startAgent()
	m.reach("all hosts in use", "made")
	before, _ := m.report(m.c)

	m.c.Metal.Motd = "two"
	config := m.reach("other workers", "a worker replaced, which went first")
	m.wentFirst("md-0")
	m.podsReady(config)
	after, _ := m.report(m.c)
	if old, now := m.worker(before), m.worker(after); old.Name == now.Name || hostOf(old) != hostOf(now) {
		t.Errorf("%s on %s was replaced by %s on %s", old.Name, hostOf(old), now.Name, hostOf(now))
	}
	m.delete()
}

// Hosts that are prepared, with volumes and settings of their firmware; a worker that runs a live
// image, and in its place one that runs from disk, on the host that was prepared anew.
func TestMetalLive(t *testing.T) {
	m := newMetal(t, 2)
	m.c.Metal.Live, m.c.Metal.Setting = m.ironic.LiveURL(), "Enabled"
	m.startAgent()
	config := m.reach("a worker with a live image", "hosts prepared, and made with a live worker")
	m.podsReady(config)
	before, _ := m.report(m.c)
	name := hostOf(m.worker(before))
	prepared := func(want string, running metal3test.Running) {
		t.Helper()
		s := m.ironic.Host(name).State()
		if s.Running != running || s.Settings["ProcVirtualization"] != want || len(s.Volumes) != 2 {
			t.Errorf("the host of the worker is %+v", s)
		}
	}
	prepared("Enabled", metal3test.OnMedia)

	m.c.Metal.Live, m.c.Metal.Setting = "", "Disabled"
	m.reach("a worker with an image on its disk", "its host prepared anew, and the worker replaced")
	m.podsReady(config)
	prepared("Disabled", metal3test.OnDisk)
	m.delete()
}

// wentFirst checks that the status branch tells of machines of each of pools that they went before
// those in their places were made, since no host was free.
func (m *metalWorld) wentFirst(pools ...string) {
	m.t.Helper()
	clone := filepath.Join(m.t.TempDir(), "status")
	if out, err := exec.CommandContext(m.ctx, "git", "clone", "--quiet", "--bare", "--single-branch", "--branch", "fairlead/status", m.source, clone).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(m.ctx, "git", "-C", clone, "log").Output()
	if err != nil {
		m.t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(out)))
	for _, pool := range pools {
		if !slices.ContainsFunc(lines, func(line string) bool {
			return strings.Contains(line, m.c.Name+"-"+pool+"-") && strings.Contains(line, "no host is free for its replacement, so it goes first")
		}) {
			m.t.Errorf("the status branch does not tell why machines of %s went first:\n%s", pool, out)
		}
	}
}

// replaceAll grows the cluster until it has all hosts, and gives all of its machines another
// image: one after the other goes, and the one in its place has a host that became free.
func (m *metalWorld) replaceAll() {
	m.t.Helper()
	m.c.Workers = len(m.c.Metal.Hosts) - m.c.ControlPlanes
	m.reach("all hosts in use", "scaled to all hosts")
	before, _ := m.report(m.c)
	m.c.Metal.Image += "?build=2"
	m.reach("another image", "all of 3+3 replaced with no host to spare")
	m.wentFirst(m.c.Metal.Pools()...)
	after, _ := m.report(m.c)
	for _, now := range after.Machines {
		if slices.ContainsFunc(before.Machines, func(old fleet.MachineReport) bool { return old.Machine.Name == now.Machine.Name }) {
			m.t.Errorf("%s was there before", now.Machine.Name)
		}
		if s := m.ironic.Host(hostOf(now.Machine)).State(); s.Disk == nil || s.Disk.Image != m.c.Metal.Image {
			m.t.Errorf("%s has the disk %+v", now.Machine.Name, s.Disk)
		}
	}
}

// A metalWorld is a world whose machines are hosts of an Ironic in this process.
type metalWorld struct {
	*world
	ironic *metal3test.Ironic
	guests *guests.Guests
	c      cluster
}

// needsMetal skips t unless it is to run on hosts of an Ironic.
func needsMetal(t *testing.T) {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_METAL") == "" {
		t.Skip("it needs root, images of the lab and minutes: `make e2e-metal` runs it")
	}
	metal3test.Needs(t)
}

func newMetal(t *testing.T, machines int) *metalWorld {
	t.Helper()
	needsMetal(t)
	m := &metalWorld{world: newWorld(t, "", slices.Repeat([]string{metalHost}, machines)...)}
	at := m.newIronic(m.lab.Machines())
	haveAddress(t, endpointOfMetal)
	openDoor(t, net.JoinHostPort(endpointOfMetal, "6443"), m.dial)
	m.c = cluster{
		Name: "metal", Template: metal3YAML + metalHostsYAML, ControlPlanes: 1, Workers: 1, Version: m.lab.Versions()[0], Endpoint: endpointOfMetal, Metal: at,
	}
	return m
}

// newIronic starts one whose hosts are machines, and returns what Git says of it.
func (m *metalWorld) newIronic(machines []*lab.Machine) *metal {
	m.t.Helper()
	log, err := os.Create(filepath.Join(m.logs, "guests.log"))
	if err != nil {
		m.t.Fatal(err)
	}
	say := func(s string) { _, _ = fmt.Fprintln(log, time.Now().Format(time.TimeOnly), s) } // a log
	var names []string
	for i := range machines {
		names = append(names, fmt.Sprintf("host-%d", i))
	}
	if m.guests, err = guests.New(machines, names, say); err != nil {
		m.t.Fatal(err)
	}
	m.ironic = metal3test.New(m.t, metal3test.Options{Listen: lab.Gateway + ":0", Hardware: m.guests, Log: say, Silence: 5 * time.Minute})
	m.flags = append(m.flags, "--metal3-tick=2s", "--metal3-settle=5s", "--metal3-rate=100")
	at := &metal{
		Endpoint: m.ironic.URL(), Username: metal3test.User, Password: metal3test.Password, CA: string(m.ironic.CA()),
		Ramdisk: m.ironic.RamdiskURL(), Image: m.ironic.ImageURL(), Checksum: m.ironic.ImageSHA256(),
	}
	for _, name := range names {
		h := m.ironic.AddHost(name)
		at.Hosts = append(at.Hosts, bareMetal{name, h.BMC(), h.MAC(), metal3test.BMCUser, h.Password()})
	}
	return at
}

// dial connects to an API server as a load balancer of people would: one that answers is of
// the control plane.
func (m *metalWorld) dial(ctx context.Context) (net.Conn, error) {
	err := errors.New("no host is on")
	for _, at := range m.lab.Machines() {
		if !at.On() {
			continue
		}
		conn, dialed := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(at.Address, "6443"))
		if dialed == nil {
			return conn, nil
		}
		err = errors.Join(err, dialed)
	}
	return nil, err
}

// reach pushes the cluster as it is to be, waits until it is so, and returns its kubeconfig.
func (m *metalWorld) reach(push, what string) string {
	m.t.Helper()
	m.put(push, m.c)
	r := m.waitComplete(m.c)
	m.measure("%s: push to Provisioned %s", what, since(m.pushed))
	config := m.kubeconfig(m.c)
	m.checkNodes(config, m.c, r)
	return config
}

// hostOf is the name of the host of an Ironic that a machine is on; empty: it is on none.
func hostOf(m fleet.Machine) string {
	id, ok := strings.CutPrefix(string(m.ProviderID), "metal3://")
	parts := strings.Split(id, "/")
	if !ok || len(parts) != 3 {
		return ""
	}
	return parts[1]
}

// node is what the Node of a machine is called. Workers on hosts of an Ironic, and all on hosts of MAAS, are called as
// their hosts are, and those on EC2 by their addresses.
func (c cluster) node(m fleet.MachineReport) string {
	if c.AWS != nil {
		return "ip-" + strings.ReplaceAll(m.Machine.Addresses[0], ".", "-")
	}
	if c.MAAS != nil {
		return c.MAAS.hosts[path.Base(string(m.Machine.ProviderID))]
	}
	if host := hostOf(m.Machine); host != "" && !isControlPlane(m) {
		return host
	}
	return string(m.Machine.Name)
}

// loseHost has a host of the control plane die: it runs nothing, and its BMC is silent.
// Another host takes its place; when the BMC is back the host is cleaned and free.
func (m *metalWorld) loseHost() {
	m.t.Helper()
	r, _ := m.report(m.c)
	lost := r.Machines[slices.IndexFunc(r.Machines, isControlPlane)]
	name := hostOf(lost.Machine)
	silent := m.ironic.FailHosts(metal3test.HostFault{Host: name, At: metal3test.AtRequest})
	if err := m.guests.Machine(name).Kill(); err != nil {
		m.t.Fatal(err)
	}
	off := time.Now()
	m.wait("another control plane than "+string(lost.Machine.Name), func() (bool, string) {
		r, _ := m.report(m.c)
		ready := 0
		for _, at := range r.Machines {
			if isControlPlane(at) && at.Machine.Name != lost.Machine.Name && at.Phase == fleet.MachinePhaseRunning {
				ready++
			}
		}
		return ready == 3, describe(r)
	})
	m.measure("a host that died, %s: a third control plane %s after", name, since(off))
	silent.End()
	back := time.Now()
	m.wait("the cluster whole, and the host released", func() (bool, string) {
		r, _ := m.report(m.c)
		on := slices.ContainsFunc(r.Machines, func(at fleet.MachineReport) bool { return at.Machine.Name == lost.Machine.Name })
		return !on && complete(m.c, r), describe(r)
	})
	m.measure("its BMC is back: released %s after", since(back))
}

// delete takes the cluster out of the world, and checks that all hosts are off and empty.
func (m *metalWorld) delete() {
	m.t.Helper()
	m.c.Delete = true
	m.put("no cluster", m.c)
	for _, role := range []fleet.Role{fleet.RoleWorker, fleet.RoleControlPlane} { // where its time goes
		m.wait("the deletion of each "+string(role), func() (bool, string) {
			r, _ := m.report(m.c)
			left := slices.ContainsFunc(r.Machines, func(at fleet.MachineReport) bool { return at.Machine.Role == role })
			return !left && (r.Phase == fleet.PhaseDeleting || r.Phase == fleet.PhaseDeleted), describe(r)
		})
		m.measure("deletion: no %s %s after the push", role, since(m.pushed))
	}
	m.waitDeleted(m.c)
	m.allFree()
}

// allFree waits until all hosts are off and empty.
func (m *metalWorld) allFree() {
	m.t.Helper()
	m.wait("hosts that are off and empty", func() (bool, string) {
		for _, h := range m.c.Metal.Hosts {
			if s := m.ironic.Host(h.Name).State(); s.On || s.Disk != nil {
				return false, fmt.Sprintf("%s: %+v", h.Name, s)
			}
		}
		i := slices.IndexFunc(m.lab.Machines(), (*lab.Machine).On)
		return i < 0, fmt.Sprintf("machine %d is on", i+1)
	})
}
