package vsphere_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// TestVolumesStay: a volume that the CSI driver attached outlives the machine.
func TestVolumesStay(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	c, err := b.w.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	vm := object.NewVirtualMachine(c.Client, b.vms("m-0")[0].Ref)
	devices, err := vm.Device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := object.NewDatastore(c.Client, b.w.Ref("/DC0/datastore/LocalDS_0"))
	store.InventoryPath = "/DC0/datastore/LocalDS_0"
	volume := devices.CreateDisk(devices.PickController((*types.VirtualSCSIController)(nil)), store.Reference(), "[LocalDS_0] volume.vmdk")
	volume.CapacityInKB = 1024
	if err := vm.AddDevice(t.Context(), volume); err != nil {
		t.Fatal(err)
	}
	b.remove("m-0")
	if len(b.vms("m-0")) != 0 {
		t.Error("the VM is there")
	}
	store.DatacenterPath = "/DC0"
	if _, err := store.Stat(t.Context(), "volume.vmdk"); err != nil {
		t.Errorf("the file of the volume: %v, want it kept", err)
	}
}

// TestSoftPowerOff: the guest is asked first, and the machine is on its way out meanwhile,
// whoever looks, and is not switched on again.
func TestSoftPowerOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *api.VSphereMachineSpec) { s.PowerOffMode = api.PowerOffTrySoft })
	b.make("m-0")
	held := b.w.FailTasks(vspheretest.TaskFault{Task: "ShutdownGuest", Hold: true})
	if err := b.p.DeleteMachine(t.Context(), "op", b.c, "m-0", ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		i := b.until("it is on its way out", func(i fleet.Infrastructure) bool { return i.Machines[0].State == fleet.MachineDeleting })
		if m := i.Machines[0]; m.Interrupted || len(i.Upkeep) > 0 || !b.vms("m-0")[0].On {
			t.Errorf("while its guest shuts down: %+v, upkeep %q", m, i.Upkeep)
		}
		b.restart()
		if i := b.observe(); !i.Machines[0].Interrupted || len(i.Upkeep) > 0 {
			t.Errorf("to another agent it is %+v, upkeep %q, want it asked for again: the guest may not have been asked", i.Machines[0], i.Upkeep)
		}
		if err := b.p.DeleteMachine(t.Context(), "op", b.c, "m-0", ""); err != nil {
			t.Fatal(err)
		}
	}
	held.End()
	b.until("its guest is down", func(i fleet.Infrastructure) bool { return i.Machines[0].Interrupted })
	b.ensure()
	if b.vms("m-0")[0].On {
		t.Error("a machine on its way out was switched on")
	}
	b.remove("m-0")
	calls := methods(b)
	if !slices.Contains(calls, "ShutdownGuest") || slices.Contains(calls, "PowerOffVM_Task") {
		t.Errorf("calls %q, want the guest asked alone", calls)
	}
}

// TestNoTools: without tools a machine that is to be shut down softly is switched off.
func TestNoTools(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *api.VSphereMachineSpec) { s.PowerOffMode = api.PowerOffTrySoft })
	b.make("m-0")
	b.w.Edit(b.vms("m-0")[0].Ref, types.PropertyChange{Name: "guest.toolsRunningStatus", Val: "guestToolsNotRunning"})
	b.remove("m-0")
	if calls := methods(b); !slices.Contains(calls, "PowerOffVM_Task") {
		t.Errorf("calls %q, want it switched off, whatever the last look said of its tools", calls)
	}
}

func methods(b *bench) []string {
	var out []string
	for _, c := range b.w.Calls() {
		if c.Changes() {
			out = append(out, c.Method)
		}
	}
	return out
}

