package api

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// networkData checks the network of a machine, and unifies the two ways to write it.
func (v *validator) networkData(at *field.Path, n *NetworkData) {
	ids := make(map[string]bool)
	if n.Links != nil {
		ids = v.links(at.Child("links"), n.Links)
		if len(ids) == 0 {
			n.Links = nil
		}
	}
	if n.Services != nil {
		v.services(at.Child("services"), n.Services, "")
		if len(n.Services.DNS) == 0 && n.Services.DNSFromIPPool == "" {
			n.Services = nil
		}
	}
	if n.Networks == nil {
		return
	}
	at = at.Child("networks")
	count, known := 0, make(map[string]bool)
	network := func(at *field.Path, id, link string) {
		count++
		if v.Required(at.Child("id"), id, "what the network is called") && known[id] {
			v.Add(field.Duplicate(at.Child("id"), id))
		}
		known[id] = true
		if v.Required(at.Child("link"), link, "the id of a link") && !ids[link] {
			v.Invalid(at.Child("link"), link, "must be the id of one of links")
		}
	}
	for _, f := range n.Networks.static() {
		for i := range f.list {
			s, at := &f.list[i], at.Child(f.name).Index(i)
			network(at, s.ID, s.Link)
			v.source(at, &s.IPAddressFromIPPool, "ipAddressFromIPPool", &s.FromPoolRef, s.FromPoolAnnotation, false)
			v.routes(at.Child("routes"), s.Routes, f.family)
		}
	}
	for _, f := range n.Networks.dynamic() {
		for i := range f.list {
			at := at.Child(f.name).Index(i)
			network(at, f.list[i].ID, f.list[i].Link)
			v.routes(at.Child("routes"), f.list[i].Routes, f.family)
		}
	}
	if count == 0 {
		n.Networks = nil
	}
}

// source checks where an address of a pool comes from: one of a name, which is written as a
// reference, a reference, and an annotation. given says that the address is there without.
func (v *validator) source(at *field.Path, name *string, called string, ref *IPPoolReference, annotation FromAnnotation, given bool) {
	ways := 0
	for _, set := range []bool{*name != "", *ref != IPPoolReference{}, annotation != FromAnnotation{}, given} {
		if set {
			ways++
		}
	}
	switch {
	case ways == 0:
		v.Add(field.Required(at.Child("fromPoolRef"), "the pool of the address, or "+called+", or fromPoolAnnotation"))
	case ways > 1:
		v.Forbidden(at, true, "it is said twice where the address comes from: leave out all but one")
	case *name != "":
		v.Object(at.Child(called), *name, "")
		*ref, *name = metal3Pool(*name), ""
	case *ref != IPPoolReference{}:
		v.poolRef(at.Child("fromPoolRef"), ref)
	default:
		v.annotation(at.Child("fromPoolAnnotation"), annotation)
	}
}

// routes checks routes of a family.
func (v *validator) routes(at *field.Path, list []NetworkDataRoutev4, family string) {
	for i := range list {
		r, at := &list[i], at.Index(i)
		bits := int32(128)
		if family == familyIPv4 {
			bits = 32
		}
		if r.Prefix == nil {
			r.Prefix = new(int32)
		}
		objects.Within(v, at.Child("prefix"), *r.Prefix, 0, bits, "must be the length of a prefix of "+family)
		if a := v.addressOf(at.Child("network"), r.Network, family); a.IsValid() && *r.Prefix >= 0 && *r.Prefix <= bits {
			if p := netip.PrefixFrom(a, int(*r.Prefix)); p.Masked() != p {
				v.Invalid(at.Child("network"), r.Network, "is no network of that prefix: "+p.Masked().Addr().String()+" is")
			}
		}
		g := &r.Gateway
		if g.String != nil {
			v.addressOf(at.Child("gateway", "string"), *g.String, family)
		}
		v.source(at.Child("gateway"), &g.FromIPPool, "fromIPPool", &g.FromPoolRef, g.FromPoolAnnotation, g.String != nil)
		if r.Services != nil {
			v.services(at.Child("services"), r.Services, family)
		}
	}
}

// services checks services; those of a route are of its family.
func (v *validator) services(at *field.Path, s *NetworkDataService, family string) {
	for i, a := range s.DNS {
		v.addressOf(at.Child("dns").Index(i), a, family)
	}
	if s.DNSFromIPPool != "" {
		v.Object(at.Child("dnsFromIPPool"), s.DNSFromIPPool, "")
	}
}

// addressOf checks an address of a family, empty for either, and returns it.
func (v *validator) addressOf(at *field.Path, s, family string) netip.Addr {
	if !v.Required(at, s, "an address") {
		return netip.Addr{}
	}
	a := v.IP(at, s)
	if a.IsValid() && family != "" && familyOf(a) != family {
		v.Invalid(at, s, "must be an address of "+family)
		return netip.Addr{}
	}
	return a
}
