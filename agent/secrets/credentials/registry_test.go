package credentials

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/sources/oci"
)

// TestCredentialsForARegistry: what docker and Secrets of registries hold is for the
// registry that they name.
func TestCredentialsForARegistry(t *testing.T) {
	config := `{"auths":{"https://registry.example.com/v1/":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("bot:s:ecret")) + `"},"other.example.com":{"username":"o","password":"p"},"token.example.com":{"auth":"","identitytoken":"t"},"docker.io":{"username":"d","password":"p"}}}`
	for name, c := range map[string]struct {
		host, user, password, err string
		file                      string
		content                   string
	}{
		"its own":    {host: "registry.example.com", user: "bot", password: "s:ecret"},
		"another":    {host: "other.example.com", user: "o", password: "p"},
		"none":       {host: "none.example.com"},
		"a port":     {host: "registry.example.com:5000"},
		"docker hub": {host: "docker.io", user: "d", password: "p"},
		"a helper":   {content: `{"credsStore":"desktop"}`, err: "credential helper"},
		"no JSON":    {content: "secret", err: "no configuration of docker"},
		"no base64":  {host: "h", content: `{"auths":{"h":{"auth":"secret"}}}`, err: "not USER:PASSWORD"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if c.content == "" {
				c.content = config
			}
			if err := os.WriteFile(filepath.Join(folder, ".dockerconfigjson"), []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			var o oci.Options
			err := Files{Dir: folder}.Registry(c.host, &o)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || o.Auth.Username != c.user || string(o.Auth.Password.Reveal()) != c.password {
				t.Errorf("got %q, %v", o.Auth.Username, err)
			}
			again, err := Files{Dir: folder}.Secret()
			if err != nil || string(again[".dockerconfigjson"].Reveal()) != c.content {
				t.Errorf("it is not taken along: %v", err)
			}
		})
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"identity": "k"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var o oci.Options
	if err := (Files{Dir: folder}).Registry("h", &o); err == nil || !strings.Contains(err.Error(), "SSH key") {
		t.Errorf("got %v", err)
	}
	if err := (Files{TokenFile: filepath.Join(folder, "identity")}).Registry("h", &o); err != nil || o.Auth.Username != "token" || string(o.Auth.Password.Reveal()) != "k" {
		t.Errorf("got %q, %v", o.Auth.Username, err)
	}
}

// TestPersonalCredentialsAreOfGit: what the program git knows of a person is not asked for,
// and not shown to, a registry.
func TestPersonalCredentialsAreOfGit(t *testing.T) {
	var o oci.Options
	if err := (Files{Personal: true}).Registry("registry.example.com", &o); err != nil || o.Auth.Username != "" || !o.Auth.Password.IsZero() {
		t.Errorf("got %v, %v", o.Auth, err)
	}
}
