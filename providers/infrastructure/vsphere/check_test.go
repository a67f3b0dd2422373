package vsphere_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// as has the cluster be of a user with grants alone.
func (b *bench) as(grants ...vspheretest.Grant) {
	b.t.Helper()
	b.w.AddUser("agent", "pw", grants...)
	b.c.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{account: {
		"username": fleet.NewSecret([]byte("agent")), "password": fleet.NewSecret([]byte("pw")),
	}}
}

// plain are the rights that machines take which have nothing special, without some.
func plain(without ...string) vspheretest.Grant {
	all := []string{
		"Resource.AssignVMToPool", "Datastore.AllocateSpace", "Network.Assign", "VirtualMachine.Provisioning.DeployTemplate",
		"VApp.ApplicationConfig", "VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Config.AdvancedConfig",
		"VirtualMachine.Config.Annotation", "VirtualMachine.Config.CPUCount", "VirtualMachine.Config.Memory",
		"VirtualMachine.Config.RemoveDisk", "VirtualMachine.Config.Settings", "VirtualMachine.Interact.PowerOff",
		"VirtualMachine.Interact.PowerOn", "VirtualMachine.Inventory.CreateFromExisting", "VirtualMachine.Inventory.Delete",
	}
	return vspheretest.Grant{Path: "/", Privileges: slices.DeleteFunc(all, func(p string) bool { return slices.Contains(without, p) })}
}

// workers changes what workers are made from.
func (b *bench) workers(change func(s *api.VSphereMachineSpec)) {
	b.t.Helper()
	spec, err := api.ReadMachine(b.c.Workers[0].Infrastructure)
	if err != nil {
		b.t.Fatal(err)
	}
	change(spec)
	b.c.Workers[0].Infrastructure = newObject(b.t, "VSphereMachineTemplate", "md-0", spec)
}

// called returns how many calls there were of method since they were forgotten.
func (b *bench) called(method string) int {
	n, _, _ := b.w.Count(method)
	return n
}

// changes are the calls that may change something.
func (b *bench) changes() (out []string) {
	for _, c := range b.w.Calls() {
		if c.Changes() {
			out = append(out, c.Method)
		}
	}
	return out
}

// TestRightsFirst: all privileges that are missing are told at once, each with what it is missing
// on, before anything is made; those that machines do not take are not asked about.
func TestRightsFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *api.VSphereMachineSpec) { s.Network.Devices = append(s.Network.Devices, s.Network.Devices[0]) })
	b.restart()
	b.w.ResetCalls()
	b.as(plain("Network.Assign", "Datastore.AllocateSpace", "VirtualMachine.Config.Memory", "VirtualMachine.Interact.PowerOn", "VirtualMachine.Provisioning.DeployTemplate", "Resource.AssignVMToPool"))
	err := b.p.EnsureInfrastructure(t.Context(), "op", b.c)
	wantKind(t, "EnsureInfrastructure", err, fleet.Unauthorized, "pool eu-1-cp", "the user lacks",
		"Resource.AssignVMToPool on /DC0/host/DC0_C0/Resources/DC0_C0_RP1;", "Datastore.AllocateSpace on /DC0/datastore/LocalDS_0;",
		"Network.Assign on /DC0/network/DC0_DVPG0;", "VirtualMachine.Provisioning.DeployTemplate on /DC0/vm/templates/ubuntu-2204-kube-v1.34.0;",
		"VirtualMachine.Config.Memory, VirtualMachine.Interact.PowerOn on "+b.folder()+" (", "docs/guides/infrastructure/vsphere.md")
	if n := strings.Count(told(err), "Network.Assign"); n != 1 {
		t.Errorf("it is told %d times, want once for pools that are alike: %v", n, err)
	}
	if i := b.observe(); i.Exists || i.Ready {
		t.Errorf("it is %+v, want it not there", i)
	}
	if got := b.changes(); len(got) > 0 {
		t.Errorf("vCenter was asked to change %q", got)
	}
	b.as(plain())
	b.ensure()
	b.make("m-0")
	b.remove("m-0")
}

