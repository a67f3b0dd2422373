package arm_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"fairlead.dev/providers/driver/transport/logins"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// TestPKCS12: what Azure hands out is read as it is, and one with a password is refused.
func TestPKCS12(t *testing.T) {
	for file, wrong := range map[string]string{"testdata/identity.pfx": "", "testdata/locked.pfx": "neither PEM nor PKCS #12 without a password"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch err := arm.CheckCertificate(data); {
		case wrong == "" && err != nil:
			t.Errorf("%s: %v", file, err)
		case wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)):
			t.Errorf("%s: %v, want %s", file, err, wrong)
		}
	}
}

// TestMetadataWithoutProxy: the metadata of the agent's machine is asked without the proxy of the environment.
func TestMetadataWithoutProxy(t *testing.T) {
	for machine, want := range map[bool]string{true: "169.254.169.254:80", false: "proxy.example.com:3128"} {
		dialed := ""
		base := &http.Transport{
			Proxy: func(*http.Request) (*url.URL, error) { return url.Parse("http://proxy.example.com:3128") },
			DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
				dialed = address
				return nil, errors.New("no network")
			},
		}
		c := arm.New(arm.Credential{Manager: "m.example.com", Login: "l.example.com", Tenant: "t", ID: "c", Password: "p", Machine: machine}, arm.Options{Base: base}, logins.NewGate(time.Minute, time.Minute))
		if err := c.Get(t.Context(), "/subscriptions/s/resourceGroups/g", new(any)); err == nil || dialed != want {
			t.Errorf("asked %s, want %s: %v", dialed, want, err)
		}
	}
}
