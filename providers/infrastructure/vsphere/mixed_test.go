package vsphere_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// mixed is a bench whose workers are in another vCenter, which has another account.
func mixed(t *testing.T) (b *bench, other *bench) {
	t.Helper()
	w, w2 := newWorld(t, vspheretest.Options{Datacenters: 1}), newWorld(t, vspheretest.Options{Datacenters: 1})
	c, folder := w.cluster(t, nil), w2.folder(t)
	w2.SetPassword(vspheretest.Administrator, "of the other")
	secret := administrator()
	secret[w2.Server()+".username"], secret[w2.Server()+".password"] = fleet.NewSecret([]byte(vspheretest.Administrator)), fleet.NewSecret([]byte("of the other"))
	c.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{account: secret}
	c.Workers[0].Infrastructure = newObject(t, "VSphereMachineTemplate", "md-0", w2.machineSpec(folder, func(s *api.VSphereMachineSpec) {
		s.Server, s.Thumbprint = w2.Server(), w2.Thumbprint()
	}))
	b = &bench{t, w, newProvider(t, nil), &c}
	b.ensure()
	return b, &bench{t, w2, b.p, &c}
}

// askServer asks for a machine of the control plane.
func (b *bench) askServer(name fleet.MachineName) {
	b.t.Helper()
	r := b.request(name)
	r.Pool = b.c.ControlPlane
	if err := b.p.CreateMachine(b.t.Context(), fleet.OperationID("op-"+name), r); err != nil {
		b.t.Fatal(err)
	}
}

// TestTwoVCenters: machines of one cluster are in two vCenters with an account each, and what is
// true of a VM there is not taken for one here that has its id.
func TestTwoVCenters(t *testing.T) {
	t.Parallel()
	b, other := mixed(t)
	b.askServer("cp-0")
	if err := b.ask("m-0"); err != nil {
		t.Fatal(err)
	}
	i := b.until("both clones", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 2 })
	if len(b.vms("cp-0")) != 1 || len(other.vms("m-0")) != 1 || len(b.vms("m-0"))+len(other.vms("cp-0")) > 0 {
		t.Fatalf("here are %+v, there %+v", b.w.Machines(), other.w.Machines())
	}
	if b.vms("cp-0")[0].Ref != other.vms("m-0")[0].Ref {
		t.Fatalf("the VMs are %s and %s: this test wants one id", b.vms("cp-0")[0].Ref, other.vms("m-0")[0].Ref)
	}
	var places []string
	for _, p := range i.Places {
		places = append(places, p.ID)
		if !p.Used || !p.Named {
			t.Errorf("place %+v, want it used, and named", p)
		}
	}
	if d := cmp.Diff([]string{"vCenter " + b.w.Server(), "vCenter " + other.w.Server()}, places); d != "" {
		t.Error(d)
	}
	refused := other.w.FailTasks(vspheretest.TaskFault{Task: "PowerOnVM_Task", Fault: &types.InvalidVmConfig{Property: "hardware"}})
	b.ensure()
	refused.End()
	i = b.until("one runs", func(i fleet.Infrastructure) bool {
		return slices.ContainsFunc(i.Machines, func(m fleet.Machine) bool { return m.Name == "cp-0" && m.State == fleet.MachineRunning })
	})
	if m := i.Machines[1]; m.Name != "m-0" || m.State != fleet.MachineFailed {
		t.Errorf("the machine that was refused is %+v", m)
	}
	b.w.Power(b.vms("cp-0")[0].Ref, false)
	i = b.until("it is switched off", func(i fleet.Infrastructure) bool { return i.Machines[0].State != fleet.MachineRunning })
	if m := i.Machines[0]; m.State != fleet.MachinePending || len(i.Upkeep) != 1 {
		t.Errorf("a machine with the id of one that was refused elsewhere is %+v, upkeep %q, want it switched on", m, i.Upkeep)
	}
	b.remove("m-0")
	if len(b.vms("cp-0")) != 1 || len(other.vms("m-0")) != 0 {
		t.Errorf("here are %+v, there %+v, want the machine there gone alone", b.w.Machines(), other.w.Machines())
	}
}

// TestOneVCenterAway: a vCenter that does not answer is no proof that machines are gone.
func TestOneVCenterAway(t *testing.T) {
	t.Parallel()
	b, other := mixed(t)
	b.askServer("cp-0")
	if err := b.ask("m-0"); err != nil {
		t.Fatal(err)
	}
	b.until("both clones", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 2 })
	other.w.FailCalls(vspheretest.CallFault{Status: 503})
	b.restart()
	if i, err := b.p.Observe(t.Context(), b.c); err == nil {
		t.Errorf("Observe = %+v, want an error", i)
	}
}

