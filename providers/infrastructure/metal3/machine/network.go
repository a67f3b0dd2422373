package machine

import (
	"net"
	"net/netip"
	"slices"

	"fairlead.dev/providers/infrastructure/metal3/api"
)

// NetworkData is OpenStack's network_data.json, as CAPM3 writes it. The lists are never nil.
// Source: OpenStack Nova's network metadata schema; CAPM3, renderNetworkData.
type NetworkData struct {
	Links    []map[string]any `json:"links"`
	Networks []Network        `json:"networks"`
	Services []Service        `json:"services"`
}

// A Network is one of a link.
type Network struct {
	Type    string  `json:"type"` // ipv4, ipv6, ipv4_dhcp, ipv6_dhcp, ipv6_slaac
	ID      string  `json:"id"`
	Link    string  `json:"link"`
	Address string  `json:"ip_address,omitempty"`
	Netmask string  `json:"netmask,omitempty"`
	Routes  []Route `json:"routes"`
}

// A Route is one of a network.
type Route struct {
	Network  string    `json:"network"`
	Netmask  string    `json:"netmask"`
	Gateway  string    `json:"gateway"`
	Services []Service `json:"services"`
}

// A Service is a server of DNS.
type Service struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

// NetworkData returns the network of the machine; nil where t says nothing of it: the image
// does what it does by itself.
func (d *Data) NetworkData(t *api.Metal3DataTemplateSpec) (*NetworkData, error) {
	if t == nil || t.NetworkData == nil {
		return nil, nil //nolint:nilnil // nothing is said
	}
	n := t.NetworkData
	out := &NetworkData{Links: []map[string]any{}, Networks: []Network{}, Services: []Service{}}
	var err error
	if n.Links != nil {
		if out.Links, err = d.links(n.Links); err != nil {
			return nil, err
		}
	}
	if n.Networks != nil {
		if out.Networks, err = d.networks(n.Networks); err != nil {
			return nil, err
		}
	}
	out.Services, err = d.services(n.Services)
	return out, err
}

// links returns the links of a machine: bonds, network cards, VLANs.
func (d *Data) links(l *api.NetworkDataLink) ([]map[string]any, error) {
	out := []map[string]any{}
	link := func(kind, id, name string, mtu int32, macKey string, mac *api.NetworkLinkEthernetMac) (map[string]any, error) {
		e := map[string]any{"type": kind, "id": id, "mtu": mtu}
		if name != "" {
			e["name"] = name
		}
		out = append(out, e)
		if mac == nil {
			return e, nil
		}
		address, err := d.mac(mac)
		e[macKey] = address
		return e, err
	}
	for _, b := range l.Bonds {
		e, err := link("bond", b.ID, b.Name, b.MTU, "ethernet_mac_address", b.MACAddress)
		if err != nil {
			return nil, err
		}
		for _, p := range b.Parameters {
			e["bond_"+p.Name] = p.Value
		}
		e["bond_mode"], e["bond_links"] = b.BondMode, b.BondLinks
		if b.BondXmitHashPolicy != "" {
			e["bond_xmit_hash_policy"] = b.BondXmitHashPolicy
		}
	}
	for _, n := range l.Ethernets {
		if _, err := link(n.Type, n.ID, n.Name, n.MTU, "ethernet_mac_address", n.MACAddress); err != nil {
			return nil, err
		}
	}
	for _, v := range l.Vlans {
		e, err := link("vlan", v.ID, v.Name, v.MTU, "vlan_mac_address", v.MACAddress)
		if err != nil {
			return nil, err
		}
		e["vlan_link"], e["vlan_id"] = v.VlanLink, *v.VlanID
	}
	return out, nil
}

// mac returns the MAC address that m says.
func (d *Data) mac(m *api.NetworkLinkEthernetMac) (string, error) {
	switch {
	case m.String != "":
		return m.String, nil
	case m.FromHostInterface != "":
		return d.nic(m.FromHostInterface)
	}
	value := d.annotation(m.FromAnnotation)
	if a, err := net.ParseMAC(value); err != nil || len(a) != 6 {
		return "", d.failed("the annotation %s of the %s has to be a MAC address, and is %q", m.FromAnnotation.Annotation, m.FromAnnotation.Object, value)
	}
	return value, nil
}

