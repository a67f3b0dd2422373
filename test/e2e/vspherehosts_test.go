package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// crash takes the power of the host that a machine is on, with all VMs there, and returns the
// path of the host.
func (v *vCenterWorld) crash(name fleet.MachineName) string {
	v.t.Helper()
	vm, ok := v.vcenter.Machine(string(name))
	if !ok {
		v.t.Fatalf("there is no VM %s", name)
	}
	cluster, _, _ := strings.Cut(vm.Host, "_H")
	path := "/DC0/host/" + cluster + "/" + vm.Host
	var on []*lab.Machine
	var lost []string
	for _, other := range v.vcenter.Machines() {
		if m := v.guests.Machine(other.Name); other.Host == vm.Host && m != nil {
			on, lost = append(on, m), append(lost, other.Name)
		}
	}
	v.vcenter.Crash(path)
	v.wait("machines without power", func() (bool, string) {
		i := slices.IndexFunc(on, (*lab.Machine).On)
		return i < 0, fmt.Sprint("some are on of ", lost)
	})
	v.measure("host %s is lost, with %s", vm.Host, strings.Join(lost, ", "))
	return path
}

// checkApart checks that machines of the control plane are on hosts of their own, by the rule of
// DRS that Fairlead made.
func (v *vCenterWorld) checkApart(r fleet.Report) {
	v.t.Helper()
	on := make(map[string]fleet.MachineName)
	for _, m := range r.Machines {
		vm, _ := v.vcenter.Machine(string(m.Machine.Name))
		if other, ok := on[vm.Host]; ok && isControlPlane(m) {
			v.t.Errorf("%s and %s are both on host %s", m.Machine.Name, other, vm.Host)
		}
		if isControlPlane(m) {
			on[vm.Host] = m.Machine.Name
		}
	}
}

// restartByHA loses a host with a machine of the control plane, which HA restarts on another:
// it is the same machine, and no other is made.
func (v *vCenterWorld) restartByHA() {
	v.t.Helper()
	before, _ := v.report(v.c)
	v.checkApart(before)
	name := before.Machines[slices.IndexFunc(before.Machines, isControlPlane)].Machine.Name
	was, _ := v.vcenter.Machine(string(name))
	lost := time.Now()
	path := v.crash(name)
	v.vcenter.Restart(path)
	v.wait("the control plane whole after HA", func() (bool, string) {
		vm, _ := v.vcenter.Machine(string(name))
		r, _ := v.report(v.c)
		return len(vm.Addresses) > 0 && complete(v.c, r), describe(r)
	})
	v.podsReady(v.kubeconfig(v.c))
	v.measure("a host lost, its machines restarted by HA: all pods ready %s after", since(lost))
	if now, _ := v.vcenter.Machine(string(name)); now.Host == was.Host || now.UUID != was.UUID {
		v.t.Errorf("HA restarted %+v as %+v", was, now)
	}
	v.same(v.c, before)
	v.vcenter.Boot(path)
}

// loseHost loses the host of a machine for good, with nobody to restart what was on it:
// another machine takes the place of each. When the host is back, the old ones go.
func (v *vCenterWorld) loseHost(name fleet.MachineName) {
	v.t.Helper()
	lost := time.Now()
	path := v.crash(name)
	v.wait("a machine in the place of "+string(name), func() (bool, string) {
		r, _ := v.report(v.c)
		running := slices.DeleteFunc(slices.Clone(r.Machines), func(m fleet.MachineReport) bool {
			return !isControlPlane(m) || m.Machine.Name == name || m.Phase != fleet.MachinePhaseRunning
		})
		return len(running) == v.c.ControlPlanes, describe(r)
	})
	v.measure("a host lost for good: its machine replaced %s after", since(lost))
	v.vcenter.Boot(path)
	back := time.Now()
	v.wait("no trace of "+string(name), func() (bool, string) {
		r, _ := v.report(v.c)
		left := slices.ContainsFunc(v.vcenter.Machines(), func(m vspheretest.Machine) bool { return m.Name == string(name) })
		return !left && complete(v.c, r), describe(r)
	})
	v.measure("the host is back: what was on it is gone %s after", since(back))
}
