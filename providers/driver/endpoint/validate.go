package endpoint

import (
	"net/netip"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What images and interfaces are called, so that neither shell nor template can be in one.
var (
	imageForm     = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._:/@-]{0,254}$`)
	interfaceForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,14}$`)
)

// Normalise fills in the defaults of v, which is at the path at, and says what is wrong with
// it. host, which is at the path hostAt, is the one that Git names for the endpoint: it has
// to be an address. Nil is always right.
func (v *VirtualIP) Normalise(at *field.Path, host string, hostAt *field.Path) field.ErrorList {
	if v == nil {
		return nil
	}
	var errs field.ErrorList
	if v.Image == "" {
		v.Image = DefaultImage
	}
	if !imageForm.MatchString(v.Image) {
		errs = append(errs, field.Invalid(at.Child("image"), v.Image, "must be an image of kube-vip with its tag, like "+DefaultImage))
	}
	if v.Interface != "" && !interfaceForm.MatchString(v.Interface) {
		errs = append(errs, field.Invalid(at.Child("interface"), v.Interface, "must be the name of a network interface, like eth0"))
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" {
		errs = append(errs, field.Invalid(hostAt, host, "must be an unused address of the servers' network, since the servers add it to an interface"))
	}
	return errs
}
