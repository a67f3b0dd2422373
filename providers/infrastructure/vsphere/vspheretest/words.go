package vspheretest

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Words is what a vCenter in English says of a fault: the texts of its message catalogue
// (locmsg), as people quote them in issues of govmomi and CAPV and in Broadcom's articles.
func Words(f types.BaseMethodFault) string {
	switch f := f.(type) {
	case *types.DuplicateName:
		return fmt.Sprintf("The name '%s' already exists.", f.Name)
	case *types.InvalidName:
		return fmt.Sprintf("The name '%s' is invalid.", f.Name)
	case *types.NoDiskSpace:
		return fmt.Sprintf("Insufficient disk space on datastore '%s'.", f.Datastore)
	case *types.InvalidArgument:
		return "A specified parameter was not correct: " + f.InvalidProperty
	case *types.ManagedObjectNotFound:
		return fmt.Sprintf("The object 'vim.%s:%s' has already been deleted or has not been completely created", f.Obj.Type, f.Obj.Value)
	case *types.InvalidPowerState:
		return fmt.Sprintf("The attempted operation cannot be performed in the current state (%s).", powers[f.ExistingState])
	case *types.FileNotFound:
		return fmt.Sprintf("File %s was not found", f.File)
	case *types.FileFault:
		return fmt.Sprintf("Cannot access file %s", f.File)
	case *types.GenericVmConfigFault:
		return f.Reason
	case *types.SystemError:
		return "A general system error occurred: " + f.Reason
	case *types.InsufficientMemoryResourcesFault:
		return "The available Memory resources in the parent resource pool are insufficient for the operation."
	}
	return words[strings.TrimPrefix(fmt.Sprintf("%T", f), "*types.")]
}

var powers = map[types.VirtualMachinePowerState]string{
	types.VirtualMachinePowerStatePoweredOn: "Powered on", types.VirtualMachinePowerStatePoweredOff: "Powered off", types.VirtualMachinePowerStateSuspended: "Suspended",
}

// words are the texts that have nothing of the fault in them.
var words = map[string]string{
	"NoPermission":               "Permission to perform this operation was denied.",
	"NotAuthenticated":           "The session is not authenticated.",
	"InvalidLogin":               "Cannot complete login due to an incorrect user name or password.",
	"InvalidState":               "The operation is not allowed in the current state.",
	"InvalidHostState":           "The operation is not allowed in the current state of the host.",
	"HostNotConnected":           "Unable to communicate with the remote host, since it is disconnected.",
	"NotSupported":               "The operation is not supported on the object.",
	"TaskInProgress":             "Another task is already in progress.",
	"ToolsUnavailable":           "Cannot complete operation because VMware Tools is not running in this virtual machine.",
	"NoCompatibleHost":           "No host is compatible with the virtual machine.",
	"InsufficientResourcesFault": "Insufficient resources.",
	"RequestCanceled":            "The task was canceled by a user.",
	"NotFound":                   "The object or item referred to could not be found.",
	"AlreadyExists":              "The specified key, name, or identifier already exists.",
	"ResourceInUse":              "The resource is in use.",
	"Timedout":                   "The operation timed out.",
	"InvalidDeviceSpec":          "Invalid configuration for device.",
	"InvalidDeviceOperation":     "Invalid operation for device.",
	"InvalidVmConfig":            "The virtual machine's configuration is invalid.",
	"OutOfBounds":                "A specified parameter was out of bounds.",
	"RuntimeFault":               "A runtime fault occurred.",
	"VAppConfigFault":            "The vApp's configuration is invalid.",
	"HostCommunication":          "Unable to communicate with the host.",
}

var (
	goType  = regexp.MustCompile(`<localizedMessage>\*types\.(\w+)</localizedMessage>`)
	noWords = regexp.MustCompile(`<faultstring></faultstring><detail><(\w+)Fault `)
)

// withWords puts vCenter's words in place of the names of Go types, which vcsim gives as
// messages of tasks that failed, and of empty ones.
func withWords(text []byte, soap bool) []byte {
	if !soap {
		return text
	}
	text = bytes.Replace(text, []byte("<faultstring>Login failure</faultstring>"), []byte("<faultstring></faultstring>"), 1)
	if noWords.Match(text) {
		m := noWords.FindSubmatchIndex(text)
		text = splice(text, m[0]+len("<faultstring>"), m[0]+len("<faultstring>"), say(string(text[m[2]:m[3]]), text[m[1]:]))
	}
	for from := 0; ; {
		m := goType.FindSubmatchIndex(text[from:])
		if m == nil {
			return text
		}
		kind := string(text[from+m[2] : from+m[3]])
		begin := bytes.LastIndex(text[:from+m[0]], []byte(`xsi:type="`+kind+`"`))
		said := say(kind, text[max(begin, 0):from+m[0]])
		at := from + m[0] + len("<localizedMessage>")
		text = splice(text, at, from+m[1]-len("</localizedMessage>"), said)
		from = at + len(said)
	}
}

func splice(text []byte, from, to int, s string) []byte {
	return bytes.Join([][]byte{text[:from], []byte(s), text[to:]}, nil)
}

// say returns the words of the fault in the given XML.
func say(kind string, text []byte) string {
	f := faultNamed(kind)
	if f == nil {
		return kind
	}
	v := reflect.ValueOf(f).Elem()
	for _, field := range []string{"Name", "Datastore", "InvalidProperty", "ExistingState", "File", "Reason"} {
		value := regexp.MustCompile(`<` + strings.ToLower(field[:1]) + field[1:] + `>([^<]*)<`).FindSubmatch(text)
		if into := v.FieldByName(field); value != nil && into.IsValid() && into.Kind() == reflect.String {
			into.SetString(string(value[1])) // escaped, as in the answer
		}
	}
	if o, ok := f.(*types.ManagedObjectNotFound); ok {
		if ref := regexp.MustCompile(`<obj type="(\w+)">([^<]*)<`).FindSubmatch(text); ref != nil {
			o.Obj = types.ManagedObjectReference{Type: string(ref[1]), Value: string(ref[2])}
		}
	}
	if said := Words(f); said != "" {
		return said
	}
	return kind
}

// faultNamed is an empty fault of a type.
func faultNamed(kind string) types.BaseMethodFault {
	t, ok := types.TypeFunc()(kind)
	if !ok {
		return nil
	}
	f, _ := reflect.New(t).Interface().(types.BaseMethodFault)
	return f
}
