package machine

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/metal3/api"
)

func TestProperties(t *testing.T) {
	for name, tc := range map[string]struct {
		host  api.BareMetalHostSpec
		found map[string]any
		want  map[string]any
	}{
		"UEFI":   {api.BareMetalHostSpec{BootMode: api.UEFI}, nil, map[string]any{"capabilities": "boot_mode:uefi"}},
		"Legacy": {api.BareMetalHostSpec{BootMode: api.Legacy}, nil, map[string]any{"capabilities": "boot_mode:bios"}},
		"Found": {
			api.BareMetalHostSpec{BootMode: api.UEFISecureBoot},
			map[string]any{"capabilities": "cpu_vt:true,boot_mode:bios,secure_boot:false"},
			map[string]any{"capabilities": "cpu_vt:true,boot_mode:uefi,secure_boot:true"},
		},
		"All": {
			api.BareMetalHostSpec{BootMode: api.UEFI, Architecture: "aarch64", RootDeviceHints: &api.RootDeviceHints{DeviceName: "/dev/vda"}},
			nil,
			map[string]any{"capabilities": "boot_mode:uefi", "cpu_arch": "aarch64", "root_device": map[string]string{"name": "s== /dev/vda"}},
		},
	} {
		if d := gocmp.Diff(tc.want, Properties(&tc.host, tc.found)); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

func TestInstanceInfo(t *testing.T) {
	sum := "abc"
	for name, tc := range map[string]struct {
		image api.Image
		mode  api.BootMode
		want  map[string]any
	}{
		"Typed":    {api.Image{URL: "http://a/b", Checksum: &sum, ChecksumType: "sha256", DiskFormat: "raw"}, api.UEFI, map[string]any{"image_source": "http://a/b", "image_disk_format": "raw", "image_os_hash_algo": "sha256", "image_os_hash_value": "abc"}},
		"Untyped":  {api.Image{URL: "http://a/b", Checksum: &sum}, api.Legacy, map[string]any{"image_source": "http://a/b", "image_checksum": "abc"}},
		"Registry": {api.Image{URL: "oci://a/b"}, api.UEFISecureBoot, map[string]any{"image_source": "oci://a/b", "capabilities": map[string]string{"secure_boot": "true"}}},
		"Live":     {api.Image{URL: "http://a/b.iso", DiskFormat: "live-iso"}, api.UEFI, map[string]any{"boot_iso": "http://a/b.iso"}},
	} {
		m := &api.MachineSpec{Metal3MachineSpec: api.Metal3MachineSpec{Image: tc.image}}
		got := InstanceInfo(m, &api.BareMetalHostSpec{BootMode: tc.mode})
		if d := gocmp.Diff(tc.want, got); d != "" || DeployStep(got) != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
		m.CustomDeploy.Method = "install_it"
		got = InstanceInfo(m, &api.BareMetalHostSpec{BootMode: tc.mode})
		if step := DeployStep(got); step != "install_it" {
			t.Errorf("%s: the deploy step is %q", name, step)
		}
		delete(got, stepKey)
		if d := gocmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s, custom: -want +got:\n%s", name, d)
		}
	}
	step := &api.MachineSpec{Metal3MachineSpec: api.Metal3MachineSpec{CustomDeploy: api.CustomDeploy{Method: "install_it"}}}
	if d := gocmp.Diff(map[string]any{stepKey: "install_it"}, InstanceInfo(step, &api.BareMetalHostSpec{})); d != "" {
		t.Errorf("a step alone: -want +got:\n%s", d)
	}
}

func TestDeployInterface(t *testing.T) {
	const live, custom = "ramdisk", "custom-agent"
	for name, tc := range map[string]struct {
		format    api.DiskFormat
		step, now string
		want      *string
	}{
		"Image":             {format: api.QCOW2, now: "direct"},
		"ImageNoneKnown":    {format: api.QCOW2},
		"ImageAfterLive":    {format: api.QCOW2, now: live, want: new("")},
		"ImageAfterCustom":  {now: custom, want: new("")},
		"Live":              {format: api.LiveISO, now: "direct", want: new(live)},
		"LiveAfterLive":     {format: api.LiveISO, now: live},
		"LiveAfterCustom":   {format: api.LiveISO, now: custom, want: new(live)},
		"Custom":            {step: "install_it", now: "direct", want: new(custom)},
		"CustomWithImage":   {step: "install_it", format: api.Raw, now: live, want: new(custom)},
		"CustomAfterCustom": {step: "install_it", now: custom},
	} {
		m := &api.MachineSpec{Metal3MachineSpec: api.Metal3MachineSpec{Image: api.Image{DiskFormat: tc.format}, CustomDeploy: api.CustomDeploy{Method: tc.step}}}
		if d := gocmp.Diff(tc.want, DeployInterface(m, tc.now)); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

func TestFits(t *testing.T) {
	for _, tc := range []struct {
		format  api.DiskFormat
		step    string
		address string
		fits    bool
	}{
		{api.LiveISO, "", "redfish-virtualmedia://10.0.0.5/redfish/v1/Systems/1", true},
		{api.LiveISO, "", "idrac-virtualmedia://10.0.0.5/redfish/v1/Systems/1", true},
		{api.LiveISO, "", "redfish://10.0.0.5/redfish/v1/Systems/1", false},
		{api.LiveISO, "", "redfish-uefihttp://10.0.0.5/redfish/v1/Systems/1", false},
		{api.LiveISO, "", "ipmi://10.0.0.5", false},
		{api.LiveISO, "install_it", "ipmi://10.0.0.5", true},
		{api.QCOW2, "", "ipmi://10.0.0.5", true},
	} {
		m := &api.MachineSpec{Metal3MachineSpec: api.Metal3MachineSpec{Image: api.Image{DiskFormat: tc.format}, CustomDeploy: api.CustomDeploy{Method: tc.step}}}
		if why := Fits(m, &api.BareMetalHostSpec{BMC: api.BMCDetails{Address: tc.address}}); (why == "") != tc.fits {
			t.Errorf("%s %s at %s: %q", tc.format, tc.step, tc.address, why)
		}
	}
}

func TestCleansAutomatically(t *testing.T) {
	for name, tc := range map[string]struct {
		host, machine api.AutomatedCleaningMode
		none, want    bool
	}{
		"Host":           {host: api.CleaningMetadata, none: true, want: true},
		"HostNot":        {host: api.CleaningDisabled, none: true, want: false},
		"MachineSilent":  {host: api.CleaningDisabled, want: false},
		"MachineNot":     {host: api.CleaningMetadata, machine: api.CleaningDisabled, want: false},
		"MachineAgainst": {host: api.CleaningDisabled, machine: api.CleaningMetadata, want: true},
	} {
		var m *api.MachineSpec
		if !tc.none {
			m = &api.MachineSpec{Metal3MachineSpec: api.Metal3MachineSpec{AutomatedCleaningMode: tc.machine}}
		}
		if got := CleansAutomatically(&api.BareMetalHostSpec{AutomatedCleaningMode: tc.host}, m); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
