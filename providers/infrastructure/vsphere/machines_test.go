package vsphere_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// A bench is a provider with a cluster on a vCenter, whose infrastructure is ready.
type bench struct {
	t testing.TB
	w *world
	p *vsphere.Provider
	c *fleet.Cluster
}

func newBench(t testing.TB, change func(s *api.VSphereMachineSpec)) *bench {
	t.Helper()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	c := w.cluster(t, change)
	b := &bench{t, w, newProvider(t, nil), &c}
	b.ensure()
	return b
}

// ensure has EnsureInfrastructure done.
func (b *bench) ensure() {
	b.t.Helper()
	if err := b.p.EnsureInfrastructure(b.t.Context(), "op-infra", b.c); err != nil {
		b.t.Fatalf("EnsureInfrastructure = %v", err)
	}
}

func (b *bench) observe() fleet.Infrastructure {
	b.t.Helper()
	i, err := b.p.Observe(b.t.Context(), b.c)
	if err != nil {
		b.t.Fatalf("Observe = %v", err)
	}
	return i
}

// until observes until ok says so of what was seen.
func (b *bench) until(what string, ok func(i fleet.Infrastructure) bool) fleet.Infrastructure {
	b.t.Helper()
	var i fleet.Infrastructure
	for range 500 {
		if i = b.observe(); ok(i) {
			return i
		}
		wait := time.NewTimer(tick)
		select {
		case <-wait.C:
		case <-b.t.Context().Done():
			b.t.Fatal(b.t.Context().Err())
		}
	}
	b.t.Fatalf("%s does not come true: %+v", what, i)
	return i
}

func (b *bench) request(name fleet.MachineName) providers.MachineRequest {
	return providers.MachineRequest{
		Cluster: b.c, Pool: b.c.Workers[0], Name: name,
		UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
		Origin:   fleet.Origin{Made: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)},
	}
}

func (b *bench) ask(name fleet.MachineName) error {
	return b.p.CreateMachine(b.t.Context(), fleet.OperationID("op-"+name), b.request(name))
}

// make makes a machine that runs, as the planner does.
func (b *bench) make(name fleet.MachineName) fleet.Machine {
	b.t.Helper()
	if err := b.ask(name); err != nil {
		b.t.Fatalf("CreateMachine = %v", err)
	}
	b.until("the clone of "+string(name), func(i fleet.Infrastructure) bool { return len(i.Upkeep) > 0 })
	b.ensure()
	var out fleet.Machine
	b.until(string(name)+" runs", func(i fleet.Infrastructure) bool {
		for _, m := range i.Machines {
			if m.Name == name {
				out = m
			}
		}
		return out.State == fleet.MachineRunning
	})
	return out
}

// restart has another agent take over.
func (b *bench) restart() {
	b.t.Helper()
	b.p.Close()
	b.p = newProvider(b.t, nil)
}

// vms are those of name.
func (b *bench) vms(name string) (out []vspheretest.Machine) {
	for _, m := range b.w.Machines() {
		if m.Name == name {
			out = append(out, m)
		}
	}
	return out
}

func wantKind(t testing.TB, what string, err error, kind fleet.ErrorKind, words ...string) {
	t.Helper()
	if fleet.KindOf(err) != kind || err == nil {
		t.Errorf("%s = %v, want kind %s", what, err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s = %v, want it to say %q", what, err, w)
		}
	}
}

// TestLife: a machine is cloned, told what it is, powered on, and has its guest's address.
func TestLife(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	m := b.make("m-0")
	v := b.vms("m-0")[0]
	if m.ProviderID != fleet.ProviderID("vsphere://"+v.UUID) || len(m.Addresses) != 1 || m.Addresses[0] != v.Addresses[0] {
		t.Errorf("machine = %+v, want id and address of %+v", m, v)
	}
	if v.ExtraConfig["guestinfo.metadata"] == "" || v.ExtraConfig["guestinfo.userdata"] == "" {
		t.Errorf("it booted with %v, want metadata and user data", v.ExtraConfig)
	}
	if i := b.observe(); len(i.Upkeep)+len(i.Drift)+len(i.Failures) > 0 || !i.Ready {
		t.Errorf("then there is %+v, want nothing to do", i)
	}
	b.restart()
	if i := b.observe(); !i.Exists || !i.Ready || i.Endpoint.Host != "10.0.0.200" || len(i.Upkeep) > 0 {
		t.Errorf("another agent sees %+v, want the same", i)
	}
}