// TestRightsOfTemplatesDatastore: where Git names no datastore, a clone is on that of its template.
func TestRightsOfTemplatesDatastore(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *api.VSphereMachineSpec) { s.Datastore = "" })
	b.as(plain("Datastore.AllocateSpace"), vspheretest.Grant{Path: "/DC0/datastore/LocalDS_1", Privileges: []string{"Datastore.AllocateSpace"}})
	wantKind(t, "EnsureInfrastructure", b.p.EnsureInfrastructure(t.Context(), "op", b.c), fleet.Unauthorized, "the user lacks Datastore.AllocateSpace on /DC0/datastore/LocalDS_0 ")
}

// TestRightsBesideStorage: they are told also where storage cannot be found.
func TestRightsBesideStorage(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.workers(func(s *api.VSphereMachineSpec) { s.Datastore = "no-such-store" })
	b.as(plain("Network.Assign"))
	err := b.p.EnsureInfrastructure(t.Context(), "op", b.c)
	if text := told(err); !strings.Contains(text, "no-such-store") || strings.Count(text, "the user lacks Network.Assign on ") != 2 {
		t.Errorf("EnsureInfrastructure = %v, want it to tell the datastore, and what both pools lack", err)
	}
}

// TestRightsOfEndedSession: the session that is asked about is the one that there is.
func TestRightsOfEndedSession(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.workers(func(s *api.VSphereMachineSpec) { s.NumCPUs = 4 })
	b.until("a look", func(fleet.Infrastructure) bool { return true })
	ended := b.w.FailCalls(vspheretest.CallFault{Method: "HasPrivilegeOnEntities", Times: 1, Do: func(vspheretest.Call) { b.w.EndSessions("") }})
	b.ensure()
	if ended.Done() != 1 {
		t.Errorf("the session ended %d times", ended.Done())
	}
}

// TestCheckedOnce: what was found is not looked for again while Git says the same.
func TestCheckedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	if n := b.called("HasPrivilegeOnEntities"); n != 1 {
		t.Errorf("rights were asked about %d times for pools that are alike, want once", n)
	}
	b.make("m-0")
	b.w.ResetCalls()
	templates := b.w.FailCalls(vspheretest.CallFault{Text: "config.vAppConfig", Do: func(vspheretest.Call) {}})
	for range 3 {
		b.ensure()
		if i := b.observe(); len(i.Drift) > 0 {
			t.Errorf("drift %q", i.Drift)
		}
	}
	for _, c := range b.w.Calls() {
		if c.Method != "RetrievePropertiesEx" {
			t.Errorf("call of %s while Git says the same", c.Method)
		}
	}
	if n := templates.Done(); n > 0 {
		t.Errorf("templates were read %d times while Git says the same", n)
	}
}

// TestCheckedAgain: what Git changes of the placements of a cluster that runs is found before a
// machine is made there, and told until it is.
func TestCheckedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.as(plain())
	b.ensure()
	b.workers(func(s *api.VSphereMachineSpec) { s.DataDisks = []api.VSphereDisk{{Name: "etcd", SizeGiB: 4}} })
	b.w.ResetCalls()
	i := b.observe()
	if want := []string{"find what machines of pool md-0 need, which Git changed"}; !i.Ready || !slices.Equal(i.Upkeep, want) || !slices.Equal(i.Drift, want) {
		t.Errorf("ready %t, upkeep %q, drift %q, want %q", i.Ready, i.Upkeep, i.Drift, want)
	}
	const lacks = "the user lacks VirtualMachine.Config.AddNewDisk on "
	wantKind(t, "EnsureInfrastructure", b.p.EnsureInfrastructure(t.Context(), "op", b.c), fleet.Unauthorized, "pool md-0", lacks+b.folder())
	wantKind(t, "CreateMachine", b.ask("m-1"), fleet.Unauthorized, lacks)
	if got := b.changes(); len(got) > 0 {
		t.Errorf("vCenter was asked to change %q", got)
	}
	more := plain()
	more.Privileges = append(more.Privileges, "VirtualMachine.Config.AddNewDisk")
	b.as(more)
	b.ensure()
	if i := b.observe(); len(i.Upkeep) > 0 {
		t.Errorf("upkeep %q, want none", i.Upkeep)
	}
	b.w.ResetCalls()
	b.make("m-1")
	if n := b.called("HasPrivilegeOnEntities"); n != 0 {
		t.Errorf("rights were asked about %d times for a machine, want what is known taken", n)
	}
}

