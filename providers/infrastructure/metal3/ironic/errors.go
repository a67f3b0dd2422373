package ironic

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/transport"
)

// errNoList is of an answer that is none of Ironic.
var errNoList = errors.New("what answers sends no list of nodes, and is no Ironic (correct the endpoint in its Secret)")

// Wrap turns an error of a request to Ironic into a *fleet.Error that says what could not be
// done, in Ironic's own words. This file is the one place that knows what such an error
// means. No error stays none.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		return &fleet.Error{Kind: e.Kind, Op: op, Err: e.Err}
	}
	return &fleet.Error{Kind: kindOf(err), Op: op, Err: explain(err)}
}

// WrapLook is Wrap for requests that only look: one without an answer may be repeated at
// once.
func WrapLook(op string, err error) error { return transport.Looked(Wrap(op, err)) }

// Words of Ironic that decide. Its API tells errors apart by words alone.
// Source: Ironic, common/exception.py.
var (
	locked      = regexp.MustCompile(`is locked by host`)                      // NodeLocked
	associated  = regexp.MustCompile(`is associated with instance`)            // NodeAssociated
	hasHost     = regexp.MustCompile(`is already associated with a node`)      // InstanceAssociated
	inState     = regexp.MustCompile(`can not be performed on node .* state`)  // InvalidStateRequested
	maintained  = regexp.MustCompile(`because it's in maintenance mode`)       // NodeInMaintenance
	noHost      = regexp.MustCompile(`No valid host was found`)                // NoValidHost: no conductor
	protected   = regexp.MustCompile(`is protected and cannot be`)             // NodeProtected
	missing     = regexp.MustCompile(`^(Node|Port) \S+ could not be found`)    // NodeNotFound, PortNotFound
	lacking     = regexp.MustCompile(`Could not find the following interface`) // InterfaceNotFoundInEntrypoint
	noInventory = regexp.MustCompile(`^Node inventory record for node`)        // NodeInventoryNotFound
	busy        = regexp.MustCompile(`database is locked`)                     // SQLite
)

// An ironicError is an error with the text of Ironic.
type ironicError struct {
	words string
	next  string // what to do about it, where that is known
}

func (e *ironicError) Error() string {
	if e.next == "" {
		return e.words
	}
	return e.words + " (" + e.next + ")"
}

func matches(err error, what *regexp.Regexp) bool {
	e, ok := errors.AsType[*ironicError](err)
	return ok && what.MatchString(e.words)
}

// IsLocked reports whether err says that something else is under way at the node: the same
// again, soon.
func IsLocked(err error) bool { return matches(err, locked) }

// IsAssociated reports whether err says that the node is another machine's.
func IsAssociated(err error) bool { return matches(err, associated) }

// LacksInterface reports whether err says that Ironic is not set up with an interface that was
// asked for.
func LacksInterface(err error) bool { return matches(err, lacking) }

// HasHost reports whether err says that the machine has another node.
func HasHost(err error) bool { return matches(err, hasHost) }

// IsWrongState reports whether err says that the state of the node, or its maintenance, does
// not allow what was asked for.
func IsWrongState(err error) bool { return matches(err, inState) || matches(err, maintained) }

func kindOf(err error) fleet.ErrorKind {
	if r, ok := openstackauth.Response(err); ok {
		kind, _ := transport.Classify(rules, answer(r))
		return kind
	}
	if errors.Is(err, errNoList) {
		return fleet.Unauthorized
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fleet.Unauthorized // nothing was sent
	}
	if kind, ok := transport.KindOf(err); ok {
		return kind
	}
	return fleet.Unknown
}

// rules say what answers of Ironic mean.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var rules = []transport.Rule{
	{Statuses: []int{http.StatusNotFound}, Words: missing, Kind: fleet.NotFound},
	{Words: noHost, Kind: fleet.Unavailable, Next: "start a conductor, and enable the driver in ironic.conf"},
	{Words: protected, Kind: fleet.Conflict, Next: "unset protected of the node in Ironic"},
	{Statuses: []int{http.StatusUnauthorized}, Next: "correct username and password in Ironic's Secret"},
	{Statuses: []int{http.StatusNotAcceptable}, Next: tooOld},
	{Statuses: []int{http.StatusNotFound, 3}, Next: "correct the endpoint in Ironic's Secret"},
	{Words: locked, Kind: fleet.Unavailable},
	{Words: busy, Kind: fleet.Unavailable},
	{Words: inState, Kind: fleet.Conflict},
	{Words: maintained, Kind: fleet.Conflict},
	// No node is missing, or it sends elsewhere: what answers is no Ironic, and the Secret says where it is.
	{Statuses: []int{http.StatusUnauthorized, http.StatusNotFound, 3}, Kind: fleet.Unauthorized},
}

