package sops

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

const plainSecret = `apiVersion: v1
data:
  clouds.yaml: aHVudGVyMg==
  empty: ""
kind: Secret
metadata:
  labels:
    count: "3"
  name: login
  namespace: prod
type: Opaque
`

func TestEncryptSecret(t *testing.T) {
	one, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	two, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	out, err := EncryptSecret([]byte(plainSecret), []string{one.Recipient().String(), two.Recipient().String()}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out, []byte("aHVudGVyMg")) || !bytes.Contains(out, []byte("name: login")) {
		t.Errorf("got %s, want the values hidden and the rest plain", out)
	}
	for name, id := range map[string]*age.X25519Identity{"the first": one, "the second": two} {
		d, err := New(Options{Identities: []fleet.Secret{fleet.NewSecret([]byte(id.String()))}})
		if err != nil {
			t.Fatal(err)
		}
		got, values, err := d.Decrypt(t.Context(), "secret.yaml", out)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var have, want map[string]any
		if err := yaml.Unmarshal(got, &have); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(plainSecret), &want); err != nil {
			t.Fatal(err)
		}
		if len(values) != 1 || values[0] != "aHVudGVyMg==" {
			t.Errorf("%s: %d values were encrypted, want the one that is there", name, len(values))
		}
		if h, w := string(mustYAML(t, have)), string(mustYAML(t, want)); h != w {
			t.Errorf("%s: got %s, want %s", name, h, w)
		}
		changed := bytes.Replace(out, []byte("name: login"), []byte("name: other"), 1)
		if _, _, err := d.Decrypt(t.Context(), "secret.yaml", changed); err == nil || !strings.Contains(err.Error(), "changed after") {
			t.Errorf("%s: a plain value that was changed: %v, want it refused", name, err)
		}
	}
}

func mustYAML(t *testing.T, v any) []byte {
	t.Helper()
	b, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEncryptSecretRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		secret     string
		recipients []string
		want       string
	}{
		"no recipient":    {plainSecret, nil, "no age recipient"},
		"a bad recipient": {plainSecret, []string{"age1x"}, `"age1x" is no age recipient`},
		"no Secret":       {"apiVersion: v1\nkind: ConfigMap\n", []string{"age1x"}, "it is no Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := EncryptSecret([]byte(tc.secret), tc.recipients, time.Now()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
