package workload_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/workload"
)

// TestClocks: how far the clock of an API server differs is seen by its answers, and a
// token is good for as long as was asked for by that clock, which is the one that ends
// it: on a connection that nothing answered on before as well.
func TestClocks(t *testing.T) {
	for name, c := range map[string]struct {
		agent time.Duration // its clock, ahead of that of the API server
		ahead time.Duration // of the API server, as it is seen
	}{
		"agree":         {},
		"nearly agree":  {agent: 3 * time.Second},
		"agent behind":  {agent: -20 * time.Minute, ahead: 20 * time.Minute},
		"agent ahead":   {agent: 20 * time.Minute, ahead: -20 * time.Minute},
		"half a minute": {agent: -30 * time.Second, ahead: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			client := workload.New(workload.Options{Now: func() time.Time { return time.Now().Add(c.agent) }})
			defer client.Close()
			token := inside.Token{ID: "abcdef", Secret: fleet.NewSecret([]byte("0123456789abcdef"))}
			if err := inside.New(client).EnsureToken(t.Context(), server.access, token, 15*time.Minute); err != nil {
				t.Fatal(err)
			}
			w, err := client.Observe(t.Context(), server.access)
			if err != nil {
				t.Fatal(err)
			}
			if d := (w.Ahead - c.ahead).Abs(); d > 2*time.Second {
				t.Errorf("the API server is seen %s ahead, want %s", w.Ahead, c.ahead)
			}
			if left := time.Until(tokenExpires(t, server)); left < 14*time.Minute || left > 16*time.Minute {
				t.Errorf("the token is good for %s, want 15 minutes", left)
			}
		})
	}
}
