package vcenter

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// Wrap turns an error of a request to vCenter, or of a task, into a *fleet.Error that says
// what could not be done, in vCenter's own words. It is the one place that knows what such
// an error means. No error stays none.
func Wrap(op string, err error) error {
	return transport.Wrap(op, err, func(err error) (fleet.ErrorKind, error) { return kindOf(err), explain(err) })
}

// WrapLook is Wrap for requests that only look: one without an answer may be repeated at
// once.
func WrapLook(op string, err error) error { return transport.Looked(Wrap(op, err)) }

// FaultOf returns the fault of vCenter in err; nil if it has none.
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
		return ruleOf(f).kind
	}
	if e, ok := errors.AsType[*statusError](err); ok {
		kind, _ := transport.Classify(rules, e.answer())
		return kind
	}
	if _, ok := errors.AsType[*certificateError](err); ok {
		return fleet.Unauthorized
	}
	if kind, ok := transport.KindOf(err); ok {
		return kind
	}
	return fleet.Unknown
}

// A faultRule says what faults of some types mean.
type faultRule struct {
	of   faultTypes
	kind fleet.ErrorKind
	next string // what to do about it, where that is known
}

type faultTypes = []func(types.BaseMethodFault) bool

func is[F any](f types.BaseMethodFault) bool {
	_, ok := f.(F)
	return ok
}

// faultRules say what faults mean, of a request or of a task. The first that is of a fault holds.
// Source: VMware vSphere Web Services API, the descriptions of faults.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var faultRules = []faultRule{
	// Who asks.
	{of: faultTypes{is[*types.NotAuthenticated]}, kind: fleet.Unavailable}, // a session that ended: nothing was done
	{of: faultTypes{is[*types.PasswordExpired]}, kind: fleet.Unauthorized, next: "set another password in vCenter and in the Secret"},
	{of: faultTypes{is[types.BaseInvalidLogin], is[types.BaseNoPermission]}, kind: fleet.Unauthorized},
	{of: faultTypes{is[*types.RestrictedVersion]}, kind: fleet.Invalid},
	{of: faultTypes{is[types.BaseNotEnoughLicenses]}, kind: fleet.Exhausted},
	// Whether a thing is there.
	{of: faultTypes{is[*types.ManagedObjectNotFound]}, kind: fleet.NotFound},
	{of: faultTypes{is[*types.DuplicateName], is[*types.AlreadyExists], is[*types.FileAlreadyExists], is[*types.AlreadyUpgraded]}, kind: fleet.Conflict},
	{of: faultTypes{is[*types.FileNotFound]}, kind: fleet.Conflict}, // of a VM that is there: it lacks a part
	// What passes: it is busy, and nothing was done.
	{of: faultTypes{
		is[types.BaseTaskInProgress], is[*types.LimitExceeded], is[*types.TooManyConcurrentNativeClones], is[*types.ResourceInUse],
		is[*types.FileLocked], is[*types.ConcurrentAccess], is[*types.LicenseServerUnavailable],
	}, kind: fleet.Unavailable},
	// It is away.
	{of: faultTypes{
		is[types.BaseInvalidHostState], is[*types.HostNotConnected], is[*types.HostNotReachable], is[*types.InvalidDatastoreState],
		is[*types.InaccessibleDatastore], is[*types.NoActiveHostInCluster], is[*types.ResourceNotAvailable], is[types.BaseHostConnectFault],
	}, kind: fleet.Unavailable},
	{of: faultTypes{is[*types.Timedout], is[types.BaseHostCommunication]}, kind: fleet.Unanswered}, // the host may have done it, or do it still
	{of: faultTypes{is[types.BaseInvalidState], is[*types.RequestCanceled], is[*types.ToolsUnavailable]}, kind: fleet.Conflict},
	// There is no room.
	{of: faultTypes{is[*types.NoDiskSpace], is[*types.InsufficientStorageSpace]}, kind: fleet.Exhausted, next: "free space of the datastore, or choose another"},
	{of: faultTypes{
		is[types.BaseInsufficientResourcesFault], is[types.BaseNoCompatibleHost], is[*types.NoCompatibleDatastore],
		is[*types.DatastoreNotWritableOnHost], is[*types.TooManyNativeClonesOnFile], is[*types.QuarantineModeFault],
	}, kind: fleet.Exhausted},
	// What was asked for.
	{of: faultTypes{is[*types.GenericVmConfigFault]}, kind: fleet.Unknown}, // anything that a host says when a VM does not start
	{of: faultTypes{is[*types.CannotAccessFile]}, kind: fleet.Unavailable}, // locked, or its datastore is away
	{of: faultTypes{
		is[types.BaseInvalidArgument], is[types.BaseNotSupported], is[types.BaseVmConfigFault], is[types.BaseInvalidDatastore], is[types.BaseInvalidFolder],
		is[types.BaseCustomizationFault], is[types.BaseMigrationFault], is[*types.InvalidName], is[*types.InvalidType], is[*types.InvalidProperty],
		is[*types.MismatchedNetworkPolicies], is[*types.OutOfBounds], is[*types.MethodNotFound], is[*types.InvalidRequest], is[*types.TooManyNativeCloneLevels],
	}, kind: fleet.Invalid},
}

// ruleOf returns the rule for f.
func ruleOf(f types.BaseMethodFault) faultRule {
	for _, r := range faultRules {
		if slices.ContainsFunc(r.of, func(is func(types.BaseMethodFault) bool) bool { return is(f) }) {
			return r
		}
	}
	return faultRule{kind: fleet.Unknown}
}

// rules are of answers that are neither a result nor a fault of SOAP: of vCenter's REST services,
// which tell by a code why they answer with 400, or of the proxy before them.
// Source: vSphere Automation API, com.vmware.vapi.std.errors.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var rules = []transport.Rule{
	{Statuses: []int{http.StatusUnauthorized}, Kind: fleet.Unavailable}, // a session that ended: nothing was done
	{Statuses: []int{http.StatusNotFound, http.StatusGone}, Kind: fleet.NotFound},
	{Statuses: []int{http.StatusBadRequest}, Codes: []string{"already_exists", "already_in_desired_state", "concurrent_change", "not_allowed_in_current_state", "resource_in_use"}, Kind: fleet.Conflict},
	{Statuses: []int{http.StatusBadRequest}, Codes: []string{"not_found"}, Kind: fleet.NotFound},
	{Statuses: []int{http.StatusBadRequest}, Codes: []string{"unauthorized", "unauthenticated"}, Kind: fleet.Unauthorized},
	{Statuses: []int{http.StatusBadRequest}, Codes: []string{"resource_busy", "service_unavailable", "resource_inaccessible", "timed_out"}, Kind: fleet.Unavailable},
	{Statuses: []int{http.StatusBadRequest}, Codes: []string{"unable_to_allocate_resource"}, Kind: fleet.Exhausted},
	{Statuses: []int{http.StatusBadRequest}, Codes: []string{"internal_server_error", "error"}, Kind: fleet.Unknown},
}

// restCode finds the code of an error of a REST service, of both styles.
func restCode(body []byte) string {
	var said struct {
		Type  string `json:"type"`
		Error string `json:"error_type"`
	}
	_ = json.Unmarshal(body, &said)
	_, name, _ := strings.Cut(said.Type, "errors.")
	return strings.ToLower(name + said.Error)
}
