package machine

import (
	"encoding/json"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/host"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

// volumes is a wish for volumes of software.
func volumes(levels ...string) *api.RAIDConfig {
	out := &api.RAIDConfig{SoftwareRAIDVolumes: []api.SoftwareRAIDVolume{}}
	for _, level := range levels {
		out.SoftwareRAIDVolumes = append(out.SoftwareRAIDVolumes, api.SoftwareRAIDVolume{Level: level})
	}
	return out
}

func settings(value string) *api.HostFirmwareSettingsSpec {
	return &api.HostFirmwareSettingsSpec{Settings: map[string]intstr.IntOrString{"b": intstr.FromString(value), "a": intstr.FromInt32(2)}}
}

// through returns what a node keeps of p, as it is read.
func through(t *testing.T, p PreparationRecord) PreparationRecord {
	t.Helper()
	text, err := json.Marshal(map[string]any{PreparationKey: p})
	if err != nil {
		t.Fatal(err)
	}
	var info map[string]any
	if err := json.Unmarshal(text, &info); err != nil {
		t.Fatal(err)
	}
	return ReadPreparation(info)
}

// TestPrepared: how far a host is, from what was asked for to what is noted.
func TestPrepared(t *testing.T) {
	at := time.Date(2026, 11, 26, 12, 0, 0, 500, time.UTC)
	later := at.Add(time.Second)
	w := Preparation{RAID: volumes("1"), Settings: settings("x")}
	want := func(what string, w Preparation, was PreparationRecord, updated time.Time, want host.PreparationState, outstanding string) {
		t.Helper()
		if got := w.Compare(was, updated); got != want || w.What(was) != outstanding {
			t.Errorf("%s: %q with %q outstanding, want %q with %q", what, got, w.What(was), want, outstanding)
		}
	}
	const both = "settings of firmware, volumes of disks"
	none := PreparationRecord{}
	want("Git says nothing", Preparation{}, none, at, host.Prepared, "")
	want("Git says no settings", Preparation{Settings: &api.HostFirmwareSettingsSpec{}, RAID: &api.RAIDConfig{}}, none, at, host.Prepared, "")
	want("new", w, none, at, host.Unprepared, both)
	asked := through(t, w.Ask(none, at))
	want("asked", w, asked, at, host.PreparationAsked, both)
	want("asked, as it is read elsewhere", w, asked, at.In(time.FixedZone("", 3600)), host.PreparationAsked, both)
	want("ended", w, asked, later, host.PreparationEnded, both)
	want("Git says otherwise meanwhile", Preparation{RAID: volumes("1"), Settings: settings("y")}, asked, later, host.Unprepared, both)
	want("Git says nothing any more", Preparation{}, asked, later, host.PreparationDropped, "")
	want("it failed", w, through(t, asked.Ended(false)), later, host.Unprepared, both)
	done := through(t, asked.Ended(true))
	want("done", w, done, later, host.Prepared, "")
	want("with no volumes", Preparation{RAID: volumes()}, done, later, host.Unprepared, "volumes of disks")
	want("with a machine on it", Preparation{RAID: volumes()}.Serviceable(), done, later, host.Prepared, "")

	next := Preparation{RAID: volumes("1"), Settings: settings("y"), Updates: &api.HostFirmwareComponentsSpec{Updates: []api.FirmwareUpdate{{Component: "bmc", URL: "http://a/b"}}}}
	want("other firmware", next, done, later, host.Unprepared, "firmware, settings of firmware")
	asked = next.Ask(done, later)
	want("other firmware failed", next, asked.Ended(false), later, host.Unprepared, "firmware, settings of firmware")
	if back := asked.Ended(false); back.Disks != done.Disks || back.Firmware != done.Firmware {
		t.Errorf("it failed, and what was done before is %+v", back)
	}
	for name, info := range map[string]map[string]any{"none": nil, "another's": {PreparationKey: "yes"}, "broken": {PreparationKey: map[string]any{"asked": map[string]any{"at": 7}}}} {
		if got := ReadPreparation(info); got != none {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestSteps: what Ironic is asked for, and told before.
func TestSteps(t *testing.T) {
	yes, n, two := true, 100, 2
	serial := &api.RootDeviceHints{SerialNumber: "s"}
	h := func(address string, root *api.RootDeviceHints) *api.BareMetalHostSpec {
		return &api.BareMetalHostSpec{BMC: api.BMCDetails{Address: address}, RootDeviceHints: root}
	}
	const redfish, idrac = "redfish-virtualmedia://10.0.0.5/redfish/v1/Systems/1", "idrac-virtualmedia://10.0.0.5/redfish/v1/Systems/1"
	deleted, erased, created := ironic.Step{Interface: "raid", Name: "delete_configuration"}, ironic.Step{Interface: "deploy", Name: "erase_devices_metadata"}, ironic.Step{Interface: "raid", Name: "create_configuration"}
	for name, tc := range map[string]struct {
		wish       Preparation
		host       *api.BareMetalHostSpec
		steps      []ironic.Step
		disks      ironic.Disks
		interfaces map[string]string
	}{
		"nothing": {host: h(redfish, nil)},
		"software": {
			wish: Preparation{RAID: &api.RAIDConfig{SoftwareRAIDVolumes: []api.SoftwareRAIDVolume{{Level: "1", SizeGibibytes: &n, PhysicalDisks: []api.RootDeviceHints{*serial, {Model: "m"}}}, {Level: "0"}}}},
			host: h(redfish, nil), steps: []ironic.Step{deleted, erased, created}, interfaces: map[string]string{"raid": "agent"},
			disks: ironic.Disks{"logical_disks": []map[string]any{
				{"controller": "software", "is_root_volume": true, "physical_disks": []any{map[string]string{"serial": "s== s"}, map[string]string{"model": "<in> m"}}, "raid_level": "1", "size_gb": 100},
				{"controller": "software", "is_root_volume": false, "raid_level": "0", "size_gb": "MAX"},
			}},
		},
		"software, root said": {
			wish: Preparation{RAID: volumes("1")}, host: h(redfish, serial), steps: []ironic.Step{deleted, erased, created}, interfaces: map[string]string{"raid": "agent"},
			disks: ironic.Disks{"logical_disks": []map[string]any{{"controller": "software", "is_root_volume": false, "raid_level": "1", "size_gb": "MAX"}}},
		},
		"software, none": {wish: Preparation{RAID: volumes()}, host: h(redfish, nil), steps: []ironic.Step{deleted, erased}, interfaces: map[string]string{"raid": "agent"}},
		"hardware": {
			wish: Preparation{RAID: &api.RAIDConfig{HardwareRAIDVolumes: []api.HardwareRAIDVolume{
				{Level: "5", Name: "a", Rotational: &yes, NumberOfPhysicalDisks: &two, Controller: "c", PhysicalDisks: []string{"1", "2"}}, {Level: "1+0", Rotational: new(bool)},
			}}},
			host: h(idrac, nil), steps: []ironic.Step{deleted, created}, interfaces: map[string]string{"raid": "idrac-redfish"},
			disks: ironic.Disks{"logical_disks": []map[string]any{
				{"controller": "c", "disk_type": "hdd", "is_root_volume": true, "number_of_physical_disks": 2, "physical_disks": []string{"1", "2"}, "raid_level": "5", "size_gb": "MAX", "volume_name": "a"},
				{"disk_type": "ssd", "raid_level": "1+0", "size_gb": "MAX"},
			}},
		},
		"hardware, none": {wish: Preparation{RAID: &api.RAIDConfig{HardwareRAIDVolumes: []api.HardwareRAIDVolume{}}}, host: h(redfish, nil), steps: []ironic.Step{deleted}, interfaces: map[string]string{"raid": "redfish"}},
		"all": {
			wish: Preparation{RAID: volumes(), Settings: settings("x"), Updates: &api.HostFirmwareComponentsSpec{Updates: []api.FirmwareUpdate{{Component: "bios", URL: "http://a/b"}}}},
			host: h(redfish, nil), interfaces: map[string]string{"raid": "agent"}, steps: []ironic.Step{
				{Interface: "firmware", Name: "update", Args: map[string]any{"settings": []api.FirmwareUpdate{{Component: "bios", URL: "http://a/b"}}}},
				{Interface: "bios", Name: "apply_configuration", Args: map[string]any{"settings": []map[string]any{{"name": "a", "value": intstr.FromInt32(2)}, {"name": "b", "value": intstr.FromString("x")}}}},
				deleted, erased,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := []any{tc.wish.Steps(PreparationRecord{}), tc.wish.Disks(PreparationRecord{}, tc.host), tc.wish.Interfaces(PreparationRecord{}, tc.host)}
			if d := gocmp.Diff([]any{tc.steps, tc.disks, tc.interfaces}, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			done := tc.wish.Ask(PreparationRecord{}, time.Time{}).Ended(true)
			if steps := tc.wish.Steps(done); len(steps) > 0 || tc.wish.Disks(done, tc.host) != nil || tc.wish.Interfaces(done, tc.host) != nil {
				t.Errorf("it is done, and %v is asked for", steps)
			}
		})
	}
}
