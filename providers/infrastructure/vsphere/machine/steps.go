package machine

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
)

// Details are what a look does not tell of a VM, read for one that something is to be done to.
type Details struct {
	Devices          []types.BaseVirtualDevice
	HardwareVersion  string // "vmx-15"
	Metadata         string // the value of guestinfo.metadata
	VMPath           string // "[datastore] folder/name.vmx"
	Grouped          bool   // it is in the VM group of its zone, or its zone has none
	Spread           bool   // it is in the rule or module that keeps its pool apart, or there is none
	Attached         []string
	MetadataEncoding string
}

// An Action is what a step asks vCenter for.
type Action string

// The actions. Each may be repeated.
const (
	None            Action = "" // all is done, or something is waited for
	UpgradeHardware Action = "upgrade its hardware"
	Reconfigure     Action = "configure it" // with Step.Config
	JoinGroup       Action = "put it into the VM group"
	Spread          Action = "keep it apart"
	AttachTags      Action = "attach its tags" // with Step.Tags
	PowerOn         Action = "power it on"
	ShutDownGuest   Action = "shut its guest down"
	PowerOff        Action = "power it off"
	Destroy         Action = "destroy it"
)

// A Step is one change of a VM.
type Step struct {
	Action  Action
	What    string // for people: "set its metadata"
	Config  *types.VirtualMachineConfigSpec
	Version string   // of the hardware: "vmx-17"
	Tags    []string // ids
}

// Wanted is what Git and the machine's tags say about one that is half made.
type Wanted struct {
	Tags  map[string]string
	Spec  *api.VSphereMachineSpec // nil: Git has another template for its pool by now
	Pools [][]PoolAddress         // of each network device
}

// A PoolAddress is an address of a pool, and the gateway of that pool.
type PoolAddress struct {
	Address netip.Prefix
	Gateway netip.Addr
}

// Next returns the next step of v, which is powered off, to be a machine that runs. One that
// cannot become what Git says gives the kind Invalid. One that was adopted, or whose template Git
// replaced, is what it is, and only lacks power: another instance id in its metadata would have its
// first boot run again, and another network is not its own.
func Next(v *VM, d *Details, w *Wanted) (Step, error) {
	if Adopted(w.Tags) || w.Spec == nil {
		return Step{Action: PowerOn, What: string(PowerOn)}, nil
	}
	if older(d.HardwareVersion, w.Spec.HardwareVersion) {
		return Step{Action: UpgradeHardware, What: "upgrade its hardware to " + w.Spec.HardwareVersion, Version: w.Spec.HardwareVersion}, nil
	}
	if missing := missingPCI(w.Spec, d.Devices); len(missing) > 0 {
		return Step{Action: Reconfigure, What: "add its PCI devices", Config: &types.VirtualMachineConfigSpec{DeviceChange: missing}}, nil
	}
	text, err := w.metadata(v, d)
	if err != nil {
		return Step{}, err
	}
	if d.Metadata != encode(text) || d.MetadataEncoding != encodingBase64 {
		return Step{Action: Reconfigure, What: "set its metadata", Config: &types.VirtualMachineConfigSpec{ExtraConfig: options(append(metadataSettings(text), w.diskSettings(d)...))}}, nil
	}
	if !d.Grouped {
		return Step{Action: JoinGroup, What: string(JoinGroup)}, nil
	}
	if !d.Spread {
		return Step{Action: Spread, What: string(Spread)}, nil
	}
	var tags []string
	for _, t := range w.Spec.TagIDs {
		if !slices.Contains(d.Attached, t) {
			tags = append(tags, t)
		}
	}
	if len(tags) > 0 {
		return Step{Action: AttachTags, What: string(AttachTags), Tags: tags}, nil
	}
	return Step{Action: PowerOn, What: string(PowerOn)}, nil
}

// metadata returns that of v, whose cards vCenter gave their addresses.
func (w *Wanted) metadata(v *VM, d *Details) (string, error) {
	devices, cards := w.Spec.Network.Devices, cardsOf(d.Devices)
	if len(devices) != len(cards) {
		return "", fleet.Errorf(fleet.Conflict, "tell the machine its network", "its VM has %d network cards, and Git has %d devices (somebody changed the VM: delete the machine)", len(cards), len(devices))
	}
	var out []Card
	for i, device := range devices {
		c := Card{MAC: cards[i].MacAddress, Spec: device}
		if i < len(w.Pools) {
			for _, p := range w.Pools[i] {
				c.Addresses = append(c.Addresses, p.Address)
				switch {
				case p.Gateway.Is4() && !c.Gateway4.IsValid():
					c.Gateway4 = p.Gateway
				case p.Gateway.Is6() && !c.Gateway6.IsValid():
					c.Gateway6 = p.Gateway
				}
			}
		}
		out = append(out, c)
	}
	return Metadata(Identity{UUID: InstanceUUID(w.Tags), Hostname: fleet.MachineName(w.Tags[fleet.TagMachine]), ProviderID: v.ProviderID()}, out, w.Spec.Network.Routes)
}

// diskSettings notes which disks the machine was made with, before it ever runs: later others are
// attached to it.
func (w *Wanted) diskSettings(d *Details) []Setting {
	var own []string
	for _, disk := range disksOf(d.Devices) {
		if id := diskUUID(disk); id != "" {
			own = append(own, id)
		}
	}
	if d.Metadata != "" || len(own) == 0 || w.Tags[TagDisks] != "" {
		return nil
	}
	return []Setting{{TagsKey, EncodeTags(withTag(w.Tags, TagDisks, strings.Join(own, " ")))}}
}

// MayHaveRun reports whether o may have been powered on: it was told its network, which a clone is not.
func MayHaveRun(o *Owned, d *Details) bool { return Adopted(o.Tags) || d.Metadata != "" }

// older reports whether hardware of version a is older than b; empty is no version.
func older(a, b string) bool {
	number := func(s string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(s, "vmx-"))
		if err != nil {
			return 0
		}
		return n
	}
	return number(a) < number(b)
}

// userDataTime is how long a machine that is powered on keeps its user data, which only
// its first boot reads. A provider does not see whether it joined: nothing takes an hour for
// that.
const userDataTime = time.Hour

// NextOfRunning returns the next step of a machine that runs: its user data, which has
// secrets, is taken out of the VM when its first boot is over. That of a machine that was adopted
// stays as it was found.
// Source: https://github.com/kubernetes-sigs/cluster-api-provider-vsphere/issues/582
func NextOfRunning(o *Owned, now time.Time) Step {
	v := &o.VM
	if v.Power != types.VirtualMachinePowerStatePoweredOn || o.Machine.Damaged != "" || o.Deleting() || Adopted(o.Tags) || o.Tags[TagUserDataCleared] != "" ||
		v.Booted.IsZero() || now.Sub(v.Booted) < userDataTime {
		return Step{}
	}
	tags := withTag(o.Tags, TagUserDataCleared, "true")
	return Step{Action: Reconfigure, What: "take the user data out of its VM", Config: &types.VirtualMachineConfigSpec{
		ExtraConfig: options(append(clearedUserData(), Setting{TagsKey, EncodeTags(tags)})),
	}}
}
