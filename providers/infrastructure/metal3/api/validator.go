package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// A validator fills in defaults and collects what is wrong with an object. Its methods pass
// over what is empty and may be.
type validator struct{ objects.Validator }

// enum checks a string that has one of few values or is empty.
func enum[T ~string](v *validator, at *field.Path, s T, values ...T) {
	if s != "" {
		objects.Enum(v, at, s, values...)
	}
}

// urlOf checks a URL with a host and one of schemes, and returns it.
func (v *validator) urlOf(at *field.Path, s string, schemes ...string) *url.URL {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		v.Invalid(at, s, "must be a URL")
	case !slices.Contains(schemes, strings.ToLower(u.Scheme)):
		v.Invalid(at, s, fmt.Sprintf("must be a URL that begins with one of %s://", strings.Join(schemes, "://, ")))
	case u.Host == "" && u.Scheme != "file":
		v.Invalid(at, s, "must be a URL with a host")
	case u.User != nil:
		v.Invalid(at, u.Redacted(), "must be without an account: Git and Ironic show it to everybody who reads there")
	default:
		return u
	}
	return nil
}
