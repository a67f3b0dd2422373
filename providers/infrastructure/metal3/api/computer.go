package api

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"fairlead.dev/fleet"
)

// Computer returns which computer Ironic manages by driverInfo: its BMC, and after a slash the system
// if the address of the BMC names one. Notation makes no difference: scheme, case, default ports and
// trailing slashes are left out. Empty: driverInfo does not say.
func Computer(driverInfo map[string]any) string {
	text := func(key string) string {
		if v := driverInfo[key]; v != nil {
			return fmt.Sprint(v)
		}
		return ""
	}
	if address := text("redfish_address"); address != "" {
		if !strings.Contains(address, "://") {
			address = "https://" + address
		}
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" {
			return ""
		}
		return endpointOf(u.Hostname(), u.Port()) + strings.ToLower(strings.TrimRight("/"+strings.Trim(text("redfish_system_id"), "/"), "/"))
	}
	if bridged := text("ipmi_bridging"); bridged != "" && bridged != "no" {
		return "" // one address leads to several computers
	}
	for _, key := range []string{"ipmi_address", "drac_address", "ilo_address", "irmc_address"} {
		if address := text(key); address != "" {
			return endpointOf(strings.Trim(address, "[]"), text("ipmi_port"))
		}
	}
	return ""
}

// endpointOf returns host and port in one notation, without the ports that BMCs have by default.
func endpointOf(host, port string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.Unmap().String()
	}
	switch port {
	case "", "80", "443", "623":
		return host
	}
	return net.JoinHostPort(host, port)
}

// Computer returns which computer the BMC manages, as the function Computer does.
func (b BMC) Computer() string { return Computer(b.DriverInfo("", "")) }

// identities implements fleet.Kind: a computer is one host, and so is a network card.
func identities(spec any) []fleet.Identity {
	s, ok := spec.(*BareMetalHostSpec)
	if !ok {
		return nil
	}
	var out []fleet.Identity
	if b, err := ParseBMC(s.BMC.Address, true); err == nil {
		out = append(out, fleet.Identity{Field: "spec.bmc.address", Value: b.Computer()})
	}
	if s.BootMACAddress != "" {
		out = append(out, fleet.Identity{Field: "spec.bootMACAddress", Value: s.BootMACAddress})
	}
	return out
}
