package vcenter

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/snapshot"
)

// TagsKey is the key of a VM's ExtraConfig that holds its ownership tags, as JSON. One
// key is there as a whole or not at all, from the clone's first moment.
const TagsKey = "fairlead.dev/tags"

// FormatTags returns the value of TagsKey.
func FormatTags(tags map[string]string) string {
	out, _ := json.Marshal(tags) //nolint:errchkjson // strings
	return string(out)
}

// configPath is the property that one key of ExtraConfig is, without the others.
func configPath(key string) string { return `config.extraConfig["` + key + `"]` }

// A VM is a virtual machine, or a template, as a look shows it. Details are of tagged ones
// only.
type VM struct {
	Ref      types.ManagedObjectReference
	Name     string
	Folder   types.ManagedObjectReference // zero in a vApp
	Template bool
	// Unread says that vCenter does not tell the configuration: it cannot reach the files,
	// or the VM is being made. Whether it has tags is not known then, unless an earlier look
	// of this process saw them: those are given.
	Unread bool

	Tagged bool // there is a key TagsKey
	Tags   map[string]string
	// Damaged says what is wrong with the tags, or with the instance UUID; nothing must be
	// done to such a VM.
	Damaged string
	// Copy says that the tags are another VM's, which is there: this one was copied from it.
	Copy bool

	// Details.
	InstanceUUID string // lower case
	UUID         string // of the BIOS, which guests see; lower case
	Power        types.VirtualMachinePowerState
	Connection   types.VirtualMachineConnectionState
	Host         types.ManagedObjectReference
	Pool         types.ManagedObjectReference // zero of a template
	Created      time.Time                    // zero where vCenter does not know
	Hardware     string                       // version: "vmx-19"
	VMX          string                       // path of the file: "[datastore1] name/name.vmx"
	ToolsRunning bool
	Hostname     string
	IP           string // the guest's first address, as vCenter chose
	NICs         []types.GuestNicInfo
	Config       map[string]string // of Options.Keys: those that are there
}

// Owner returns whose vm is, by its tags; false where they name nobody.
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

// readTags fills in what text, the value of TagsKey, says.
func (vm *VM) readTags(text any) {
	vm.Tagged = true
	var tags map[string]string
	s, _ := text.(string)
	if err := json.Unmarshal([]byte(s), &tags); err != nil || len(tags) == 0 {
		vm.Damaged = fmt.Sprintf("%s of its configuration is no object of strings in JSON", TagsKey)
		return
	}
	vm.Tags = tags
}

// alwaysPaths are read of every VM. Source of the choice: the fewest bytes that tell whose
// a VM is, whether vCenter knows, and where its name is taken.
func alwaysPaths() []string {
	return []string{"name", "parent", "config.template", configPath(TagsKey)}
}

// detailPaths are read of tagged VMs.
func detailPaths(keys []string) []string {
	out := []string{
		"config.instanceUuid", "config.uuid", "config.version", "config.createDate", "config.files.vmPathName",
		"runtime.powerState", "runtime.connectionState", "runtime.host", "resourcePool",
		"guest.toolsRunningStatus", "guest.hostName", "guest.ipAddress", "guest.net",
	}
	for _, k := range keys {
		out = append(out, configPath(k))
	}
	return out
}

// read fills in one property.
func (vm *VM) read(p types.DynamicProperty) {
	switch v := p.Val.(type) {
	case types.OptionValue:
		vm.readOption(p.Name, v)
	case types.ManagedObjectReference:
		switch p.Name {
		case "parent":
			vm.Folder = v
		case "runtime.host":
			vm.Host = v
		case "resourcePool":
			vm.Pool = v
		}
	case string:
		vm.readText(p.Name, v)
	case bool:
		vm.Template, vm.Unread = v, false // config.template
	case time.Time:
		vm.Created = v
	case types.VirtualMachinePowerState:
		vm.Power = v
	case types.VirtualMachineConnectionState:
		vm.Connection = v
	case types.ArrayOfGuestNicInfo:
		vm.NICs = v.GuestNicInfo
	}
}

func (vm *VM) readOption(path string, v types.OptionValue) {
	if path == configPath(TagsKey) {
		vm.readTags(v.Value)
		return
	}
	if vm.Config == nil {
		vm.Config = make(map[string]string)
	}
	vm.Config[v.Key] = fmt.Sprint(v.Value)
}

func (vm *VM) readText(path, v string) {
	switch path {
	case "name":
		vm.Name = plainName(v)
	case "config.instanceUuid":
		vm.InstanceUUID = strings.ToLower(v)
	case "config.uuid":
		vm.UUID = strings.ToLower(v)
	case "config.version":
		vm.Hardware = v
	case "config.files.vmPathName":
		vm.VMX = v
	case "guest.toolsRunningStatus":
		vm.ToolsRunning = v == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	case "guest.hostName":
		vm.Hostname = v
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