// TestRestartWhileCloning: a clone that runs is one, whoever asks, and is finished by whoever
// looks after it.
func TestRestartWhileCloning(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	held := b.w.FailTasks(vspheretest.TaskFault{Task: "CloneVM_Task", Hold: true})
	if err := b.ask("m-0"); err != nil {
		t.Fatal(err)
	}
	i := b.until("it is pending", func(i fleet.Infrastructure) bool { return len(i.Machines) == 1 })
	if m := i.Machines[0]; m.Name != "m-0" || m.State != fleet.MachinePending || m.Operation != "op-m-0" {
		t.Errorf("while it is cloned the machine is %+v", m)
	}
	if err := b.ask("m-0"); err != nil {
		t.Errorf("asked for again: %v, want it adopted", err)
	}
	wantKind(t, "DeleteInfrastructure", b.p.DeleteInfrastructure(t.Context(), "op", b.c), fleet.Conflict)
	wantKind(t, "DeleteMachine", b.p.DeleteMachine(t.Context(), "op", b.c, "m-0", ""), fleet.Unavailable, "being cloned")
	b.restart()
	b.ensure()
	if err := b.ask("m-0"); err != nil { // it may not know of the clone, and asks for another
		t.Logf("another agent asked: %v", err)
	}
	held.End()
	b.until("it is there", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	b.ensure()
	i = b.until("it runs", func(i fleet.Infrastructure) bool { return i.Machines[0].State == fleet.MachineRunning })
	if n := len(b.vms("m-0")); n != 1 || len(i.Machines) != 1 || len(i.Failures) > 0 {
		t.Errorf("%d VMs, %d machines, failures %+v, want one and none", n, len(i.Machines), i.Failures)
	}
}

// TestRestartAtEveryStep: an agent that ends after any change leaves what the next one finishes.
func TestRestartAtEveryStep(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *api.VSphereMachineSpec) { s.HardwareVersion = "vmx-19" })
	for _, method := range []string{"UpgradeVM_Task", "ReconfigVM_Task", "PowerOnVM_Task"} {
		name := fleet.MachineName("m-" + strings.ToLower(method[:3]))
		if err := b.ask(name); err != nil {
			t.Fatal(err)
		}
		b.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
		cut := b.w.FailCalls(vspheretest.CallFault{Method: method, Cut: true})
		if err := b.p.EnsureInfrastructure(t.Context(), "op", b.c); err == nil {
			t.Errorf("%s: EnsureInfrastructure with its connection cut = no error", method)
		}
		cut.End()
		b.restart()
		b.until("it is to be finished", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
		b.ensure()
		b.until("nothing is to be done", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 0 })
		if v := b.vms(string(name)); len(v) != 1 || !v[0].On || v[0].ExtraConfig["guestinfo.metadata"] == "" {
			t.Errorf("%s: %+v, want one that runs with its metadata", method, v)
		}
	}
}

// TestCloneFails: what vCenter says of a clone that failed is told, until it is asked for again.
func TestCloneFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	full := b.w.FailTasks(vspheretest.TaskFault{Task: "CloneVM_Task", Fault: &types.NoDiskSpace{Datastore: "LocalDS_0"}, Message: "Insufficient disk space on datastore 'LocalDS_0'."})
	if err := b.ask("m-0"); err != nil {
		t.Fatal(err)
	}
	i := b.until("it failed", func(i fleet.Infrastructure) bool { return len(i.Failures) == 1 })
	if f := i.Failures[0]; !strings.Contains(f.Message, "Insufficient disk space on datastore 'LocalDS_0'.") || f.Machine != "m-0" || f.Operation != "op-m-0" {
		t.Errorf("failure = %+v", f)
	}
	full.End()
	b.make("m-0")
	if i := b.observe(); len(i.Failures) > 0 {
		t.Errorf("failures = %+v, want none of a machine that is there", i.Failures)
	}
}

// TestSameName: a VM of that name in the folder is adopted if it is the machine, and else told.
func TestSameName(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	spec, err := api.ReadMachine(b.c.Workers[0].Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	b.w.AddMachine(spec.Folder, "m-0")
	if err := b.ask("m-0"); err != nil {
		wantKind(t, "CreateMachine", err, fleet.Conflict, "m-0")
	} else {
		i := b.until("it is told", func(i fleet.Infrastructure) bool { return len(i.Failures) == 1 })
		if f := i.Failures[0]; f.Machine != "m-0" || !strings.Contains(f.Message, "m-0") {
			t.Errorf("failure = %+v", f)
		}
	}
	if n := len(b.vms("m-0")); n != 1 {
		t.Errorf("%d VMs, want the one of people", n)
	}
}

// TestPowerOnFails: what is for good fails the machine, and what passes does not.
func TestPowerOnFails(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		fault types.BaseMethodFault
		state fleet.MachineState
	}{
		"the VM is wrong": {&types.InvalidVmConfig{Property: "hardware"}, fleet.MachineFailed},
		"no room":         {&types.InsufficientResourcesFault{}, fleet.MachinePending},
	} {
		b := newBench(t, nil)
		fault := b.w.FailTasks(vspheretest.TaskFault{Task: "PowerOnVM_Task", Fault: tc.fault, Message: "so says vCenter"})
		if err := b.ask("m-0"); err != nil {
			t.Fatal(err)
		}
		b.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
		err := b.p.EnsureInfrastructure(t.Context(), "op", b.c)
		m := b.observe().Machines[0]
		if m.State != tc.state || !strings.Contains(m.Message+errText(err), "so says vCenter") {
			t.Errorf("%s: %s, %q, %v, want %s in vCenter's words", reason, m.State, m.Message, err, tc.state)
		}
		fault.End()
		if tc.state == fleet.MachinePending {
			b.ensure()
			b.until("it runs", func(i fleet.Infrastructure) bool { return i.Machines[0].State == fleet.MachineRunning })
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
