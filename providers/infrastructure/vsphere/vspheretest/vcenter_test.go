package vspheretest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

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
