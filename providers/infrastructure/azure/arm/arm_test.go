package arm_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport/logins"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// A server answers requests with what answer returns; logins get a token.
type server struct {
	answer func(q *http.Request) (status int, header, body string)
	asked  []string
	logins int
}

func (s *server) RoundTrip(q *http.Request) (*http.Response, error) {
	status, header, body := http.StatusOK, "", `{"access_token": "t", "expires_in": 3600}`
	if q.URL.Host == "login" {
		s.logins++
	} else {
		s.asked = append(s.asked, q.Method+" "+q.URL.Path)
		status, header, body = s.answer(q)
	}
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	res := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: q}
	for _, h := range strings.Split(header, ";") {
		if name, value, ok := strings.Cut(h, "="); ok {
			res.Header.Set(name, value)
		}
	}
	return res, nil
}

func client(s *server) *arm.Client {
	return arm.New(arm.Credential{Manager: "manager", Login: "login", Tenant: "t", ID: "c", Password: "p", Subscription: "s"}, arm.Options{Base: s}, logins.NewGate(time.Minute, time.Minute))
}

const vm = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/m"

// TestKinds: what answers of Azure mean.
func TestKinds(t *testing.T) {
	of := func(code, message string) string {
		return fmt.Sprintf(`{"error": {"code": %q, "message": %q}}`, code, message)
	}
	for reason, tc := range map[string]struct {
		method string
		status int
		body   string
		want   fleet.ErrorKind
	}{
		"no room":                   {"PUT", 409, of("SkuNotAvailable", "no"), fleet.Exhausted},
		"no room in a zone":         {"PUT", 200, "", ""},
		"a quota":                   {"PUT", 409, of("OperationNotAllowed", "exceeding approved Total Regional Cores quota"), fleet.Exhausted},
		"no quota":                  {"PUT", 409, of("OperationNotAllowed", "the disk is attached"), fleet.Conflict},
		"a lock of Azure":           {"PUT", 429, of("RetryableError", "again"), fleet.Unavailable},
		"another operation":         {"PUT", 409, of("AnotherOperationInProgress", "again"), fleet.Unavailable},
		"words of another one":      {"PUT", 409, of("Conflict", "An operation is in progress."), fleet.Unavailable},
		"an interface kept back":    {"DELETE", 400, of("NicReservedForAnotherVm", "for 180 seconds"), fleet.Unavailable},
		"a claim that was lost":     {"PUT", 412, of("PreconditionFailed", "no"), fleet.Conflict},
		"a property that stays":     {"PUT", 409, of("PropertyChangeNotAllowed", "no"), fleet.Conflict},
		"in use":                    {"DELETE", 400, of("InUseSubnetCannotBeDeleted", "Subnet a is in use by b and cannot be deleted."), fleet.Conflict},
		"a lock of people":          {"DELETE", 409, of("ScopeLocked", "no"), fleet.Conflict},
		"no right":                  {"GET", 403, of("AuthorizationFailed", "no"), fleet.Unauthorized},
		"no subscription":           {"GET", 404, of("SubscriptionNotFound", "no"), fleet.Unauthorized},
		"no resource":               {"GET", 404, of("ResourceNotFound", "no"), fleet.NotFound},
		"a policy":                  {"PUT", 403, of("RequestDisallowedByPolicy", "no"), fleet.Invalid},
		"a mistake":                 {"PUT", 400, of("InvalidParameter", "no"), fleet.Invalid},
		"a change that may be done": {"PUT", 500, of("InternalServerError", "no"), fleet.Unanswered},
		"a look that failed":        {"GET", 500, of("InternalServerError", "no"), fleet.Unavailable},
		"a change without answer":   {"PUT", 0, "", fleet.Unanswered},
		"a look without answer":     {"GET", 0, "", fleet.Unavailable},
		"a redirect":                {"GET", 302, "", fleet.Unavailable},
	} {
		s := &server{answer: func(*http.Request) (int, string, string) { return tc.status, "Retry-After=100", tc.body }}
		c := client(s)
		var err error
		switch tc.method {
		case "PUT":
			err = c.Put(t.Context(), vm, map[string]any{}, arm.Absent())
		case "DELETE":
			err = c.Delete(t.Context(), vm)
		default:
			err = c.Get(t.Context(), vm, new(map[string]any))
		}
		if got := arm.Kind(err); got != tc.want && (err != nil || tc.want != "") {
			t.Errorf("%s: %v is %s, want %s", reason, err, got, tc.want)
		}
		if len(s.asked) != 1 {
			t.Errorf("%s: it was asked %d times", reason, len(s.asked))
		}
	}
}

