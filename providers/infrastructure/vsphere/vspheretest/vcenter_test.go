package vspheretest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

const template = "ubuntu-2204-kube-v1.34.0"

// A bench is a vCenter with a session.
type bench struct {
	*vspheretest.VCenter
	t *testing.T
	c *govmomi.Client
}

func newBench(t *testing.T, o vspheretest.Options) *bench {
	t.Helper()
	v := vspheretest.New(t, o)
	c, err := v.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{v, t, c}
}

// small is enough for most tests.
func small() vspheretest.Options {
	return vspheretest.Options{Datacenters: 1, Templates: []vspheretest.Template{
		{Name: template, Snapshot: "ready", ExtraConfig: map[string]string{"guestinfo.of": "the template"}}, {Name: "bare"},
	}}
}

// begin asks for a clone.
func (b *bench) begin(name string, edit ...func(*types.VirtualMachineCloneSpec)) *object.Task {
	b.t.Helper()
	task, err := b.ask(name, edit...)
	if err != nil {
		b.t.Fatal(err)
	}
	return task
}

func (b *bench) ask(name string, edit ...func(*types.VirtualMachineCloneSpec)) (*object.Task, error) {
	pool, store := b.Ref("/DC0/host/DC0_C1/Resources/DC0_C1_RP1"), b.Ref("/DC0/datastore/LocalDS_1")
	spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &pool, Datastore: &store}}
	for _, e := range edit {
		e(&spec)
	}
	return b.vm("/DC0/vm/templates/"+template).Clone(b.t.Context(), object.NewFolder(b.c.Client, b.Ref("/DC0/vm/fleet")), name, spec)
}

func (b *bench) vm(path string) *object.VirtualMachine {
	return object.NewVirtualMachine(b.c.Client, b.Ref(path))
}

