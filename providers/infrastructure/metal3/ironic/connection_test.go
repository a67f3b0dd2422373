package ironic_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestConnection: what keeps a request from being answered, and whether it may have been
// carried out.
func TestConnection(t *testing.T) {
	t.Parallel()
	i, _ := own(t, metal3test.Options{})
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/list/") {
			_, _ = w.Write([]byte("{}"))
			return
		}
		if strings.HasPrefix(r.URL.Path, "/down/") {
			http.Error(w, "No server is available.", http.StatusServiceUnavailable)
			return
		}
		http.NotFound(w, r)
	}))
	defer elsewhere.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	list := func(c *ironic.Client) error { _, err := c.List(t.Context()); return err }
	change := func(c *ironic.Client) error { return c.SetMaintenance(t.Context(), "metal~m", "") }
	for name, test := range map[string]struct {
		secret map[string]string
		fault  *metal3test.CallFault
		speak  string
		look   fleet.ErrorKind
		change fleet.ErrorKind
		words  string // of the look
	}{
		"password":    {secret: map[string]string{"password": "other"}, look: fleet.Unauthorized, change: fleet.Unauthorized, words: "Incorrect username or password (correct username and password in Ironic's Secret)"},
		"certificate": {secret: map[string]string{"ca.crt": ""}, look: fleet.Unauthorized, change: fleet.Unauthorized, words: "certificate"},
		"no Ironic":   {secret: map[string]string{"endpoint": elsewhere.URL}, look: fleet.Unauthorized, change: fleet.Unauthorized, words: "404 page not found (correct the endpoint in Ironic's Secret)"},
		"no list":     {secret: map[string]string{"endpoint": elsewhere.URL + "/list"}, look: fleet.Unauthorized, change: fleet.Unknown, words: "what answers sends no list of nodes, and is no Ironic (correct the endpoint in its Secret)"},
		"down":        {secret: map[string]string{"endpoint": elsewhere.URL + "/down"}, look: fleet.Unavailable, change: fleet.Unavailable, words: "No server is available. (what stands before Ironic says so: see whether Ironic runs)"},
		"refused":     {secret: map[string]string{"endpoint": gone.URL}, look: fleet.Unavailable, change: fleet.Unavailable, words: "connection refused"},
		"too old":     {speak: "1.999", look: fleet.Invalid, change: fleet.Invalid, words: "(Ironic has to be of release 21.3, 2023.1, or newer)"},
		"slow":        {fault: &metal3test.CallFault{Delay: time.Hour}, look: fleet.Unavailable, change: fleet.Unanswered, words: "GET https://127.0.0.1:"},
		"cut":         {fault: &metal3test.CallFault{Cut: true}, look: fleet.Unavailable, change: fleet.Unanswered, words: "EOF"},
		"bad gateway": {fault: &metal3test.CallFault{Status: 502}, look: fleet.Unavailable, change: fleet.Unanswered, words: "Bad Gateway"},
		"timed out":   {fault: &metal3test.CallFault{Status: 504}, look: fleet.Unavailable, change: fleet.Unanswered, words: "Gateway Timeout"},
		"too many":    {fault: &metal3test.CallFault{Status: 503, Message: "lack of free conductor workers"}, look: fleet.Unavailable, change: fleet.Unavailable, words: "lack of free conductor workers"},
		"broken":      {fault: &metal3test.CallFault{Status: 500, Message: "oops"}, look: fleet.Unknown, change: fleet.Unknown, words: "oops"},
		"SQLite":      {fault: &metal3test.CallFault{Status: 500, Message: "(sqlite3.OperationalError) database is locked"}, look: fleet.Unavailable, change: fleet.Unavailable, words: "database is locked"},
		"elsewhere":   {fault: &metal3test.CallFault{Status: 302}, look: fleet.Unauthorized, change: fleet.Unauthorized, words: "Found (correct the endpoint in Ironic's Secret)"},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: faults are for all
			s := secret(i)
			for k, v := range test.secret {
				s[k] = []byte(v)
			}
			credential, err := ironic.ReadCredential("Secret metal/ironic", s)
			if err != nil {
				t.Fatal(err)
			}
			o := ironic.Options{Timeout: 20 * time.Second}
			if test.fault != nil {
				defer i.FailCalls(*test.fault).End()
				if test.fault.Delay > 0 {
					o.Timeout = 500 * time.Millisecond
				}
			}
			c, err := ironic.New(credential, o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if test.speak != "" {
				c.Speak(test.speak)
			}
			if err := list(c); fleet.KindOf(err) != test.look || !strings.Contains(err.Error(), test.words) {
				t.Errorf("a look: %s, want %s: %v", fleet.KindOf(err), test.look, err)
			}
			if err := change(c); fleet.KindOf(err) != test.change {
				t.Errorf("a change: %s, want %s: %v", fleet.KindOf(err), test.change, err)
			}
		})
	}
	t.Run("given up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := client(t, i, ironic.Options{}).SetMaintenance(ctx, "metal~m", ""); fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("given up before it was sent: %v", err)
		}
	})
	t.Run("crashed", func(t *testing.T) {
		i.Crash()
		if err := list(client(t, i, ironic.Options{Timeout: time.Second})); fleet.KindOf(err) != fleet.Unavailable {
			t.Errorf("an Ironic that is away: %v", err)
		}
	})
}

