package vcenter

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// Wrap turns an error of a request to vCenter, or of a task, into a *fleet.Error that says
// what could not be done, in vCenter's own words. It is the one place that knows what such
// an error means. No error stays none.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*fleet.Error); ok && (e.Op == op || e.Op == "") { //nolint:errorlint // only the outermost may say the same twice
		return &fleet.Error{Kind: e.Kind, Op: op, Err: e.Err}
	}
	if _, ok := errors.AsType[*fleet.Error](err); ok {
		return &fleet.Error{Kind: fleet.KindOf(err), Op: op, Err: err}
	}
	return &fleet.Error{Kind: kindOf(err), Op: op, Err: explain(err)}
}

// WrapLook is Wrap for requests that only look: one without an answer may be repeated at
// once.
func WrapLook(op string, err error) error { return look(Wrap(op, err)) }

// look is err, of this package, as that of a request that only looked.
func look(err error) error {
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		e.Kind = transport.Look(e.Kind)
	}
	return err
}

// FaultOf returns the fault of vCenter that err is of; nil where it is of none.
func FaultOf(err error) types.BaseMethodFault {
	for err != nil {
		if f, ok := err.(interface{ Fault() types.BaseMethodFault }); ok {
			return f.Fault()
		}
		switch u := err.(type) { //nolint:errorlint // as above
		case interface{ Unwrap() error }:
			err = u.Unwrap()
		case interface{ Unwrap() []error }:
			for _, inner := range u.Unwrap() {
				if f := FaultOf(inner); f != nil {
					return f
				}
			}
			return nil
		default:
			return nil
		}
	}
	return nil
}

// NotFound reports whether err says that a thing is not there.
func NotFound(err error) bool {
	_, ok := FaultOf(err).(*types.ManagedObjectNotFound)
	return ok || fleet.KindOf(err) == fleet.NotFound
}

// DuplicateOf returns what has the name already that err is about.
func DuplicateOf(err error) (types.ManagedObjectReference, bool) {
	if f, ok := FaultOf(err).(*types.DuplicateName); ok {
		return f.Object, true
	}
	return types.ManagedObjectReference{}, false
}

// PoweredAlready reports whether err says that a VM is in the power state that was asked
// for.
func PoweredAlready(err error) bool {
	f, ok := FaultOf(err).(*types.InvalidPowerState)
	return ok && f.RequestedState != "" && f.RequestedState == f.ExistingState
}

// UpgradedAlready reports whether err says that the hardware of a VM is of the version that
// was asked for, or newer.
func UpgradedAlready(err error) bool {
	_, ok := FaultOf(err).(*types.AlreadyUpgraded)
	return ok
}

// ToolsUnavailable reports whether err says that nothing runs in the guest that could
// shut it down.
func ToolsUnavailable(err error) bool {
	_, ok := FaultOf(err).(*types.ToolsUnavailable)
	return ok
}

func notAuthenticated(err error) bool {
	_, ok := FaultOf(err).(*types.NotAuthenticated)
	return ok
}

// opOf and causeOf take an error of this package apart.
func opOf(err error) string {
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		return e.Op
	}
	return ""
}

func causeOf(err error) error {
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		return e.Err
	}
	return err
}

func kindOf(err error) fleet.ErrorKind {
	if f := FaultOf(err); f != nil {
		return kindOfFault(f)
	}
	if e, ok := errors.AsType[*statusError](err); ok {
		return kindOfStatus(e)
	}
	if _, ok := errors.AsType[*certificateError](err); ok {
		return fleet.Unauthorized
	}
	if kind, ok := transport.KindOf(err); ok {
		return kind
	}
	return fleet.Unknown
}

// kindOfFault is what can be done about a fault, of a request or of a task.
// Source: VMware vSphere Web Services API, the descriptions of faults.
func kindOfFault(f types.BaseMethodFault) fleet.ErrorKind {
	for _, k := range []func(types.BaseMethodFault) fleet.ErrorKind{kindOfAccess, kindOfThing, kindOfState, kindOfCapacity, kindOfRequest} {
		if kind := k(f); kind != fleet.Unknown {
			return kind
		}
	}
	return fleet.Unknown
}

// kindOfAccess is of faults about who asks.
func kindOfAccess(f types.BaseMethodFault) fleet.ErrorKind {
	switch f.(type) {
	case *types.NotAuthenticated:
		return fleet.Unavailable // a session that ended: nothing was done
	case types.BaseInvalidLogin, *types.PasswordExpired, types.BaseNoPermission:
		return fleet.Unauthorized
	case *types.RestrictedVersion:
		return fleet.Invalid
	case types.BaseNotEnoughLicenses:
		return fleet.Exhausted
	}
	return fleet.Unknown
}