// made asks for a clone and waits for it.
func (b *bench) made(name string, edit ...func(*types.VirtualMachineCloneSpec)) mo.VirtualMachine {
	b.t.Helper()
	info, err := b.begin(name, edit...).WaitForResult(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return b.look(info.Result.(types.ManagedObjectReference))
}

func (b *bench) look(ref types.ManagedObjectReference) (out mo.VirtualMachine) {
	b.t.Helper()
	if err := b.c.RetrieveOne(b.t.Context(), ref, nil, &out); err != nil {
		b.t.Fatal(err)
	}
	return out
}

// fails waits for a task, and returns its words.
func fails[F types.BaseMethodFault](t *testing.T, task *object.Task, want F) string {
	t.Helper()
	_, err := task.WaitForResult(t.Context())
	if !fault.Is(err, want) {
		t.Fatalf("got %v, want %T", err, want)
	}
	return err.Error()
}

// TestInventory: what New describes is there.
func TestInventory(t *testing.T) {
	b := newBench(t, vspheretest.Options{})
	f := find.NewFinder(b.c.Client, false)
	for path, n := range map[string]int{
		"/DC*": 2, "/*/host/*": 4, "/*/host/*/*_H*": 8, "/DC1/host/DC1_C1/Resources/DC1_C1_RP1": 1, "/*/datastore/*": 4,
		"/DC0/network/DC0_DVPG*": 2, "/DC1/network/VM Network": 1, "/*/vm/fleet": 2, "/*/vm/templates/*": 6,
	} {
		all, err := f.ManagedObjectList(t.Context(), path)
		if err != nil || len(all) != n {
			t.Errorf("%s: %d objects, want %d: %v", path, len(all), n, err)
		}
	}
	vm := b.look(b.Ref("/DC0/vm/templates/" + template))
	if !vm.Config.Template || vm.Snapshot == nil || vm.Snapshot.RootSnapshotList[0].Name != "ready" {
		t.Errorf("the template is not one, or has no snapshot: %+v", vm.Snapshot)
	}
}

// TestClone: a clone is what the specification and the template say together.
func TestClone(t *testing.T) {
	b := newBench(t, small())
	cores, flag := int32(2), true
	from := b.look(b.Ref("/DC0/vm/templates/" + template))
	vm := b.made("m1", func(s *types.VirtualMachineCloneSpec) {
		s.Snapshot = from.Snapshot.CurrentSnapshot
		s.Location.DiskMoveType = "createNewChildDiskBacking"
		s.Config = &types.VirtualMachineConfigSpec{
			NumCPUs: 4, NumCoresPerSocket: &cores, MemoryMB: 8192, Annotation: "ours", InstanceUuid: "5f0e1a30-0000-4000-8000-000000000001",
			Flags:       &types.VirtualMachineFlagInfo{DiskUuidEnabled: &flag},
			ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "ours", Value: "a"}},
		}
	})
	var host mo.HostSystem
	if err := b.c.RetrieveOne(t.Context(), *vm.Runtime.Host, []string{"name"}, &host); err != nil {
		t.Fatal(err)
	}
	m, _ := b.Machine("/DC0/vm/fleet/m1")
	for what, ok := range map[string]bool{
		"hardware":             vm.Config.Hardware.NumCPU == 4 && *vm.Config.Hardware.NumCoresPerSocket == 2 && vm.Config.Hardware.MemoryMB == 8192,
		"annotation":           vm.Config.Annotation == "ours",
		"flags":                vm.Config.Flags.DiskUuidEnabled != nil && *vm.Config.Flags.DiskUuidEnabled,
		"own option":           m.ExtraConfig["ours"] == "a",
		"inherited option":     m.ExtraConfig["guestinfo.of"] == "the template",
		"instance UUID":        m.InstanceUUID == "5f0e1a30-0000-4000-8000-000000000001",
		"BIOS UUID of its own": m.UUID != from.Config.Uuid && m.UUID != "",
		"host of the pool":     strings.HasPrefix(host.Name, "DC0_C1_"),
		"firmware":             vm.Config.Firmware == "efi",
		"no guest yet":         len(vm.Guest.Net) == 0,
		"one address":          len(m.MACs) == 1 && strings.HasPrefix(m.MACs[0], "00:50:56:8"),
	} {
		if !ok {
			t.Errorf("%s: %+v", what, m)
		}
	}
	disk := object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))[0].(*types.VirtualDisk)
	backing := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	if backing.Parent == nil || !strings.HasPrefix(backing.Parent.FileName, "[LocalDS_0] "+template) || !strings.HasPrefix(backing.FileName, "[LocalDS_1] m1/") {
		t.Errorf("the clone is not linked: %+v", backing)
	}
	second := b.made("m2", func(s *types.VirtualMachineCloneSpec) {
		s.Config = &types.VirtualMachineConfigSpec{InstanceUuid: m.InstanceUUID}
	})
	if second.Config.InstanceUuid == m.InstanceUUID || second.Config.Uuid == m.UUID || second.Config.Annotation != "made by image-builder" {
		t.Errorf("the second has UUIDs %s and %s, annotation %q", second.Config.InstanceUuid, second.Config.Uuid, second.Config.Annotation)
	}
	if two, _ := b.Machine("m2"); two.MACs[0] == m.MACs[0] || two.Host == m.Host {
		t.Errorf("two machines share an address or a host: %+v", two)
	}
}

// TestCloneAgain: a VM that is made again under its name has another BIOS UUID.
func TestCloneAgain(t *testing.T) {
	b := newBench(t, small())
	first := b.made("m1")
	b.Destroy(first.Self)
	if again := b.made("m1"); again.Config.Uuid == first.Config.Uuid || again.Config.InstanceUuid == first.Config.InstanceUuid {
		t.Errorf("it has UUIDs of the first: %s, %s", again.Config.Uuid, again.Config.InstanceUuid)
	}
}

