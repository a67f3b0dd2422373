package machine

import (
	"strings"

	"fairlead.dev/providers/infrastructure/metal3/api"
)

// Properties returns what Ironic's node of a host has in properties, beside what was found
// there: what inspection found stays.
func Properties(h *api.BareMetalHostSpec, found map[string]any) map[string]any {
	existing, _ := found["capabilities"].(string)
	out := map[string]any{"capabilities": capabilities(h.BootMode, existing)}
	if root := h.RootDeviceHints.RootDevice(); root != nil {
		out["root_device"] = root
	}
	if h.Architecture != "" {
		out["cpu_arch"] = h.Architecture
	}
	return out
}

// capabilities returns existing ones with how the host boots.
// Source: baremetal-operator, pkg/provisioner/ironic/capabilities.go.
func capabilities(mode api.BootMode, existing string) string {
	var out []string
	for c := range strings.SplitSeq(existing, ",") {
		if c != "" && !strings.HasPrefix(c, "boot_mode:") && !strings.HasPrefix(c, "secure_boot:") {
			out = append(out, c)
		}
	}
	switch mode {
	case api.Legacy:
		out = append(out, "boot_mode:bios")
	case api.UEFISecureBoot:
		out = append(out, "boot_mode:uefi", "secure_boot:true")
	default:
		out = append(out, "boot_mode:uefi")
	}
	return strings.Join(out, ",")
}

// InstanceInfo returns what Ironic is told of what runs on a host: all of instance_info that
// is not whose it is. A live image is booted by the deploy interface "ramdisk", and has no
// config drive.
// Source: baremetal-operator, pkg/provisioner/ironic/ironic.go.
func InstanceInfo(i api.Image, h *api.BareMetalHostSpec) map[string]any {
	out := make(map[string]any)
	if h.BootMode == api.UEFISecureBoot {
		out["capabilities"] = map[string]string{"secure_boot": "true"}
	}
	if i.DiskFormat == api.LiveISO {
		out["boot_iso"] = i.URL
		return out
	}
	out["image_source"] = i.URL
	if i.DiskFormat != "" {
		out["image_disk_format"] = string(i.DiskFormat)
	}
	switch {
	case i.Checksum == nil:
	case i.ChecksumType == "":
		out["image_checksum"] = *i.Checksum
	default:
		out["image_os_hash_algo"], out["image_os_hash_value"] = string(i.ChecksumType), *i.Checksum
	}
	return out
}

// CleansAutomatically returns Ironic's automated_clean of a host for the machine on it, or
// for none where m is nil: what the machine says goes before what the host says.
func CleansAutomatically(h *api.BareMetalHostSpec, m *api.MachineSpec) bool {
	mode := h.AutomatedCleaningMode
	if m != nil && m.AutomatedCleaningMode != "" {
		mode = m.AutomatedCleaningMode
	}
	return mode != api.CleaningDisabled
}
