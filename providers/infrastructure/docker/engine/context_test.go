package engine_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// TestContexts: the daemon is the one that the command docker would use.
func TestContexts(t *testing.T) {
	const ours, theirs = "unix:///run/ours.sock", "tcp://192.0.2.1:2375"
	for name, tc := range map[string]struct {
		host, context, config string // DOCKER_HOST, DOCKER_CONTEXT, config.json
		meta                  string // of the context lab
		tls                   bool
		want, fails           string
	}{
		"nothing is set":       {want: "unix:///var/run/docker.sock"},
		"no current context":   {config: `{"auths":{}}`, want: "unix:///var/run/docker.sock"},
		"the default context":  {context: "default", config: `{"currentContext":"lab"}`, want: "unix:///var/run/docker.sock"},
		"the current context":  {config: `{"currentContext":"lab"}`, meta: meta(ours), want: ours},
		"DOCKER_CONTEXT":       {context: "lab", config: `{"currentContext":"other"}`, meta: meta(theirs), want: theirs},
		"DOCKER_HOST":          {host: theirs, context: "lab", config: `{`, meta: meta(ours), want: theirs},
		"no such context":      {config: `{"currentContext":"other"}`, fails: `the context "other": open DIR/contexts/meta/`},
		"a broken config":      {config: `{`, fails: "cannot read DIR/config.json: unexpected end"},
		"a broken context":     {context: "lab", meta: `{`, fails: "/meta.json: unexpected end of JSON input. Correct DOCKER_CONTEXT, run 'docker context use', or set DOCKER_HOST"},
		"SSH":                  {context: "lab", meta: meta("ssh://me@laptop"), fails: `the host "ssh://me@laptop" in DIR/contexts/meta/`},
		"TLS":                  {context: "lab", meta: meta(theirs), tls: true, fails: "only unix:// and tcp:// without TLS are supported. Set DOCKER_HOST"},
		"TLS without its keys": {context: "lab", meta: `{"Endpoints":{"docker":{"Host":"tcp://192.0.2.1:2376","SkipTLSVerify":true}}}`, fails: "without TLS"},
		"no daemon":            {context: "lab", meta: `{"Endpoints":{}}`, fails: `the host ""`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			id := fmt.Sprintf("%x", sha256.Sum256([]byte("lab")))
			write(t, filepath.Join(dir, "config.json"), tc.config)
			write(t, filepath.Join(dir, "contexts", "meta", id, "meta.json"), tc.meta)
			if tc.tls {
				write(t, filepath.Join(dir, "contexts", "tls", id, "docker", "ca.pem"), "certificates")
			}
			t.Setenv("DOCKER_CONFIG", dir)
			t.Setenv("DOCKER_HOST", tc.host)
			t.Setenv("DOCKER_CONTEXT", tc.context)
			c, err := engine.New(engine.Options{})
			switch fails := strings.ReplaceAll(tc.fails, "DIR", dir); {
			case fails == "" && (err != nil || c.Host != tc.want):
				t.Errorf("New = %+v, %v, want the host %s", c, err, tc.want)
			case fails != "" && (err == nil || fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), fails)):
				t.Errorf("New = %v, want the error %q", err, fails)
			}
		})
	}
}

func meta(host string) string {
	return `{"Name":"lab","Metadata":{},"Endpoints":{"docker":{"Host":"` + host + `","SkipTLSVerify":false}}}`
}

// write writes a file unless it has no content.
func write(t *testing.T, file, content string) {
	t.Helper()
	if content == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNoHome: without a home there is no configuration, and nothing of the working directory is taken for one.
func TestNoHome(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "config.json", `{"currentContext":"other"}`)
	for _, name := range []string{"HOME", "DOCKER_CONFIG", "DOCKER_HOST", "DOCKER_CONTEXT"} {
		t.Setenv(name, "")
	}
	if c, err := engine.New(engine.Options{}); err != nil || c.Host != engine.DefaultHost {
		t.Errorf("New = %+v, %v", c, err)
	}
	t.Setenv("DOCKER_CONTEXT", "lab")
	if _, err := engine.New(engine.Options{}); err == nil || !strings.Contains(err.Error(), "Set DOCKER_CONFIG or DOCKER_HOST") {
		t.Errorf("New with a context = %v", err)
	}
}