// TestCredential: a Secret is read whole, or refused.
func TestCredential(t *testing.T) {
	for name, test := range map[string]struct {
		change map[string]string
		want   string // the endpoint, or the error
	}{
		"plain":       {nil, "https://ironic.test:6385/v1/"},
		"with v1":     {map[string]string{"endpoint": "https://ironic.test/v1/\n"}, "https://ironic.test/v1/"},
		"below":       {map[string]string{"endpoint": "http://ironic.test/baremetal"}, "http://ironic.test/baremetal/v1/"},
		"no user":     {map[string]string{"username": ""}, "cannot read Secret a/b: it has no username (write endpoint, username and password of Ironic, and its CA as ca.crt)"},
		"no scheme":   {map[string]string{"endpoint": "ironic.test:6385"}, "cannot read Secret a/b: endpoint is no URL such as https://ironic.example.com:6385"},
		"account":     {map[string]string{"endpoint": "https://a:b@ironic.test"}, "cannot read Secret a/b: endpoint has more than scheme, host and path (an account belongs into username and password)"},
		"certificate": {map[string]string{"ca.crt": "x"}, "cannot read Secret a/b: ca.crt has no certificate in PEM"},
	} {
		s := map[string][]byte{"endpoint": []byte("https://ironic.test:6385"), "username": []byte("u"), "password": []byte("p")}
		for k, v := range test.change {
			s[k] = []byte(v)
		}
		c, err := ironic.ReadCredential("Secret a/b", s)
		got := c.Endpoint
		if err != nil {
			got = err.Error()
		}
		if got != test.want || err != nil && fleet.KindOf(err) != fleet.Unauthorized {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestNoAccountLeaks: errors have no password, and the account goes to the endpoint alone.
func TestNoAccountLeaks(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	h := i.AddHost("leak")
	s := spec(h)
	s.Interfaces = map[string]string{"boot": "no-such-interface"}
	err := c.Create(t.Context(), s)
	if err == nil || strings.Contains(err.Error(), h.Password()) || strings.Contains(err.Error(), metal3test.Password) {
		t.Errorf("refused: %v", err)
	}

	asked := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Authorization")
		_, _ = w.Write([]byte(`{"nodes": []}`))
	}))
	defer other.Close()
	leads := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer leads.Close()
	elsewhere, err := ironic.New(ironic.Credential{Endpoint: leads.URL + "/v1/", Username: "admin", Password: "pw"}, ironic.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	if _, err := elsewhere.List(t.Context()); fleet.KindOf(err) != fleet.Unauthorized || len(asked) > 0 {
		t.Errorf("led elsewhere: %v; %d requests came there", err, len(asked))
	}
}
