package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

// TestCloneMode: what Git says of a clone is kept or refused.
func TestCloneMode(t *testing.T) {
	current, named := ref("VirtualMachineSnapshot", "current"), ref("VirtualMachineSnapshot", "named")
	const full, linked, invalid = "moveAllDiskBackingsAndConsolidate", "createNewChildDiskBacking", "Invalid"
	for reason, tc := range map[string]struct {
		snapshot, named *types.ManagedObjectReference
		change          func(s *api.VSphereMachineSpec)
		move            string
		of              *types.ManagedObjectReference
	}{
		"nothing said, no snapshot":           {nil, nil, nil, full, nil},
		"nothing said, a snapshot":            {&current, nil, nil, linked, &current},
		"nothing said, the template's size":   {&current, nil, func(s *api.VSphereMachineSpec) { s.DiskGiB = 20 }, linked, &current},
		"nothing said, a larger disk":         {&current, nil, func(s *api.VSphereMachineSpec) { s.DiskGiB = 30 }, full, nil},
		"nothing said, a larger second disk":  {&current, nil, func(s *api.VSphereMachineSpec) { s.AdditionalDisksGiB = []int32{6} }, full, nil},
		"nothing said, the snapshot by name":  {&current, &named, func(s *api.VSphereMachineSpec) { s.Snapshot = "base" }, linked, &named},
		"a name that no snapshot has":         {&current, nil, func(s *api.VSphereMachineSpec) { s.Snapshot = "base" }, invalid, nil},
		"full":                                {&current, nil, func(s *api.VSphereMachineSpec) { s.CloneMode = api.FullClone }, full, nil},
		"full, of a snapshot":                 {&current, &named, func(s *api.VSphereMachineSpec) { s.CloneMode, s.Snapshot = api.FullClone, "base" }, full, &named},
		"linked":                              {&current, nil, func(s *api.VSphereMachineSpec) { s.CloneMode = api.LinkedClone }, linked, &current},
		"linked, no snapshot":                 {nil, nil, func(s *api.VSphereMachineSpec) { s.CloneMode = api.LinkedClone }, invalid, nil},
		"linked, a larger disk":               {&current, nil, func(s *api.VSphereMachineSpec) { s.CloneMode, s.DiskGiB = api.LinkedClone, 30 }, invalid, nil},
		"a smaller disk":                      {nil, nil, func(s *api.VSphereMachineSpec) { s.DiskGiB = 10 }, invalid, nil},
		"a size of a disk that is not there":  {nil, nil, func(s *api.VSphereMachineSpec) { s.AdditionalDisksGiB = []int32{0, 5} }, invalid, nil},
		"no size of a disk that is not there": {nil, nil, func(s *api.VSphereMachineSpec) { s.AdditionalDisksGiB = []int32{0, 0} }, full, nil},
	} {
		_, s, err := machine.Clone(request(func(r *machine.Request) {
			r.Spec, r.Template.Snapshot, r.Template.Named = spec(tc.change), tc.snapshot, tc.named
		}))
		if tc.move == invalid {
			if fleet.KindOf(err) != fleet.Invalid {
				t.Errorf("%s: %v, want kind Invalid", reason, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", reason, err)
			continue
		}
		if s.Location.DiskMoveType != tc.move || !cmp.Equal(s.Snapshot, tc.of) {
			t.Errorf("%s: %s of %v, want %s of %v", reason, s.Location.DiskMoveType, s.Snapshot, tc.move, tc.of)
		}
	}
}

// TestClone: the request as a whole.
func TestClone(t *testing.T) {
	datastore := ref("Datastore", "datastore-5")
	name, s, err := machine.Clone(request(func(r *machine.Request) {
		r.Place.FailureDomain, r.Place.Datastore, r.Place.Policy = "zone-a", &datastore, "gold"
		r.Spec = spec(func(s *api.VSphereMachineSpec) {
			s.NumCPUs, s.NumCoresPerSocket, s.MemoryMiB, s.DiskGiB = 4, new(int32(2)), 8192, 40
			s.Resources.Requests.CPU, s.Resources.Limits.Memory = new(resource.MustParse("1500000001")), new(resource.MustParse("4Gi"))
			s.Resources.Shares.Memory = 100
			s.CustomVMXKeys = map[string]string{"b": "2", "a": "1", "fairlead.dev/tags": "forged"}
			s.DataDisks = []api.VSphereDisk{{Name: "etcd", SizeGiB: 10, ProvisioningMode: api.ProvisionThin}, {Name: "images", SizeGiB: 50}}
			s.Network.Devices[0].MACAddr = "00:50:56:00:00:99"
			s.PciDevices = []api.PCIDeviceSpec{{VGPUProfile: "grid_t4-1q"}}
		})
	}))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Config
	want := []string{
		"name m-0", "folder group-v3", "pool resgroup-8", "datastore datastore-5", "power false", "template false",
		"uuid " + m0, "instance " + m0, "cpus 4", "cores 2", "memory 8192", "cpu reservation 1501", "memory limit 4096 shares 100", "disk uuids true", "vApp removed true", "memory reserved true",
		"tags " + machine.EncodeTags(tags(machine.TagFailureDomain, "zone-a")), "a 1", "b 2",
	}
	extra := settings(t, s)
	got := []string{
		"name " + name, "folder " + s.Location.Folder.Value, "pool " + s.Location.Pool.Value, "datastore " + s.Location.Datastore.Value,
		fmt.Sprint("power ", s.PowerOn), fmt.Sprint("template ", s.Template), "uuid " + c.Uuid, "instance " + c.InstanceUuid,
		fmt.Sprint("cpus ", c.NumCPUs), fmt.Sprint("cores ", *c.NumCoresPerSocket), fmt.Sprint("memory ", c.MemoryMB),
		fmt.Sprint("cpu reservation ", *c.CpuAllocation.Reservation),
		fmt.Sprint("memory limit ", *c.MemoryAllocation.Limit, " shares ", c.MemoryAllocation.Shares.Shares),
		fmt.Sprint("disk uuids ", *c.Flags.DiskUuidEnabled), fmt.Sprint("vApp removed ", *c.VAppConfigRemoved), fmt.Sprint("memory reserved ", *c.MemoryReservationLockedToMax),
		"tags " + extra["fairlead.dev/tags"], "a " + extra["a"], "b " + extra["b"],
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		"edit disk 2000 on 1000:0 of 40 GiB",
		"add disk -300 on 1000:2 of 10 GiB, thin true, policy gold",
		"add disk -301 on 1000:3 of 50 GiB, policy gold",
		"remove card 4000", "remove card 4001",
		"add card -100 manual 00:50:56:00:00:99",
	}, changes(c.DeviceChange)); d != "" {
		t.Error(d)
	}
	for _, d := range s.Location.Disk {
		p, _ := d.Profile[0].(*types.VirtualMachineDefinedProfileSpec)
		if d.Datastore != datastore || p.ProfileId != "gold" {
			t.Errorf("disk %d goes to %v by %v, want the policy to be asked for", d.DiskId, d.Datastore, p)
		}
	}
	if len(s.Location.Disk) != 2 {
		t.Errorf("%d disks go somewhere, want both", len(s.Location.Disk))
	}
}

// changes describes changes of devices.
func changes(list []types.BaseVirtualDeviceConfigSpec) []string {
	var out []string
	for _, b := range list {
		c := b.GetVirtualDeviceConfigSpec()
		d := c.Device.GetVirtualDevice()
		text := string(c.Operation)
		switch v := c.Device.(type) {
		case *types.VirtualDisk:
			text += fmt.Sprintf(" disk %d on %d:%d of %d GiB", d.Key, d.ControllerKey, *d.UnitNumber, v.CapacityInKB/gib)
			if f, ok := v.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok && f.ThinProvisioned != nil {
				text += fmt.Sprintf(", thin %t", *f.ThinProvisioned)
			}
			for _, p := range c.Profile {
				text += ", policy " + p.(*types.VirtualMachineDefinedProfileSpec).ProfileId
			}
			if (c.FileOperation == "create") != (c.Operation == "add") {
				text += ", and its file is not made"
			}
		case *types.VirtualVmxnet3:
			text = strings.TrimSpace(fmt.Sprintf("%s card %d %s %s", text, d.Key, v.AddressType, v.MacAddress))
			if c.Operation == "remove" {
				text = fmt.Sprintf("remove card %d", d.Key)
			}
		case *types.VirtualPCIPassthrough:
			text += fmt.Sprintf(" PCI %d", d.Key)
		}
		out = append(out, text)
	}
	return out
}

// TestCards: cards are in the order of the devices, and have their networks.
func TestCards(t *testing.T) {
	network := func(name string) types.BaseVirtualDeviceBackingInfo {
		return &types.VirtualEthernetCardNetworkBackingInfo{VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: name}}
	}
	names := []string{"b", "a", "c"}
	r := request(func(r *machine.Request) { r.Spec.Network.Devices, r.Place.Networks = nil, nil })
	for _, n := range names {
		r.Spec.Network.Devices = append(r.Spec.Network.Devices, api.NetworkDeviceSpec{NetworkConfiguration: api.NetworkConfiguration{NetworkName: n}})
		r.Place.Networks = append(r.Place.Networks, network(n))
	}
	_, s, err := machine.Clone(r)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	last := int32(0)
	for _, b := range s.Config.DeviceChange {
		if c := b.GetVirtualDeviceConfigSpec(); c.Operation == "add" {
			d := c.Device.GetVirtualDevice()
			got = append(got, d.Backing.(*types.VirtualEthernetCardNetworkBackingInfo).DeviceName)
			if d.Key >= last {
				t.Errorf("key %d follows on %d: two devices are one", d.Key, last)
			}
			last = d.Key
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("cards on %q, want %q", got, names)
	}
	r.Place.Networks = r.Place.Networks[:2]
	if _, _, err := machine.Clone(r); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("with a network too few: %v, want kind Invalid", err)
	}
}

// TestNoUnitLeft: a controller has thirty units.
func TestNoUnitLeft(t *testing.T) {
	r := request(func(r *machine.Request) {
		for range 28 {
			r.Spec.DataDisks = append(r.Spec.DataDisks, api.VSphereDisk{Name: "d", SizeGiB: 1})
		}
	})
	if _, _, err := machine.Clone(r); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("28 disks beside two and the controller: %v, want kind Invalid", err)
	}
	r.Spec.DataDisks = r.Spec.DataDisks[:27]
	_, s, err := machine.Clone(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range changes(s.Config.DeviceChange) {
		if strings.Contains(line, "1000:7 ") {
			t.Errorf("%s: the unit is the controller's", line)
		}
	}
}