func answer(r gophercloud.ErrUnexpectedResponseCode) transport.Answer {
	return transport.Answer{Method: r.Method, Status: r.Actual, Words: transport.Text(r.Body, message)}
}

// explain returns what Ironic said, with what to do where that is known.
func explain(err error) error {
	r, ok := openstackauth.Response(err)
	if !ok {
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			return fmt.Errorf("%w (correct ca.crt in Ironic's Secret)", transport.Plain(err))
		}
		return transport.Plain(err)
	}
	words := answer(r).String()
	if r.Actual >= http.StatusInternalServerError && !json.Valid(r.Body) { // Ironic reports errors in JSON
		return &ironicError{words: words, next: "what stands before Ironic says so: see whether Ironic runs"}
	}
	_, next := transport.Classify(rules, answer(r))
	return &ironicError{words: words, next: next}
}

// What to do about an Ironic that does not speak a version of its API.
const (
	tooOld         = "Ironic has to be of release 21.3, 2023.1, or newer"
	tooOldForSteps = "Ironic has to be of release 23.0, 2023.2, or newer to work on firmware"
)

// ofSteps returns err of a request that only later releases know.
func ofSteps(err error) error {
	if e, ok := errors.AsType[*ironicError](err); ok && e.next == tooOld {
		e.next = tooOldForSteps
	}
	return err
}

// steps are what failed of a node in a state.
var steps = map[State]string{ //nolint:gochecknoglobals // a constant that Go cannot write as one
	Enroll: "verify host ", InspectFailed: "inspect host ", CleanFailed: "clean host ", DeployFailed: "deploy host ",
	AdoptFailed: "adopt host ", Error: "release host ", ServiceFailed: "service host ",
}

// Words of what failed after it had begun, which Ironic has no codes for.
// Source: Ironic, drivers/modules/redfish/utils.py, conductor/manager.py; sushy, exceptions.py.
var (
	refused     = regexp.MustCompile(`returned code 40[13]|AccessError|[Uu]nauthorized|[Aa]uthentication`)
	unreachable = regexp.MustCompile(`Unable to connect|[Cc]onnection (refused|aborted|failed|reset|error)|ConnectionError|ConnectTimeout`)
	wrongImage  = regexp.MustCompile(`checksum|Validation of image href|[Ii]mage \S+ (is unacceptable|could not be found)`)
	healed      = regexp.MustCompile(`^During sync_power_state`) // stays when the fault is gone
	interrupted = regexp.MustCompile(`can't be resumed by conductor`)
)

// Failure returns what Ironic last began at the node and could not do: the step, and Ironic's
// words; nil where there is nothing of the kind. Its kind says what may help: another account
// of the BMC (Unauthorized), another image (Invalid), time (Unavailable).
func (n *Node) Failure() error {
	step, failed := steps[n.State]
	switch {
	case n.Fault == PowerFault:
		step = "reach the BMC of host "
	case n.LastError == "":
		return nil
	case !failed && (n.Target != "" || healed.MatchString(n.LastError)):
		return nil // it is at it again, or over it
	case !failed:
		step = "do what was asked last of host "
	}
	words := n.LastError
	if words == "" {
		words = n.MaintenanceReason
	}
	kind := fleet.Unknown
	switch {
	case refused.MatchString(words):
		kind = fleet.Unauthorized
	case n.Fault == PowerFault, unreachable.MatchString(words), interrupted.MatchString(words):
		kind = fleet.Unavailable
	case wrongImage.MatchString(words):
		kind = fleet.Invalid
	}
	return fleet.Errorf(kind, step+n.Name, "%s", transport.Text([]byte(words), func(map[string]json.RawMessage) string { return "" }))
}

// message finds the words of an error: of Ironic, which wraps them as text of JSON in an
// object of JSON, and as an object since API 1.80 or so; of its basic authentication; of its
// versions.
// Source: Ironic, api/middleware/parsable_error.py; ironic-lib, auth_basic.py.
func message(object map[string]json.RawMessage) string {
	inner := object["error_message"]
	if inner == nil {
		inner = object["error"]
	}
	var text string
	if json.Unmarshal(inner, &text) == nil {
		inner = json.RawMessage(text)
	}
	var words struct {
		Fault   string `json:"faultstring"`
		Title   string `json:"title"`
		Message string `json:"message"`
	}
	if json.Unmarshal(inner, &words) != nil {
		return text
	}
	return strings.TrimSpace(words.Fault + words.Title + words.Message)
}
