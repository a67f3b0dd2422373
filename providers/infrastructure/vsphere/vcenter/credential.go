package vcenter

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"strings"

	"fairlead.dev/fleet"
)

// A Credential says which vCenter to speak to, what proves that it is the one, and with
// which account.
type Credential struct {
	// Server is a host name or an address, perhaps with a port.
	Server string
	// Thumbprint is of the server's certificate, SHA-1 or SHA-256, in hexadecimal with or
	// without colons. A certificate of an authority that the system trusts is good
	// without it, and also with another: as CAPV has it.
	Thumbprint string
	// Insecure takes any certificate where there is no Thumbprint.
	Insecure bool

	User     string
	Password fleet.Secret
	From     string // its origin, for messages: "Secret prod/vsphere"
}

// Digest is equal for credentials that make the same session. A client with another
// password does not get the session of one with the right one.
func (c Credential) Digest() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q%q%t%q", strings.ToLower(c.Server), plainThumbprint(c.Thumbprint), c.Insecure, c.User)
	_, _ = h.Write(c.Password.Reveal())
	return hex.EncodeToString(h.Sum(nil))
}

// account is equal for credentials that vCenter locks at the same time.
func (c Credential) account() string {
	return strings.ToLower(c.Server) + " " + strings.ToLower(c.User)
}

// parse checks c and returns where vCenter answers.
func (c Credential) parse() (*url.URL, error) {
	op := "read the credential for vCenter"
	if c.From != "" {
		op += " in " + c.From
	}
	host, _, err := net.SplitHostPort(c.Server)
	if err != nil {
		host = strings.Trim(c.Server, "[]")
	}
	switch {
	case host == "" || strings.ContainsAny(c.Server, "/ @?#"):
		return nil, fleet.Errorf(fleet.Invalid, op, "server %q is not a host name or an address, with or without a port", c.Server)
	case c.User == "":
		return nil, fleet.Errorf(fleet.Unauthorized, op, "it has no user name")
	case c.Password.IsZero():
		return nil, fleet.Errorf(fleet.Unauthorized, op, "it has no password for user %s", c.User)
	}
	if t := plainThumbprint(c.Thumbprint); t != "" {
		if _, err := hex.DecodeString(t); err != nil || len(t) != 2*20 && len(t) != 2*32 {
			return nil, fleet.Errorf(fleet.Invalid, op, "thumbprint %q is not SHA-1 or SHA-256 in hexadecimal", c.Thumbprint)
		}
	}
	at := c.Server
	if strings.Count(at, ":") > 1 && !strings.HasPrefix(at, "[") {
		at = "[" + at + "]"
	}
	return &url.URL{Scheme: "https", Host: at, Path: "/sdk"}, nil
}

// plainThumbprint is t without what people set between its digits.
func plainThumbprint(t string) string {
	return strings.ToUpper(strings.NewReplacer(":", "", " ", "").Replace(t))
}