// TestZoneAway: a zone whose host cluster is gone freezes its machines and no others.
func TestZoneAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	c := w.selecting(t, w.zoned(t))
	b := &bench{t, w, newProvider(t, nil), &c}
	b.ensure()
	for _, zone := range []string{"0", "1"} {
		r := b.request(fleet.MachineName("m-" + zone))
		r.Pool, r.FailureDomain = c.ControlPlane, "zone-"+zone
		if err := b.p.CreateMachine(t.Context(), fleet.OperationID("op-"+zone), r); err != nil {
			t.Fatal(err)
		}
	}
	b.until("both clones", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 2 })
	b.ensure()
	b.until("both run", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 0 })
	w.SetHosts("/DC0/host/DC0_C1", false)
	i := b.until("one is silent", func(i fleet.Infrastructure) bool { return i.Machines[1].Silent })
	if len(i.Machines) != 2 || i.Machines[0].Silent || i.Machines[0].State != fleet.MachineRunning || len(i.Upkeep) > 0 {
		t.Errorf("machines %+v, upkeep %q, want one silent, the other as it was", i.Machines, i.Upkeep)
	}
	w.Power(b.vms("m-0")[0].Ref, false)
	b.until("the other is to be switched on", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	b.ensure()
	r := b.request("m-2")
	r.Pool, r.FailureDomain = c.ControlPlane, "zone-0"
	if err := b.p.CreateMachine(t.Context(), "op-2", r); err != nil {
		t.Errorf("CreateMachine in the other zone = %v", err)
	}
	b.until("it is cloned", func(i fleet.Infrastructure) bool { return len(i.Machines) == 3 && len(i.Upkeep) == 1 })
	w.SetHosts("/DC0/host/DC0_C1", true)
	b.until("the zone is back", func(i fleet.Infrastructure) bool { return !i.Machines[1].Silent })
}

// TestPoolGone: machines of a pool that Git has no more are not worked on any further, and are
// removed, as Git said when they were made.
func TestPoolGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *api.VSphereMachineSpec) { s.PowerOffMode = api.PowerOffTrySoft })
	b.make("m-0")
	if err := b.ask("m-1"); err != nil {
		t.Fatal(err)
	}
	b.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	b.c.Workers = nil
	if i := b.observe(); len(i.Machines) != 2 || len(i.Upkeep) > 0 {
		t.Errorf("machines %+v, upkeep %q, want both left alone", i.Machines, i.Upkeep)
	}
	b.remove("m-0")
	b.remove("m-1")
	calls := methods(b)
	if !slices.Contains(calls, "ShutdownGuest") || slices.Contains(calls, "PowerOffVM_Task") || len(b.w.Machines()) > 0 {
		t.Errorf("calls %q, left are %+v, want the guest that runs asked, and both gone", calls, b.w.Machines())
	}
}

// TestOrphansOfTwoAccounts: each account of a vCenter is asked once, what two of them see is told
// once, and what one that is refused may see is said to be unknown.
func TestOrphansOfTwoAccounts(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	gone := *b.c
	b.w.AddUser("bob", "Secret-1!", vspheretest.Grant{Path: "/"})
	clusters := []*fleet.Cluster{}
	for _, user := range []string{vspheretest.Administrator, "bob", "bob"} {
		c := b.w.cluster(t, nil)
		c.Key.Name = "eu-" + string(rune('2'+len(clusters)))
		if user == "bob" {
			c.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{account: {"username": fleet.NewSecret([]byte("bob")), "password": fleet.NewSecret([]byte("Secret-1!"))}}
		}
		clusters = append(clusters, &c)
	}
	b.restart()
	b.w.ResetCalls()
	out, err := b.p.Orphans(t.Context(), "acme", clusters)
	if err != nil || len(out) != 1 || out[0].Cluster != gone.Key || !strings.HasSuffix(out[0].Name, "/m-0") {
		t.Fatalf("Orphans = %+v, %v, want the machine once", out, err)
	}
	if logins, _, _ := b.w.Count("Login"); logins != 2 {
		t.Errorf("%d logins, want one of each account", logins)
	}
	b.w.SetPassword("bob", "another")
	b.restart()
	again, err := b.p.Orphans(t.Context(), "acme", clusters)
	wantKind(t, "Orphans with an account that is refused", err, fleet.Unauthorized, "bob")
	if d := cmp.Diff(out, again); d != "" {
		t.Errorf("what the other account sees: %s", d)
	}
	err = b.p.RemoveOrphan(t.Context(), "acme", clusters, out[0])
	if err != nil {
		wantKind(t, "RemoveOrphan", err, fleet.Unauthorized)
	}
}

// TestWatchFailedClone: a clone that fails is told to its cluster, though there is no VM.
func TestWatchFailedClone(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.seldom()
	b.ensure()
	held := b.w.FailTasks(vspheretest.TaskFault{Task: "CloneVM_Task", Hold: true, Fault: &types.NoDiskSpace{Datastore: "LocalDS_0"}})
	if err := b.ask("m-0"); err != nil {
		t.Fatal(err)
	}
	if err := held.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if i := b.observe(); len(i.Machines) != 1 {
		t.Fatalf("machines %+v, want the one that is being cloned", i.Machines)
	}
	b.w.ResetCalls()
	told := b.watching()
	b.awaitCalls("WaitForUpdatesEx", 2)
	held.Release()
	for got := range told {
		if got != b.c.Key {
			t.Fatalf("told was %s, want prod/eu-1", got)
		}
		if i := b.observe(); len(i.Failures) == 1 && len(i.Machines) == 0 {
			return
		}
	}
}
