package vspheretest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// TestLostMachines: what vCenter does not reach takes no tasks.
func TestLostMachines(t *testing.T) {
	b := newBench(t, small())
	ref := b.made("m1").Self
	vm := object.NewVirtualMachine(b.c.Client, ref)
	for _, s := range []types.VirtualMachineConnectionState{"disconnected", "inaccessible", "orphaned", "invalid"} {
		b.SetConnection(ref, s)
		task, err := vm.PowerOn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := task.WaitForResult(t.Context()); err == nil {
			t.Errorf("%s: it was switched on", s)
		}
	}
	b.SetConnection(ref, "connected")
	m, _ := b.Machine("m1")
	b.SetMaintenance("/DC0/host/DC0_C1/"+m.Host, true)
	b.Power(ref, true)
	if after, _ := b.Machine("m1"); after.Host == m.Host || !strings.HasPrefix(after.Host, "DC0_C1_") || !after.On {
		t.Errorf("it is on %s, from %s", after.Host, m.Host)
	}
	b.SetHosts("/DC0/host/DC0_C1", false)
	if got := b.look(ref).Runtime.ConnectionState; got != "disconnected" {
		t.Errorf("its hosts are gone, and it is %s", got)
	}
}

// TestCrashedHost: the machines of a host without power are off, whatever vCenter says, until
// HA restarts them elsewhere, or the host is back.
func TestCrashedHost(t *testing.T) {
	o := small()
	var told []string
	o.Power = func(m vspheretest.Machine) { told = append(told, fmt.Sprint(m.Name, " ", m.On)) }
	b := newBench(t, o)
	ref := b.made("m1").Self
	b.Power(ref, true)
	was, _ := b.Machine("m1")
	first := "/DC0/host/DC0_C1/" + was.Host
	b.Crash(first)
	if m := b.look(ref); m.Runtime.ConnectionState != "disconnected" || m.Runtime.PowerState != "poweredOn" {
		t.Errorf("vCenter tells %s and %s of it", m.Runtime.ConnectionState, m.Runtime.PowerState)
	}
	b.Restart(first)
	now, _ := b.Machine("m1")
	if now.Host == was.Host || !now.On || now.UUID != was.UUID || b.look(ref).Runtime.ConnectionState != "connected" {
		t.Errorf("after HA there is %+v, before %+v", now, was)
	}
	b.Boot(first)
	if m, _ := b.Machine("m1"); !m.On {
		t.Error("the host is back, and the machine that is not on it any more went off")
	}
	second := "/DC0/host/DC0_C1/" + now.Host
	b.Crash(second)
	b.Boot(second)
	if m, _ := b.Machine("m1"); m.On || m.Host != now.Host || b.look(ref).Runtime.ConnectionState != "connected" {
		t.Errorf("without HA there is %+v", m)
	}
	if diff := cmp.Diff([]string{"m1 true", "m1 false", "m1 false", "m1 true", "m1 false", "m1 false"}, told); diff != "" {
		t.Error(diff)
	}
}

// TestKeptApart: a machine is switched on on a host that has none of those which a rule of DRS
// keeps apart from it, where there is one.
func TestKeptApart(t *testing.T) {
	for reason, tc := range map[string]struct {
		enabled bool
		hosts   int
	}{
		"a rule":                              {true, 2},
		"a rule that is switched off":         {false, 1},
		"a rule, and three for the two hosts": {true, 2},
	} {
		b := newBench(t, small())
		host := b.Ref("/DC0/host/DC0_C1/DC0_C1_H0")
		names := []string{"m1", "m2"}
		if strings.Contains(reason, "three") {
			names = append(names, "m3")
		}
		rule := &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: types.ClusterRuleInfo{Name: "apart", Enabled: &tc.enabled}}
		for _, name := range names {
			rule.Vm = append(rule.Vm, b.made(name, func(s *types.VirtualMachineCloneSpec) { s.Location.Host = &host }).Self)
		}
		task, err := object.NewClusterComputeResource(b.c.Client, b.Ref("/DC0/host/DC0_C1")).Reconfigure(t.Context(), &types.ClusterConfigSpecEx{
			RulesSpec: []types.ClusterRuleSpec{{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}, Info: rule}},
		}, true)
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		on := make(map[string]bool)
		for i, name := range names {
			b.Power(rule.Vm[i], true)
			m, _ := b.Machine(name)
			on[m.Host] = m.On
		}
		if len(on) != tc.hosts {
			t.Errorf("%s: they are on %v, want %d hosts", reason, on, tc.hosts)
		}
	}
}