// TestPages: all pages are read, and none at another host, which would get the token.
func TestPages(t *testing.T) {
	s := &server{}
	s.answer = func(q *http.Request) (int, string, string) {
		if q.URL.Query().Get("p") == "" {
			return 200, "", `{"value": [{"name": "a"}], "nextLink": "https://manager:443/next?p=2"}`
		}
		return 200, "", `{"value": [{"name": "b"}]}`
	}
	got, err := arm.List[arm.Resource[arm.State]](t.Context(), client(s), "/subscriptions/s/resources")
	if err != nil || len(got) != 2 {
		t.Errorf("%v, %v, want two", got, err)
	}
	for _, body := range []string{
		`{"value": [], "nextLink": "https://elsewhere/next"}`, `{"value": [], "nextLink": "https://manager:8443/next"}`, `{"value": [], "nextLink": "http://manager/next"}`,
		`{"value": null}`, `{}`,
	} {
		s.answer = func(*http.Request) (int, string, string) { return 200, "", body }
		s.asked = nil
		if _, err := arm.List[arm.Resource[arm.State]](t.Context(), client(s), "/subscriptions/s/resources"); err == nil || len(s.asked) != 1 {
			t.Errorf("%s: %v after %q, want an error and one request", body, err, s.asked)
		}
	}
}

// TestToken: a token is used until it is near its end, or refused.
func TestToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := 200
		s := &server{answer: func(*http.Request) (int, string, string) { return status, "", "{}" }}
		c := client(s)
		get := func() { _ = c.Get(t.Context(), vm, new(map[string]any)) }
		get()
		get()
		if s.logins != 1 {
			t.Errorf("%d logins for two requests", s.logins)
		}
		time.Sleep(56 * time.Minute)
		get()
		if s.logins != 2 {
			t.Errorf("%d logins after 56 minutes, want 2", s.logins)
		}
		status = 401
		get()
		status = 200
		get()
		if s.logins != 3 {
			t.Errorf("%d logins after a refusal, want 3", s.logins)
		}
	})
}

// TestBudget: requests slow down once few are left, and none is sent while Azure asks to wait for long.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header, status := "X-Ms-Ratelimit-Remaining-Subscription-Writes=5", 200
		s := &server{answer: func(*http.Request) (int, string, string) { return status, header, "{}" }}
		c := client(s)
		put := func() error { return c.Put(t.Context(), vm, map[string]any{}, arm.Condition{}) }
		began := time.Now()
		for range 11 {
			if err := put(); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("eleven writes took %s, want 10 a second after the first", took)
		}
		if err := c.Get(t.Context(), vm, new(map[string]any)); err != nil || time.Since(began) != time.Second {
			t.Errorf("a read waits for writes: %v", err)
		}
		header = "X-Ms-Ratelimit-Remaining-Subscription-Writes=5"
		for i := range 9 {
			header += fmt.Sprintf(";X-Ms-Ratelimit-Remaining-Subscription-Other-%d=5000", i)
		}
		for range 3 {
			if err := put(); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 1300*time.Millisecond {
			t.Errorf("fourteen writes took %s with one of several budgets used up", took)
		}
		status, header = 429, "Retry-After=120"
		if got := arm.Kind(put()); got != fleet.Unavailable {
			t.Errorf("a throttled write is %s", got)
		}
		n := len(s.asked)
		time.Sleep(100 * time.Second)
		if got := arm.Kind(put()); got != fleet.Unavailable || len(s.asked) != n {
			t.Errorf("a write in the pause is %s, after %d requests more", got, len(s.asked)-n)
		}
		time.Sleep(21 * time.Second)
		status, header = 200, ""
		if err := put(); err != nil {
			t.Errorf("a write after the pause: %v", err)
		}
	})
}

// TestAddress: ids, versions and filters are in the address, and a claim is a header.
func TestAddress(t *testing.T) {
	var last *url.URL
	var none string
	s := &server{answer: func(q *http.Request) (int, string, string) {
		last, none = q.URL, q.Header.Get("If-None-Match")
		return 200, "", `{"value": []}`
	}}
	c := client(s)
	if _, err := arm.List[arm.SKU](t.Context(), c, "/subscriptions/s/providers/Microsoft.Compute/skus", "$filter", "location eq 'x'"); err != nil {
		t.Fatal(err)
	}
	if q := last.Query(); q.Get("$filter") != "location eq 'x'" || q.Get("api-version") != "2021-07-01" || last.Host != "manager" {
		t.Errorf("the address is %s", last)
	}
	if err := c.Put(t.Context(), vm, map[string]any{}, arm.Absent()); err != nil || none != "*" || last.Query().Get("api-version") != "2025-04-01" {
		t.Errorf("%v, If-None-Match %q, %s", err, none, last)
	}
}

// TestMissing: an answer of 404 says that a thing is not there only if it says that of a thing.
func TestMissing(t *testing.T) {
	for code, want := range map[string]bool{
		"ResourceNotFound": true, "ResourceGroupNotFound": true, "ParentResourceNotFound": true, "NotFound": true,
		"SubscriptionNotFound": false, "InvalidResourceType": false, "InvalidResourceNamespace": false, "": false,
	} {
		s := &server{answer: func(*http.Request) (int, string, string) { return 404, "", `{"error": {"code": "` + code + `"}}` }}
		if got := arm.IsMissing(client(s).Get(t.Context(), vm, new(map[string]any))); got != want {
			t.Errorf("%q: missing %t, want %t", code, got, want)
		}
	}
}
