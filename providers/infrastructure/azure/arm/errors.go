package arm

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// A refusalError is an answer with which ARM refused a request, or failed at it.
type refusalError struct{ transport.Answer }

func (e *refusalError) Error() string {
	text := e.String()
	if e.Code != "" && !strings.HasPrefix(text, e.Code) {
		text = e.Code + ": " + text
	}
	if _, next := transport.Classify(rules, e.Answer); next != "" {
		text += " (" + next + ")"
	}
	return text
}

// refusal returns the error of an answer: the innermost that says a code.
func refusal(method string, res *http.Response, body []byte) error {
	a := transport.Answer{Method: method, Status: res.StatusCode, Code: res.Header.Get("X-Ms-Error-Code")}
	a.Words = transport.Text(body, func(object map[string]json.RawMessage) string {
		e := ofService{}
		if json.Unmarshal(object["error"], &e) != nil || e.Code == "" {
			_ = json.Unmarshal(body, &e) // as services say it that ARM passes on
		}
		for len(e.Details) > 0 && e.Details[0].Code != "" && (e.Code == "DeploymentFailed" || e.Code == "BadRequest" || e.Code == "Conflict") {
			e = e.Details[0]
		}
		if e.Code != "" {
			a.Code = e.Code
		}
		return e.Message
	})
	return &refusalError{a}
}

// An ofService is an error as ARM writes it.
type ofService struct {
	Code    string      `json:"code"`
	Message string      `json:"message"`
	Details []ofService `json:"details"`
}

var (
	quota      = regexp.MustCompile(`(?i)quota`)
	inProgress = regexp.MustCompile(`(?i)in progress|is being (created|deleted|updated)|another operation`)
	inUse      = regexp.MustCompile(`(?i)in use|used by|can ?not be deleted`)
	tenant     = regexp.MustCompile(`AADSTS\d+`)
)

// capacity are the codes that say that a zone or a region has no room for a size.
func capacity() []string {
	return []string{
		"SkuNotAvailable", "AllocationFailed", "ZonalAllocationFailed", "OverconstrainedAllocationRequest", "OverconstrainedZonalAllocationRequest",
		"OverconstrainedEdgeAllocationRequest", "SpotMaxPriceTooLow",
	}
}

// rules say what answers of ARM mean, in this order.
// Source: Azure documentation, "Troubleshoot common Azure deployment errors" and those of virtual machines.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var rules = []transport.Rule{
	{Codes: capacity(), Kind: fleet.Exhausted, Next: "ask for another vmSize, or for more zones"},
	{Codes: []string{"OperationNotAllowed"}, Words: quota, Kind: fleet.Exhausted, Next: "have the quota raised in the portal, or remove what is not needed"},
	{Codes: []string{"InsufficientVCPUQuota", "ErrCode_InsufficientVCPUQuota", "QuotaExceeded", "PublicIPCountLimitReached", "ResourceQuotaExceeded"}, Kind: fleet.Exhausted, Next: "have the quota raised in the portal, or remove what is not needed"},
	{Codes: []string{"SubnetIsFull"}, Kind: fleet.Exhausted, Next: "give the machines a larger subnet"},
	{Codes: []string{"RetryableError", "AnotherOperationInProgress", "ReferencedResourceNotProvisioned", "NicReservedForAnotherVm", "ResourceGroupBeingDeleted", "CanceledAndSupersededDueToAnotherOperation"}, Kind: fleet.Unavailable},
	{Statuses: []int{http.StatusConflict, http.StatusBadRequest}, Words: inProgress, Kind: fleet.Unavailable},
	{Statuses: []int{http.StatusPreconditionFailed}, Kind: fleet.Conflict},
	{Statuses: []int{http.StatusBadRequest}, Words: inUse, Kind: fleet.Conflict},
	{Codes: []string{"ScopeLocked"}, Kind: fleet.Conflict, Next: "remove the lock in Azure"},
	{Codes: []string{"PropertyChangeNotAllowed"}, Kind: fleet.Conflict},
	{Codes: []string{"AuthorizationFailed", "LinkedAuthorizationFailed"}, Kind: fleet.Unauthorized, Next: "give the service principal a role that allows it"},
	{Codes: []string{"SubscriptionNotFound", "InvalidSubscriptionId", "DisabledSubscription"}, Kind: fleet.Unauthorized, Next: "correct subscriptionID, or give the service principal a role in that subscription"},
	{Statuses: []int{http.StatusUnauthorized}, Kind: fleet.Unauthorized, Next: "correct the AzureClusterIdentity, and its password, certificate or token"},
	{Words: tenant, Kind: fleet.Unauthorized},
	{Codes: []string{"RequestDisallowedByPolicy"}, Kind: fleet.Invalid, Next: "a policy of the subscription forbids it: add what it requires, such as additionalTags"},
	{Statuses: []int{http.StatusNotFound}, Kind: fleet.NotFound},
	{Statuses: []int{3}, Kind: fleet.Unavailable},
	{Statuses: []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}, Kind: fleet.Unavailable},
	{Statuses: []int{5}, Kind: fleet.Unanswered},
}