// kindOfThing is of faults about whether a thing is there.
func kindOfThing(f types.BaseMethodFault) fleet.ErrorKind {
	switch f.(type) {
	case *types.ManagedObjectNotFound:
		return fleet.NotFound
	case *types.DuplicateName, *types.AlreadyExists, *types.FileAlreadyExists, *types.AlreadyUpgraded:
		return fleet.Conflict
	case *types.FileNotFound:
		return fleet.Conflict // of a VM that is there: it lacks a part
	}
	return fleet.Unknown
}

// kindOfState is of faults that pass.
func kindOfState(f types.BaseMethodFault) fleet.ErrorKind {
	switch f.(type) {
	case types.BaseTaskInProgress, *types.LimitExceeded, *types.TooManyConcurrentNativeClones, *types.ResourceInUse,
		*types.FileLocked, *types.ConcurrentAccess, *types.LicenseServerUnavailable:
		return fleet.Unavailable // busy, and nothing was done
	case types.BaseInvalidHostState, *types.HostNotConnected, *types.HostNotReachable, *types.InvalidDatastoreState,
		*types.InaccessibleDatastore, *types.NoActiveHostInCluster, *types.ResourceNotAvailable, types.BaseHostConnectFault:
		return fleet.Unavailable // away
	case *types.Timedout, types.BaseHostCommunication:
		return fleet.Unanswered // the host may have done it, or do it still
	case types.BaseInvalidState, *types.RequestCanceled, *types.ToolsUnavailable:
		return fleet.Conflict
	}
	return fleet.Unknown
}

// kindOfCapacity is of faults for want of room.
func kindOfCapacity(f types.BaseMethodFault) fleet.ErrorKind {
	switch f.(type) {
	case *types.NoDiskSpace, types.BaseInsufficientResourcesFault, types.BaseNoCompatibleHost, *types.NoCompatibleDatastore,
		*types.DatastoreNotWritableOnHost, *types.TooManyNativeClonesOnFile, *types.QuarantineModeFault:
		return fleet.Exhausted
	}
	return fleet.Unknown
}

// kindOfRequest is of faults about what was asked for.
func kindOfRequest(f types.BaseMethodFault) fleet.ErrorKind {
	switch f.(type) {
	case *types.GenericVmConfigFault:
		return fleet.Unknown // anything that a host says when a VM does not start
	case *types.CannotAccessFile:
		return fleet.Unavailable // locked, or its datastore is away
	case types.BaseInvalidArgument, types.BaseNotSupported, types.BaseVmConfigFault, types.BaseInvalidDatastore, types.BaseInvalidFolder,
		types.BaseCustomizationFault, types.BaseMigrationFault, *types.InvalidName, *types.InvalidType, *types.InvalidProperty,
		*types.MismatchedNetworkPolicies, *types.OutOfBounds, *types.MethodNotFound, *types.InvalidRequest, *types.TooManyNativeCloneLevels:
		return fleet.Invalid
	}
	return fleet.Unknown
}

// kindOfStatus is of answers that are neither a result nor a fault of SOAP: vCenter's
// REST services, or the proxy before them.
func kindOfStatus(e *statusError) fleet.ErrorKind {
	switch e.Code {
	case http.StatusUnauthorized:
		return fleet.Unavailable // a session that ended: nothing was done
	case http.StatusForbidden:
		return fleet.Unauthorized
	case http.StatusNotFound, http.StatusGone:
		return fleet.NotFound
	case http.StatusConflict:
		return fleet.Conflict
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return fleet.Unavailable
	case http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusRequestTimeout:
		if e.Method == http.MethodGet {
			return fleet.Unavailable
		}
		return fleet.Unanswered
	case http.StatusBadRequest:
		return kindOfREST(e.Body)
	}
	if e.Code > 400 && e.Code < 500 {
		return fleet.Invalid
	}
	return fleet.Unknown
}

// kindOfREST is of what REST services answer with 400: the type of the error tells.
// Source: vSphere Automation API, com.vmware.vapi.std.errors.
func kindOfREST(body []byte) fleet.ErrorKind {
	var said struct {
		Type  string `json:"type"`
		Error string `json:"error_type"`
	}
	_ = json.Unmarshal(body, &said)
	_, name, _ := strings.Cut(said.Type, "errors.")
	switch strings.ToLower(name + said.Error) {
	case "already_exists", "already_in_desired_state", "concurrent_change", "not_allowed_in_current_state", "resource_in_use":
		return fleet.Conflict
	case "not_found":
		return fleet.NotFound
	case "unauthorized", "unauthenticated":
		return fleet.Unauthorized
	case "resource_busy", "service_unavailable", "resource_inaccessible", "timed_out":
		return fleet.Unavailable
	case "unable_to_allocate_resource":
		return fleet.Exhausted
	case "internal_server_error", "error":
		return fleet.Unknown
	}
	return fleet.Invalid
}
