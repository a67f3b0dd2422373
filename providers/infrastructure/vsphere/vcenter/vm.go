package vcenter

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
)

// TagsKey is the key of a VM's ExtraConfig that holds its ownership tags, as JSON. One
// key is there as a whole or not at all, from the clone's first moment.
const TagsKey = "fairlead.dev/tags"

// configPath is the property that one key of ExtraConfig is, without the others.
func configPath(key string) string { return `config.extraConfig["` + key + `"]` }

// A VM is a virtual machine, or a template, as a look shows it. Details are of those that may
// be somebody's: that have tags, or an instance UUID of Options.Ours, or are not told.
type VM struct {
	Ref          Ref
	Name         string
	Folder       Ref    // zero in a vApp
	InstanceUUID string // lower case
	// Unread says that vCenter does not tell the configuration: it cannot reach the files,
	// or the VM is being made. Whether it has tags is not known then, unless an earlier look
	// of this process saw them: those are given, and the UUIDs.
	Unread bool

	Tagged    bool              // there is a key TagsKey
	TagsValue string            // the value of that field
	Tags      map[string]string // the content of TagsValue; nil if it is no object of strings

	// Details.
	UUID         string // of the BIOS, which guests see; lower case
	Template     bool
	Power        types.VirtualMachinePowerState
	Connection   types.VirtualMachineConnectionState
	Pool         Ref       // zero of a template
	Created      time.Time // zero where vCenter does not know
	Booted       time.Time // when it was powered on; zero if it is off
	ToolsRunning bool
	IP           string // the guest's first address, as vCenter chose
	NICs         []types.GuestNicInfo
}

// Owner returns the owner of vm, by its tags; false if they name none.
func (vm *VM) Owner() (snapshot.Owner, bool) {
	k, err := fleet.ParseKey(vm.Tags[fleet.TagCluster])
	if err != nil || vm.Tags[fleet.TagFleet] == "" || !strings.Contains(vm.Tags[fleet.TagCluster], "/") {
		return snapshot.Owner{}, false
	}
	return snapshot.Owner{Fleet: fleet.ID(vm.Tags[fleet.TagFleet]), Cluster: k, Machine: fleet.MachineName(vm.Tags[fleet.TagMachine])}, true
}

// Unreachable returns why what is asked of vm happens later, if ever: "" where vCenter
// reaches it.
func (vm *VM) Unreachable() string {
	if vm.Connection == "" || vm.Connection == types.VirtualMachineConnectionStateConnected {
		return ""
	}
	return "vCenter says that the virtual machine is " + string(vm.Connection)
}

// readTags fills in what value, of TagsKey, says.
func (vm *VM) readTags(value any) {
	vm.Tagged, vm.Tags = true, nil
	vm.TagsValue, _ = value.(string)
	var tags map[string]string
	if json.Unmarshal([]byte(vm.TagsValue), &tags) == nil {
		vm.Tags = tags
	}
}

// alwaysPaths are read of every VM: the fewest that tell whose it is, also where somebody
// wiped the tags, whether vCenter knows, and where its name is taken. With 1,000 VMs without
// tags each path costs 0.1 MB a look.
func alwaysPaths() []string {
	return []string{"name", "parent", "config.instanceUuid", configPath(TagsKey)}
}

// detailPaths are read of VMs that may have an owner.
func detailPaths() []string {
	return []string{
		"config.uuid", "config.template", "config.createDate", "runtime.powerState", "runtime.connectionState", "runtime.bootTime", "resourcePool",
		"guest.toolsRunningStatus", "guest.ipAddress", "guest.net",
	}
}

// read fills in one property.
func (vm *VM) read(p types.DynamicProperty) {
	switch v := p.Val.(type) {
	case types.OptionValue:
		vm.readTags(v.Value)
	case types.ManagedObjectReference:
		switch p.Name {
		case "parent":
			vm.Folder = v
		case "resourcePool":
			vm.Pool = v
		}
	case string:
		vm.readText(p.Name, v)
	case bool:
		vm.Template = v
	case time.Time:
		if p.Name == "runtime.bootTime" {
			vm.Booted = v
			return
		}
		vm.Created = v
	case types.VirtualMachinePowerState:
		vm.Power = v
	case types.VirtualMachineConnectionState:
		vm.Connection = v
	case types.ArrayOfGuestNicInfo:
		vm.NICs = v.GuestNicInfo
	}
}

func (vm *VM) readText(path, v string) {
	switch path {
	case "name":
		vm.Name = plainName(v)
	case "config.instanceUuid":
		vm.InstanceUUID, vm.Unread = strings.ToLower(v), false
	case "config.uuid":
		vm.UUID = strings.ToLower(v)
	case "guest.toolsRunningStatus":
		vm.ToolsRunning = v == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	case "guest.ipAddress":
		vm.IP = v
	}
}

// plainName is a name as people write it: vCenter escapes three characters in those that
// it tells.
// Source: vSphere Web Services API, ManagedEntity.name.
func plainName(n string) string {
	return strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%").Replace(n)
}
