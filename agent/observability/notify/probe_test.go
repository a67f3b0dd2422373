package notify_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/observability/notify"
	"fairlead.dev/fleet"
)

// A target is asked whether it would take a message, and gets none.
func TestProbe(t *testing.T) {
	var asked []string
	answers := map[string]string{
		"/api/auth.test":                       `{"ok":true,"user":"fairlead"}`,
		"/_matrix/client/v3/account/whoami":    `{"user_id":"@fairlead:example.com"}`,
		"/bad/api/auth.test":                   `{"ok":false,"error":"invalid_auth"}`,
		"/x/_matrix/client/v3/account/whoami":  `{}`,
		"/no/_matrix/client/v3/account/whoami": "",
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		text, ok := answers[r.URL.Path]
		if !ok || text == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(text))
	}))
	defer srv.Close()
	token := fleet.NewSecret([]byte("s3cret"))
	const first = "it is reached; whether it takes messages shows with the first"
	for name, c := range map[string]struct {
		of    fleet.NotificationTarget
		by    notify.Credentials
		asked string
		want  string // or the kind of the error
	}{
		"a bot":                {fleet.NotificationTarget{Type: fleet.TargetSlack, Channel: "ops"}, notify.Credentials{Address: srv.URL + "/api/chat.postMessage", Token: token}, "POST /api/auth.test Bearer s3cret", "it takes the token of fairlead"},
		"a bot without rights": {fleet.NotificationTarget{Type: fleet.TargetSlack, Channel: "ops"}, notify.Credentials{Address: srv.URL + "/bad/api/chat.postMessage", Token: token}, "POST /bad/api/auth.test Bearer s3cret", "Unauthorized"},
		"an incoming webhook":  {fleet.NotificationTarget{Type: fleet.TargetSlack}, notify.Credentials{Address: srv.URL + "/services/secret"}, "HEAD / ", first},
		"teams":                {fleet.NotificationTarget{Type: fleet.TargetMSTeams}, notify.Credentials{Address: srv.URL + "/secret"}, "HEAD / ", first},
		"a webhook":            {fleet.NotificationTarget{Type: fleet.TargetWebhook}, notify.Credentials{Address: srv.URL + "/hook", Token: token}, "HEAD / ", first},
		"matrix":               {fleet.NotificationTarget{Type: fleet.TargetMatrix, Channel: "!a:b"}, notify.Credentials{Address: srv.URL, Token: token}, "GET /_matrix/client/v3/account/whoami Bearer s3cret", "it takes the token of @fairlead:example.com"},
		"no homeserver":        {fleet.NotificationTarget{Type: fleet.TargetMatrix, Channel: "!a:b"}, notify.Credentials{Address: srv.URL + "/x", Token: token}, "GET /x/_matrix/client/v3/account/whoami Bearer s3cret", "Unavailable"},
		"another's token":      {fleet.NotificationTarget{Type: fleet.TargetMatrix, Channel: "!a:b"}, notify.Credentials{Address: srv.URL + "/no", Token: token}, "GET /no/_matrix/client/v3/account/whoami Bearer s3cret", "Unauthorized"},
		"nobody there":         {fleet.NotificationTarget{Type: fleet.TargetWebhook}, notify.Credentials{Address: "http://127.0.0.1:1/secret"}, "", "Unavailable"},
		"no mail server":       {fleet.NotificationTarget{Type: fleet.TargetEmail}, notify.Credentials{Address: "smtp://127.0.0.1:1", From: "a@example.com"}, "", "Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			asked = nil
			s, err := notify.Open(c.of, c.by, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.(notify.Prober).Probe(t.Context())
			if err != nil {
				got = string(fleet.KindOf(err))
			}
			if got != c.want || strings.Join(asked, ", ") != c.asked || err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%q %v, asked %q; want %q, %q", got, err, asked, c.want, c.asked)
			}
		})
	}
}
