package machine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

// TestDeletion: a machine goes step by step, and none is left out or taken twice.
func TestDeletion(t *testing.T) {
	const begun = "2026-11-23T11:59:00Z" // a minute ago
	const mark, shut, off, aside, destroy = "note that it goes", "shut its guest down", "power it off", "take disks of others off it", "destroy it"
	soft := func(s *api.VSphereMachineSpec) { s.PowerOffMode = api.PowerOffSoft }
	trySoft := func(s *api.VSphereMachineSpec) { s.PowerOffMode = api.PowerOffTrySoft }
	short := func(s *api.VSphereMachineSpec) {
		s.PowerOffMode, s.GuestSoftPowerOffTimeoutSeconds = api.PowerOffTrySoft, 60
	}
	volumes := &machine.Details{VMPath: "[ds] m-0/m-0.vmx", Devices: []types.BaseVirtualDevice{
		disk(2000, "[ds] m-0/m-0.vmdk", ""), disk(2001, "[ds] fcd/8f0c.vmdk", ""), disk(2002, "[ds] m-0/vol.vmdk", "8f0c"), disk(2003, "[other] m-0/data.vmdk", ""), card(4000, ""),
	}}
	for reason, tc := range map[string]struct {
		deleting string
		power    types.VirtualMachinePowerState
		tools    bool
		details  *machine.Details
		change   func(s *api.VSphereMachineSpec)
		want     string
		stopped  bool
	}{
		"it was not noted":                    {"", poweredOn, true, nil, nil, mark, false},
		"it was not noted, and is off":        {"", poweredOff, false, nil, nil, mark, false},
		"hard":                                {begun, poweredOn, true, nil, nil, off, true},
		"soft":                                {begun, poweredOn, true, nil, soft, shut, false},
		"soft, without tools":                 {begun, poweredOn, false, nil, soft, shut, false},
		"trySoft":                             {begun, poweredOn, true, nil, trySoft, shut, false},
		"trySoft, its time is over":           {begun, poweredOn, true, nil, short, off, true},
		"trySoft, five minutes":               {"2026-11-23T11:55:00Z", poweredOn, true, nil, trySoft, off, true},
		"trySoft, without tools":              {begun, poweredOn, false, nil, trySoft, off, true},
		"soft, for ever":                      {"2026-11-22T11:59:00Z", poweredOn, true, nil, soft, shut, true},
		"suspended":                           {begun, suspended, true, nil, trySoft, off, true},
		"off":                                 {begun, poweredOff, false, &machine.Details{}, nil, destroy, true},
		"off, with volumes":                   {begun, poweredOff, false, volumes, nil, aside, true},
		"noted by somebody who cannot write":  {"yesterday", poweredOn, true, nil, trySoft, off, true},
		"noted, and nobody knows of its pool": {begun, poweredOn, true, nil, nil, off, true},
	} {
		o := owned(func(v *machine.VM) {
			v.Power, v.ToolsRunning = tc.power, tc.tools
			if tc.deleting != "" {
				v.Tags = machine.EncodeTags(tags(machine.TagDeleting, tc.deleting))
			}
		})
		r := machine.RemovalOf(spec(tc.change))
		s := machine.NextOfDeletion(o, tc.details, r, now)
		if !strings.HasPrefix(s.What, tc.want) {
			t.Errorf("%s: %q, want %q", reason, s.What, tc.want)
		}
		if got := machine.Stopped(o, r, now); got != tc.stopped {
			t.Errorf("%s: stopped is %t, want %t", reason, got, tc.stopped)
		}
		if tc.want == aside {
			var keys []int32
			for _, c := range s.Config.DeviceChange {
				d := c.GetVirtualDeviceConfigSpec()
				if keys = append(keys, d.Device.GetVirtualDevice().Key); d.Operation != "remove" || d.FileOperation != "" {
					t.Errorf("disk %d: %s %s, want it taken off and its file kept", d.Device.GetVirtualDevice().Key, d.Operation, d.FileOperation)
				}
			}
			if !slices.Equal(keys, []int32{2001, 2002, 2003}) {
				t.Errorf("disks %v are taken off, want those that are not in the folder of the VM, and volumes", keys)
			}
		}
	}
}

