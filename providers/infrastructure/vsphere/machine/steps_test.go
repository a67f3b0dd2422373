package machine_test

import (
	"encoding/base64"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

// a world is a VM that does what steps say.
type world struct {
	t *testing.T
	v machine.VM
	d machine.Details
}

func (w *world) take(s machine.Step) {
	w.t.Helper()
	switch s.Action {
	case machine.UpgradeHardware:
		w.d.HardwareVersion = s.Version
	case machine.JoinGroup:
		w.d.Grouped = true
	case machine.Spread:
		w.d.Spread = true
	case machine.AttachTags:
		w.d.Attached = append(w.d.Attached, s.Tags...)
	case machine.PowerOn:
		w.v.Power = poweredOn
	case machine.ShutDownGuest, machine.PowerOff:
		w.v.Power = poweredOff
	case machine.Reconfigure:
		for _, o := range s.Config.ExtraConfig {
			switch v := o.GetOptionValue(); v.Key {
			case "guestinfo.metadata":
				w.d.Metadata = v.Value.(string)
			case "guestinfo.metadata.encoding":
				w.d.MetadataEncoding = v.Value.(string)
			case "fairlead.dev/tags":
				w.v.Tags = v.Value.(string)
			}
		}
		for _, c := range s.Config.DeviceChange {
			if d := c.GetVirtualDeviceConfigSpec(); d.Operation == "add" {
				w.d.Devices = append(w.d.Devices, d.Device)
			} else {
				w.d.Devices = without(w.d.Devices, d.Device.GetVirtualDevice().Key)
			}
		}
	default:
		w.t.Fatalf("step %+v", s)
	}
}

func without(devices []types.BaseVirtualDevice, key int32) (out []types.BaseVirtualDevice) {
	for _, d := range devices {
		if d.GetVirtualDevice().Key != key {
			out = append(out, d)
		}
	}
	return out
}

// TestSteps: a machine is powered on last, and an agent that starts anew goes on where the
// last one ended.
func TestSteps(t *testing.T) {
	w := world{t: t, v: vm(nil), d: machine.Details{HardwareVersion: "vmx-15", Devices: []types.BaseVirtualDevice{card(4000, "00:50:56:00:00:01")}}}
	wanted := &machine.Wanted{Tags: tags(), Spec: spec(func(s *api.VSphereMachineSpec) {
		s.HardwareVersion = "vmx-19"
		s.PciDevices = []api.PCIDeviceSpec{{VGPUProfile: "grid_t4-1q"}, {DeviceID: new(int32(7864)), VendorID: new(int32(4318))}, {VGPUProfile: "grid_t4-1q"}}
		s.TagIDs = []string{"urn:a", "urn:b"}
	})}
	w.d.Attached = []string{"urn:a", "urn:of-people"}
	var got []string
	for w.v.Power != poweredOn && len(got) < 20 {
		s, err := machine.Next(&w.v, &w.d, wanted)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(s.What+" "+strings.Join(s.Tags, " ")))
		w.take(s)
	}
	if d := cmp.Diff([]string{
		"upgrade its hardware to vmx-19", "add its PCI devices", "set its metadata", "put it into the VM group", "keep it apart", "attach its tags urn:b", "power it on",
	}, got); d != "" {
		t.Error(d)
	}
	if n := len(w.d.Devices); n != 4 {
		t.Errorf("%d devices, want the card and three of PCI", n)
	}
}

// TestMetadataOfCards: each device is told to the card that was added for it, with its
// addresses of pools.
func TestMetadataOfCards(t *testing.T) {
	d := &machine.Details{Grouped: true, Spread: true, Devices: []types.BaseVirtualDevice{card(4001, "00:50:56:00:00:02"), card(4000, "00:50:56:00:00:01")}}
	w := &machine.Wanted{
		Tags: tags(), Spec: spec(func(s *api.VSphereMachineSpec) {
			s.Network.Devices = []api.NetworkDeviceSpec{{DeviceName: "first"}, {DeviceName: "second", Gateway4: "10.1.0.254"}}
		}),
		Pools: [][]machine.PoolAddress{
			{{Address: netip.MustParsePrefix("10.0.0.11/24"), Gateway: netip.MustParseAddr("10.0.0.1")}, {Address: netip.MustParsePrefix("fd00::11/64"), Gateway: netip.MustParseAddr("fd00::1")}},
			{{Address: netip.MustParsePrefix("10.1.0.11/24"), Gateway: netip.MustParseAddr("10.1.0.1")}},
		},
	}
	v := vm(nil)
	s, err := machine.Next(&v, d, w)
	if err != nil || s.What != "set its metadata" {
		t.Fatalf("%+v, %v", s, err)
	}
	text, err := base64.StdEncoding.DecodeString(s.Config.ExtraConfig[0].GetOptionValue().Value.(string))
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(string(text), "id1:")
	for _, line := range []string{"10.0.0.11/24", "fd00::11/64", "gateway4: 10.0.0.1\n", "gateway6: fd00::1\n", "00:50:56:00:00:01", "first"} {
		if !strings.Contains(first, line) {
			t.Errorf("the first device lacks %q:\n%s", line, text)
		}
	}
	for _, line := range []string{"10.1.0.11/24", "gateway4: 10.1.0.254\n", "00:50:56:00:00:02", "second"} {
		if !strings.Contains(second, line) {
			t.Errorf("the second device lacks %q:\n%s", line, text)
		}
	}
	d.Devices = d.Devices[:1]
	if _, err := machine.Next(&v, d, w); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("somebody took a card: %v, want kind Conflict", err)
	}
}

// TestUserDataIsCleared: user data goes when the first boot is over for certain, once.
func TestUserDataIsCleared(t *testing.T) {
	on := func(since time.Duration, more ...string) *machine.Owned {
		return owned(func(v *machine.VM) {
			v.Power, v.Booted, v.Tags = poweredOn, now.Add(-since), machine.EncodeTags(tags(more...))
		})
	}
	for reason, tc := range map[string]struct {
		o    *machine.Owned
		want bool
	}{
		"it may still boot":     {on(59 * time.Minute), false},
		"it is on for an hour":  {on(time.Hour), true},
		"it was cleared":        {on(time.Hour, machine.TagUserDataCleared, "true"), false},
		"its tags are damaged":  {on(time.Hour, "fairlead.dev/role", ""), false},
		"it goes":               {on(time.Hour, machine.TagDeleting, "2026-11-23T11:59:00Z"), false},
		"it is off":             {owned(nil), false},
		"vCenter does not tell": {owned(func(v *machine.VM) { v.Power = poweredOn }), false},
	} {
		s := machine.NextOfRunning(tc.o, now)
		if (s.Action == machine.Reconfigure) != tc.want {
			t.Errorf("%s: %+v, want it cleared: %t", reason, s, tc.want)
		}
		if !tc.want {
			continue
		}
		got := make(map[string]any)
		for _, v := range s.Config.ExtraConfig {
			got[v.GetOptionValue().Key] = v.GetOptionValue().Value
		}
		if d := cmp.Diff(map[string]any{
			"guestinfo.userdata": "", "guestinfo.userdata.encoding": "", "guestinfo.ignition.config.data": "", "guestinfo.ignition.config.data.encoding": "",
			"fairlead.dev/tags": machine.EncodeTags(tags("fairlead.dev/user-data-cleared", "true")),
		}, got); d != "" {
			t.Error(d)
		}
	}
}