// TestCheckedBeforeMachines: a cluster without machines whose placements Git changed is not ready
// until they were found.
func TestCheckedBeforeMachines(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.workers(func(s *api.VSphereMachineSpec) { s.Folder = "no-such-folder" })
	if i := b.observe(); !i.Exists || i.Ready || i.Message != "find what machines of pool md-0 need, which Git changed" || len(i.Upkeep) > 0 {
		t.Errorf("it is %+v, want it there and not ready", i)
	}
	if err := b.p.EnsureInfrastructure(t.Context(), "op", b.c); !strings.Contains(told(err), "no-such-folder") {
		t.Errorf("EnsureInfrastructure = %v", err)
	}
}

// TestCheckedByAnother: an agent that was started meanwhile has no drift to tell, and still makes
// no machine that it may not.
func TestCheckedByAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.restart()
	b.workers(func(s *api.VSphereMachineSpec) { s.NumCPUs = 4 }) // servers are another placement
	b.as(plain("VirtualMachine.Config.Annotation"))
	if i := b.observe(); !i.Ready || len(i.Drift) > 0 {
		t.Errorf("ready %t, drift %q, want nothing to do", i.Ready, i.Drift)
	}
	b.w.ResetCalls()
	wantKind(t, "CreateMachine", b.ask("m-1"), fleet.Unauthorized, "the user lacks VirtualMachine.Config.Annotation on ")
	if got := b.changes(); len(got) > 0 {
		t.Errorf("vCenter was asked to change %q", got)
	}
	b.as(plain())
	for _, name := range []fleet.MachineName{"m-1", "m-2"} {
		if err := b.ask(name); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.called("HasPrivilegeOnEntities"); n != 2 {
		t.Errorf("rights were asked about %d times, want once after they were given", n)
	}
	if i := b.observe(); slices.ContainsFunc(i.Drift, func(s string) bool { return strings.Contains(s, "Git changed") }) {
		t.Errorf("drift %q of an agent that did not look for everything", i.Drift)
	}
}

// TestCheckedForAnotherUser: rights are those of who asks.
func TestCheckedForAnotherUser(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.as(plain("Network.Assign"))
	if i := b.observe(); i.Ready {
		t.Error("it is ready for a user of whom nothing is known")
	}
	wantKind(t, "EnsureInfrastructure", b.p.EnsureInfrastructure(t.Context(), "op", b.c), fleet.Unauthorized, "Network.Assign")
}

// TestCheck: people are told for each pool what it lacks, and nothing is changed.
func TestCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.restart()
	b.workers(func(s *api.VSphereMachineSpec) { s.Datastore = "no-such-store" })
	b.as(plain("VirtualMachine.Interact.PowerOn"))
	b.w.ResetCalls()
	found, err := b.p.Check(t.Context(), []*fleet.Cluster{b.c})
	if err != nil || len(found) != 2 {
		t.Fatalf("Check = %+v, %v, want one finding for each of two pools", found, err)
	}
	wantKind(t, "of servers", found[0].Err, fleet.Unauthorized, "pool eu-1-cp", "the user lacks VirtualMachine.Interact.PowerOn")
	if text := told(found[1].Err); !strings.Contains(text, "no-such-store") || !strings.Contains(text, "the user lacks VirtualMachine.Interact.PowerOn") {
		t.Errorf("of workers: %v", found[1].Err)
	}
	b.workers(func(s *api.VSphereMachineSpec) { s.Datastore = "LocalDS_0" })
	b.as(plain())
	found, err = b.p.Check(t.Context(), []*fleet.Cluster{b.c})
	for _, f := range found {
		if f.Err != nil || f.Text == "" || err != nil {
			t.Errorf("with all rights: %+v, %v", f, err)
		}
	}
	if got := b.changes(); len(got) > 0 {
		t.Errorf("vCenter was asked to change %q", got)
	}
}
