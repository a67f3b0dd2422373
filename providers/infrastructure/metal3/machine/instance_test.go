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
		"Live":     {api.Image{URL: "http://a/b.iso", Checksum: &sum, DiskFormat: "live-iso"}, api.UEFI, map[string]any{"boot_iso": "http://a/b.iso"}},
	} {
		if d := gocmp.Diff(tc.want, InstanceInfo(tc.image, &api.BareMetalHostSpec{BootMode: tc.mode})); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
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
