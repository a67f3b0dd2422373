package vcenter

import (
	"errors"
	"fmt"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
)

// TestFaults: what can be done about what vCenter says, of a task and of a request.
func TestFaults(t *testing.T) {
	vm := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-7"}
	for name, c := range map[string]struct {
		fault types.BaseMethodFault
		kind  fleet.ErrorKind
		text  string
	}{
		"name":            {&types.DuplicateName{Name: "x", Object: vm}, fleet.Conflict, "DuplicateName: words"},
		"gone":            {&types.ManagedObjectNotFound{Obj: vm}, fleet.NotFound, "ManagedObjectNotFound: words"},
		"part gone":       {&types.FileNotFound{}, fleet.Conflict, "FileNotFound: words"},
		"session":         {&types.NotAuthenticated{}, fleet.Unavailable, "NotAuthenticated: words"},
		"password":        {&types.InvalidLogin{}, fleet.Unauthorized, "InvalidLogin: words"},
		"expired":         {&types.PasswordExpired{}, fleet.Unauthorized, "PasswordExpired: words (set another password in vCenter and in the Secret)"},
		"right":           {&types.NoPermission{Object: &vm, PrivilegeId: "VirtualMachine.Interact.PowerOn"}, fleet.Unauthorized, "NoPermission: words (the user lacks VirtualMachine.Interact.PowerOn on VirtualMachine vm-7)"},
		"rights":          {&types.NoPermission{MissingPrivileges: []types.NoPermissionEntityPrivileges{{Entity: vm, PrivilegeIds: []string{"A.B", "C.D"}}}}, fleet.Unauthorized, "NoPermission: words (the user lacks A.B on VirtualMachine vm-7, C.D on VirtualMachine vm-7)"},
		"disk full":       {&types.NoDiskSpace{}, fleet.Exhausted, "NoDiskSpace: words (free space of the datastore, or choose another)"},
		"memory":          {&types.InsufficientMemoryResourcesFault{}, fleet.Exhausted, "InsufficientMemoryResourcesFault: words"},
		"no host":         {&types.NoCompatibleHost{}, fleet.Exhausted, "NoCompatibleHost: words"},
		"busy":            {&types.TaskInProgress{}, fleet.Unavailable, "TaskInProgress: words"},
		"queue full":      {&types.LimitExceeded{}, fleet.Unavailable, "LimitExceeded: words"},
		"host away":       {&types.HostNotConnected{}, fleet.Unavailable, "HostNotConnected: words"},
		"host unsure":     {&types.HostCommunication{}, fleet.Unanswered, "HostCommunication: words"},
		"maintenance":     {&types.InvalidHostState{}, fleet.Unavailable, "InvalidHostState: words"},
		"time":            {&types.Timedout{}, fleet.Unanswered, "Timedout: words"},
		"power state":     {&types.InvalidPowerState{}, fleet.Conflict, "InvalidPowerState: words"},
		"state":           {&types.InvalidState{}, fleet.Conflict, "InvalidState: words"},
		"stopped":         {&types.RequestCanceled{}, fleet.Conflict, "RequestCanceled: words"},
		"tools":           {&types.ToolsUnavailable{}, fleet.Conflict, "ToolsUnavailable: words"},
		"argument":        {&types.InvalidArgument{InvalidProperty: "spec.pool"}, fleet.Invalid, "InvalidArgument: words (spec.pool)"},
		"version":         {&types.VirtualHardwareVersionNotSupported{}, fleet.Invalid, "VirtualHardwareVersionNotSupported: words"},
		"not supported":   {&types.NotSupported{}, fleet.Invalid, "NotSupported: words"},
		"locked":          {&types.FileLocked{}, fleet.Unavailable, "FileLocked: words"},
		"host's own":      {&types.GenericVmConfigFault{Reason: "x"}, fleet.Unknown, "GenericVmConfigFault: words"},
		"internal":        {&types.SystemError{}, fleet.Unknown, "SystemError: words"},
		"added":           {&types.SystemError{RuntimeFault: types.RuntimeFault{MethodFault: types.MethodFault{FaultMessage: []types.LocalizableMessage{{Message: "module Disk failed"}}}}}, fleet.Unknown, "SystemError: words: module Disk failed"},
		"only a cause":    {&types.SystemError{RuntimeFault: types.RuntimeFault{MethodFault: types.MethodFault{FaultCause: &types.LocalizedMethodFault{LocalizedMessage: "no heartbeat"}}}}, fleet.Unknown, "SystemError: words: no heartbeat"},
		"nothing is said": {&types.MethodFault{}, fleet.Unknown, "MethodFault: words"},
	} {
		f := &soap.Fault{String: "words"}
		f.Detail.Fault = c.fault
		for how, err := range map[string]error{"task": &TaskError{Cause: c.fault, Message: "words"}, "request": soap.WrapSoapFault(f)} {
			got := Wrap("do it", fmt.Errorf("wrapped: %w", err))
			if fleet.KindOf(got) != c.kind || got.Error() != "cannot do it: "+c.text {
				t.Errorf("%s, %s: %s, want %s: cannot do it: %s", name, how, toldOf(got), c.kind, c.text)
			}
			if FaultOf(got) != c.fault {
				t.Errorf("%s, %s: the fault is lost", name, how)
			}
		}
	}
}

