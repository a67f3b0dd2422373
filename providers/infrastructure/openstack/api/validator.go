package api

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

// A validator collects what is wrong with an object. Its methods pass over what
// is empty and may be.
type validator struct{ errs field.ErrorList }

func (v *validator) add(errs ...*field.Error) { v.errs = append(v.errs, errs...) }

func (v *validator) invalid(at *field.Path, value any, why string) {
	v.add(field.Invalid(at, value, why))
}

func (v *validator) forbidden(at *field.Path, set bool, why string) {
	if set {
		v.add(field.Forbidden(at, why))
	}
}

// text checks a string that may be at most limit characters.
func (v *validator) text(at *field.Path, s string, limit int) {
	if utf8.RuneCountInString(s) > limit {
		v.add(field.TooLong(at, s, limit))
	}
}

// required checks a string that must not be empty.
func (v *validator) required(at *field.Path, s, what string) {
	if s == "" {
		v.add(field.Required(at, what))
	}
}

// enum checks a string that has one of few values.
func enum[T ~string](v *validator, at *field.Path, s T, values ...T) {
	if !slices.Contains(values, s) {
		v.add(field.NotSupported(at, s, values))
	}
}

// within checks a number.
func within(v *validator, at *field.Path, n, low, high int32, why string) {
	if n < low || n > high {
		v.invalid(at, n, why)
	}
}

// object checks the name of a Kubernetes object.
func (v *validator) object(at *field.Path, name, what string) {
	v.required(at, name, what)
	if name == "" {
		return
	}
	for _, msg := range validation.IsDNS1123Subdomain(name) {
		v.invalid(at, name, msg)
	}
}

var uuidPattern = regexp.MustCompile(`^(?i)[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$`)

// uuid checks an id as the API server of Kubernetes does.
func (v *validator) uuid(at *field.Path, id string) {
	if !uuidPattern.MatchString(id) {
		v.invalid(at, id, "must be a UUID")
	}
}

// ip checks an address.
func (v *validator) ip(at *field.Path, s string) netip.Addr {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		v.invalid(at, s, `must be an IP address such as "10.6.0.4"`)
		return netip.Addr{}
	}
	return a
}

// ipv4 checks the address of a floating IP.
func (v *validator) ipv4(at *field.Path, s string) {
	if a, err := netip.ParseAddr(s); err != nil || !a.Is4() {
		v.invalid(at, s, `must be an IPv4 address such as "203.0.113.7"`)
	}
}

// prefix checks an address or a range and returns it as a range.
func (v *validator) prefix(at *field.Path, s string) netip.Prefix {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen())
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		v.invalid(at, s, `must be a range of addresses such as "10.6.0.0/24"`)
		return netip.Prefix{}
	}
	return p.Masked()
}

// mac checks a MAC address.
func (v *validator) mac(at *field.Path, s *string) {
	if s == nil {
		return
	}
	if m, err := net.ParseMAC(*s); err != nil || len(m) != 6 {
		v.invalid(at, *s, `must be a MAC address such as "fa:16:3e:00:00:01"`)
	}
}

// set checks a list that holds nothing twice and returns it sorted: its order
// says nothing.
func set[T cmp.Ordered](v *validator, at *field.Path, list []T) []T {
	seen := make(map[T]bool, len(list))
	for i, e := range list {
		if seen[e] {
			v.add(field.Duplicate(at.Index(i), e))
		}
		seen[e] = true
	}
	return slices.Sorted(slices.Values(list))
}

// unique checks a list whose elements differ in key, which is the field called
// name.
func unique[T any](v *validator, at *field.Path, list []T, name string, key func(T) string) {
	seen := make(map[string]bool, len(list))
	for i, e := range list {
		k := key(e)
		if k != "" && seen[k] {
			v.add(field.Duplicate(at.Index(i).Child(name), k))
		}
		seen[k] = true
	}
}

// Bounds of OpenStack that its API states and ours must keep, so that a wish
// which can never be granted is told before anything is made.
// Source: Compute API reference, "Server tags" and "Create server"; Networking
// API reference, "Tag extension".
const (
	maxServerTag  = 60  // characters of a tag of a server or of a block device
	maxServerTags = 50  // tags of one server
	maxName       = 255 // characters of a name, a value or a tag in Neutron
)

// serverTags checks tags that servers get, among others, and sorts them.
func (v *validator) serverTags(at *field.Path, tags []string) []string {
	if len(tags) > maxServerTags {
		v.add(field.TooMany(at, len(tags), maxServerTags))
	}
	for i, t := range tags {
		v.text(at.Index(i), t, maxServerTag)
		if strings.Contains(t, "/") {
			v.invalid(at.Index(i), t, `must not have a "/": Nova takes no such tag for a server`)
		}
	}
	return v.tags(at, tags)
}

// tags checks tags of anything and sorts them.
func (v *validator) tags(at *field.Path, tags []string) []string {
	for i, t := range tags {
		v.required(at.Index(i), t, "a tag is not empty")
		v.text(at.Index(i), t, maxName)
		if strings.Contains(t, ",") {
			v.invalid(at.Index(i), t, "must not have a comma")
		}
	}
	return set(v, at, tags)
}
