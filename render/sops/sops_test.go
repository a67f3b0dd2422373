package sops

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// decrypter returns one with the identities in files of testdata.
func decrypter(t testing.TB, o Options, files ...string) *Decrypter {
	t.Helper()
	for _, f := range files {
		o.Identities = append(o.Identities, fleet.NewSecret(read(t, f)))
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const ours, others = "identity.txt", "other.txt"

// TestRealFiles reads what sops wrote. What was encrypted is in
// testdata/make.sh.
func TestRealFiles(t *testing.T) {
	type m = map[string]any
	one := m{"apiVersion": "v1", "kind": "Secret", "metadata": m{"name": "one"}, "stringData": m{"a": "one"}}
	for name, want := range map[string][]any{
		"secret.yaml": {m{
			"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
			"metadata": m{"name": "login", "namespace": "prod", "labels": m{"count": "3"}},
			"data":     m{"password": "aHVudGVyMg=="},
			"stringData": m{
				"clouds.yaml": "clouds:\n  openstack: {auth: {password: \"correct horse\"}}\n",
				"empty":       "", "odd": "  yes\tno: 'x' \"y\" ü\r\n\n",
			},
		}},
		"all.yaml": {
			m{
				"apiVersion": "v1", "kind": "Secret", "metadata": m{"name": "one"}, "stringData": m{"a": "one"},
				"list":             []any{1., 2.5, true, false, nil, "text", m{"deep": []any{"x", ""}}, "2020-01-02T03:04:05Z"},
				"name_unencrypted": m{"plain": 7., "other": []any{1., true, "2020-01-02T00:00:00Z", 1000.}},
			},
			m{"apiVersion": "v1", "kind": "Secret", "metadata": m{"name": "two"}, "stringData": m{"a": "two"}},
		},
		"suffix.yaml":     {m{"user": "admin", "pass_secret": "hunter2", "port": 5432.}},
		"plainregex.yaml": {one},
		"maconly.yaml":    {one},
		"two.yaml":        {m{"user": "admin"}},
		"app.json": {m{
			"clouds": m{"openstack": m{"password": "hunter2", "port": 5000., "ratio": 0.5, "verify": false, "none": nil}},
			"list":   []any{"a", 1.},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			plain, _, err := decrypter(t, Options{}, others, ours).Decrypt(t.Context(), "clusters/"+name, read(t, name))
			if err != nil {
				t.Fatal(err)
			}
			f, err := documents.Parse(plain, documents.DefaultLimits())
			if err != nil {
				t.Fatalf("%v in\n%s", err, plain)
			}
			var got []any
			for _, doc := range f.Documents {
				b, err := documents.JSON(doc)
				if err != nil {
					t.Fatal(err)
				}
				var v any
				if err := json.Unmarshal(b, &v); err != nil {
					t.Fatal(err)
				}
				got = append(got, v)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if filepath.Ext(name) == ".json" && !json.Valid(plain) {
				t.Errorf("what was JSON is none: %s", plain)
			}
		})
	}
	for name, want := range map[string]string{
		"app.env":   "USER=admin\nPASSWORD=hunter2=x\nLINES=one\\ntwo\nEMPTY=\n",
		"token.bin": "not YAML: [ at all\n\thunter2\n",
	} {
		t.Run(name, func(t *testing.T) {
			plain, _, err := decrypter(t, Options{}, ours).Decrypt(t.Context(), name, read(t, name))
			if err != nil || string(plain) != want {
				t.Errorf("got %q, %v\nwant %q", plain, err, want)
			}
		})
	}
}

func TestPlainFilesStayAsTheyAre(t *testing.T) {
	for name, content := range map[string]string{
		"no secret":          "a: b\n",
		"metadata without":   "sops: {mac: 'ENC[AES256_GCM,'", // not YAML
		"a value that looks": "text: 'ENC[AES256_GCM,data:'\n",
		"a key called sops":  "sops: {version: ENC[AES256_GCM}\n",
		"a list":             "- ENC[AES256_GCM,\n",
		"of variables":       "A=ENC[AES256_GCM,\n",
		"no variables":       "ENC[AES256_GCM,\n",
		"too large":          strings.Repeat("# ENC[AES256_GCM,\n", 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{"x.yaml", "x.env", "x"} {
				plain, values, err := decrypter(t, Options{}).Decrypt(t.Context(), file, []byte(content))
				if err != nil || string(plain) != content || len(values) > 0 {
					t.Errorf("%s: changed: %v", file, err)
				}
			}
		})
	}
}

func TestIdentitiesThatAreNone(t *testing.T) {
	_, err := New(Options{Identities: []fleet.Secret{fleet.NewSecret(read(t, ours)), fleet.NewSecret([]byte("AGE-SECRET-KEY-1VERYPRIVATE"))}})
	if fleet.KindOf(err) != "Unauthorized" || !strings.Contains(err.Error(), "identity 2 of 2") || strings.Contains(err.Error(), "PRIVATE") {
		t.Errorf("%v", err)
	}
}

func FuzzDecrypt(f *testing.F) {
	for _, name := range []string{"secret.yaml", "all.yaml", "app.env", "app.json", "token.bin", "maconly.yaml"} {
		f.Add(name, read(f, name))
	}
	d := decrypter(f, Options{}, ours)
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		_, _, err := d.Decrypt(t.Context(), name, data)
		if err != nil {
			if _, ok := errors.AsType[*documents.Refusal](err); !ok {
				t.Errorf("%v is no refusal", err)
			}
		}
	})
}

func BenchmarkDecrypt(b *testing.B) {
	d, data := decrypter(b, Options{}, ours), read(b, "secret.yaml")
	for b.Loop() {
		if _, _, err := d.Decrypt(b.Context(), "secret.yaml", data); err != nil {
			b.Fatal(err)
		}
	}
}
