package fleet

import (
	"cmp"
	"slices"
	"strings"
)

// A DriftPolicy says what becomes of infrastructure that somebody changed behind
// Git's back.
type DriftPolicy string

// The policies.
const (
	DriftCorrect DriftPolicy = "correct" // it is made as Git says: the default
	DriftReport  DriftPolicy = "report"  // it is reported, and left unchanged
	DriftIgnore  DriftPolicy = "ignore"  // it is left unchanged
)

// DriftPolicies returns all.
func DriftPolicies() []DriftPolicy { return []DriftPolicy{DriftCorrect, DriftReport, DriftIgnore} }

// DriftAnnotation on a Cluster holds its policy, in place of the fleet's.
const DriftAnnotation = "fairlead.dev/drift"

// WithDrift returns c with policy, where it has none of its own.
func (c *Cluster) WithDrift(policy DriftPolicy) *Cluster {
	if c.Drift != "" || policy == "" {
		return c
	}
	out := *c
	out.Drift = policy
	return &out
}

// Fingerprint identifies what infrastructure follows from: the definition of c and
// the machines. While it stays the same, whatever differs was changed by somebody
// else.
func Fingerprint(c *Cluster, machines []Machine) string {
	parts := make([]string, 0, len(machines)+1)
	for _, m := range machines {
		parts = append(parts, strings.Join([]string{string(m.ProviderID), string(m.Name), string(m.State), strings.Join(m.Addresses, ",")}, " "))
	}
	slices.Sort(parts)
	return TrustChecksum([]byte(strings.Join(append(parts, cmp.Or(c.Digest, c.Key.String())), "\n")))
}
