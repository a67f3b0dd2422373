package vcenter

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25/mo"

	"fairlead.dev/fleet"
)

func TestOneLoginForAll(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	w.look(c)
	w.look(w.client())
	if got := w.called(); got != "RetrieveServiceContent Login RetrievePropertiesEx RetrievePropertiesEx" {
		t.Errorf("two looks called %s", got)
	}
	c.Close()
	if got := w.called(); got != "Logout" {
		t.Errorf("closing called %q", got)
	}
	c.Close()
	if got := w.called(); got != "" {
		t.Errorf("closing again called %q", got)
	}
	other := w.cred
	other.Password = fleet.NewSecret([]byte("other"))
	if o, err := w.pool.Client(other); err != nil || o == c {
		t.Error("another password got the session of the right one", err)
	}
}

// TestSessionEnds: a session that vCenter ended is opened again, and nobody notices.
func TestSessionEnds(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	w.tag("DC0_H0_VM0", tagsOf("a"), "")
	w.look(c)
	w.endSessions()
	w.called()
	if l := w.look(c); len(l.Tagged()) != 1 {
		t.Errorf("after its session ended a look shows %d tagged VMs, want 1", len(l.Tagged()))
	}
	// vcsim answers a look without a session: not with a fault, but with what is missing.
	if got := w.called(); got != "RetrievePropertiesEx Login RetrievePropertiesEx RetrievePropertiesEx" {
		t.Errorf("a look after the session ended called %s", got)
	}
	w.endSessions()
	if _, err := c.PowerOff(t.Context(), w.vm("DC0_H0_VM0").Self, ""); err != nil {
		t.Errorf("a change after the session ended: %v", err)
	}
	if got := w.called(); got != "PowerOffVM_Task Login PowerOffVM_Task" {
		t.Errorf("a change after the session ended called %s", got)
	}
}

// TestWrongPassword: it is told, and not tried again and again: accounts get locked.
func TestWrongPassword(t *testing.T) {
	w := newWorld(t, Options{})
	w.cred.Password, w.cred.From = fleet.NewSecret([]byte("wrong")), "Secret prod/vsphere"
	c := w.client()
	want := "Unauthorized: cannot list the virtual machines of vCenter " + w.cred.Server + ": cannot log in to vCenter " + w.cred.Server +
		" as fairlead@vsphere.local with Secret prod/vsphere: InvalidLogin: Login failure (correct the password; so that the account is not locked, this one is tried again seldom)"
	for range 3 {
		if got := w.refusal(c); got != want {
			t.Errorf("a wrong password: %s\nwant %s", got, want)
		}
	}
	if got := w.called(); got != "RetrieveServiceContent Login" {
		t.Errorf("a wrong password was tried by %s", got)
	}
	again := w.cred
	again.Server = strings.ToUpper(again.Server)
	w.cred.Password = fleet.NewSecret([]byte("right"))
	w.look(w.client())
	if got := w.called(); got != "RetrieveServiceContent Login RetrievePropertiesEx" {
		t.Errorf("the right password after the wrong one called %s", got)
	}
}

