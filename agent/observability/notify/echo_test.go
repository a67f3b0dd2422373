package notify_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/observability/notify"
	"fairlead.dev/fleet"
)

// What a target repeats is in no error, also where its answer is cut, and if the secret is short.
func TestCutAndShortSecrets(t *testing.T) {
	for name, c := range map[string]struct{ token, before string }{
		"where it is cut": {"tok-0123456789abcdef", strings.Repeat("x", 500-len("Bearer tok-0123456789abc"))},
		"short":           {"hunter2", "no: "},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, c.before+r.Header.Get("Authorization")+" may not do that", http.StatusForbidden)
		}))
		defer s.Close()
		_, err := send(t, fleet.NotificationTarget{Type: fleet.TargetWebhook}, notify.Credentials{Address: s.URL + "/x", Token: secret(c.token)})
		if err == nil || strings.Contains(err.Error(), c.token[:7]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each part of an address or an account that is a secret is hidden also where it stands alone, and as it is sent.
func TestPartsOfSecrets(t *testing.T) {
	account := base64.StdEncoding.EncodeToString([]byte("robot:hunter2-hunter2"))
	for name, c := range map[string]struct {
		of   notify.Credentials
		part string
	}{
		"part of the path":    {notify.Credentials{Address: "https://chat.example.com/hooks/B0000001/s3cret-path"}, "s3cret-path"},
		"value of the query":  {notify.Credentials{Address: "https://chat.example.com/hook?key=s3cret%20query"}, "s3cret query"},
		"password in address": {notify.Credentials{Address: "https://robot:hunter2-hunter2@chat.example.com/"}, "hunter2-hunter2"},
		"account as sent":     {notify.Credentials{Username: "robot", Password: secret("hunter2-hunter2")}, account},
		"encoded in a query":  {notify.Credentials{Address: "https://chat.example.com/hook?key=s3cret%20query"}, "s3cret+query"},
		"encoded in a path":   {notify.Credentials{Address: "https://chat.example.com/hook/s3cret%20path"}, "s3cret%20path"},
		"in JSON":             {notify.Credentials{Password: secret(`a"b\c`)}, `a\"b\\c`},
		"in HTML":             {notify.Credentials{Token: secret("<tok&en>")}, "&lt;tok&amp;en&gt;"},
		"signing key":         {notify.Credentials{SigningKey: secret("sign-0123")}, "sign-0123"},
	} {
		if got, want := c.of.Hide("no "+c.part+" here"), "no [hidden] here"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// What a target says of an account in a probe has no secrets.
func TestProbeHidesSecrets(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"user_id":"` + r.Header.Get("Authorization") + `"}`))
	}))
	defer s.Close()
	to, err := notify.Open(fleet.NotificationTarget{Type: fleet.TargetMatrix, Channel: "!a:b"}, notify.Credentials{Address: s.URL, Token: secret("tok-12345")}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := to.(notify.Prober).Probe(t.Context()); err != nil || strings.Contains(found, "tok-12345") {
		t.Errorf("Probe = %q, %v", found, err)
	}
}
