package machine

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/infrastructure/vsphere/api"
)

// DefaultSoftTimeout is how long a guest may take to shut down where Git does not say.
// Source: CAPV, GuestSoftPowerOffDefaultTimeoutSeconds.
const DefaultSoftTimeout = 5 * time.Minute

// A Removal says how a machine goes. The zero value is hard.
type Removal struct {
	Mode    api.PowerOffMode
	Timeout time.Duration
}

// RemovalOf returns what s says.
func RemovalOf(s *api.VSphereMachineSpec) Removal {
	r := Removal{Mode: s.PowerOffMode, Timeout: DefaultSoftTimeout}
	if s.GuestSoftPowerOffTimeoutSeconds > 0 {
		r.Timeout = time.Duration(s.GuestSoftPowerOffTimeoutSeconds) * time.Second
	}
	return r
}

// RecordedRemoval returns what the tags of a machine say, for one of whose pool Git says nothing
// any more. Without a record, or with one that cannot be read, it is the zero value.
func RecordedRemoval(tags map[string]string) Removal {
	mode, text, _ := strings.Cut(tags[TagPowerOff], " ")
	switch api.PowerOffMode(mode) {
	case api.PowerOffSoft:
		return Removal{Mode: api.PowerOffSoft}
	case api.PowerOffTrySoft:
		if d, err := time.ParseDuration(text); err == nil {
			return Removal{Mode: api.PowerOffTrySoft, Timeout: d}
		}
	case api.PowerOffHard:
	}
	return Removal{}
}

// String returns the value of TagPowerOff; empty where r is hard, which needs no record.
func (r Removal) String() string {
	switch r.Mode {
	case api.PowerOffSoft:
		return string(r.Mode)
	case api.PowerOffTrySoft:
		return string(r.Mode) + " " + r.Timeout.String()
	case api.PowerOffHard:
	}
	return ""
}

// NextOfDeletion returns the next step of a machine that is to go. It says in its tags that it
// goes, then it is shut down or powered off, then disks that are not its own are taken off it,
// and then it is destroyed. No step: its guest is shutting down. d may be nil while v is not
// powered off.
func NextOfDeletion(o *Owned, d *Details, r Removal, now time.Time) Step {
	since := deletingSince(o.Tags)
	if since.IsZero() {
		tags := withTag(o.Tags, TagDeleting, now.UTC().Format(time.RFC3339))
		return Step{Action: Reconfigure, What: "note that it goes", Config: &types.VirtualMachineConfigSpec{
			ExtraConfig: options([]Setting{{TagsKey, EncodeTags(tags)}}),
		}}
	}
	if v := &o.VM; v.Power != types.VirtualMachinePowerStatePoweredOff && v.Power != "" {
		soft := r.Mode == api.PowerOffSoft || r.Mode == api.PowerOffTrySoft && now.Sub(since) < r.Timeout
		switch {
		case v.Power == types.VirtualMachinePowerStateSuspended, !soft, r.Mode == api.PowerOffTrySoft && !v.ToolsRunning:
			return Step{Action: PowerOff, What: string(PowerOff)}
		}
		return Step{Action: ShutDownGuest, What: string(ShutDownGuest)}
	}
	if aside, files := disksOfOthers(o, d); len(aside) > 0 {
		return Step{Action: Reconfigure, What: "take disks of others off it: " + strings.Join(files, ", "), Config: &types.VirtualMachineConfigSpec{DeviceChange: aside}}
	}
	return Step{Action: Destroy, What: string(Destroy)}
}

// Stopped reports whether the deletion of o waits for somebody to ask for it again. A guest
// that was asked to shut down is given its time, and no request is needed for what vCenter does not
// reach.
func Stopped(o *Owned, r Removal, now time.Time) bool {
	since := deletingSince(o.Tags)
	switch {
	case !o.Deleting() || o.VM.Busy != "" || o.Machine.Silent:
		return false
	case since.IsZero():
		return true
	}
	softly := o.VM.Power == types.VirtualMachinePowerStatePoweredOn &&
		(r.Mode == api.PowerOffSoft || r.Mode == api.PowerOffTrySoft && o.VM.ToolsRunning)
	return !softly || now.Sub(since) >= r.Timeout
}

// disksOfOthers returns the changes that take disks off o that are not its own, and their files, which
// stay: volumes of the CSI driver, and what people attached from elsewhere. Storage DRS moves disks one
// by one, so that a disk that o was made with is its own in any folder. Those of older machines
// were not noted: of these the first disk is the system.
// Source: https://github.com/kubernetes-sigs/vsphere-csi-driver/issues/99, 686
func disksOfOthers(o *Owned, d *Details) (aside []types.BaseVirtualDeviceConfigSpec, files []string) {
	if d == nil {
		return nil, nil
	}
	noted := strings.Fields(o.Tags[TagDisks])
	name := strings.TrimSuffix(path.Base(d.VMPath), ".vmx")
	for i, disk := range disksOf(d.Devices) {
		file, ok := diskFile(disk)
		own := path.Dir(file) == path.Dir(d.VMPath) || slices.Contains(noted, diskUUID(disk)) || len(noted) == 0 && i == 0 && strings.HasPrefix(path.Base(file), name)
		if disk.VDiskId != nil || !ok || file != "" && !own {
			aside = append(aside, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: disk})
			files = append(files, file)
		}
	}
	return aside, files
}

// Apply enters into o what s did, once it is done.
func (s Step) Apply(o *Owned) {
	if s.Action == PowerOff {
		o.VM.Power = types.VirtualMachinePowerStatePoweredOff
	}
	if s.Config == nil {
		return
	}
	for _, c := range s.Config.ExtraConfig {
		v := c.GetOptionValue()
		text, _ := v.Value.(string)
		if tags, err := DecodeTags(text); v.Key == TagsKey && err == nil {
			o.Tags, o.VM.Tags, o.VM.Read = tags, text, tags
		}
	}
}
