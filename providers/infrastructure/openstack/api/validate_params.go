package api

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// choose checks that one of id and filter is given, and that the filter is not
// empty: it would match everything.
func (v *validator) choose(at *field.Path, id *string, filter, empty bool) {
	switch {
	case id == nil && !filter:
		v.Add(field.Required(at, "give id or filter"))
	case id != nil && filter:
		v.Add(field.Forbidden(at, "give id or filter, not both"))
	case empty:
		v.Add(field.Required(at.Child("filter"), "it is empty and would match everything"))
	}
}

// chooseUUID is choose where an id is a UUID.
func (v *validator) chooseUUID(at *field.Path, id *string, filter, empty bool) {
	v.choose(at, id, filter, empty)
	if id != nil {
		v.UUID(at.Child("id"), *id)
	}
}

// neutron checks p, which may be nil.
func (v *validator) neutron(at *field.Path, p *NeutronParam) {
	if p == nil {
		return
	}
	v.chooseUUID(at, p.ID, p.Filter != nil, p.Filter.isEmpty())
	if p.Filter != nil {
		v.tagFilter(at.Child("filter"), &p.Filter.FilterByNeutronTags)
	}
}

func (v *validator) subnet(at *field.Path, p *SubnetParam) {
	if p == nil {
		return
	}
	v.chooseUUID(at, p.ID, p.Filter != nil, p.Filter.isEmpty())
	f := p.Filter
	if f == nil {
		return
	}
	at = at.Child("filter")
	v.tagFilter(at, &f.FilterByNeutronTags)
	if f.IPVersion != 0 && f.IPVersion != 4 && f.IPVersion != 6 {
		v.Invalid(at.Child("ipVersion"), f.IPVersion, "must be 4 or 6")
	}
	if f.GatewayIP != "" {
		v.IP(at.Child("gatewayIP"), f.GatewayIP)
	}
	if f.CIDR != "" {
		v.Prefix(at.Child("cidr"), f.CIDR)
	}
	modes := []string{"", "slaac", "dhcpv6-stateful", "dhcpv6-stateless"}
	objects.Enum(v, at.Child("ipv6AddressMode"), f.IPv6AddressMode, modes...)
	objects.Enum(v, at.Child("ipv6RAMode"), f.IPv6RAMode, modes...)
}

func (v *validator) subnets(at *field.Path, list []SubnetParam) {
	for i := range list {
		v.subnet(at.Index(i), &list[i])
	}
}

func (v *validator) securityGroups(at *field.Path, list []SecurityGroupParam) {
	for i := range list {
		v.neutron(at.Index(i), &list[i])
	}
}

// image checks p. What an imageRef names is known when the overlay is.
func (v *validator) image(at *field.Path, p *ImageParam) {
	if r := p.ImageRef; r != nil {
		v.Forbidden(at, p.ID != nil || p.Filter != nil, "give one of id, filter and imageRef")
		v.Required(at.Child("imageRef", "name"), r.Name, "the name of the image")
		return
	}
	f := p.Filter
	v.chooseUUID(at, p.ID, f != nil, f != nil && isEmpty(f.Name) && len(f.Tags) == 0)
	if f != nil {
		f.Tags = objects.Set(v, at.Child("filter", "tags"), f.Tags)
	}
}

func (v *validator) flavor(at *field.Path, p *FlavorParam) {
	if p.ID == nil && p.Filter == nil {
		v.Add(field.Required(at, "a flavor, by name or by id"))
		return
	}
	v.choose(at, p.ID, p.Filter != nil, p.Filter != nil && isEmpty(p.Filter.Name))
	if p.ID != nil {
		v.Required(at.Child("id"), *p.ID, "the id of the flavor")
	}
}

func (v *validator) serverGroup(at *field.Path, p *ServerGroupParam) {
	if p != nil {
		v.chooseUUID(at, p.ID, p.Filter != nil, p.Filter != nil && isEmpty(p.Filter.Name))
	}
}

// tagFilter checks the part of a filter that looks at tags.
func (v *validator) tagFilter(at *field.Path, f *FilterByNeutronTags) {
	for _, l := range []struct {
		name string
		tags *[]NeutronTag
	}{{"tags", &f.Tags}, {"tagsAny", &f.TagsAny}, {"notTags", &f.NotTags}, {"notTagsAny", &f.NotTagsAny}} {
		at := at.Child(l.name)
		for i, t := range *l.tags {
			v.Required(at.Index(i), string(t), "a tag is not empty")
			if strings.Contains(string(t), ",") {
				v.Invalid(at.Index(i), t, "must not have a comma")
			}
		}
		*l.tags = objects.Set(v, at, *l.tags)
	}
}

// identity checks a reference to credentials and fills in its type.
func (v *validator) identity(at *field.Path, r *OpenStackIdentityReference) {
	if r.Type == "" {
		r.Type = IdentitySecret
	}
	objects.Enum(v, at.Child("type"), r.Type, IdentitySecret, IdentityCluster)
	v.Object(at.Child("name"), r.Name, "the name of a Secret with clouds.yaml, or of an OpenStackClusterIdentity")
	v.Required(at.Child("cloudName"), r.CloudName, "an entry of clouds.yaml")
}

func isEmpty(s *string) bool { return s == nil || *s == "" }

func (f *FilterByNeutronTags) isEmpty() bool {
	return len(f.Tags) == 0 && len(f.TagsAny) == 0 && len(f.NotTags) == 0 && len(f.NotTagsAny) == 0
}

func (f *NeutronFilter) isEmpty() bool {
	return f != nil && f.Name == "" && f.Description == "" && f.ProjectID == "" && f.FilterByNeutronTags.isEmpty()
}

func (f *SubnetFilter) isEmpty() bool {
	return f != nil && f.Name == "" && f.Description == "" && f.ProjectID == "" && f.IPVersion == 0 && f.GatewayIP == "" &&
		f.CIDR == "" && f.IPv6AddressMode == "" && f.IPv6RAMode == "" && f.FilterByNeutronTags.isEmpty()
}
