package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fleet"
)

// What a host says is written by whoever is root there, which may be somebody who
// broke in. The bounds are above all that Fairlead writes.
const (
	mostClaim = 8 << 10 // bytes of a claim
	mostTag   = 1 << 10 // of one tag
	mostLine  = 256     // of what a host says of itself
)

// parseClaim returns nil for what is no claim of Fairlead.
func parseClaim(b []byte) *Claim {
	c := new(Claim)
	if len(b) > mostClaim || json.Unmarshal(b, c) != nil || !plain(c.Tags[fleet.TagFleet]) {
		return nil
	}
	if _, err := fleet.ParseKey(c.Tags[fleet.TagCluster]); err != nil || !plain(c.Tags[fleet.TagCluster]) {
		return nil
	}
	return c
}

// plain reports whether s is one printable word of a length that names may have.
func plain(s string) bool {
	return s != "" && len(s) <= 2*mostLine && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

var plainTemplate = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// OfMachine reports whether c is that of a machine, or was before it lost tags: that of
// a load balancer has none of those that only machines have.
func (c *Claim) OfMachine() bool {
	for _, tag := range []string{fleet.TagMachine, fleet.TagRole, fleet.TagPool, fleet.TagTemplate, fleet.TagVersion} {
		if _, ok := c.Tags[tag]; ok {
			return true
		}
	}
	return false
}

// Damage says what of the claim is not as Fairlead writes it; "" is nothing. A claim
// that is damaged may be forged: nothing is done because of it.
func (c *Claim) Damage() string {
	for name, value := range c.Tags {
		if len(name) > mostLine || len(value) > mostTag || strings.ContainsFunc(name+value, unicode.IsControl) {
			return fmt.Sprintf("tag %.60q is no text of one line", name)
		}
	}
	if !plainID.MatchString(c.ID) {
		return fmt.Sprintf("its id %.60q is none", c.ID)
	}
	names := map[string]string{"pool": c.Pool, "host": c.Host}
	if c.Domain != "" && len(validation.IsValidLabelValue(c.Domain)) > 0 {
		return fmt.Sprintf("its failure domain %.60q is none", c.Domain)
	}
	if c.OfMachine() {
		names["machine"], names["pool of machines"] = c.Tags[fleet.TagMachine], c.Tags[fleet.TagPool]
		if role := fleet.Role(c.Tags[fleet.TagRole]); role != fleet.RoleControlPlane && role != fleet.RoleWorker {
			return fmt.Sprintf("its role %.60q is none", role)
		}
		if !plainTemplate.MatchString(c.Tags[fleet.TagTemplate]) {
			return fmt.Sprintf("its template %.60q is none", c.Tags[fleet.TagTemplate])
		}
	}
	for _, what := range []string{"pool", "host", "machine", "pool of machines"} {
		if name, ok := names[what]; ok && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return fmt.Sprintf("its %s %.60q is no name", what, name)
		}
	}
	return ""
}

// Same reports whether c and o say the same, but for whether the machine is to be
// removed.
func (c *Claim) Same(o *Claim) bool {
	return c.ID == o.ID && c.Pool == o.Pool && c.Host == o.Host && c.Domain == o.Domain &&
		cmp.Compare(c.Created.Unix(), o.Created.Unix()) == 0 && maps.Equal(c.Tags, o.Tags)
}

// said returns what a host says of itself, of a bounded length and without control
// characters.
func said(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return s[:min(len(s), mostLine)]
}

// address reports whether s is an IP address.
func address(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}