func TestCertificates(t *testing.T) {
	w := newWorld(t, Options{})
	raw := w.model.Map().SessionManager().TLS().Certificates[0].Certificate[0]
	short, long := fmt.Sprintf("%X", sha1.Sum(raw)), fmt.Sprintf("%X", sha256.Sum256(raw))
	for name, c := range map[string]struct {
		thumbprint string
		insecure   bool
		want       string
	}{
		"SHA-1 with colons":     {thumbprint: colons(short), want: "none"},
		"SHA-1, small":          {thumbprint: strings.ToLower(short), want: "none"},
		"SHA-256":               {thumbprint: colons(long), want: "none"},
		"insecure":              {insecure: true, want: "none"},
		"nothing proves it":     {want: "; its certificate has the thumbprint " + colons(long) + " (where that is right, set the thumbprint)"},
		"another, and insecure": {thumbprint: strings.Repeat("AB", 20), insecure: true, want: "its certificate has not the thumbprint " + strings.Repeat("AB", 20) + ", but " + colons(long)},
		"no thumbprint":         {thumbprint: "AB:CD", want: `Invalid: cannot read the credential for vCenter: thumbprint "AB:CD" is not SHA-1 or SHA-256 in hexadecimal`},
	} {
		cred := w.cred
		cred.Thumbprint, cred.Insecure = c.thumbprint, c.insecure
		client, err := w.pool.Client(cred)
		if err == nil {
			_, err = client.Look(t.Context(), prod)
		}
		got := toldOf(err)
		if !strings.Contains(got, c.want) || err != nil && c.thumbprint != "AB:CD" && fleet.KindOf(err) != fleet.Unauthorized {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

func TestCredentials(t *testing.T) {
	for name, c := range map[string]struct{ server, user, password, want string }{
		"name":        {"vc.example.com", "u", "p", "https://vc.example.com/sdk"},
		"port":        {"vc.example.com:8443", "u", "p", "https://vc.example.com:8443/sdk"},
		"IPv6":        {"fd00::1", "u", "p", "https://[fd00::1]/sdk"},
		"URL":         {"https://vc.example.com/sdk", "u", "p", "is not a host name or an address"},
		"none":        {"", "u", "p", "is not a host name or an address"},
		"no user":     {"vc", "", "p", "it has no user name"},
		"no password": {"vc", "u", "", "it has no password for user u"},
	} {
		u, err := Credential{Server: c.server, User: c.user, Password: fleet.NewSecret([]byte(c.password)), From: "s"}.parse()
		got := toldOf(err)
		if err == nil {
			got = u.String()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestAway: what never left is Unavailable, what may have been done is Unanswered.
func TestAway(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	w.look(c)
	ref := w.vm("DC0_H0_VM0").Self
	lost := func(r *http.Request, base http.RoundTripper) (*http.Response, error) {
		if resp, err := base.RoundTrip(r); err == nil {
			_ = resp.Body.Close()
		}
		return nil, errors.New("connection reset by peer")
	}
	for name, x := range map[string]struct {
		wrap   func(*http.Request, http.RoundTripper) (*http.Response, error)
		change fleet.ErrorKind
	}{
		"refused":     {func(*http.Request, http.RoundTripper) (*http.Response, error) { return nil, errors.New("refused") }, fleet.Unavailable},
		"answer lost": {lost, fleet.Unanswered},
		"proxy 503":   {status(503), fleet.Unavailable},
		"proxy 502":   {status(502), fleet.Unanswered},
		"gave up": {func(r *http.Request, base http.RoundTripper) (*http.Response, error) {
			_, _ = lost(r, base)
			return nil, context.DeadlineExceeded
		}, fleet.Unanswered},
	} {
		w.between(x.wrap)
		_, err := c.PowerOff(t.Context(), ref, "")
		if got := fleet.KindOf(err); got != x.change {
			t.Errorf("%s: a change is %v, want %s", name, err, x.change)
		}
		if got := w.refusal(c); !strings.HasPrefix(got, "Unavailable: ") {
			t.Errorf("%s: a look is %s", name, got)
		}
		w.between(nil)
	}
}

func status(code int) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
}

// endSessions ends those of all clients, as an administrator or a restart of vCenter does.
func (w *world) endSessions() {
	w.t.Helper()
	var m mo.SessionManager
	vim := w.admin()
	if err := property.DefaultCollector(vim).RetrieveOne(w.t.Context(), *vim.ServiceContent.SessionManager, []string{"sessionList"}, &m); err != nil {
		w.t.Fatal(err)
	}
	var keys []string
	for _, s := range m.SessionList {
		keys = append(keys, s.Key)
	}
	if len(keys) == 0 {
		w.t.Fatal("vcsim has no session")
	}
	if err := session.NewManager(vim).TerminateSession(w.t.Context(), keys); err != nil {
		w.t.Fatal(err)
	}
}
