package notify_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