// TestDeletionWithoutPool: a machine whose pool Git has no more goes as Git said when it was made,
// whoever asks; one of an older agent, of which nobody noted that, is switched off.
func TestDeletionWithoutPool(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		mode    api.PowerOffMode
		seconds int32
		held    bool // its guest does not shut down
		noted   bool
		want    []string // calls
	}{
		"trySoft":                  {api.PowerOffTrySoft, 0, false, true, []string{"ShutdownGuest", "Destroy_Task"}},
		"trySoft, its guest hangs": {api.PowerOffTrySoft, 1, true, true, []string{"ShutdownGuest", "PowerOffVM_Task", "Destroy_Task"}},
		"soft":                     {api.PowerOffSoft, 1, false, true, []string{"ShutdownGuest", "Destroy_Task"}},
		"hard":                     {api.PowerOffHard, 0, false, true, []string{"PowerOffVM_Task", "Destroy_Task"}},
		"nobody noted it":          {api.PowerOffTrySoft, 0, false, false, []string{"PowerOffVM_Task", "Destroy_Task"}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(s *api.VSphereMachineSpec) {
				s.PowerOffMode, s.GuestSoftPowerOffTimeoutSeconds = tc.mode, tc.seconds
			})
			b.make("m-0")
			ref := b.vms("m-0")[0].Ref
			if !tc.noted {
				all := b.vms("m-0")[0].ExtraConfig["fairlead.dev/tags"]
				none := strings.Replace(all, `"fairlead.dev/power-off":"trySoft 5m0s",`, "", 1)
				if none == all {
					t.Fatalf("tags are %s", all)
				}
				b.w.SetExtraConfig(ref, map[string]string{"fairlead.dev/tags": none})
			}
			b.c.Workers = nil
			b.restart()
			b.w.ResetCalls()
			if i := b.observe(); len(i.Upkeep)+len(i.Drift) > 0 || i.Machines[0].Damaged != "" {
				t.Errorf("before anybody asks: %+v", i)
			}
			if tc.held {
				held := b.w.FailTasks(vspheretest.TaskFault{Task: "ShutdownGuest", Hold: true})
				t.Cleanup(held.End)
			}
			b.remove("m-0")
			got := slices.DeleteFunc(b.changes(), func(m string) bool { return m == "ReconfigVM_Task" })
			if !slices.Equal(got, tc.want) {
				t.Errorf("calls %q, want %q", got, tc.want)
			}
		})
	}
}

// TestInterruptedDeletion: a deletion that breaks off anywhere is told, goes on, and nobody
// switches the machine on meanwhile.
func TestInterruptedDeletion(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for _, method := range []string{"PowerOffVM_Task", "Destroy_Task"} {
		name := fleet.MachineName("m-" + strings.ToLower(method[:5]))
		b.ensure()
		b.make(name)
		cut := b.w.FailCalls(vspheretest.CallFault{Method: method, Cut: true})
		if err := b.p.DeleteMachine(t.Context(), "op", b.c, name, ""); err == nil {
			t.Errorf("%s: DeleteMachine with its connection cut = no error", method)
		}
		cut.End()
		b.restart()
		i := b.until("it is interrupted", func(i fleet.Infrastructure) bool { return i.Machines[0].Interrupted })
		if i.Machines[0].State != fleet.MachineDeleting || len(i.Upkeep) > 0 {
			t.Errorf("%s: %+v, upkeep %q", method, i.Machines[0], i.Upkeep)
		}
		b.remove(name)
		if len(b.vms(string(name))) != 0 {
			t.Errorf("%s: the VM is there", method)
		}
	}
}

// TestDeletionOfLost: a machine on a host that is lost is on its way out from when somebody asks,
// and goes when the host is back, without being switched on again.
func TestDeletionOfLost(t *testing.T) {
	t.Parallel()
	for _, began := range []bool{false, true} {
		b := newBench(t, func(s *api.VSphereMachineSpec) { s.PowerOffMode = api.PowerOffTrySoft })
		b.make("m-0")
		if began {
			held := b.w.FailTasks(vspheretest.TaskFault{Task: "ShutdownGuest", Hold: true})
			t.Cleanup(held.End)
			if err := b.p.DeleteMachine(t.Context(), "op", b.c, "m-0", ""); err != nil {
				t.Fatal(err)
			}
		}
		host := "/DC0/host/DC0_C0/" + b.vms("m-0")[0].Host
		b.w.Crash(host)
		b.until("it is silent", func(i fleet.Infrastructure) bool { return i.Machines[0].Silent })
		for range 2 {
			if err := b.p.DeleteMachine(t.Context(), "op", b.c, "m-0", ""); err != nil {
				t.Errorf("DeleteMachine of what vCenter does not reach: %v", err)
			}
		}
		b.until("it is on its way out", func(i fleet.Infrastructure) bool {
			m := i.Machines[0]
			return m.State == fleet.MachineDeleting && m.Silent && !m.Interrupted && len(i.Upkeep) == 0 && strings.Contains(m.Message, "disconnected")
		})
		b.w.Boot(host)
		b.until("it is to go on", func(i fleet.Infrastructure) bool {
			m := i.Machines[0]
			return m.State == fleet.MachineDeleting && !m.Silent && m.Interrupted && len(i.Upkeep) == 0
		})
		b.remove("m-0")
		if len(b.vms("m-0")) != 0 {
			t.Error("it is still there")
		}
		if calls := methods(b); slices.Contains(calls[slices.Index(calls, "PowerOnVM_Task")+1:], "PowerOnVM_Task") {
			t.Errorf("calls %q, want it switched on once", calls)
		}
	}
}
