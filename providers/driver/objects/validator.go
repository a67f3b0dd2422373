package objects

import (
	"cmp"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A Validator collects what is wrong with an object. Its zero value is ready to use,
// and a provider embeds it in one of its own.
type Validator struct{ Errs field.ErrorList }

// A Collector is a Validator, or what embeds one.
type Collector interface{ Add(errs ...*field.Error) }

var _ Collector = (*Validator)(nil)

// Errors returns what was collected.
func (v *Validator) Errors() field.ErrorList { return v.Errs }

// Add notes errs.
func (v *Validator) Add(errs ...*field.Error) { v.Errs = append(v.Errs, errs...) }

// Invalid notes why value cannot be.
func (v *Validator) Invalid(at *field.Path, value any, why string) {
	v.Add(field.Invalid(at, value, why))
}

// Forbidden notes that a field is set which must not be.
func (v *Validator) Forbidden(at *field.Path, set bool, why string) {
	if set {
		v.Add(field.Forbidden(at, why))
	}
}

// Text checks a string that may be at most limit characters.
func (v *Validator) Text(at *field.Path, s string, limit int) {
	if utf8.RuneCountInString(s) > limit {
		v.Add(field.TooLong(at, s, limit))
	}
}

// Required checks a string that must not be empty, and reports whether it is not.
func (v *Validator) Required(at *field.Path, s, what string) bool {
	if s == "" {
		v.Add(field.Required(at, what))
	}
	return s != ""
}

// Object checks the name of a Kubernetes object, which must not be empty.
func (v *Validator) Object(at *field.Path, name, what string) {
	if !v.Required(at, name, what) {
		return
	}
	for _, msg := range validation.IsDNS1123Subdomain(name) {
		v.Invalid(at, name, msg)
	}
}

var uuidPattern = regexp.MustCompile(`^(?i)[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$`)

// UUID checks an id as the API server of Kubernetes does.
func (v *Validator) UUID(at *field.Path, id string) {
	if !uuidPattern.MatchString(id) {
		v.Invalid(at, id, "must be a UUID")
	}
}

// Port checks the number of a port. 0 is one that gets its default.
func (v *Validator) Port(at *field.Path, p int32) {
	if p < 0 || p > 65535 {
		v.Invalid(at, p, "must be between 1 and 65535")
	}
}

// Address checks an IP address or a DNS name, which must not be empty.
func (v *Validator) Address(at *field.Path, a, what string) {
	if !v.Required(at, a, what) {
		return
	}
	if _, err := netip.ParseAddr(a); err == nil || len(validation.IsDNS1123Subdomain(strings.ToLower(a))) == 0 {
		return
	}
	v.Invalid(at, a, "must be an IP address or a DNS name; the port has a field of its own")
}

// IP checks an address and returns it.
func (v *Validator) IP(at *field.Path, s string) netip.Addr {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		v.Invalid(at, s, `must be an IP address such as "10.6.0.4"`)
		return netip.Addr{}
	}
	return a
}

// IPv4 checks an address of that family.
func (v *Validator) IPv4(at *field.Path, s string) {
	if a, err := netip.ParseAddr(s); err != nil || !a.Is4() {
		v.Invalid(at, s, `must be an IPv4 address such as "203.0.113.7"`)
	}
}

// Prefix checks an address or a range and returns it as a range.
func (v *Validator) Prefix(at *field.Path, s string) netip.Prefix {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen())
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		v.Invalid(at, s, `must be a range of addresses such as "10.6.0.0/24"`)
		return netip.Prefix{}
	}
	return p.Masked()
}

// MAC checks a MAC address; nil is none.
func (v *Validator) MAC(at *field.Path, s *string) {
	if s == nil {
		return
	}
	if m, err := net.ParseMAC(*s); err != nil || len(m) != 6 {
		v.Invalid(at, *s, `must be a MAC address such as "fa:16:3e:00:00:01"`)
	}
}

// Enum checks a string that has one of few values.
func Enum[T ~string](v Collector, at *field.Path, s T, values ...T) {
	if !slices.Contains(values, s) {
		v.Add(field.NotSupported(at, s, values))
	}
}

// Within checks a number between low and high, both included.
func Within(v Collector, at *field.Path, n, low, high int32, why string) {
	if n < low || n > high {
		v.Add(field.Invalid(at, n, why))
	}
}

// Set checks a list that holds nothing twice and returns it sorted: its order says
// nothing.
func Set[T cmp.Ordered](v Collector, at *field.Path, list []T) []T {
	seen := make(map[T]bool, len(list))
	for i, e := range list {
		if seen[e] {
			v.Add(field.Duplicate(at.Index(i), e))
		}
		seen[e] = true
	}
	return slices.Sorted(slices.Values(list))
}

// Unique checks a list whose elements differ in key, which is the field called name.
// Empty keys may repeat.
func Unique[T any](v Collector, at *field.Path, list []T, name string, key func(T) string) {
	seen := make(map[string]bool, len(list))
	for i, e := range list {
		k := key(e)
		if k != "" && seen[k] {
			v.Add(field.Duplicate(at.Index(i).Child(name), k))
		}
		seen[k] = true
	}
}