func TestREST(t *testing.T) {
	body := func(kind string) []byte {
		return []byte(`{"type":"com.vmware.vapi.std.errors.` + kind + `","value":{"messages":[{"args":[],"default_message":"its words","id":"x"}]}}`)
	}
	for name, c := range map[string]struct {
		err  *statusError
		want string
	}{
		"there":       {&statusError{Method: "POST", Code: 400, Body: body("already_exists")}, "Conflict: cannot do it: its words"},
		"wrong":       {&statusError{Method: "POST", Code: 400, Body: body("invalid_argument")}, "Invalid: cannot do it: its words"},
		"busy":        {&statusError{Method: "POST", Code: 400, Body: body("resource_busy")}, "Unavailable: cannot do it: its words"},
		"full":        {&statusError{Method: "POST", Code: 400, Body: body("unable_to_allocate_resource")}, "Exhausted: cannot do it: its words"},
		"new style":   {&statusError{Method: "POST", Code: 400, Body: []byte(`{"error_type":"ALREADY_EXISTS","messages":[{"default_message":"its words"}]}`)}, "Conflict: cannot do it: its words"},
		"not there":   {&statusError{Method: "GET", Code: 404, Body: body("not_found")}, "NotFound: cannot do it: its words"},
		"a right":     {&statusError{Method: "POST", Code: 403, Body: body("unauthorized")}, "Unauthorized: cannot do it: its words"},
		"proxy":       {&statusError{Method: "POST", Code: 503, Body: []byte("<h1>Service Unavailable</h1>")}, "Unavailable: cannot do it: Service Unavailable"},
		"proxy, late": {&statusError{Method: "POST", Code: 504}, "Unanswered: cannot do it: 504 Gateway Timeout"},
		"looked":      {&statusError{Method: "GET", Code: 504}, "Unavailable: cannot do it: 504 Gateway Timeout"},
	} {
		if got := toldOf(Wrap("do it", c.err)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	if Wrap("do it", nil) != nil || WrapLook("do it", nil) != nil {
		t.Error("no error became one")
	}
	inner := fleet.Errorf(fleet.Exhausted, "find room", "none")
	if got := toldOf(Wrap("do it", inner)); got != "Exhausted: cannot do it: cannot find room: none" {
		t.Errorf("an error with a kind is %s", got)
	}
	if got := toldOf(Wrap("find room", inner)); got != "Exhausted: cannot find room: none" {
		t.Errorf("the same twice is %s", got)
	}
	if got := toldOf(WrapLook("look", &TaskError{Cause: &types.Timedout{}})); got != "Unavailable: cannot look: Timedout" {
		t.Errorf("a look without an answer is %s", got)
	}
	if got := toldOf(Wrap("do it", errors.New("x"))); got != "Unknown: cannot do it: x" {
		t.Errorf("an error of no kind is %s", got)
	}
	already := &TaskError{Cause: &types.InvalidPowerState{RequestedState: "poweredOn", ExistingState: "poweredOn"}}
	if !PoweredAlready(Wrap("do it", already)) || PoweredAlready(inner) {
		t.Error("PoweredAlready is wrong")
	}
	if !ToolsUnavailable(&TaskError{Cause: &types.ToolsUnavailable{}}) || !NotFound(Wrap("x", &TaskError{Cause: &types.ManagedObjectNotFound{}})) || NotFound(inner) {
		t.Error("ToolsUnavailable or NotFound is wrong")
	}
}
