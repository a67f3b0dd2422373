package api

import (
	"net/netip"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/objects"
)

// network checks the network devices of a machine.
func (v *validator) network(at *field.Path, s *NetworkSpec) {
	devices := at.Child("devices")
	for i := range s.Devices {
		v.device(devices.Index(i), &s.Devices[i])
	}
	objects.Unique(v, devices, s.Devices, "macAddr", func(d NetworkDeviceSpec) string { return d.MACAddr })
	objects.Unique(v, devices, s.Devices, "deviceName", func(d NetworkDeviceSpec) string { return d.DeviceName })
	v.routes(at.Child("routes"), s.Routes)
}

// deviceForm is what Linux calls network devices.
var deviceForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,14}$`)

// device checks one device. Whether it has a network and addresses is known with the zone
// alone: see incomplete.
func (v *validator) device(at *field.Path, d *NetworkDeviceSpec) {
	v.configuration(at, &d.NetworkConfiguration)
	if d.DeviceName != "" && !deviceForm.MatchString(d.DeviceName) {
		v.Invalid(at.Child("deviceName"), d.DeviceName, `must be a name that Linux has for network devices, like "eth0", of at most 15 characters`)
	}
	if d.MACAddr != "" {
		d.MACAddr = strings.ToLower(d.MACAddr)
		v.MAC(at.Child("macAddr"), &d.MACAddr)
	}
	if d.MTU != nil && (*d.MTU < 68 || *d.MTU > 65535) {
		v.Invalid(at.Child("mtu"), *d.MTU, "must be between 68 and 65535")
	}
	prefixes := make([]netip.Prefix, len(d.IPAddrs))
	for i, s := range d.IPAddrs {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			v.Invalid(at.Child("ipAddrs").Index(i), s, `must be an address with the length of its network's prefix, such as "10.6.0.4/24"`)
			continue
		}
		prefixes[i] = p
		flag, on := "dhcp4", d.DHCP4
		if p.Addr().Is6() {
			flag, on = "dhcp6", d.DHCP6
		}
		v.Forbidden(at.Child("ipAddrs").Index(i), on != nil && *on, flag+" gives the device its address: leave out one of them")
	}
	v.gateway(at.Child("gateway4"), d.Gateway4, true, prefixes)
	v.gateway(at.Child("gateway6"), d.Gateway6, false, prefixes)
	v.routes(at.Child("routes"), d.Routes)
}

// gateway checks a gateway of a family: it is in a network of the device where these are
// known. That of IPv6 may be link-local.
func (v *validator) gateway(at *field.Path, s string, four bool, prefixes []netip.Prefix) {
	if s == "" {
		return
	}
	a := v.IP(at, s)
	if !a.IsValid() {
		return
	}
	if a.Is4() != four {
		v.Invalid(at, s, "is of the other family of addresses: gateway4 is an IPv4 address, gateway6 an IPv6 address")
		return
	}
	known := false
	for _, p := range prefixes {
		if p.IsValid() && p.Addr().Is4() == four {
			known = true
			if p.Masked().Contains(a) {
				return
			}
		}
	}
	if known && !a.IsLinkLocalUnicast() {
		v.Invalid(at, s, "is in none of the networks of ipAddrs: correct it, or the length of their prefix")
	}
}

// configuration checks what a machine or a failure domain says of a device.
func (v *validator) configuration(at *field.Path, n *NetworkConfiguration) {
	v.overrides(at.Child("dhcp4Overrides"), n.DHCP4Overrides, n.DHCP4, "dhcp4")
	v.overrides(at.Child("dhcp6Overrides"), n.DHCP6Overrides, n.DHCP6, "dhcp6")
	for i, s := range n.Nameservers {
		v.IP(at.Child("nameservers").Index(i), s)
	}
	for i, s := range n.SearchDomains {
		if len(validation.IsDNS1123Subdomain(strings.ToLower(strings.TrimSuffix(s, ".")))) > 0 {
			v.Invalid(at.Child("searchDomains").Index(i), s, `must be a domain such as "example.com"`)
		}
	}
	n.AddressesFromPools = addresses.NormaliseRefs(&v.Errs, at.Child("addressesFromPools"), n.AddressesFromPools)
}

// overrides checks the overrides of DHCP's answer. They have no effect if DHCP is off.
func (v *validator) overrides(at *field.Path, o *DHCPOverrides, on *bool, flag string) {
	if o == nil {
		return
	}
	v.Forbidden(at, on != nil && !*on, flag+" is false: leave the overrides out")
	if o.UseDomains != nil {
		objects.Enum(v, at.Child("useDomains"), *o.UseDomains, "true", "false", "route")
	}
	if o.UseRoutes != nil {
		objects.Enum(v, at.Child("useRoutes"), *o.UseRoutes, "true", "false")
	}
	if o.RouteMetric != nil && *o.RouteMetric < 0 {
		v.Invalid(at.Child("routeMetric"), *o.RouteMetric, "must not be negative")
	}
}

// routes checks static routes.
func (v *validator) routes(at *field.Path, list []NetworkRouteSpec) {
	for i, r := range list {
		at := at.Index(i)
		var to netip.Prefix
		if v.Required(at.Child("to"), r.To, `the range of addresses that the route leads to, such as "10.6.0.0/24"`) && r.To != "default" {
			to = v.Prefix(at.Child("to"), r.To)
		}
		if v.Required(at.Child("via"), r.Via, "the address of the gateway") {
			if via := v.IP(at.Child("via"), r.Via); via.IsValid() && to.IsValid() && via.Is4() != to.Addr().Is4() {
				v.Invalid(at.Child("via"), r.Via, "is of the other family of addresses than "+r.To)
			}
		}
		if r.Metric != nil && *r.Metric < 0 {
			v.Invalid(at.Child("metric"), *r.Metric, "must not be negative")
		}
	}
}
