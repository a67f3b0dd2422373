package region

import (
	"net/url"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// A Credential says where a MAAS is, and who asks.
type Credential struct {
	Endpoint string // normalised: it ends in /MAAS/
	Key      string // consumer:token:secret
	CA       string // certificates in PEM; empty: those of the system
}

// ReadCredential reads the values of a Secret; from names it for people. If something is missing or wrong,
// the error has the kind Unauthorized.
func ReadCredential(from, endpoint, key, ca string) (Credential, error) {
	op := "read " + from
	c := Credential{Key: strings.TrimSpace(key), CA: strings.TrimSpace(ca)}
	u, err := url.Parse(strings.TrimSpace(endpoint))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return c, fleet.Errorf(fleet.Unauthorized, op, "MAAS_ENDPOINT is no URL such as https://maas.example.com:5443/MAAS")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return c, fleet.Errorf(fleet.Unauthorized, op, "MAAS_ENDPOINT has more than scheme, host and path (write the account into MAAS_API_KEY)")
	}
	path, _, _ := strings.Cut(strings.TrimRight(u.Path, "/")+"/", "/api/")
	u.Host, u.Path = strings.ToLower(u.Host), strings.TrimRight(path, "/")+"/"
	if u.Path == "/" {
		u.Path = "/MAAS/"
	}
	c.Endpoint = u.String()
	if strings.Count(c.Key, ":") != 2 {
		return c, fleet.Errorf(fleet.Unauthorized, op, "MAAS_API_KEY does not have three parts with colons between them (copy it from the preferences of a user in MAAS)")
	}
	if _, err := transport.Trusting(c.CA); err != nil {
		return c, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	return c, nil
}