// networks returns the networks on the links.
func (d *Data) networks(n *api.NetworkDataNetwork) ([]Network, error) {
	out := []Network{}
	for _, l := range []struct {
		kind string
		four bool
		list []api.NetworkDataIPv4
	}{{"ipv4", true, n.IPv4}, {"ipv6", false, n.IPv6}} {
		for _, s := range l.list {
			ref, err := d.pool(s.FromPoolRef, s.FromPoolAnnotation)
			if err != nil {
				return nil, err
			}
			a, err := d.address(ref)
			if err != nil {
				return nil, err
			}
			if a.Prefix.Addr().Is4() != l.four {
				return nil, d.failed("network %s is of %s, and %s %s gives %s", s.ID, l.kind, ref.Kind, ref.Name, a.Prefix.Addr())
			}
			routes, err := d.routes(s.Routes, l.four)
			if err != nil {
				return nil, err
			}
			out = append(out, Network{
				Type: l.kind, ID: s.ID, Link: s.Link, Address: a.Prefix.Addr().String(), Netmask: mask(a.Prefix.Bits(), l.four), Routes: routes,
			})
		}
	}
	for _, l := range []struct {
		kind string
		four bool
		list []api.NetworkDataIPv4DHCP
	}{{"ipv4_dhcp", true, n.IPv4DHCP}, {"ipv6_dhcp", false, n.IPv6DHCP}, {"ipv6_slaac", false, n.IPv6SLAAC}} {
		for _, s := range l.list {
			routes, err := d.routes(s.Routes, l.four)
			if err != nil {
				return nil, err
			}
			out = append(out, Network{Type: l.kind, ID: s.ID, Link: s.Link, Routes: routes})
		}
	}
	return out, nil
}

// routes returns routes of a family.
func (d *Data) routes(list []api.NetworkDataRoutev4, four bool) ([]Route, error) {
	out := []Route{}
	for _, r := range list {
		gateway, err := d.gateway(r.Gateway, four)
		if err != nil {
			return nil, err
		}
		services, err := d.services(r.Services)
		if err != nil {
			return nil, err
		}
		bits := 0
		if r.Prefix != nil {
			bits = int(*r.Prefix)
		}
		out = append(out, Route{Network: r.Network, Netmask: mask(bits, four), Gateway: gateway, Services: services})
	}
	return out, nil
}

// gateway returns a gateway of a family. One of a pool that has none gives the kind Invalid:
// CAPM3 writes an empty text.
func (d *Data) gateway(g api.NetworkGatewayv4, four bool) (string, error) {
	if g.String != nil {
		return *g.String, nil
	}
	ref, err := d.pool(g.FromPoolRef, g.FromPoolAnnotation)
	if err != nil {
		return "", err
	}
	a, err := d.address(ref)
	if err != nil {
		return "", err
	}
	if !a.Gateway.IsValid() || a.Gateway.Is4() != four {
		return "", d.failed("a route needs the gateway of %s %s, which has none of its family", ref.Kind, ref.Name)
	}
	return a.Gateway.String(), nil
}

// services returns servers of DNS.
func (d *Data) services(s *api.NetworkDataService) ([]Service, error) {
	out := []Service{}
	if s == nil {
		return out, nil
	}
	for _, a := range s.DNS {
		out = append(out, Service{"dns", a})
	}
	if s.DNSFromIPPool == "" {
		return out, nil
	}
	a, err := d.address(api.IPPoolReference{Name: s.DNSFromIPPool, Kind: api.PoolKind, APIGroup: api.PoolGroup})
	for _, server := range a.DNS {
		out = append(out, Service{"dns", server.String()})
	}
	return out, err
}

// pool returns the pool that a reference or an annotation names.
func (d *Data) pool(ref api.IPPoolReference, from api.FromAnnotation) (api.IPPoolReference, error) {
	if from == (api.FromAnnotation{}) {
		return ref, nil
	}
	name := d.annotation(from)
	if name == "" {
		return ref, d.failed("the annotation %s of the %s has to name an IPPool, and is not there", from.Annotation, from.Object)
	}
	return api.IPPoolReference{Name: name, Kind: api.PoolKind, APIGroup: api.PoolGroup}, nil
}

// Pools returns the pools that the machine has an address of on the host, each once: those
// that t names, and those that annotations name where t says so.
func (d *Data) Pools(t *api.Metal3DataTemplateSpec) ([]api.IPPoolReference, error) {
	if t == nil {
		return nil, nil
	}
	out := t.Pools()
	for _, a := range t.PoolAnnotations() {
		ref, err := d.pool(api.IPPoolReference{}, a)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out, nil
}

// mask returns the netmask of a prefix.
func mask(bits int, four bool) string {
	size := 128
	if four {
		size = 32
	}
	a, _ := netip.AddrFromSlice(net.CIDRMask(bits, size))
	return a.String()
}