// TestCloneRefused: what vCenter refuses is refused, in its words.
func TestCloneRefused(t *testing.T) {
	b := newBench(t, small())
	first := b.made("m1")
	words := fails(t, b.begin("m1"), &types.DuplicateName{})
	if !strings.Contains(words, "The name 'm1' already exists.") {
		t.Errorf("it says %q", words)
	}
	_, err := b.begin("m1").WaitForResult(t.Context())
	var duplicate *types.DuplicateName
	if _, ok := fault.As(err, &duplicate); !ok || duplicate.Object != first.Self {
		t.Errorf("the fault names %+v", duplicate)
	}
	fails(t, b.begin(strings.Repeat("n", 81)), &types.InvalidName{})
	b.made(strings.Repeat("n", 80))
	words = fails(t, b.begin("m2", func(s *types.VirtualMachineCloneSpec) { s.Location.DiskMoveType = "createNewChildDiskBacking" }), &types.InvalidArgument{})
	if !strings.Contains(words, "A specified parameter was not correct: spec.location.diskMoveType") {
		t.Errorf("it says %q", words)
	}
	fails(t, b.begin("m2", func(s *types.VirtualMachineCloneSpec) { s.Location.Pool = nil }), &types.InvalidArgument{})
	_, err = b.ask("m2", func(s *types.VirtualMachineCloneSpec) {
		s.Location.Pool = &types.ManagedObjectReference{Type: "ResourcePool", Value: "resgroup-0"}
	})
	if !fault.Is(err, &types.ManagedObjectNotFound{}) || !strings.Contains(err.Error(), "The object 'vim.ResourcePool:resgroup-0' has already been deleted") {
		t.Errorf("got %v", err)
	}
	b.SetFull("/DC0/datastore/LocalDS_1", true)
	words = fails(t, b.begin("m2"), &types.NoDiskSpace{})
	if !strings.Contains(words, "Insufficient disk space on datastore 'LocalDS_1'.") {
		t.Errorf("it says %q", words)
	}
	b.SetFull("/DC0/datastore/LocalDS_1", false)
	b.SetHosts("/DC0/host/DC0_C1", false)
	fails(t, b.begin("m2"), &types.NoCompatibleHost{})
	if len(b.Machines()) != 2 {
		t.Errorf("something was left: %+v", b.Machines())
	}
}

// TestCloneRuns: while a clone runs its VM is listed by its name alone; two run at once.
func TestCloneRuns(t *testing.T) {
	b := newBench(t, small())
	held := b.FailTasks(vspheretest.TaskFault{Task: "CloneVM_Task", Hold: true})
	first, second := b.begin("m1"), b.begin("m2")
	if err := held.Await(t.Context(), 2); err != nil || len(b.Machines()) != 2 || !b.Machines()[0].Cloning || !b.Machines()[1].Cloning {
		t.Fatalf("there are %+v: %v", b.Machines(), err)
	}
	vm := b.look(b.Machines()[0].Ref)
	if vm.Config != nil || vm.Name != "m1" {
		t.Errorf("it is listed as %q with %+v", vm.Name, vm.Config)
	}
	fails(t, b.begin("m1"), &types.DuplicateName{})
	if task, err := object.NewVirtualMachine(b.c.Client, vm.Self).PowerOn(t.Context()); err != nil {
		t.Error(err)
	} else {
		fails(t, task, &types.TaskInProgress{})
	}
	held.End()
	for _, task := range []*object.Task{first, second} {
		if err := task.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if m, _ := b.Machine("m1"); m.Cloning || m.Ref != vm.Self || m.UUID == "" {
		t.Errorf("it ended as %+v", m)
	}
}

// TestCloneFails: a clone that fails after it was taken leaves nothing, and says why.
func TestCloneFails(t *testing.T) {
	b := newBench(t, small())
	for name, f := range map[string]vspheretest.TaskFault{
		"at once":  {Task: "CloneVM_Task", Fault: &types.InsufficientMemoryResourcesFault{}},
		"at last":  {Task: "CloneVM_Task", Hold: true, Fault: &types.SystemError{}, Message: "the array is on fire"},
		"of queue": {Task: "CloneVM_Task", Queue: true, Fault: &types.Timedout{}},
	} {
		t.Run(name, func(t *testing.T) {
			in := b.FailTasks(f)
			task := b.begin("m1")
			if err := in.Await(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if f.Queue {
				var info mo.Task
				if err := property.DefaultCollector(b.c.Client).RetrieveOne(t.Context(), task.Reference(), []string{"info.state"}, &info); err != nil || info.Info.State != types.TaskInfoStateQueued {
					t.Errorf("it is %s: %v", info.Info.State, err)
				}
			}
			in.End()
			_, err := task.WaitForResult(t.Context())
			if err == nil || f.Message != "" && !strings.Contains(err.Error(), f.Message) {
				t.Errorf("got %v", err)
			}
			if len(b.Machines()) != 0 {
				t.Errorf("it left %+v", b.Machines())
			}
		})
	}
}

// patience is how long something may take that nobody tells of, before a test gives up.
const patience = 30 * time.Second

// await looks until something is so.
func await(t *testing.T, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it never came to it")
		}
	}
}

