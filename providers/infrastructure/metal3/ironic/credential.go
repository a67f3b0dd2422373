package ironic

import (
	"net/url"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// Keys of the Secret that says where Ironic is and who asks.
const (
	KeyEndpoint = "endpoint" // "https://ironic.example.com:6385", with /v1 or without
	KeyUsername = "username"
	KeyPassword = "password"
	KeyCA       = "ca.crt" // certificates in PEM; without it those of the system
)

// A Credential says where an Ironic is, and who asks.
type Credential struct {
	Endpoint           string // normalised: it ends in /v1/
	Username, Password string
	CA                 string // certificates in PEM; empty: those of the system
}

// ReadCredential reads a Secret; from says where it is from. What is missing or wrong in it
// gives the kind Unauthorized: it waits for another Secret.
func ReadCredential(from string, secret map[string][]byte) (Credential, error) {
	op := "read " + from
	for _, key := range []string{KeyEndpoint, KeyUsername, KeyPassword} {
		if len(secret[key]) == 0 {
			return Credential{}, fleet.Errorf(fleet.Unauthorized, op, "it has no %s (write endpoint, username and password of Ironic, and its CA as ca.crt)", key)
		}
	}
	text := func(key string) string { return strings.TrimSpace(string(secret[key])) }
	c := Credential{Username: text(KeyUsername), Password: string(secret[KeyPassword]), CA: text(KeyCA)}
	u, err := url.Parse(text(KeyEndpoint))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return Credential{}, fleet.Errorf(fleet.Unauthorized, op, "endpoint is no URL such as https://ironic.example.com:6385")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return Credential{}, fleet.Errorf(fleet.Unauthorized, op, "endpoint has more than scheme, host and path (an account belongs into username and password)")
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1") + "/v1/"
	c.Endpoint = u.String()
	if _, err := transport.Trusting(c.CA); err != nil {
		return Credential{}, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	return c, nil
}
