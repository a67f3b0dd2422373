package api

import (
	"net/netip"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// A validator collects what is wrong with an object.
type validator struct{ objects.Validator }

var (
	keyName = regexp.MustCompile(`^[[:graph:]]+([[:print:]]*[[:graph:]]+)*$`)
	tagText = regexp.MustCompile(`^[a-zA-Z0-9\s_.:=+\-@/]*$`)
	region  = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-\d+$`)
)

// The bounds of tags. Fairlead's own and those of Kubernetes take some of the 50 of AWS.
// Source: EC2 user guide, "Tag your Amazon EC2 resources"; CAPA, api/v1beta2/tags.go.
const (
	maxTags     = 40
	maxTagKey   = 128
	maxTagValue = 256
)

func (v *validator) tags(at *field.Path, tags map[string]string) {
	if len(tags) > maxTags {
		v.Add(field.TooMany(at, len(tags), maxTags))
	}
	for k, value := range tags {
		below := at.Key(k)
		v.Text(below, k, maxTagKey)
		v.Text(below, value, maxTagValue)
		switch {
		case k == "":
			v.Invalid(at, k, "a tag has a key")
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			v.Invalid(below, k, "tags that begin with aws: are those of AWS")
		case strings.HasPrefix(k, "fairlead.dev/"):
			v.Invalid(below, k, "tags that begin with fairlead.dev/ say whose a thing is, and are set by Fairlead alone")
		}
		if !tagText.MatchString(k) || !tagText.MatchString(value) {
			v.Invalid(below, value, "may have letters, digits, spaces and _ . : / = + - @ only")
		}
	}
}

func (v *validator) sshKeyName(at *field.Path, name *string) {
	if name != nil && *name != "" && !keyName.MatchString(*name) {
		v.Invalid(at, *name, "must be ASCII, and must not begin or end with a space")
	}
}

// cidr checks a range of IPv4, or of either family, and returns it as AWS writes it.
func (v *validator) cidr(at *field.Path, s string, four bool) string {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		v.Invalid(at, s, `must be a range of addresses such as "10.0.0.0/16"`)
		return s
	case four && !p.Addr().Is4():
		v.Invalid(at, s, "must be a range of IPv4")
	}
	return p.Masked().String()
}

func (v *validator) selector(at *field.Path, a *AllowedNamespaces) {
	if a == nil {
		return
	}
	if _, err := metav1.LabelSelectorAsSelector(&a.Selector); err != nil {
		v.Invalid(at.Child("allowedNamespaces", "selector"), a.Selector, err.Error())
	}
}

func (v *validator) identityRef(at *field.Path, r *IdentityReference) {
	objects.Enum(v, at.Child("kind"), r.Kind, RoleIdentity, StaticIdentity, ControllerIdentity)
	v.Required(at.Child("name"), r.Name, "the name of the identity")
	if r.Kind == ControllerIdentity && r.Name != "" && r.Name != DefaultIdentity {
		v.Invalid(at.Child("name"), r.Name, "the only one is called "+DefaultIdentity)
	}
}
