package region_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport/transporttest"
	"fairlead.dev/providers/infrastructure/maas/maastest"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// TestAnswers: the kind, the words and the next step of each answer that MAAS may send. UPDATE=1 writes them.
func TestAnswers(t *testing.T) {
	const golden = "testdata/answers.txt"
	answers := []transporttest.Answer{{Method: "POST"}, {Method: "GET"}, {Method: "POST", Body: "<h1>Bad gateway</h1>"}}
	for _, words := range []string{
		"No machine with system ID 4y3h7n available.",
		`No available machine matches constraints: [('zone', ['a'])] (resolved to "zone=a")`,
		"No Machine matches the given query.",
		"Machine cannot be released in its current state ('Commissioning').",
		`{"zone": ["No such zone(s): x."], "pool": ["No such pool(s): y."]}`,
		"Unable to allocate static IP due to address exhaustion.",
		"Invalid character in key name",
		"This method is reserved for admin users.",
		"No rack controllers can access the BMC of node m1",
	} {
		answers = append(answers, transporttest.Answer{Method: "POST", Body: words})
	}
	got := transporttest.Table(answers, func(method string, status int, body string) error {
		return region.Wrap("do it", region.Refusal(method, status, nil, body))
	})
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

// TestLater: transactions met, and nothing was done.
func TestLater(t *testing.T) {
	err := region.Wrap("do it", region.Refusal("POST", http.StatusConflict, http.Header{"Retry-After": {"5"}}, "conflict"))
	if fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("%v has the kind %s, want Unavailable", err, fleet.KindOf(err))
	}
}

// clientOf returns a client of u.
func clientOf(t *testing.T, r *maastest.Region, key string) *region.Client {
	t.Helper()
	credential, err := region.ReadCredential("Secret", maastest.URL, key, "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := region.New(credential, region.Options{Base: r})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSecretIsNotTold: MAAS answers a wrong secret with the right one.
func TestSecretIsNotTold(t *testing.T) {
	r := maastest.NewRegion()
	u := r.AddUser("fleet", false)
	u.Secret = "of-fleet"
	_, err := clientOf(t, r, u.Consumer+":"+u.Token+":wrong").Me(t.Context())
	err = region.WrapLook("ask who this is", err)
	if fleet.KindOf(err) != fleet.Unauthorized || strings.Contains(err.Error(), u.Secret) || !strings.Contains(err.Error(), "MAAS_API_KEY") {
		t.Errorf("%v (kind %s), want Unauthorized, MAAS_API_KEY, and no secret", err, fleet.KindOf(err))
	}
	if _, err := clientOf(t, r, u.Key()).Me(t.Context()); err != nil {
		t.Errorf("with the right secret: %v", err)
	}
}

// TestRepeatedRequestIsSigned: a request that is repeated has another nonce, which MAAS accepts once.
func TestRepeatedRequestIsSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := maastest.NewRegion()
		u := r.AddUser("fleet", false)
		// The first request is carried out, so that MAAS knows its nonce, and answered with an error.
		end := r.Inject(maastest.Fault{Times: 1, Status: http.StatusServiceUnavailable, After: true})
		if _, err := clientOf(t, r, u.Key()).Me(t.Context()); err != nil || end() != 1 {
			t.Errorf("repeated: %v", err)
		}
	})
}

// TestPartOfAList: what breaks off is no list.
func TestPartOfAList(t *testing.T) {
	for body, kind := range map[string]fleet.ErrorKind{
		`[{"system_id": "a"}, {"system_id": `: fleet.Unavailable,
		`[{"system_id": "a"}`:                 fleet.Unavailable,
		`{"system_id": "a"}`:                  fleet.Unauthorized,
		`<html>`:                              fleet.Unauthorized,
		`["a"]`:                               fleet.Unauthorized,
	} {
		c, err := region.New(region.Credential{Endpoint: "http://maas/MAAS/", Key: "a:b:c"}, region.Options{Base: says(body)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Machines(t.Context(), region.Filter{})
		if err = region.WrapLook("list", err); fleet.KindOf(err) != kind {
			t.Errorf("%s: %v (kind %s), want the kind %s", body, err, fleet.KindOf(err), kind)
		}
	}
}

// says answers every request with a body.
type says string

func (s says) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: &body{strings.NewReader(string(s))}, Header: http.Header{}}, nil
}

