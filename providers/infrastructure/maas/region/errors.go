package region

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// errNotMAAS is of an answer of another server.
var errNotMAAS = errors.New("the answer is none of MAAS (correct MAAS_ENDPOINT in the Secret maas)")

// A refusalError is an answer with which MAAS refused a request, or failed at it.
type refusalError struct{ transport.Answer }

func (e *refusalError) Error() string {
	_, next := transport.Classify(rules, e.Answer)
	if next == "" {
		return e.String()
	}
	return e.String() + " (" + next + ")"
}

// later is the code of answers that say when to try again: nothing was done.
const later = "Retry-After"

// refusal returns the error of an answer. The body of a 401 is dropped: it may contain the secret of the key.
func refusal(method string, res *http.Response, body []byte) error {
	a := transport.Answer{Method: method, Status: res.StatusCode}
	if res.Header.Get("Retry-After") != "" {
		a.Code = later
	}
	if res.StatusCode != http.StatusUnauthorized {
		a.Words = transport.Text(body, fields)
	}
	return &refusalError{a}
}

// fields returns the texts of an object with the errors of a form, by field.
func fields(object map[string]json.RawMessage) string {
	var out []string
	for name, v := range object {
		var texts []string
		if json.Unmarshal(v, &texts) == nil {
			out = append(out, name+": "+strings.Join(texts, " "))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// Words of MAAS that decide. Its API has no codes.
// Source: MAAS, maasserver/api/machines.py, support.py, models/node.py, exceptions.py.
var (
	noMachine = regexp.MustCompile(`^No machine .*available|^No available machine`)
	noObject  = regexp.MustCompile(`^No \w+ matches the given query`)
	noAddress = regexp.MustCompile(`address exhaustion`)
	badKey    = regexp.MustCompile(`Invalid character in key name`)
	admins    = regexp.MustCompile(`reserved for admin`)
)

// rules say what answers of MAAS mean. A 5xx of a change does not say that nothing was done: power follows
// after the transaction.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var rules = []transport.Rule{
	{Statuses: []int{http.StatusGone}, Kind: fleet.Invalid, Next: "MAAS 4 has no VM hosts"},
	{Statuses: []int{http.StatusUnauthorized}, Kind: fleet.Unauthorized, Next: "correct MAAS_API_KEY in the Secret maas; MAAS refuses correct keys, too, if the clocks differ by five minutes"},
	{Statuses: []int{http.StatusForbidden}, Words: admins, Kind: fleet.Unauthorized, Next: "MAAS lets only administrators do this"},
	{Statuses: []int{http.StatusForbidden}, Kind: fleet.Unauthorized, Next: "the machine is locked, or belongs to another user of MAAS"},
	{Statuses: []int{http.StatusNotFound}, Words: noObject, Kind: fleet.NotFound},
	{Statuses: []int{http.StatusNotFound, 3}, Kind: fleet.Unauthorized, Next: "correct MAAS_ENDPOINT in the Secret maas"},
	{Statuses: []int{http.StatusConflict}, Codes: []string{later}, Kind: fleet.Unavailable},
	{Statuses: []int{http.StatusConflict}, Words: noMachine, Kind: fleet.Exhausted},
	{Statuses: []int{http.StatusServiceUnavailable}, Words: noAddress, Kind: fleet.Exhausted, Next: "give the subnet more addresses"},
	{Statuses: []int{http.StatusInternalServerError}, Words: badKey, Kind: fleet.Invalid},
	{Statuses: []int{5}, Kind: fleet.Unanswered},
}

// Wrap returns err of a request as a *fleet.Error that says that op could not be done. No error stays none.
func Wrap(op string, err error) error { return transport.Wrap(op, err, read) }

// WrapLook is Wrap for requests that change nothing.
func WrapLook(op string, err error) error { return transport.Looked(Wrap(op, err)) }

// read returns what err means.
func read(err error) (fleet.ErrorKind, error) {
	if e, ok := errors.AsType[*refusalError](err); ok {
		kind, _ := transport.Classify(rules, e.Answer)
		return kind, e
	}
	if errors.Is(err, errNotMAAS) {
		return fleet.Unauthorized, err
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fleet.Unauthorized, fmt.Errorf("%w (correct ca.crt in the Secret maas)", transport.Plain(err))
	}
	kind, _ := transport.KindOf(err)
	return kind, transport.Plain(err)
}

// kindOf returns the kind of an error of a request.
func kindOf(err error) fleet.ErrorKind { return fleet.KindOf(Wrap("", err)) }

// IsTaken reports whether err says that a machine is not free any more.
func IsTaken(err error) bool {
	k := kindOf(err)
	return k == fleet.Conflict || k == fleet.Exhausted && !isAddress(err) || k == fleet.NotFound
}

func isAddress(err error) bool {
	e, ok := errors.AsType[*refusalError](err)
	return ok && noAddress.MatchString(e.Words)
}

// IsMissing reports whether err says that the thing is not there.
func IsMissing(err error) bool { return kindOf(err) == fleet.NotFound }
