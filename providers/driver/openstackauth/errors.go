package openstackauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// Wrap turns an error of a call to OpenStack into a *fleet.Error that says what
// could not be done, in the cloud's own words. It is the one place that knows
// what such an error means. No error stays none.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*fleet.Error); ok && (e.Op == op || e.Op == "") { //nolint:errorlint // only the outermost may say the same twice
		return &fleet.Error{Kind: e.Kind, Op: op, Err: e.Err}
	}
	_, several := err.(interface{ Unwrap() []error })
	if _, ok := errors.AsType[*fleet.Error](err); ok || several {
		return &fleet.Error{Kind: fleet.KindOf(err), Op: op, Err: err}
	}
	if e, ok := reauthentication(err); ok {
		return &fleet.Error{Kind: transport.Look(kindOf(e)), Op: op, Err: fmt.Errorf("authentication: %w", explain(e))}
	}
	return &fleet.Error{Kind: kindOf(err), Op: op, Err: explain(err)}
}

// WrapLook is Wrap for calls that only look: one without an answer may be
// repeated at once.
func WrapLook(op string, err error) error {
	err = Wrap(op, err)
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		e.Kind = transport.Look(e.Kind)
	}
	return err
}

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
		return kindOfStatus(r.Method, r.Actual, errorText(r.Body))
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

func kindOfStatus(method string, status int, text string) fleet.ErrorKind {
	switch status {
	case http.StatusUnauthorized:
		return fleet.Unauthorized
	case http.StatusForbidden:
		if exhausted.MatchString(text) {
			return fleet.Exhausted
		}
		return fleet.Unauthorized
	case http.StatusNotFound, http.StatusGone:
		return fleet.NotFound
	case http.StatusConflict:
		if exhausted.MatchString(text) {
			return fleet.Exhausted
		}
		return fleet.Conflict
	case http.StatusRequestEntityTooLarge:
		return fleet.Exhausted // Cinder's and old Nova's answer to a quota
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if exhausted.MatchString(text) {
			return fleet.Exhausted
		}
		return fleet.Unavailable
	case http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusRequestTimeout:
		if method == http.MethodGet {
			return fleet.Unavailable
		}
		return fleet.Unanswered
	case http.StatusNotImplemented, http.StatusNotAcceptable, http.StatusMethodNotAllowed:
		return fleet.Invalid
	}
	if status == http.StatusBadRequest && inTransit.MatchString(text) {
		return fleet.Conflict
	}
	if status >= 400 && status < 500 {
		return fleet.Invalid
	}
	return fleet.Unknown
}

// inTransit is how Cinder refuses what it takes once a volume has another status, as
// when it is detached.
var inTransit = regexp.MustCompile(`(?i)invalid volume: volume status must be`)

// explain returns what the other side said, with what to do where that is known.
func explain(err error) error {
	r, ok := Response(err)
	if !ok {
		return transport.Plain(err)
	}
	text := errorText(r.Body)
	if text == "" {
		text = fmt.Sprintf("%d %s", r.Actual, http.StatusText(r.Actual))
	}
	if next := nextStep(r.Actual, text); next != "" {
		text += " (" + next + ")"
	}
	return errors.New(text)
}

func nextStep(status int, text string) string {
	switch {
	case status == http.StatusUnauthorized:
		return "renew the credential in the Secret that identityRef names"
	case strings.Contains(strings.ToLower(text), "quota"):
		return "have the quota of the project raised, or remove what is not needed"
	case strings.Contains(text, "key_name"):
		return "Nova keeps key pairs by user: correct sshKeyName, or make it as the user of the credential"
	case status == http.StatusForbidden:
		return "the credential lacks the role for this"
	}
	return ""
}

// origin names the other side of a URL, without what a query may hold.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "OpenStack"
	}
	return u.Scheme + "://" + u.Host
}

// errorText returns what the body of an error says.
func errorText(body []byte) string { return transport.Text(body, message) }

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
