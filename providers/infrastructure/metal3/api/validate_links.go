package api

import (
	"cmp"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// The bounds of links.
// Source: CAPM3, api/v1beta2/metal3datatemplate_types.go; a VLAN has twelve bits, of which
// 0 and 4095 are not for networks (IEEE 802.1Q).
const (
	defaultMTU     = 1500
	minMTU, maxMTU = 1280, 9000
	maxVLAN        = 4094
)

var nameForm = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9._-]{0,14}$`)

// links checks the links of a machine, fills in their defaults, and returns their ids.
func (v *validator) links(at *field.Path, l *NetworkDataLink) map[string]bool {
	ids := make(map[string]bool)
	link := func(at *field.Path, id, name string, mtu *int32, mac *NetworkLinkEthernetMac) {
		if v.Required(at.Child("id"), id, "what networks call the link") && ids[id] {
			v.Add(field.Duplicate(at.Child("id"), id))
		}
		ids[id] = true
		if name != "" && !nameForm.MatchString(name) {
			v.Invalid(at.Child("name"), name, `must be a name that Linux has for network devices, like "eth0", of at most 15 characters`)
		}
		*mtu = cmp.Or(*mtu, defaultMTU)
		objects.Within(v, at.Child("mtu"), *mtu, minMTU, maxMTU, "must be between 1280 and 9000")
		v.mac(at.Child("macAddress"), mac)
	}
	for i := range l.Ethernets {
		e, at := &l.Ethernets[i], at.Child("ethernets").Index(i)
		link(at, e.ID, e.Name, &e.MTU, e.MACAddress)
		objects.Enum(v, at.Child("type"), e.Type, "bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy")
		if e.MACAddress == nil {
			v.Add(field.Required(at.Child("macAddress"), "by which the network card is found: without it nothing says which one is meant"))
		}
	}
	for i := range l.Bonds {
		b, at := &l.Bonds[i], at.Child("bonds").Index(i)
		link(at, b.ID, b.Name, &b.MTU, b.MACAddress)
		v.bond(at, b)
	}
	for i := range l.Vlans {
		w, at := &l.Vlans[i], at.Child("vlans").Index(i)
		link(at, w.ID, w.Name, &w.MTU, w.MACAddress)
		if w.VlanID == nil {
			v.Add(field.Required(at.Child("vlanID"), "the number of the VLAN"))
		} else {
			objects.Within(v, at.Child("vlanID"), *w.VlanID, 1, maxVLAN, "must be between 1 and 4094")
		}
	}
	v.members(at, l, ids)
	return ids
}

// bond checks what a bond has beside other links.
func (v *validator) bond(at *field.Path, b *NetworkDataLinkBond) {
	objects.Enum(v, at.Child("bondMode"), b.BondMode, "balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb", "802.3ad")
	enum(v, at.Child("bondXmitHashPolicy"), b.BondXmitHashPolicy, "layer2", "layer3+4", "layer2+3")
	if len(b.BondLinks) == 0 {
		v.Add(field.Required(at.Child("bondLinks"), "the ids of the links that the bond is of"))
	}
	for i, p := range b.Parameters {
		at := at.Child("parameters").Index(i)
		v.Required(at.Child("name"), p.Name, `a parameter without "bond_", such as miimon`)
		v.Forbidden(at.Child("name"), slices.Contains([]string{"mode", "xmit_hash_policy", "links"}, p.Name), "the bond has a field for it: write it there")
		if p.Value == nil {
			v.Add(field.Required(at.Child("value"), "the value of the parameter"))
		}
	}
	objects.Unique(v, at.Child("parameters"), b.Parameters, "name", func(p NetworkDataLinkBondParam) string { return p.Name })
}

// members checks that the links which bonds and VLANs are on are there.
func (v *validator) members(at *field.Path, l *NetworkDataLink, ids map[string]bool) {
	for i, b := range l.Bonds {
		for j, id := range b.BondLinks {
			if at := at.Child("bonds").Index(i).Child("bondLinks").Index(j); !ids[id] || id == b.ID {
				v.Invalid(at, id, "must be the id of another link")
			}
		}
	}
	for i, w := range l.Vlans {
		at := at.Child("vlans").Index(i).Child("vlanLink")
		if v.Required(at, w.VlanLink, "the id of the link that the VLAN is on") && (!ids[w.VlanLink] || w.VlanLink == w.ID) {
			v.Invalid(at, w.VlanLink, "must be the id of another link")
		}
	}
}

// mac checks a MAC address; nil is none.
func (v *validator) mac(at *field.Path, m *NetworkLinkEthernetMac) {
	if m == nil {
		return
	}
	given := 0
	for _, set := range []bool{m.String != "", m.FromHostInterface != "", m.FromAnnotation != FromAnnotation{}} {
		if set {
			given++
		}
	}
	if given != 1 {
		v.Invalid(at, given, "must have one of string, fromHostInterface and fromAnnotation")
	}
	if m.String != "" {
		v.MAC(at.Child("string"), &m.String)
	}
	v.annotation(at.Child("fromAnnotation"), m.FromAnnotation)
}