// TestRecordedRemoval: how a machine goes is in its tags from its first moment, unless it is hard,
// and outlives its pool. It makes no other machine of it.
func TestRecordedRemoval(t *testing.T) {
	for reason, tc := range map[string]struct {
		mode    api.PowerOffMode
		seconds int32
		record  string
		want    machine.Removal
	}{
		"none is said":        {"", 0, "", machine.Removal{}},
		"hard":                {"hard", 30, "", machine.Removal{}},
		"soft":                {"soft", 30, "soft", machine.Removal{Mode: "soft"}},
		"trySoft":             {"trySoft", 0, "trySoft 5m0s", machine.Removal{Mode: "trySoft", Timeout: 5 * time.Minute}},
		"trySoft for so long": {"trySoft", 90, "trySoft 1m30s", machine.Removal{Mode: "trySoft", Timeout: 90 * time.Second}},
	} {
		r := request(func(r *machine.Request) {
			r.Spec.PowerOffMode, r.Spec.GuestSoftPowerOffTimeoutSeconds = tc.mode, tc.seconds
		})
		_, clone, err := machine.Clone(r)
		if err != nil {
			t.Fatal(err)
		}
		got := made(t, clone)
		if record, ok := got["fairlead.dev/power-off"]; record != tc.record || ok != (tc.record != "") {
			t.Errorf("%s: the record is %q, want %q", reason, record, tc.record)
		}
		if clone.Config.InstanceUuid != m0 {
			t.Errorf("%s: it has the UUID %s, want that of any machine", reason, clone.Config.InstanceUuid)
		}
		if is := machine.RecordedRemoval(got); is != tc.want {
			t.Errorf("%s: it goes as %+v, want %+v", reason, is, tc.want)
		}
	}
	for _, text := range []string{"", "trySoft", "trySoft soon", "gently 5m0s", "hard"} {
		if got := machine.RecordedRemoval(map[string]string{"fairlead.dev/power-off": text}); got != (machine.Removal{}) {
			t.Errorf("record %q: %+v, want what is done without one", text, got)
		}
	}
}

// TestOwnDisks: what a machine was made with goes with it wherever storage DRS moved it, and nothing else
// does that is not in its folder.
func TestOwnDisks(t *testing.T) {
	uuid := func(d *types.VirtualDisk, id string) *types.VirtualDisk {
		d.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Uuid = id
		return d
	}
	moved := []types.BaseVirtualDevice{
		uuid(disk(2000, "[ds2] m-0_1/m-0.vmdk", ""), "a"), uuid(disk(2001, "[ds3] m-0/m-0_1.vmdk", ""), "b"),
		uuid(disk(2002, "[ds3] m-0/m-0_2.vmdk", ""), "c"), uuid(disk(2003, "[ds] fcd/8f0c.vmdk", "8f0c"), "d"), uuid(disk(2004, "[ds] m-0/people.vmdk", ""), "e"),
	}
	for reason, tc := range map[string]struct {
		noted string
		want  []int32
	}{
		"noted":                          {"a b", []int32{2002, 2003}},
		"nobody noted them":              {"", []int32{2001, 2002, 2003}},
		"noted, and the first was added": {"b", []int32{2000, 2002, 2003}},
		"a volume is noted":              {"a b d", []int32{2002, 2003}},
	} {
		o := owned(func(v *machine.VM) {
			v.Tags = machine.EncodeTags(tags(machine.TagDeleting, "2026-11-23T11:59:00Z", machine.TagDisks, tc.noted))
		})
		s := machine.NextOfDeletion(o, &machine.Details{VMPath: "[ds] m-0/m-0.vmx", Devices: moved}, machine.Removal{}, now)
		var keys []int32
		for _, c := range s.Config.DeviceChange {
			keys = append(keys, c.GetVirtualDeviceConfigSpec().Device.GetVirtualDevice().Key)
		}
		if !slices.Equal(keys, tc.want) || !strings.Contains(s.What, "[ds] fcd/8f0c.vmdk") {
			t.Errorf("%s: %q takes off %v, want %v", reason, s.What, keys, tc.want)
		}
	}
}

