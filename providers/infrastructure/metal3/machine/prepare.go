package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/host"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
)

// A Preparation is what Git wants of a host before machines have it.
type Preparation struct {
	RAID     *api.RAIDConfig
	Settings *api.HostFirmwareSettingsSpec
	Updates  *api.HostFirmwareComponentsSpec
}

// PreparationKey is the key of driver_info that has a [PreparationRecord].
const PreparationKey = "fairlead_prepared"

// PreparationRecord is what is kept of the preparation of a host at its node: what is as Git said once, by
// marks that tell it from anything else, and what was asked for.
type PreparationRecord struct {
	Disks    string `json:"disks,omitempty"`
	Firmware string `json:"firmware,omitempty"`
	Asked    *Asked `json:"asked,omitempty"` // nil: nothing was
}

// Asked is what a host is as when what was asked for ends well.
type Asked struct {
	Disks    string `json:"disks,omitempty"`
	Firmware string `json:"firmware,omitempty"`
	// At is provision_updated_at of the node when the request was noted. If it is unchanged, Ironic
	// has not begun.
	At time.Time `json:"at"`
}

// ReadPreparation returns what driver_info keeps.
func ReadPreparation(driverInfo map[string]any) PreparationRecord {
	var out PreparationRecord
	if driverInfo[PreparationKey] == nil {
		return out
	}
	text, err := json.Marshal(driverInfo[PreparationKey])
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return PreparationRecord{} // of another writer: it is prepared again
	}
	return out
}

// disks returns the mark of how disks are put together; empty: they stay unchanged.
func (w *Preparation) disks() string {
	if r := w.RAID; r == nil || r.HardwareRAIDVolumes == nil && r.SoftwareRAIDVolumes == nil {
		return ""
	}
	return markOf(w.RAID)
}

// firmware returns the mark of the firmware and its settings; empty: they stay unchanged.
func (w *Preparation) firmware() string {
	settings, updates := w.Settings != nil && len(w.Settings.Settings) > 0, w.Updates != nil && len(w.Updates.Updates) > 0
	if !settings && !updates {
		return ""
	}
	return markOf([]any{w.Settings, w.Updates})
}