// TestPower: guests tell addresses while they run, and need tools to go down by themselves.
func TestPower(t *testing.T) {
	var told []string
	o := small()
	o.Power = func(m vspheretest.Machine) {
		told = append(told, map[bool]string{true: "on", false: "off"}[m.On]+map[bool]string{true: " gone"}[m.Gone])
	}
	b := newBench(t, o)
	ref := b.made("m1").Self
	vm := object.NewVirtualMachine(b.c.Client, ref)
	b.Power(ref, true)
	if err := vm.ShutdownGuest(t.Context()); !fault.Is(err, &types.ToolsUnavailable{}) {
		t.Errorf("a guest without tools went down: %v", err)
	}
	b.Report(ref, "10.77.0.11", "fd00::11")
	m, _ := b.Machine("m1")
	if diff := cmp.Diff([]string{"10.77.0.11", "fd00::11"}, m.Addresses); diff != "" {
		t.Error(diff)
	}
	if ip, err := vm.WaitForIP(t.Context()); err != nil || ip != "10.77.0.11" {
		t.Errorf("it has %q: %v", ip, err)
	}
	held := b.FailTasks(vspheretest.TaskFault{Task: "ShutdownGuest", Hold: true})
	if err := vm.ShutdownGuest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m, _ := b.Machine("m1"); !m.On {
		t.Error("it went down at once")
	}
	held.End()
	await(t, func() bool { m, _ := b.Machine("m1"); return !m.On })
	if m, _ := b.Machine("m1"); len(m.Addresses) != 0 {
		t.Errorf("it is off and has %v", m.Addresses)
	}
	b.Destroy(ref)
	if diff := cmp.Diff([]string{"on", "off", "off gone"}, told); diff != "" {
		t.Error(diff)
	}
}

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

// TestCallFaults: calls are counted, refused, cut, and done without an answer.
func TestCallFaults(t *testing.T) {
	b := newBench(t, small())
	b.ResetCalls()
	lost := b.FailCalls(vspheretest.CallFault{Method: "CloneVM_Task", Skip: 1, Times: 1, Lose: true})
	b.made("m1")
	if _, err := b.ask("m2"); err == nil {
		t.Error("the answer came")
	}
	await(t, func() bool { return len(b.Machines()) == 2 })
	if lost.Done() != 1 {
		t.Errorf("it met %d calls", lost.Done())
	}
	cut := b.FailCalls(vspheretest.CallFault{Changes: true, Cut: true})
	if _, err := b.ask("m3"); err == nil {
		t.Error("the call came through")
	}
	cut.End()
	refused := b.FailCalls(vspheretest.CallFault{Method: "CloneVM_Task", Text: "m4", Fault: &types.NoPermission{PrivilegeId: "X.Y"}})
	_, err := b.ask("m4")
	var no *types.NoPermission
	if _, ok := fault.As(err, &no); !ok || no.PrivilegeId != "X.Y" || !strings.Contains(err.Error(), "Permission to perform this operation was denied.") {
		t.Errorf("got %v", err)
	}
	b.made("m5")
	refused.End()
	if n, in, out := b.Count("Clone*"); n != 5 || in < 2000 || out < 500 {
		t.Errorf("%d calls, %d and %d bytes", n, in, out)
	}
	for _, c := range b.Calls() {
		if c.Changes() != (c.Method == "CloneVM_Task") {
			t.Errorf("%s changes: %t", c.Method, c.Changes())
		}
		if c.Method == "CloneVM_Task" && !strings.HasPrefix(c.This, "vm-") {
			t.Errorf("it was asked of %q", c.This)
		}
	}
	if len(b.Machines()) != 3 {
		t.Errorf("there are %+v", b.Machines())
	}
}

