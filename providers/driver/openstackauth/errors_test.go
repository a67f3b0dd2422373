package openstackauth_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
)

// Bodies are as the services of the release Zed send them.
func TestWrap(t *testing.T) {
	for reason, tc := range map[string]struct {
		method string
		status int
		body   string
		kind   fleet.ErrorKind
		words  string
	}{
		"Nova refuses":         {"POST", 400, `{"badRequest": {"code": 400, "message": "The requested availability zone is not available"}}`, fleet.Invalid, "The requested availability zone is not available"},
		"quota of Nova":        {"POST", 403, `{"forbidden": {"code": 403, "message": "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances"}}`, fleet.Exhausted, "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances (have the quota of the project raised, or remove what is not needed)"},
		"volume in transit":    {"DELETE", 400, `{"badRequest": {"code": 400, "message": "Invalid volume: Volume status must be available or error or error_restoring and must not be migrating, attached."}}`, fleet.Conflict, "Invalid volume: Volume status must be available"},
		"key pair":             {"POST", 400, `{"badRequest": {"code": 400, "message": "Invalid key_name provided."}}`, fleet.Invalid, "Invalid key_name provided. (Nova keeps key pairs by user: correct sshKeyName"},
		"policy":               {"POST", 403, `{"forbidden": {"code": 403, "message": "Policy doesn't allow os_compute_api:servers:create:forced_host to be performed."}}`, fleet.Unauthorized, "Policy doesn't allow os_compute_api:servers:create:forced_host to be performed. (the credential lacks the role for this)"},
		"quota of Neutron":     {"POST", 409, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['port'].", "detail": ""}}`, fleet.Exhausted, "Quota exceeded for resources: ['port']."},
		"addresses used up":    {"POST", 409, `{"NeutronError": {"type": "IpAddressGenerationFailure", "message": "No more IP addresses available on network 6a1.", "detail": ""}}`, fleet.Exhausted, "No more IP addresses available on network 6a1."},
		"duplicate rule":       {"POST", 409, `{"NeutronError": {"type": "SecurityGroupRuleExists", "message": "Security group rule already exists. Rule id is 7.", "detail": ""}}`, fleet.Conflict, "Security group rule already exists. Rule id is 7."},
		"not there":            {"GET", 404, `{"NeutronError": {"type": "PortNotFound", "message": "Port 1 could not be found.", "detail": ""}}`, fleet.NotFound, "Port 1 could not be found."},
		"Octavia is busy":      {"PUT", 409, `{"faultcode": "Client", "faultstring": "Load Balancer 1 is immutable and cannot be updated.", "debuginfo": null}`, fleet.Conflict, "Load Balancer 1 is immutable and cannot be updated."},
		"quota of Octavia":     {"POST", 403, `{"faultcode": "Client", "faultstring": "Quota has been met for resources: load_balancer", "debuginfo": null}`, fleet.Exhausted, "Quota has been met for resources: load_balancer"},
		"quota of Cinder":      {"POST", 413, `{"overLimit": {"code": 413, "message": "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota."}}`, fleet.Exhausted, "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota."},
		"Keystone says no":     {"POST", 401, `{"error":{"code":401,"message":"The request you have made requires authentication.","title":"Unauthorized"}}`, fleet.Unauthorized, "The request you have made requires authentication. (renew the credential in the Secret that identityRef names)"},
		"a proxy":              {"GET", 503, "<html><head><title>503</title></head>\n<body><h1>503 Service Unavailable</h1>No server is available.</body></html>", fleet.Unavailable, "503 Service Unavailable No server is available."},
		"a proxy gave up":      {"POST", 504, "", fleet.Unanswered, "504 Gateway Timeout"},
		"it only looked":       {"GET", 504, "", fleet.Unavailable, "504 Gateway Timeout"},
		"Nova broke":           {"POST", 500, `{"computeFault": {"code": 500, "message": "Unexpected API Error.\n<class 'oslo_db.exception.DBError'>"}}`, fleet.Unknown, "Unexpected API Error."},
		"too many":             {"POST", 429, "", fleet.Unavailable, "429 Too Many Requests"},
		"provider cannot":      {"POST", 501, `{"faultstring": "Provider 'ovn' does not support a requested option"}`, fleet.Invalid, "Provider 'ovn' does not support a requested option"},
		"version not accepted": {"GET", 406, `{"computeFault": {"message": "Version 2.69 is not supported by the API. Minimum is 2.1 and maximum is 2.60.", "code": 406}}`, fleet.Invalid, "Version 2.69 is not supported by the API."},
	} {
		t.Run(reason, func(t *testing.T) {
			err := openstackauth.Wrap("do it", gophercloud.ErrUnexpectedResponseCode{Method: tc.method, Actual: tc.status, Body: []byte(tc.body)})
			if got := fleet.KindOf(err); got != tc.kind {
				t.Errorf("kind %s, want %s", got, tc.kind)
			}
			if got := err.Error(); !strings.HasPrefix(got, "cannot do it: "+tc.words) {
				t.Errorf("%q, want it to begin with %q", got, tc.words)
			}
		})
	}
}

func TestWrapWithoutAnswer(t *testing.T) {
	called := func(method string, err error) error {
		return &url.Error{Op: method, URL: "https://nova.test/v2.1/servers?x=y", Err: err}
	}
	for reason, tc := range map[string]struct {
		err        error
		kind, look fleet.ErrorKind
	}{
		"cut after it was sent":    {called("Post", io.EOF), fleet.Unanswered, fleet.Unavailable},
		"time is up":               {called("Post", context.DeadlineExceeded), fleet.Unanswered, fleet.Unavailable},
		"half an answer":           {io.ErrUnexpectedEOF, fleet.Unanswered, fleet.Unavailable},
		"cut while it only looked": {called("Get", io.EOF), fleet.Unavailable, fleet.Unavailable},
		"never connected":          {called("Post", &net.OpError{Op: "dial", Err: errors.New("connection refused")}), fleet.Unavailable, fleet.Unavailable},
		"no such host":             {called("Post", &net.DNSError{Err: "no such host"}), fleet.Unavailable, fleet.Unavailable},
		"no such service":          {&gophercloud.ErrEndpointNotFound{}, fleet.Invalid, fleet.Invalid},
		"token cannot be renewed": {&gophercloud.ErrUnableToReauthenticate{
			ErrOriginal: gophercloud.ErrUnexpectedResponseCode{Actual: 401}, ErrReauth: gophercloud.ErrUnexpectedResponseCode{Method: "POST", Actual: 401},
		}, fleet.Unauthorized, fleet.Unauthorized},
		"Keystone is silent": {&gophercloud.ErrUnableToReauthenticate{ErrReauth: called("Post", io.EOF)}, fleet.Unavailable, fleet.Unavailable},
		"classified":         {fleet.Errorf(fleet.Exhausted, "x", "y"), fleet.Exhausted, fleet.Exhausted},
	} {
		if got := fleet.KindOf(openstackauth.Wrap("do it", tc.err)); got != tc.kind {
			t.Errorf("%s: a change is %s, want %s", reason, got, tc.kind)
		}
		if got := fleet.KindOf(openstackauth.WrapLook("see it", tc.err)); got != tc.look {
			t.Errorf("%s: a look is %s, want %s", reason, got, tc.look)
		}
		if text := openstackauth.Wrap("do it", tc.err).Error(); strings.Contains(text, "x=y") {
			t.Errorf("%s: %q quotes a query", reason, text)
		}
	}
	if err := openstackauth.Wrap("do it", nil); err != nil {
		t.Errorf("no error = %v", err)
	}
}

func TestWrapSaysWhatWasAsked(t *testing.T) {
	err := openstackauth.Wrap("do it", &url.Error{Op: "Post", URL: "http://nova.test/v2.1/servers?x=y", Err: io.EOF})
	if want := "cannot do it: POST http://nova.test/v2.1/servers: EOF"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

func TestJoin(t *testing.T) {
	a, b := fleet.Errorf(fleet.Conflict, "a", "x"), fleet.Errorf(fleet.Unanswered, "b", "y")
	err := openstackauth.Wrap("do both", fleet.JoinErrors(nil, a, b))
	if got := err.Error(); got != "cannot do both: cannot a: x; cannot b: y" || fleet.KindOf(err) != fleet.Unanswered {
		t.Errorf("%q of kind %s", got, fleet.KindOf(err))
	}
	invalid, busy := fleet.Errorf(fleet.Invalid, "c", "x"), fleet.Errorf(fleet.Unavailable, "d", "y")
	if got := fleet.KindOf(openstackauth.Wrap("do both", fleet.JoinErrors(invalid, busy, a))); got != fleet.Unavailable {
		t.Errorf("what waits for Git beside what does not is %s, want %s", got, fleet.Unavailable)
	}
	if got := fleet.JoinErrors(nil, a); !errors.Is(got, a) {
		t.Errorf("one of them = %v", got)
	}
	if fleet.JoinErrors(nil, nil) != nil {
		t.Error("none is an error")
	}
	if !openstackauth.NotFound(gophercloud.ErrUnexpectedResponseCode{Actual: http.StatusNotFound}) || openstackauth.NotFound(a) || openstackauth.NotFound(nil) {
		t.Error("NotFound is wrong")
	}
}

// Whatever is inside is named, but not the same thing twice.
func TestWrapNamesWhatIsInside(t *testing.T) {
	inner := fleet.Errorf(fleet.Exhausted, "make volume m-0-root", "no room")
	for want, err := range map[string]error{
		"cannot create machine m-0: cannot make volume m-0-root: no room": openstackauth.Wrap("create machine m-0", inner),
		"cannot make volume m-0-root: no room":                            openstackauth.Wrap("make volume m-0-root", inner),
	} {
		if err.Error() != want || fleet.KindOf(err) != fleet.Exhausted {
			t.Errorf("%q of kind %s, want %q", err, fleet.KindOf(err), want)
		}
	}
}

// What a service calls a request is in its words, and not in what is told of it.
func TestStableWords(t *testing.T) {
	for reason, body := range map[string]string{
		"Nova":     `{"computeFault": {"code": 500, "message": "Unexpected API Error. Please report this. (HTTP 500) (Request-ID: %s)"}}`,
		"Keystone": `{"error":{"code":500,"message":"An unexpected error prevented the server from fulfilling your request. (HTTP 500) (Request-ID: %s)"}}`,
		"Octavia":  `{"faultcode": "Server", "faultstring": "An unknown exception occurred, request-id: %s", "debuginfo": null}`,
		"Neutron":  `{"NeutronError": {"type": "HTTPInternalServerError", "message": "Request Failed: internal server error while processing your request %s.", "detail": ""}}`,
		"a proxy":  `<html><body><h1>503 Service Unavailable</h1>Request ID [%s]</body></html>`,
	} {
		var texts []string
		for _, id := range []string{"req-4e4c1c2f-7c7c-4d0e-8a55-6b3e2f1a9d10", "req-5a4c1c2f-7c7c-4d0e-8a55-6b3e2f1a9d11"} {
			err := openstackauth.Wrap("do it", gophercloud.ErrUnexpectedResponseCode{Method: "POST", Actual: 500, Body: []byte(strings.ReplaceAll(body, "%s", id))})
			if !strings.Contains(err.Error(), id) {
				t.Errorf("%s: %v is not in full", reason, err)
			}
			texts = append(texts, fleet.StableText(err.Error()))
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: %q and %q", reason, texts[0], texts[1])
		}
	}
}