type body struct{ *strings.Reader }

func (*body) Close() error { return nil }

// TestCredential: what a Secret has is normalised, or refused with what to do.
func TestCredential(t *testing.T) {
	for _, tc := range []struct{ endpoint, key, ca, want, wrong string }{
		{"https://MAAS.example.com:5443/MAAS", "a:b:c", "", "https://maas.example.com:5443/MAAS/", ""},
		{" https://maas/MAAS/api/2.0/ \n", "a:b:c\n", "", "https://maas/MAAS/", ""},
		{"http://maas:5240", "a:b:c", "", "http://maas:5240/MAAS/", ""},
		{"maas", "a:b:c", "", "", "MAAS_ENDPOINT is no URL"},
		{"https://u:p@maas/MAAS", "a:b:c", "", "", "MAAS_ENDPOINT has more than"},
		{"https://maas/MAAS", "a:b", "", "", "MAAS_API_KEY does not have three parts"},
		{"https://maas/MAAS", "a:b:c", "no certificate", "", "ca.crt"},
	} {
		c, err := region.ReadCredential("Secret prod/maas", tc.endpoint, tc.key, tc.ca)
		switch {
		case tc.wrong == "" && (err != nil || c.Endpoint != tc.want || c.Key != "a:b:c"):
			t.Errorf("%q: %+v, %v, want %q", tc.endpoint, c, err, tc.want)
		case tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong) || fleet.KindOf(err) != fleet.Unauthorized):
			t.Errorf("%q: %v, want %q", tc.endpoint, err, tc.wrong)
		}
	}
}

// TestRace: of agents that allocate one host by its system id, one gets it.
func TestRace(t *testing.T) {
	r := maastest.NewRegion()
	u := r.AddUser("fleet", false)
	m := r.Add(maastest.Machine{})
	for range 3 {
		r.Add(maastest.Machine{})
	}
	won := make(chan error, 4)
	for range 4 {
		c := clientOf(t, r, u.Key())
		go func() {
			won <- c.Allocate(context.WithoutCancel(t.Context()), m.SystemID, "x", "tags", region.Constraints{})
		}()
	}
	winners := 0
	for range 4 {
		switch err := <-won; {
		case err == nil:
			winners++
		case !region.IsTaken(err):
			t.Errorf("the others: %v, want that it is taken", err)
		}
	}
	if winners != 1 {
		t.Errorf("%d agents have the host, want one", winners)
	}
}

// TestReal asks a real region, which the environment names, and changes nothing there.
func TestReal(t *testing.T) {
	endpoint, key := os.Getenv("MAAS_ENDPOINT"), os.Getenv("MAAS_API_KEY")
	if endpoint == "" || key == "" {
		t.Skip("MAAS_ENDPOINT and MAAS_API_KEY name no region")
	}
	credential, err := region.ReadCredential("the environment", endpoint, key, os.Getenv("MAAS_CA"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := region.New(credential, region.Options{Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	me, err := c.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	all, err := c.Machines(t.Context(), region.Filter{Owner: me.Name})
	t.Logf("user %+v has %d machines, listed in %s", me, len(all), time.Since(began))
	if err != nil {
		t.Error(err)
	}
	for _, m := range all {
		if m.SystemID == "" || m.StateName == "" || m.Zone.Name == "" || m.Owner != me.Name {
			t.Errorf("a machine is read as %+v", m)
		}
	}
	for _, list := range []string{region.Zones, region.Pools, region.Tags, region.Domains, region.Images} {
		names, err := c.Names(t.Context(), list)
		if err != nil {
			t.Errorf("%s: %v", list, err)
		}
		t.Logf("%s: %q", list, names)
	}
	if _, err := c.DNS(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Newest(t.Context(), 0); err != nil {
		t.Error(err)
	}
}