// TestSessions: passwords are checked, and sessions end.
func TestSessions(t *testing.T) {
	b := newBench(t, small())
	ctx := t.Context()
	if _, err := b.Login(ctx, vspheretest.Administrator, "guess"); !fault.Is(err, &types.InvalidLogin{}) {
		t.Errorf("a wrong password: %v", err)
	}
	b.AddUser("agent", "old", vspheretest.Grant{Path: "/"})
	c, err := b.Login(ctx, "agent", "old")
	if err != nil {
		t.Fatal(err)
	}
	b.SetPassword("agent", "new")
	if ok, err := c.SessionManager.SessionIsActive(ctx); err != nil || !ok {
		t.Errorf("the session ended with the password: %t, %v", ok, err)
	}
	if _, err := b.Login(ctx, "agent", "old"); !fault.Is(err, &types.InvalidLogin{}) || !strings.Contains(err.Error(), "incorrect user name or password") {
		t.Errorf("the old password: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		done <- property.Wait(ctx, property.DefaultCollector(c.Client), c.ServiceContent.RootFolder, []string{"name"}, func([]types.PropertyChange) bool { return false })
	}()
	await(t, func() bool { n, _, _ := b.Count("WaitForUpdatesEx"); return n >= 2 })
	if got := b.Sessions()["agent"]; got != 1 {
		t.Errorf("agent has %d sessions", got)
	}
	b.EndSessions("agent")
	if err := <-done; err == nil {
		t.Error("what waited goes on")
	}
	_, err = find.NewFinder(c.Client, false).VirtualMachineList(ctx, "/DC0/vm/*")
	if err == nil {
		t.Error("the session goes on")
	}
	if _, err := c.ServiceContent, b.c.Logout(ctx); err != nil {
		t.Error(err)
	}
	if len(b.Sessions()) != 0 {
		t.Errorf("there are %v", b.Sessions())
	}
}

// TestRights: a privilege that is missing is named; what may not be seen is left out.
func TestRights(t *testing.T) {
	b := newBench(t, small())
	ctx := t.Context()
	b.AddUser("agent", "pw", vspheretest.Grant{Path: "/", Privileges: []string{"VirtualMachine.Interact.PowerOn"}}, vspheretest.Grant{Path: "/DC0/vm/templates", None: true})
	m := b.AddMachine("/DC0/vm/fleet", "m1")
	c, err := b.Login(ctx, "agent", "pw")
	if err != nil {
		t.Fatal(err)
	}
	vm := object.NewVirtualMachine(c.Client, m.Ref)
	if _, err := vm.Destroy(ctx); !denied(err, "VirtualMachine.Inventory.Delete") {
		t.Errorf("destroy: %v", err)
	}
	if _, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "a", Value: "b"}}}); !denied(err, "VirtualMachine.Config.AdvancedConfig") {
		t.Errorf("reconfigure: %v", err)
	}
	task, err := vm.PowerOn(ctx)
	if err != nil || task.Wait(ctx) != nil {
		t.Errorf("power on: %v", err)
	}
	authorization := object.NewAuthorizationManager(c.Client)
	got, err := authorization.FetchUserPrivilegeOnEntities(ctx, []types.ManagedObjectReference{m.Ref}, "agent")
	want := []string{"System.Anonymous", "System.Read", "System.View", "VirtualMachine.Interact.PowerOn"}
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(want, got[0].Privileges); diff != "" {
		t.Error(diff)
	}
	if all, err := find.NewFinder(c.Client, false).VirtualMachineList(ctx, "/DC0/vm/..."); err != nil || len(all) != 1 {
		t.Errorf("it sees %v: %v", all, err)
	}
}

func denied(err error, privilege string) bool {
	var no *types.NoPermission
	_, ok := fault.As(err, &no)
	return ok && no.PrivilegeId == privilege
}

// TestTwo: two vCenters know nothing of each other.
func TestTwo(t *testing.T) {
	a, b := newBench(t, small()), newBench(t, small())
	a.AddMachine("/DC0/vm/fleet", "m1")
	if a.Server() == b.Server() || a.Thumbprint() == b.Thumbprint() || len(a.Machines()) != 1 || len(b.Machines()) != 0 {
		t.Errorf("%s %s, %v %v", a.Server(), b.Server(), a.Machines(), b.Machines())
	}
}

// TestCopy: what people clone has all options of its source, and UUIDs of its own.
func TestCopy(t *testing.T) {
	b := newBench(t, small())
	m := b.AddMachine("/DC0/vm/fleet", "m1")
	b.SetExtraConfig(m.Ref, map[string]string{"ours": "a"})
	copied := b.Copy(m.Ref, "copy")
	if copied.ExtraConfig["ours"] != "a" || copied.InstanceUUID == m.InstanceUUID || copied.UUID == m.UUID {
		t.Errorf("it is %+v", copied)
	}
}
