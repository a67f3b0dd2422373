package api

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// A validator fills in defaults and collects what is wrong with an object. Its methods pass
// over what is empty and may be.
type validator struct{ objects.Validator }

// server checks the address of a vCenter and returns it as host or host:port. A URL is what
// govmomi takes too.
func (v *validator) server(at *field.Path, s string) string {
	if s == "" {
		return ""
	}
	given := s
	switch scheme, rest, has := strings.Cut(s, "://"); {
	case has && !strings.EqualFold(scheme, "https"):
		v.Invalid(at, given, "a vCenter is asked by https alone: write its address without "+scheme+"://")
		return s
	case has:
		s = rest
	}
	s = strings.TrimSuffix(strings.TrimSuffix(s, "/"), "/sdk")
	if strings.Contains(s, "@") {
		v.Invalid(at, "…", "the account belongs into the Secret that identityRef names: write the address alone")
		return ""
	}
	host := s
	if h, port, err := net.SplitHostPort(s); err == nil {
		if msgs := portForm(port); msgs != "" {
			v.Invalid(at, given, msgs)
		}
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err != nil && len(validation.IsDNS1123Subdomain(strings.ToLower(host))) > 0 {
		v.Invalid(at, given, "must be an IP address or a DNS name of a vCenter, perhaps with a port: vcenter.example.com")
	}
	return s
}

func portForm(port string) string {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "its port must be a number between 1 and 65535"
	}
	return ""
}

var thumbprintForm = regexp.MustCompile(`^([0-9A-F]{2}:){19}([0-9A-F]{2}:){0,12}[0-9A-F]{2}$`)

// thumbprint checks that of a certificate and returns it in capitals.
func (v *validator) thumbprint(at *field.Path, s string) string {
	up := strings.ToUpper(s)
	if s != "" && (!thumbprintForm.MatchString(up) || len(up) != 59 && len(up) != 95) {
		v.Invalid(at, s, "must be the SHA-1 or SHA-256 fingerprint of the vCenter's certificate, as "+
			"openssl s_client -connect SERVER:443 </dev/null | openssl x509 -fingerprint -sha256 -noout prints it after the equals sign")
	}
	return up
}

// selector checks a selector of labels; nil is one.
func (v *validator) selector(at *field.Path, s *metav1.LabelSelector) {
	if s != nil {
		v.Add(metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, at)...)
	}
}

// enum checks a string that has one of few values or is empty.
func enum[T ~string](v *validator, at *field.Path, s T, values ...T) {
	if s != "" {
		objects.Enum(v, at, s, values...)
	}
}