// Wrap returns err of a request as a *fleet.Error that says that op could not be done. No error stays none.
func Wrap(op string, err error) error { return transport.Wrap(op, err, read) }

// WrapLook is Wrap for requests that change nothing.
func WrapLook(op string, err error) error { return transport.Looked(Wrap(op, err)) }

func read(err error) (fleet.ErrorKind, error) {
	if e, ok := errors.AsType[*refusalError](err); ok {
		kind, _ := transport.Classify(rules, e.Answer)
		return kind, e
	}
	kind, _ := transport.KindOf(err)
	return kind, transport.Plain(err)
}

// Kind returns the kind of an error of a request.
func Kind(err error) fleet.ErrorKind { return fleet.KindOf(Wrap("", err)) }

// IsMissing reports whether err says that the thing, or the resource group that it would be in, is not there.
func IsMissing(err error) bool {
	e, ok := errors.AsType[*refusalError](err)
	return ok && e.Status == http.StatusNotFound && slices.Contains([]string{"ResourceNotFound", "ResourceGroupNotFound", "ParentResourceNotFound", "NotFound"}, e.Code)
}

// IsUnused reports whether err says that the principal may not see things of a service, or that the subscription does not use it.
func IsUnused(err error) bool {
	e, ok := errors.AsType[*refusalError](err)
	return ok && slices.Contains([]string{"AuthorizationFailed", "MissingSubscriptionRegistration"}, e.Code)
}

// IsTaken reports whether err says that a thing of that name is there already.
func IsTaken(err error) bool {
	e, ok := errors.AsType[*refusalError](err)
	return ok && e.Status == http.StatusPreconditionFailed
}

// IsPermanent reports whether err says that a change will be refused again, however often it is requested, until people change
// something, such as a quota.
func IsPermanent(err error) bool {
	e, ok := errors.AsType[*refusalError](err)
	switch Kind(err) {
	case fleet.Invalid, fleet.Unauthorized, fleet.Exhausted:
		return true
	case fleet.Conflict:
		return ok && slices.Contains([]string{"PropertyChangeNotAllowed", "OperationNotAllowed"}, e.Code)
	}
	return false
}

// IsCapacity reports whether err says that a zone has no room for a VM that another one may have.
func IsCapacity(err error) bool {
	e, ok := errors.AsType[*refusalError](err)
	return ok && IsCapacityCode(e.Code)
}

// IsCapacityCode reports the same of the code of an operation that failed.
func IsCapacityCode(code string) bool { return slices.Contains(capacity(), code) }

// Named returns err, of a request that names things from Git, as a mistake in Git where one of them is not there.
func Named(err error) error {
	if err == nil || Kind(err) != fleet.NotFound {
		return err
	}
	return &fleet.Error{Kind: fleet.Invalid, Err: err}
}
