package openstackauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/gophercloud/gophercloud/v2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// Wrap turns an error of a call to OpenStack into a *fleet.Error that says what
// could not be done, in the cloud's own words. It is the one place that knows
// what such an error means. No error stays none.
func Wrap(op string, err error) error {
	return transport.Wrap(op, err, func(err error) (fleet.ErrorKind, error) {
		if _, several := err.(interface{ Unwrap() []error }); several {
			return fleet.KindOf(err), err
		}
		if e, ok := reauthentication(err); ok {
			return transport.Look(kindOf(e)), fmt.Errorf("authentication: %w", explain(e))
		}
		return kindOf(err), explain(err)
	})
}

// WrapLook is Wrap for calls that only look: one without an answer may be
// repeated at once.
func WrapLook(op string, err error) error { return transport.Looked(Wrap(op, err)) }

// NotFound reports whether err says that the thing is not there.
func NotFound(err error) bool {
	return gophercloud.ResponseCodeIs(err, http.StatusNotFound) || fleet.KindOf(err) == fleet.NotFound
}

// reauthentication finds why a token could not be renewed.
func reauthentication(err error) (error, bool) {
	if e, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		return e.ErrReauth, true
	}
	if e, ok := errors.AsType[gophercloud.ErrUnableToReauthenticate](err); ok {
		return e.ErrReauth, true
	}
	return nil, false
}

// Response returns the answer of OpenStack that err is of; false where it is of none.
func Response(err error) (gophercloud.ErrUnexpectedResponseCode, bool) {
	if e, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		return e, true
	}
	if e, ok := errors.AsType[*gophercloud.ErrUnexpectedResponseCode](err); ok {
		return *e, true
	}
	return gophercloud.ErrUnexpectedResponseCode{}, false
}

func kindOf(err error) fleet.ErrorKind {
	if r, ok := Response(err); ok {
		kind, _ := transport.Classify(rules, answer(r))
		return kind
	}
	if kind, ok := transport.KindOf(err); ok {
		return kind
	}
	if missingService(err) {
		return fleet.Invalid
	}
	return fleet.Unknown
}

var exhausted = regexp.MustCompile(`(?i)quota|overlimit|no more ip addresses|ip ?address(es)? ?(generation failure|exhausted)|no available ip|not enough hosts|no valid host`)

// rules say what answers of OpenStack's services mean.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var rules = []transport.Rule{
	{Statuses: []int{http.StatusUnauthorized}, Kind: fleet.Unauthorized, Next: "renew the credential in the Secret that identityRef names"},
	{Words: regexp.MustCompile(`(?i)quota`), Next: "have the quota of the project raised, or remove what is not needed"},
	{Words: regexp.MustCompile(`key_name`), Next: "Nova keeps key pairs by user: correct sshKeyName, or make it as the user of the credential"},
	{Statuses: []int{http.StatusForbidden}, Next: "the credential lacks the role for this"},
	{Statuses: []int{http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable}, Words: exhausted, Kind: fleet.Exhausted},
	{Statuses: []int{http.StatusNotFound, http.StatusGone}, Kind: fleet.NotFound},
	{Statuses: []int{http.StatusRequestEntityTooLarge}, Kind: fleet.Exhausted}, // Cinder's and old Nova's answer to a quota
	{Statuses: []int{http.StatusNotImplemented}, Kind: fleet.Invalid},
	// So Cinder refuses what it takes once a volume has another status, as when it is detached.
	{Statuses: []int{http.StatusBadRequest}, Words: regexp.MustCompile(`(?i)invalid volume: volume status must be`), Kind: fleet.Conflict},
}

func answer(r gophercloud.ErrUnexpectedResponseCode) transport.Answer {
	return transport.Answer{Method: r.Method, Status: r.Actual, Words: transport.Text(r.Body, message)}
}

// explain returns what the other side said, with what to do where that is known.
func explain(err error) error {
	r, ok := Response(err)
	if !ok {
		return transport.Plain(err)
	}
	text := answer(r).String()
	if _, next := transport.Classify(rules, answer(r)); next != "" {
		text += " (" + next + ")"
	}
	return errors.New(text)
}

// origin names the other side of a URL, without what a query may hold.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "OpenStack"
	}
	return u.Scheme + "://" + u.Host
}

// message finds the message of an error. Keystone, Nova, Cinder, Glance and Neutron wrap
// an object with "message", Octavia has "faultstring".
func message(object map[string]json.RawMessage) string {
	var s string
	for _, key := range []string{"faultstring", "message"} {
		if json.Unmarshal(object[key], &s) == nil && s != "" {
			return s
		}
	}
	if json.Unmarshal(object["NeutronError"], &s) == nil && s != "" {
		return s
	}
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		var inner map[string]json.RawMessage
		if json.Unmarshal(object[k], &inner) != nil {
			continue
		}
		if m := message(inner); m != "" {
			return m
		}
	}
	return ""
}
