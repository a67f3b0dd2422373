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

// The deploy interfaces of Ironic that bring machines on hosts otherwise than by writing an image.
const (
	deployLive   = "ramdisk"      // boots an image, with the config drive in another virtual drive
	deployCustom = "custom-agent" // has the ramdisk carry out a step of its own
)

// DeployInterface returns the deploy interface that brings m on a host whose node has the one
// called now; empty: the one that Ironic is set up to use; nil: that one.
// Source: baremetal-operator, pkg/provisioner/ironic/ironic.go, getInstanceUpdateOpts.
func DeployInterface(m *api.MachineSpec, now string) *string {
	want := ""
	switch {
	case m.CustomDeploy.Method != "":
		want = deployCustom
	case m.Image.DiskFormat == api.LiveISO:
		want = deployLive
	case now != deployLive && now != deployCustom: // else an earlier machine left it
		return nil
	}
	if want == now {
		return nil
	}
	return &want
}

// Fits says why a host cannot run m, or "": a live image has its config drive in a virtual drive.
// Source: Ironic, drivers/modules/redfish/boot.py, the capability ramdisk_boot_configdrive.
func Fits(m *api.MachineSpec, h *api.BareMetalHostSpec) string {
	if m.CustomDeploy.Method != "" || m.Image.DiskFormat != api.LiveISO {
		return ""
	}
	b, err := api.ParseBMC(h.BMC.Address, true)
	if err == nil && strings.HasSuffix(b.Interfaces["boot"], "virtual-media") {
		return ""
	}
	return "does not boot by virtual media, which a live image needs for its config drive"
}

// InstanceInfo returns what Ironic gets about what runs on a host: all of instance_info that
// does not name its owner.
// Source: baremetal-operator, pkg/provisioner/ironic/ironic.go.
func InstanceInfo(m *api.MachineSpec, h *api.BareMetalHostSpec) map[string]any {
	i := &m.Image
	out := make(map[string]any)
	if m.CustomDeploy.Method != "" {
		out[stepKey] = m.CustomDeploy.Method
	}
	if h.BootMode == api.UEFISecureBoot {
		out["capabilities"] = map[string]string{"secure_boot": "true"}
	}
	switch {
	case i.URL == "":
		return out // the step of a custom deploy knows
	case i.DiskFormat == api.LiveISO:
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

// stepKey is the key of instance_info that has the deploy step of the machine: Git may name another
// one before it is deployed.
const stepKey = "fairlead_deploy_step"

// DeployStep returns the deploy step of the machine with that instance_info; empty: its image is
// deployed.
func DeployStep(info map[string]any) string {
	step, _ := info[stepKey].(string)
	return step
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
