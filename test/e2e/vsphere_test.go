package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
	"fairlead.dev/test/lab/kubernetes/lab"
	"fairlead.dev/test/lab/vsphere/guests"
)

// endpointOfVMs is where clusters on vSphere are reached: an address of the lab's network.
const endpointOfVMs = "10.77.0.240"

// vm is the role of machines that are VMs, and no hosts.
const vm = "vm"

// Pools are the clusters of the vCenter that VMs of a pool are on, for the template.
func (c cluster) Pools() map[string]string { return map[string]string{"cp": "C0", "md-0": "C1"} }

// One machine is a cluster: a VM that is cloned boots, and kubeadm runs in it.
func TestVSphereOne(t *testing.T) {
	v := newVSphere(t, 1)
	v.c.ControlPlanes, v.c.Workers = 1, 0
	v.startAgent()
	config := v.reach("a cluster of one", "made")
	v.podsReady(config)
	v.delete()
}

// A cluster on VMs through its life: it is made, its control plane grows to three machines,
// HA restarts one of them, another loses its power, it is upgraded, and goes without a trace.
func TestVSphere(t *testing.T) {
	v := newVSphere(t, 6)
	versions := v.lab.Versions()
	if len(versions) < 2 {
		t.Fatalf("machines of the lab have Kubernetes %v alone: `make lab-images` makes two versions", versions)
	}
	v.c.Version, v.c.Extra = versions[1], strings.ReplaceAll(controlPlaneCheck, "three", v.c.Name)
	v.startAgent()
	config := v.reach("a cluster of one and one", "made")
	v.podsReady(config)
	v.killAgent(v.c)

	v.c.Workers = 2
	v.reach("two workers", "scaled to 1+2")
	v.checkPods(config)
	if _, err := v.kubectl(config, "", "delete", "pdb", "web"); err != nil {
		t.Error(err)
	}
	v.c.Workers = 1
	v.reach("one worker", "scaled to 1+1")

	v.c.ControlPlanes = 3
	v.reach("three control planes", "scaled to 3+1")
	v.restartByHA()
	v.loseOne()

	v.c.Version = versions[0]
	v.reach("the next minor", "upgraded 3+1")
	v.podsReady(config)
	v.killAgent(v.c)
	v.delete()
}

// A vCenterWorld is a world whose machines are VMs of a vCenter in this process.
type vCenterWorld struct {
	*world
	vcenter *vspheretest.VCenter
	guests  *guests.Guests
	c       cluster
}

func newVSphere(t *testing.T, machines int) *vCenterWorld {
	t.Helper()
	if os.Getenv("FAIRLEAD_TEST_VSPHERE") == "" {
		t.Skip("it needs root, images of the lab and minutes: `make e2e-vsphere` runs it")
	}
	v := &vCenterWorld{world: newWorld(t, "", slices.Repeat([]string{vm}, machines)...)}
	at := v.newVCenter(v.lab.Machines())
	haveAddress(t, endpointOfVMs)
	openDoor(t, net.JoinHostPort(endpointOfVMs, "6443"), v.dial)
	v.c = cluster{
		Name: "vms", Template: vsphereYAML, ControlPlanes: 1, Workers: 1, Version: v.lab.Versions()[0], Endpoint: endpointOfVMs, VSphere: at,
	}
	return v
}

// newVCenter starts one whose VMs are machines, and returns what Git says of it.
func (v *vCenterWorld) newVCenter(machines []*lab.Machine) *vSphere {
	t := v.t
	t.Helper()
	log, err := os.Create(filepath.Join(v.logs, "vms.log"))
	if err != nil {
		t.Fatal(err)
	}
	v.guests, err = guests.New(machines, func(s string) {
		_, _ = fmt.Fprintln(log, time.Now().Format(time.TimeOnly), s) // a log
	})
	if err != nil {
		t.Fatal(err)
	}
	o := vspheretest.Options{Datacenters: 1, ClusterHosts: 4, Listen: lab.Gateway + ":0", Power: v.guests.Power}
	for _, version := range v.lab.Versions() {
		o.Templates = append(o.Templates, vspheretest.Template{Name: "ubuntu-2204-kube-" + version, Snapshot: "ready"})
	}
	v.vcenter = vspheretest.New(t, o)
	t.Cleanup(v.guests.Close)
	v.guests.Attach(v.vcenter)
	v.flags = append(v.flags, "--vsphere-tick=2s", "--vsphere-settle=5s", "--vsphere-rate=100")
	return &vSphere{Server: v.vcenter.Server(), Thumbprint: v.vcenter.Thumbprint(), Username: vspheretest.Administrator, Password: vspheretest.Password}
}

// dial connects to an API server as a load balancer of people would, which knows the VMs of
// the control plane.
func (v *vCenterWorld) dial(ctx context.Context) (net.Conn, error) {
	err := errors.New("no VM of the control plane is on")
	for _, m := range v.vcenter.Machines() {
		if !m.On || len(m.Addresses) == 0 || !strings.Contains(m.Name, "-cp-") {
			continue
		}
		conn, dialed := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(m.Addresses[0], "6443"))
		if dialed == nil {
			return conn, nil
		}
		err = errors.Join(err, dialed)
	}
	return nil, err
}

// reach pushes the cluster as it is to be, waits until it is so, and returns its kubeconfig.
func (v *vCenterWorld) reach(push, what string) string {
	v.t.Helper()
	v.put(push, v.c)
	r := v.waitComplete(v.c)
	v.measure("%s: push to Provisioned %s", what, since(v.pushed))
	config := v.kubeconfig(v.c)
	v.checkNodes(config, v.c, r)
	return config
}

// loseOne pulls the plug of a control plane: its VM is on and says nothing. Another takes
// its place.
func (v *vCenterWorld) loseOne() {
	v.t.Helper()
	r, _ := v.report(v.c)
	dead := r.Machines[slices.IndexFunc(r.Machines, isControlPlane)].Machine.Name
	on := v.guests.Machine(string(dead))
	if on == nil {
		v.t.Fatalf("no machine is the VM %s", dead)
	}
	if err := on.Kill(); err != nil {
		v.t.Fatal(err)
	}
	off := time.Now()
	v.wait("a control plane in the place of "+string(dead), func() (bool, string) {
		r, _ := v.report(v.c)
		gone := !slices.ContainsFunc(r.Machines, func(m fleet.MachineReport) bool { return m.Machine.Name == dead })
		return gone && complete(v.c, r), describe(r)
	})
	v.measure("a control plane without power: replaced %s after", since(off))
}

// delete takes the cluster out of the world, and checks that the vCenter is as it was.
func (v *vCenterWorld) delete() {
	v.t.Helper()
	v.c.Delete = true
	v.put("no cluster", v.c)
	v.waitDeleted(v.c)
	if left := v.vcenter.Machines(); len(left) > 0 {
		v.t.Errorf("VMs are left: %+v", left)
	}
	v.wait("machines that are off", func() (bool, string) {
		i := slices.IndexFunc(v.lab.Machines(), (*lab.Machine).On)
		return i < 0, fmt.Sprintf("machine %d is on", i+1)
	})
	calls, in, out := v.vcenter.Count("")
	v.measure("%d calls of the vCenter, %d kB there and %d kB back", calls, in/1000, out/1000)
}
