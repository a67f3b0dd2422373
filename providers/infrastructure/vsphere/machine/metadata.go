package machine

import (
	"fmt"
	"net/netip"
	"slices"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
)

// IDPrefix is what the provider id of a VM begins with; its BIOS UUID follows.
const IDPrefix = "vsphere://"

// An Identity is the metadata that a machine receives about itself.
type Identity struct {
	UUID       string // of InstanceUUID
	Hostname   fleet.MachineName
	ProviderID fleet.ProviderID
}

// A Card is a network card of a VM, with what Git and address pools say about it.
type Card struct {
	MAC       string
	Spec      api.NetworkDeviceSpec
	Addresses []netip.Prefix // of pools
	// Gateway4 and Gateway6 are those of the pools, for a card that Spec has none for.
	Gateway4, Gateway6 netip.Addr
}

// The metadata of cloud-init's datasource for VMware, with its network configuration of
// version 2. Equal values give equal text.
// Source: cloud-init, datasources/vmware.rst and network-config-format-v2.rst.
type metadata struct {
	InstanceID    string          `json:"instance-id"`
	LocalHostname string          `json:"local-hostname"`
	ProviderID    string          `json:"provider_id"`
	WaitOnNetwork map[string]bool `json:"wait-on-network"`
	Network       struct {
		Version   int                 `json:"version"`
		Ethernets map[string]ethernet `json:"ethernets"`
	} `json:"network"`
}

type ethernet struct {
	Match          map[string]string `json:"match"`
	SetName        string            `json:"set-name"`
	WakeOnLAN      bool              `json:"wakeonlan"`
	DHCP4          bool              `json:"dhcp4"`
	DHCP6          bool              `json:"dhcp6"`
	AcceptRA       bool              `json:"accept-ra"`
	DHCP4Overrides map[string]any    `json:"dhcp4-overrides,omitempty"`
	DHCP6Overrides map[string]any    `json:"dhcp6-overrides,omitempty"`
	Addresses      []string          `json:"addresses,omitempty"`
	Gateway4       string            `json:"gateway4,omitempty"`
	Gateway6       string            `json:"gateway6,omitempty"`
	MTU            int64             `json:"mtu,omitempty"`
	Routes         []route           `json:"routes,omitempty"`
	Nameservers    *nameservers      `json:"nameservers,omitempty"`
}

type route struct {
	To     string `json:"to"`
	Via    string `json:"via"`
	Metric *int32 `json:"metric,omitempty"`
}

type nameservers struct {
	Addresses []string `json:"addresses,omitempty"`
	Search    []string `json:"search,omitempty"`
}

// Metadata returns the metadata of a machine with these cards, in the order of the template's
// devices. routes are those of all cards.
//
// The boot waits for an address of a family where a card gets one that the machine has a
// default route by: waiting for another never ends.
// Source: cloud-init, wait_on_network of DataSourceVMware looks for the address by the
// default route.
func Metadata(id Identity, cards []Card, routes []api.NetworkRouteSpec) (string, error) {
	m := metadata{InstanceID: id.UUID, LocalHostname: string(id.Hostname), ProviderID: string(id.ProviderID)}
	m.WaitOnNetwork = map[string]bool{"ipv4": false, "ipv6": false}
	m.Network.Version, m.Network.Ethernets = 2, make(map[string]ethernet)
	for i, c := range cards {
		e := c.ethernet(i, routes)
		m.Network.Ethernets[fmt.Sprintf("id%d", i)] = e
		m.WaitOnNetwork["ipv4"] = m.WaitOnNetwork["ipv4"] || routed(e.DHCP4, e.DHCP4Overrides) || e.Gateway4 != "" && has(e.Addresses, netip.Addr.Is4)
		m.WaitOnNetwork["ipv6"] = m.WaitOnNetwork["ipv6"] || routed(e.DHCP6, e.DHCP6Overrides) || e.Gateway6 != "" && has(e.Addresses, netip.Addr.Is6)
	}
	text, err := yaml.Marshal(m)
	return string(text), err
}

// routed reports whether DHCP gives a default route.
func routed(dhcp bool, overrides map[string]any) bool {
	return dhcp && overrides["use-routes"] != false
}

// has reports whether one of addresses is of a family.
func has(addresses []string, family func(netip.Addr) bool) bool {
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a); err == nil && family(p.Addr()) {
			return true
		}
	}
	return false
}

// ethernet returns card number i.
func (c *Card) ethernet(i int, routes []api.NetworkRouteSpec) ethernet {
	s := c.Spec
	e := ethernet{
		Match: map[string]string{"macaddress": c.MAC}, SetName: s.DeviceName, WakeOnLAN: true,
		DHCP4: deref(s.DHCP4), DHCP6: deref(s.DHCP6), AcceptRA: deref(s.DHCP6), MTU: deref(s.MTU),
		Gateway4: s.Gateway4, Gateway6: s.Gateway6,
	}
	if e.SetName == "" {
		e.SetName = fmt.Sprintf("eth%d", i)
	}
	if e.DHCP4 {
		e.DHCP4Overrides = overrides(s.DHCP4Overrides)
	}
	if e.DHCP6 {
		e.DHCP6Overrides = overrides(s.DHCP6Overrides)
	}
	e.Addresses = slices.Clone(s.IPAddrs)
	for _, a := range c.Addresses {
		e.Addresses = append(e.Addresses, a.String())
	}
	if e.Gateway4 == "" && c.Gateway4.IsValid() {
		e.Gateway4 = c.Gateway4.String()
	}
	if e.Gateway6 == "" && c.Gateway6.IsValid() {
		e.Gateway6 = c.Gateway6.String()
	}
	for _, list := range [][]api.NetworkRouteSpec{s.Routes, routes} {
		for _, r := range list {
			e.Routes = append(e.Routes, route{To: r.To, Via: r.Via, Metric: r.Metric})
		}
	}
	if len(s.Nameservers)+len(s.SearchDomains) > 0 {
		e.Nameservers = &nameservers{Addresses: s.Nameservers, Search: s.SearchDomains}
	}
	return e
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// overrides returns those of o that are given, as netplan calls them.
func overrides(o *api.DHCPOverrides) map[string]any {
	if o == nil {
		return nil
	}
	out := make(map[string]any)
	for name, p := range map[string]*bool{
		"send-hostname": o.SendHostname, "use-dns": o.UseDNS, "use-hostname": o.UseHostname, "use-mtu": o.UseMTU, "use-ntp": o.UseNTP,
	} {
		if p != nil {
			out[name] = *p
		}
	}
	for name, p := range map[string]*string{"hostname": o.Hostname, "use-domains": o.UseDomains, "use-routes": o.UseRoutes} {
		if p != nil {
			out[name] = truth(*p)
		}
	}
	if o.RouteMetric != nil {
		out["route-metric"] = *o.RouteMetric
	}
	return out
}

// truth returns text as netplan wants it: what says whether something is so is no string.
func truth(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}

// metadataSettings returns the settings that hand text over.
func metadataSettings(text string) []Setting {
	return []Setting{{MetadataKey, encode(text)}, {MetadataKey + encodingSuffix, encodingBase64}}
}
