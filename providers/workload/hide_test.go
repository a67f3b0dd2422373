package workload_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/workload"
)

// TestErrorsHideSecrets: whatever is wrong with a secret, nothing that is said
// about it shows it.
func TestErrorsHideSecrets(t *testing.T) {
	const private = "very-private"
	encoded := base64.StdEncoding.EncodeToString([]byte(private))
	config := func(server, user string) string {
		return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: %s}]}`, server, user)
	}
	var log bytes.Buffer
	for reason, kubeconfig := range map[string]string{
		"no YAML":              "users: [" + private + "\n\t:",
		"a word":               private,
		"another type":         config("https://127.0.0.1:1", private),
		"a token":              config("https://127.0.0.1:1", "{token: "+private+"}"),
		"a password":           config("https://127.0.0.1:1", "{username: u, password: "+private+"}"),
		"a password in a URL":  config("https://u:"+private+"@127.0.0.1:1", "{}"),
		"a key that is none":   config("https://127.0.0.1:1", "{client-certificate-data: "+encoded+", client-key-data: "+encoded+"}"),
		"a key that no base64": config("https://127.0.0.1:1", "{client-key-data: '%"+private+"'}"),
	} {
		c := workload.New(workload.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		a := providers.Access{
			Cluster: key, Kubeconfig: fleet.NewSecret([]byte(kubeconfig)),
			Secrets: map[fleet.SecretName]fleet.SecretData{"etcd": {"tls.crt": fleet.NewSecret([]byte(private)), "tls.key": fleet.NewSecret([]byte(private))}},
		}
		token := inside.Token{ID: "abcdef", Secret: fleet.NewSecret([]byte(private))}
		_, observe := c.Observe(t.Context(), a)
		_, etcd := inside.New(c).Members(t.Context(), a)
		ensure := inside.New(c).EnsureToken(t.Context(), a, token, time.Hour)
		c.Watch(t.Context(), a, func() {})
		c.Close()
		for _, err := range []error{observe, etcd, ensure} {
			if err == nil {
				t.Errorf("%s: got no error", reason)
			}
		}
		said := fmt.Sprintf("%v %v %v %v %+v %#v %v", observe, etcd, ensure, a, a, a, token) + log.String()
		for _, secret := range []string{private, encoded} {
			if strings.Contains(said, secret) {
				t.Errorf("%s: %s is shown: %s", reason, secret, said)
			}
		}
		log.Reset()
	}
}
