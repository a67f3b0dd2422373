package claims

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fleet"
)

// A Claim identifies the owner of a thing.
type Claim struct {
	ID   string            // of this claim alone
	Tags map[string]string // ownership tags
}

// A Store keeps at most one claim for each thing. It is safe for concurrent use, also by
// several agents.
type Store interface {
	// Claims returns all claims, by the names of their things, or an error. What is claimed
	// by something else than Fairlead is not free: it has a Claim without an ID.
	Claims(ctx context.Context) (map[string]Claim, error)

	// Claim has c be the claim of thing, where it has none. Where it has c already, that is
	// success; where it has another one, the error is of kind Conflict, and nothing was
	// changed. No answer gives the kind Unanswered: Claims tells what came of it.
	Claim(ctx context.Context, thing string, c Claim) error

	// Release begins to take the claim with that id off thing, and whatever came with it. A
	// claim with another id stays, and so does what is not Fairlead's; both are success.
	// Claims tells when the thing is free.
	Release(ctx context.Context, thing, id string) error
}

// NewID returns the id of a new claim: 16 hexadecimal digits.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// First calls try with each of things until one is claimed, and reports in claimed whether one
// was. If try returns a reason why a thing cannot be claimed, the next one is tried. If it returns
// an error, First ends, since the thing may have been claimed. why has a reason for each thing that
// was passed over, which begins with its name.
func First[T any](things []T, name func(T) string, try func(T) (reason string, err error)) (claimed bool, why []string, err error) {
	for _, t := range things {
		reason, err := try(t)
		if err != nil {
			return false, why, err
		}
		if reason == "" {
			return true, why, nil
		}
		why = append(why, name(t)+" "+reason)
	}
	return false, why, nil
}

// Why returns for people why no thing could be claimed, in at most most reasons.
func Why(why []string, most int) string {
	if more := len(why) - most; more > 0 {
		why = append(why[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(why, "; ")
}

// The bounds of tags are larger than all tags that Fairlead writes.
const (
	mostName = 256
	mostTag  = 1 << 10
)

var plainTemplate = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// OfMachine reports whether tags are those of a machine, even if some are missing: another claim
// has no tag that only machines have.
func OfMachine(tags map[string]string) bool {
	for _, tag := range []string{fleet.TagMachine, fleet.TagRole, fleet.TagPool, fleet.TagTemplate, fleet.TagVersion} {
		if _, ok := tags[tag]; ok {
			return true
		}
	}
	return false
}

// Damage returns how the tags of a claim differ from what Fairlead writes; empty: they do not.
func Damage(tags map[string]string) string {
	for name, value := range tags {
		if len(name) > mostName || len(value) > mostTag || strings.ContainsFunc(name+value, unicode.IsControl) {
			return fmt.Sprintf("tag %.60q is no text of one line", name)
		}
	}
	if !OfMachine(tags) {
		return ""
	}
	if role := fleet.Role(tags[fleet.TagRole]); role != fleet.RoleControlPlane && role != fleet.RoleWorker {
		return fmt.Sprintf("its role %.60q is none", role)
	}
	if !plainTemplate.MatchString(tags[fleet.TagTemplate]) {
		return fmt.Sprintf("its template %.60q is none", tags[fleet.TagTemplate])
	}
	for _, t := range []struct{ what, tag string }{{"machine", fleet.TagMachine}, {"pool of machines", fleet.TagPool}} {
		if len(validation.IsDNS1123Subdomain(tags[t.tag])) > 0 {
			return fmt.Sprintf("its %s %.60q is no name", t.what, tags[t.tag])
		}
	}
	return ""
}
