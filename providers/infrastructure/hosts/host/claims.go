package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/claims"
)

// What a host says is written by root there, which may be somebody who
// broke in. The bounds are above all that Fairlead writes.
const (
	mostClaim = 8 << 10 // bytes of a claim
	mostLine  = 256     // of what a host says of itself
)

// parseClaim returns nil if the text is no claim of Fairlead.
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

// OfMachine reports whether c is that of a machine, or was before it lost tags: that of
// a load balancer has none of those that only machines have.
func (c *Claim) OfMachine() bool { return claims.OfMachine(c.Tags) }

// Damage says what of the claim is not as Fairlead writes it; "" is nothing. A claim
// that is damaged may be forged: nothing is done because of it.
func (c *Claim) Damage() string {
	if d := claims.Damage(c.Tags); d != "" {
		return d
	}
	if !plainID.MatchString(c.ID) {
		return fmt.Sprintf("its id %.60q is none", c.ID)
	}
	if c.Domain != "" && len(validation.IsValidLabelValue(c.Domain)) > 0 {
		return fmt.Sprintf("its failure domain %.60q is none", c.Domain)
	}
	if len(validation.IsDNS1123Subdomain(c.Pool)) > 0 {
		return fmt.Sprintf("its pool %.60q is no name", c.Pool)
	}
	if len(validation.IsDNS1123Subdomain(c.Host)) > 0 {
		return fmt.Sprintf("its host %.60q is no name", c.Host)
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