// TestDisksAreNoted: a machine that is made carries the UUIDs of its disks from before its first boot on,
// and never those of volumes.
func TestDisksAreNoted(t *testing.T) {
	root := disk(2000, "[ds] m-0/m-0.vmdk", "")
	root.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Uuid = "6000C29a"
	w := world{t: t, v: vm(nil), d: machine.Details{Devices: []types.BaseVirtualDevice{root, card(4000, "00:50:56:00:00:01")}}}
	wanted := &machine.Wanted{Tags: tags(), Spec: spec(nil)}
	for range 4 {
		s, err := machine.Next(&w.v, &w.d, wanted)
		if err != nil {
			t.Fatal(err)
		}
		w.take(s)
	}
	got, err := machine.DecodeTags(w.v.Tags)
	if err != nil || got["fairlead.dev/disks"] != "6000C29a" || w.v.Power != poweredOn || machine.InstanceUUID(got) != m0 {
		t.Errorf("tags %v, %v, power %s", got, err, w.v.Power)
	}
	wanted.Tags, wanted.Spec.Network.Devices[0].MTU = tags(), new(int64(9000))
	w.d.Devices = append(w.d.Devices, disk(2001, "[ds] fcd/8f0c.vmdk", "8f0c"))
	s, err := machine.Next(&w.v, &w.d, wanted)
	if err != nil || s.Action != machine.Reconfigure || len(s.Config.ExtraConfig) != 2 {
		t.Errorf("with other metadata later: %+v, %v, want the metadata alone", s, err)
	}
}

// made are the tags of the machine that clone makes.
func made(t *testing.T, clone *types.VirtualMachineCloneSpec) map[string]string {
	t.Helper()
	for _, o := range clone.Config.ExtraConfig {
		if v := o.GetOptionValue(); v.Key == "fairlead.dev/tags" {
			tags, err := machine.DecodeTags(v.Value.(string))
			if err != nil {
				t.Fatal(err)
			}
			return tags
		}
	}
	t.Fatal("it has no tags")
	return nil
}

func disk(key int32, file, volume string) *types.VirtualDisk {
	d := &types.VirtualDisk{}
	d.Key = key
	d.Backing = &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: file}}
	if volume != "" {
		d.VDiskId = &types.ID{Id: volume}
	}
	return d
}

// TestWholeDeletion: from a machine that runs with a volume to nothing.
func TestWholeDeletion(t *testing.T) {
	w := world{t: t, v: vm(func(v *machine.VM) { v.Power, v.ToolsRunning = poweredOn, true }), d: machine.Details{
		VMPath: "[ds] m-0/m-0.vmx", Devices: []types.BaseVirtualDevice{disk(2000, "[ds] m-0/m-0.vmdk", ""), disk(2001, "[ds] fcd/8f0c.vmdk", "8f0c")},
	}}
	r := machine.RemovalOf(spec(func(s *api.VSphereMachineSpec) { s.PowerOffMode = api.PowerOffTrySoft }))
	var got []machine.Action
	for at := now; len(got) < 10; at = at.Add(time.Second) {
		all := machine.MachinesOf([]machine.VM{w.v}, cluster())
		s := machine.NextOfDeletion(&all[0], &w.d, r, at)
		if got = append(got, s.Action); s.Action == machine.Destroy {
			break
		}
		w.take(s)
	}
	if d := cmp.Diff([]machine.Action{"configure it", "shut its guest down", "configure it", "destroy it"}, got); d != "" {
		t.Error(d)
	}
}

// TestBusy: what vCenter is at is not interrupted.
func TestBusy(t *testing.T) {
	o := owned(func(v *machine.VM) {
		v.Busy, v.Tags = "Delete virtual machine", machine.EncodeTags(tags(machine.TagDeleting, "2026-11-23T11:00:00Z"))
	})
	if machine.Stopped(o, machine.Removal{}, now) {
		t.Error("a deletion that is under way counts as stopped")
	}
}