// markOf returns what tells v from another one.
func markOf(v any) string {
	text, _ := json.Marshal(v) // what was read from JSON has a form in it
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// Serviceable returns the part of w that may be carried out while a machine is on the host: Ironic
// calls it servicing.
func (w Preparation) Serviceable() Preparation {
	w.RAID = nil
	return w
}

// Compare says how far a node, which is in its state since updated, is as w wants it.
func (w *Preparation) Compare(was PreparationRecord, updated time.Time) host.PreparationState {
	disks, firmware := w.outstanding(was)
	switch a := was.Asked; {
	case !disks && !firmware && a == nil:
		return host.Prepared
	case !disks && !firmware:
		return host.PreparationDropped
	case a == nil || a.Disks != w.after(was).Disks || a.Firmware != w.after(was).Firmware:
		return host.Unprepared
	case a.At.Equal(updated):
		return host.PreparationAsked
	}
	return host.PreparationEnded
}

// outstanding returns what of w is to be carried out where was is so.
func (w *Preparation) outstanding(was PreparationRecord) (disks, firmware bool) {
	d, f := w.disks(), w.firmware()
	return d != "" && d != was.Disks, f != "" && f != was.Firmware
}

// after returns what was becomes when w is carried out.
func (w *Preparation) after(was PreparationRecord) PreparationRecord {
	out := PreparationRecord{Disks: was.Disks, Firmware: was.Firmware}
	disks, firmware := w.outstanding(was)
	if disks {
		out.Disks = w.disks()
	}
	if firmware {
		out.Firmware = w.firmware()
	}
	return out
}

// Ask returns the record to keep when w is requested at a node that is in its state since at.
func (w *Preparation) Ask(was PreparationRecord, at time.Time) PreparationRecord {
	after := w.after(was)
	return PreparationRecord{Disks: was.Disks, Firmware: was.Firmware, Asked: &Asked{Disks: after.Disks, Firmware: after.Firmware, At: at}}
}

// Ended returns the record to keep when the request ended.
func (p PreparationRecord) Ended(well bool) PreparationRecord {
	if well && p.Asked != nil {
		p.Disks, p.Firmware = p.Asked.Disks, p.Asked.Firmware
	}
	p.Asked = nil
	return p
}

// Names of what Ironic does.
// Source: baremetal-operator, pkg/provisioner/ironic: raid.go, ironic.go.
const (
	raidInterface, biosInterface, firmwareInterface, deployInterface = "raid", "bios", "firmware", "deploy"

	softwareRAID, noRAID = "agent", "no-raid" // interfaces that put disks together
)

// Steps returns what Ironic does for what of w is outstanding. Firmware comes first, since it
// brings the settings that there are.
func (w *Preparation) Steps(was PreparationRecord) []ironic.Step {
	var out []ironic.Step
	disks, firmware := w.outstanding(was)
	if firmware {
		out = w.firmwareSteps()
	}
	if !disks {
		return out
	}
	out = append(out, ironic.Step{Interface: raidInterface, Name: "delete_configuration"})
	if w.RAID.SoftwareRAIDVolumes != nil && len(w.RAID.HardwareRAIDVolumes) == 0 {
		out = append(out, ironic.Step{Interface: deployInterface, Name: "erase_devices_metadata"})
	}
	if len(w.RAID.HardwareRAIDVolumes)+len(w.RAID.SoftwareRAIDVolumes) > 0 {
		out = append(out, ironic.Step{Interface: raidInterface, Name: "create_configuration"})
	}
	return out
}

func (w *Preparation) firmwareSteps() []ironic.Step {
	var out []ironic.Step
	if w.Updates != nil && len(w.Updates.Updates) > 0 {
		out = append(out, ironic.Step{Interface: firmwareInterface, Name: "update", Args: map[string]any{"settings": w.Updates.Updates}})
	}
	if w.Settings != nil && len(w.Settings.Settings) > 0 {
		var list []map[string]any
		for _, name := range slices.Sorted(maps.Keys(w.Settings.Settings)) {
			list = append(list, map[string]any{"name": name, "value": w.Settings.Settings[name]})
		}
		out = append(out, ironic.Step{Interface: biosInterface, Name: "apply_configuration", Args: map[string]any{"settings": list}})
	}
	return out
}

// Interfaces returns the interfaces that the node of h has to have for what of w is outstanding.
func (w *Preparation) Interfaces(was PreparationRecord, h *api.BareMetalHostSpec) map[string]string {
	if disks, _ := w.outstanding(was); !disks {
		return nil
	}
	if w.RAID.SoftwareRAIDVolumes != nil && len(w.RAID.HardwareRAIDVolumes) == 0 {
		return map[string]string{raidInterface: softwareRAID}
	}
	b, err := api.ParseBMC(h.BMC.Address, true)
	if err != nil || b.Interfaces[raidInterface] == noRAID {
		return nil
	}
	return map[string]string{raidInterface: b.Interfaces[raidInterface]}
}

// Disks returns the RAID configuration of h for Ironic; nil: none.
func (w *Preparation) Disks(was PreparationRecord, h *api.BareMetalHostSpec) ironic.Disks {
	if disks, _ := w.outstanding(was); !disks {
		return nil
	}
	list := append(hardware(w.RAID.HardwareRAIDVolumes), software(w.RAID.SoftwareRAIDVolumes)...)
	if len(list) == 0 {
		return nil
	}
	if h.RootDeviceHints == nil && !slices.ContainsFunc(list, func(d map[string]any) bool { return d["is_root_volume"] == true }) {
		list[0]["is_root_volume"] = true
	}
	return ironic.Disks{"logical_disks": list}
}

// size is that of a volume; nil or 0 is all there is.
func size(gib *int) any {
	if gib == nil || *gib == 0 {
		return "MAX"
	}
	return *gib
}

func hardware(volumes []api.HardwareRAIDVolume) []map[string]any {
	var out []map[string]any
	for _, v := range volumes {
		d := map[string]any{"size_gb": size(v.SizeGibibytes), "raid_level": v.Level}
		if v.Name != "" {
			d["volume_name"] = v.Name
		}
		if v.Rotational != nil {
			d["disk_type"] = map[bool]string{true: "hdd", false: "ssd"}[*v.Rotational]
		}
		if v.NumberOfPhysicalDisks != nil {
			d["number_of_physical_disks"] = *v.NumberOfPhysicalDisks
		}
		if v.Controller != "" {
			d["controller"] = v.Controller
		}
		if len(v.PhysicalDisks) > 0 {
			d["physical_disks"] = v.PhysicalDisks
		}
		out = append(out, d)
	}
	return out
}

func software(volumes []api.SoftwareRAIDVolume) []map[string]any {
	var out []map[string]any
	for _, v := range volumes {
		d := map[string]any{"size_gb": size(v.SizeGibibytes), "raid_level": v.Level, "controller": "software", "is_root_volume": v.RootVolume}
		var disks []any
		for i := range v.PhysicalDisks {
			disks = append(disks, v.PhysicalDisks[i].RootDevice())
		}
		if len(disks) > 0 {
			d["physical_disks"] = disks
		}
		out = append(out, d)
	}
	return out
}

// What says in words what of w is outstanding, for people.
func (w *Preparation) What(was PreparationRecord) string {
	var out []string
	disks, firmware := w.outstanding(was)
	if firmware {
		if w.Updates != nil && len(w.Updates.Updates) > 0 {
			out = append(out, "firmware")
		}
		if w.Settings != nil && len(w.Settings.Settings) > 0 {
			out = append(out, "settings of firmware")
		}
	}
	if disks {
		out = append(out, "volumes of disks")
	}
	return strings.Join(out, ", ")
}
