package credentials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

func TestCredentialsFolder(t *testing.T) {
	type read struct{ Username, Password, Token, Bearer, Key, Passphrase, KnownHosts, CA, Cert, CertKey, Proxy, App string }
	for name, tc := range map[string]struct {
		reason string
		files  map[string]string
		also   func(dir string) Files
		want   read
		err    string
	}{
		"basic":      {"as flux create secret git makes it", map[string]string{"username": "bot\n", "password": "p\n"}, nil, read{Username: "bot", Password: "p"}, ""},
		"token":      {"", map[string]string{"bearerToken": "t", "ca.crt": "pem"}, nil, read{Bearer: "t", CA: "pem"}, ""},
		"both":       {"a token is nearer than a bearer", map[string]string{"bearerToken": "b", "token": "t"}, nil, read{Token: "t"}, ""},
		"mTLS":       {"", map[string]string{"tls.crt": "c", "tls.key": "k"}, nil, read{Cert: "c", CertKey: "k"}, ""},
		"proxy":      {"", map[string]string{"proxy": "http://bot:p@proxy:3128\n"}, nil, read{Proxy: "http://bot:p@proxy:3128"}, ""},
		"our token":  {"the plain name does too", map[string]string{"token": "t"}, nil, read{Token: "t"}, ""},
		"ssh":        {"the public key is of no use", map[string]string{"identity": "k", "identity.pub": "x", "known_hosts": "h"}, nil, read{Key: "k", KnownHosts: "h"}, ""},
		"passphrase": {"", map[string]string{"identity": "k", "identity.password": "s"}, nil, read{Key: "k", Passphrase: "s"}, ""},
		"Flux's own": {"Flux keeps the passphrase under password", map[string]string{"identity": "k", "password": "s"}, nil, read{Key: "k", Passphrase: "s"}, ""},
		"as mounted": {"what Kubernetes hides in a volume is no credential", map[string]string{"..data/token": "t"}, nil, read{}, "holds no credential"},
		"foreign":    {"what is not understood is said", map[string]string{"aws_access_key_id": "1"}, nil, read{}, "username, password, bearerToken"},
		"app": {"a GitHub App, as flux create secret githubapp makes it", map[string]string{
			"githubAppID": "1\n", "githubAppInstallationID": "2", "githubAppInstallationOwner": "o", "githubAppPrivateKey": "pem", "githubAppBaseURL": "https://github.example.com/api/v3",
		}, nil, read{App: "1 2 o https://github.example.com/api/v3 pem"}, ""},
		"flag first": {
			"a flag is nearer than a folder",
			map[string]string{"username": "bot", "token": "t"},
			func(dir string) Files {
				return Files{Username: "me", CAFile: filepath.Join(dir, "username")}
			},
			read{Username: "me", Token: "t", CA: "bot"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range tc.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var c Files
			if tc.also != nil {
				c = tc.also(dir)
			}
			c.Dir = dir
			var o git.Options
			err := c.Git(&o)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), dir) {
					t.Fatalf("%s: got %v, want an error that says %q and names the folder", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			shown := func(s fleet.Secret) string { return string(s.Reveal()) }
			got := read{
				o.Auth.Username, shown(o.Auth.Password), shown(o.Auth.Token), shown(o.Auth.Bearer), shown(o.Auth.Key),
				shown(o.Auth.Passphrase), string(o.KnownHosts), string(o.CABundle),
				string(o.Auth.Certificate), shown(o.Auth.CertificateKey), shown(o.Proxy), "",
			}
			if a := o.Auth.App; !a.IsZero() {
				got.App = strings.Join([]string{a.ID, a.Installation, a.Owner, a.API, shown(a.Key)}, " ")
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, d)
			}
		})
	}
	if err := (Files{Dir: filepath.Join(t.TempDir(), "none")}).Git(&git.Options{}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("no folder: got %v, want an error that names it", err)
	}
}

func TestFilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.agekey", "b.agekey", "..data", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := List(dir)
	if d := cmp.Diff([]string{filepath.Join(dir, "a.agekey"), filepath.Join(dir, "b.agekey")}, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	file := filepath.Join(dir, "a.agekey")
	if got, err := List(file); err != nil || len(got) != 1 || got[0] != file {
		t.Errorf("of a file: %v, %v", got, err)
	}
	if _, err := List(t.TempDir()); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("of an empty folder: %v", err)
	}
}
