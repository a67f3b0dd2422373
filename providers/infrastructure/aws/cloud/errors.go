package cloud

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// An Error is what AWS said to a request, or that it said nothing.
type Error struct {
	Service, Action string
	Status          int
	Code, Message   string
	Err             error // why there was no answer
}

// Error implements error, with AWS's own words.
func (e *Error) Error() string {
	switch {
	case e.Err != nil:
		return e.Service + " " + e.Action + ": " + transport.Plain(e.Err).Error()
	case e.Code == "" && e.Message == "":
		return fmt.Sprintf("%s %s: %d %s", e.Service, e.Action, e.Status, http.StatusText(e.Status))
	case e.Code == "":
		return e.Service + " " + e.Action + ": " + e.Message
	}
	return e.Code + ": " + e.Message
}

// Unwrap returns why there was no answer.
func (e *Error) Unwrap() error { return e.Err }

// encoded is the part of a message that only AWS can read.
var encoded = regexp.MustCompile(`\s*Encoded authorization failure message: \S+`)

// lacking finds the permission that a message names.
var lacking = regexp.MustCompile(`is not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)`)

// readError reads the answer to a request that failed.
func readError(s service, action string, resp *http.Response, body []byte) error {
	out := &Error{Service: s.name, Action: action, Status: resp.StatusCode}
	switch {
	case s.paths:
		var e struct{ Message string }
		_ = json.Unmarshal(body, &e) // what is no JSON has no message
		out.Code, _, _ = strings.Cut(resp.Header.Get("X-Amzn-ErrorType"), ":")
		out.Message = e.Message
	case s.target != "":
		var e struct {
			Type    string `json:"__type"`
			Message string
		}
		_ = json.Unmarshal(body, &e) // what is no JSON has no code
		_, out.Code, _ = cutLast(e.Type, "#")
		out.Message = e.Message
	default:
		type one struct{ Code, Message string }
		var e struct {
			EC2   []one `xml:"Errors>Error"`
			Other one   `xml:"Error"`
			one         // of S3
		}
		_ = xml.Unmarshal(body, &e) // the same
		e.EC2 = append(e.EC2, e.Other, e.one)
		some := e.EC2[max(0, slices.IndexFunc(e.EC2, func(o one) bool { return o != one{} }))]
		out.Code, out.Message = some.Code, some.Message
	}
	if out.Code == "" && out.Message == "" {
		out.Message = transport.Text(body, func(map[string]json.RawMessage) string { return "" })
	}
	out.Message = encoded.ReplaceAllString(out.Message, "")
	return out
}

// cutLast returns what is after the last sep, or all of s.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

// Is reports whether err is one of AWS with one of codes.
func Is(err error, codes ...string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, e.Code)
}

// IsNotFound reports whether err says that the thing it was asked for is not there.
func IsNotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && isNotFound(e.Code)
}

func isNotFound(code string) bool {
	return strings.Contains(code, "NotFound") || strings.HasPrefix(code, "NoSuch") || code == "Gateway.NotAttached"
}

// IsOfZone reports whether err says that a zone cannot have an instance that another one may have.
func IsOfZone(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == "Unsupported" || ofZone.MatchString(e.Code))
}

var ofZone = regexp.MustCompile(`^(Insufficient.*Capacity.*|InsufficientFreeAddressesInSubnet|UnfulfillableCapacity|ReservationCapacityExceeded|SpotMaxPriceTooLow)$`)

// A class is a kind of errors, by their codes.
type class struct {
	kind  fleet.ErrorKind
	codes *regexp.Regexp
}

// classes are tried in order.
// Source: EC2 API reference, "Error codes"; Elastic Load Balancing and Secrets Manager API references.
func classes() []class {
	of := func(kind fleet.ErrorKind, codes string) class {
		return class{kind, regexp.MustCompile("^(" + codes + ")$")}
	}
	return []class{
		of(fleet.Unavailable, `RequestLimitExceeded|Throttling.*|ThrottlingException|TooManyRequestsException|PendingVerification|IncorrectState|IncorrectInstanceState|InvalidTarget|.*\.IncorrectState|ServiceUnavailable(Exception)?|SlowDown|OperationAborted|TooManyUpdates|ResourcePropagationDelayException|RequestExpired`),
		of(fleet.Exhausted, `Insufficient.*Capacity.*|InsufficientFreeAddressesInSubnet|InsufficientAddressCapacity|.*LimitExceeded|.*LimitExceededException|MaxSpotInstanceCountExceeded|SpotMaxPriceTooLow|UnfulfillableCapacity|ReservationCapacityExceeded|TooMany.*`),
		of(fleet.Conflict, `DependencyViolation|OperationNotPermitted|IdempotentParameterMismatch|.*Duplicate|Duplicate.*|.*Conflict|.*\.InUse|VolumeInUse|ResourceInUse.*|Resource\.AlreadyAssociated|RouteAlreadyExists|ResourceExistsException|BucketAlready.*|BucketNotEmpty|EntityAlreadyExists|DeleteConflict|ConcurrentModification.*`),
		of(fleet.NotFound, `.*NotFound.*|NoSuch.*|Gateway\.NotAttached`),
		of(fleet.Invalid, `PermanentRedirect`), // a bucket of another region
		of(fleet.Unauthorized, `UnauthorizedOperation|AccessDenied.*|AuthFailure|ExpiredToken.*|InvalidClientTokenId|UnrecognizedClientException|OptInRequired|Blocked|SignatureDoesNotMatch|InvalidSignatureException|MissingAuthenticationToken`),
	}
}

//nolint:gochecknoglobals // compiled once
var known = classes()

// kindOf returns the kind of e.
func kindOf(e *Error) fleet.ErrorKind {
	changed := !looks(e.Action)
	switch {
	case e.Err != nil:
		kind, ok := transport.KindOf(e.Err)
		if !ok {
			kind = fleet.Unanswered
		}
		if !changed {
			kind = transport.Look(kind)
		}
		return kind
	case e.Code == "InvalidParameterValue" && strings.Contains(e.Message, "Invalid IAM Instance Profile"):
		return fleet.Unavailable // it may just have been made
	}
	for _, c := range known {
		if c.codes.MatchString(e.Code) {
			return c.kind
		}
	}
	switch {
	case (e.Status >= http.StatusInternalServerError || e.Status < http.StatusBadRequest) && changed:
		return fleet.Unanswered
	case e.Status >= http.StatusInternalServerError:
		return fleet.Unavailable
	case e.Status >= http.StatusBadRequest:
		return fleet.Invalid
	}
	return fleet.Unknown
}

// Wrap says what could not be done, for an error of AWS; nil stays nil.
func Wrap(op string, err error) error {
	return transport.Wrap(op, err, func(err error) (fleet.ErrorKind, error) {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return fleet.Unknown, err
		}
		return kindOf(e), advice(e)
	})
}

// WrapLook is Wrap for what only looked.
func WrapLook(op string, err error) error { return transport.Looked(Wrap(op, err)) }

// Kind returns the kind of an error of AWS.
func Kind(err error) fleet.ErrorKind { return fleet.KindOf(Wrap("", err)) }

// advice adds to e what people can do.
func advice(e *Error) error {
	switch {
	case kindOf(e) == fleet.Unauthorized && (e.Code == "UnauthorizedOperation" || strings.HasPrefix(e.Code, "AccessDenied")):
		right := e.Service + ":" + e.Action
		if m := lacking.FindStringSubmatch(e.Message); m != nil { // a request may need others, such as iam:PassRole
			right = m[1]
		}
		return fmt.Errorf("%w (allow %s in the policy of the cluster's identity)", e, right)
	case (strings.HasSuffix(e.Code, "LimitExceeded") || strings.HasSuffix(e.Code, "LimitExceededException")) && e.Code != "RequestLimitExceeded":
		return fmt.Errorf("%w (have the quota raised in Service Quotas, or remove what is not needed)", e)
	case e.Code == "InsufficientFreeAddressesInSubnet":
		return fmt.Errorf("%w (give the cluster larger subnets, or remove what is not needed)", e)
	}
	return e
}

// Named returns err, of a request that names things from Git, as a mistake in Git where one of them is
// not there.
func Named(err error) error {
	if err == nil || fleet.KindOf(Wrap("", err)) != fleet.NotFound {
		return err
	}
	return &fleet.Error{Kind: fleet.Invalid, Err: fmt.Errorf("%w (name one that exists, in Git)", err)}
}
