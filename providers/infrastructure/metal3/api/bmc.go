package api

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// A BMC is how Ironic speaks to the management controller of a host.
type BMC struct {
	Type     string // the scheme of the address without its protocol: "redfish-virtualmedia"
	Driver   string // of Ironic: "redfish", "idrac", "ipmi"
	Protocol string // "https" or "http"; empty for IPMI
	Host     string // with its port, where the address has one
	Path     string // of the system; empty: the BMC has one system alone
	VerifyCA bool
	// PrivilegeLevel is that of IPMI.
	PrivilegeLevel string
	// Interfaces are Ironic's, by what they are for: "boot", "bios", "management", "power",
	// "raid", "vendor", "firmware", "inspect". What is not in it is the driver's default.
	Interfaces map[string]string
	// Network says that the host boots its ramdisk by network: something gives it an address.
	Network bool
	// NeedsMAC says that the MAC address that the host boots from must be set in Git.
	NeedsMAC bool
}

// bmcTypes are the schemes of addresses, with their meaning.
// Source: baremetal-operator, pkg/hardwareutils/bmc.
func bmcTypes() map[string]BMC {
	idrac := func(boot string) map[string]string {
		const redfish = "idrac-redfish"
		return map[string]string{
			"boot": boot, "bios": redfish, "management": redfish, "power": redfish, "raid": redfish, "vendor": redfish, "firmware": "redfish", "inspect": "redfish",
		}
	}
	redfish := func(boot string) map[string]string {
		return map[string]string{"boot": boot, "raid": "redfish", "firmware": "redfish", "inspect": "redfish"}
	}
	network := BMC{Driver: "redfish", Interfaces: redfish("ipxe"), Network: true}
	media := BMC{Driver: "redfish", Interfaces: redfish("redfish-virtual-media")}
	ipmi := map[string]string{"boot": "ipxe", "raid": "no-raid"}
	return map[string]BMC{
		"redfish":              network,
		"ilo5-redfish":         network,
		"idrac-redfish":        {Driver: "idrac", Interfaces: idrac("ipxe"), Network: true},
		"redfish-virtualmedia": media,
		"ilo5-virtualmedia":    media,
		"idrac-virtualmedia":   {Driver: "idrac", Interfaces: idrac("idrac-redfish-virtual-media")},
		"redfish-uefihttp":     {Driver: "redfish", Interfaces: redfish("redfish-https")},
		"ipmi":                 {Driver: "ipmi", Interfaces: ipmi, Network: true},
		"libvirt":              {Driver: "ipmi", Interfaces: ipmi, Network: true, NeedsMAC: true}, // VirtualBMC: hosts of one address
	}
}

// goneBMCs are the schemes that Metal3 had once, with what takes their place.
var goneBMCs = map[string]string{ //nolint:gochecknoglobals // a constant that Go cannot write as one
	"idrac": "idrac-virtualmedia or idrac-redfish", "ilo4": "ipmi", "ilo4-virtualmedia": "ipmi", "ilo5": "ilo5-virtualmedia or ilo5-redfish", "irmc": "redfish",
	"ibmc": "redfish",
}

// ParseBMC reads the address of a BMC: the scheme says its type and, after "+", the protocol.
// An address without a scheme is one of IPMI. verify says whether its certificate has to be
// signed by a CA that Ironic knows.
// Source: baremetal-operator, pkg/hardwareutils/bmc/access.go.
func ParseBMC(address string, verify bool) (BMC, error) {
	if !strings.Contains(address, "://") {
		address = "ipmi://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return BMC{}, fmt.Errorf("cannot be read as a URL such as redfish-virtualmedia://10.0.0.5/redfish/v1/Systems/1")
	}
	kind, protocol, has := strings.Cut(u.Scheme, "+")
	b, known := bmcTypes()[kind]
	switch {
	case !known && goneBMCs[kind] != "":
		return BMC{}, fmt.Errorf("has the scheme %s, which Metal3 and Ironic no longer have: use %s", kind, goneBMCs[kind])
	case !known:
		return BMC{}, fmt.Errorf("has the scheme %s, which is none of redfish-virtualmedia, ilo5-virtualmedia, idrac-virtualmedia, redfish-uefihttp, "+
			"redfish, ilo5-redfish, idrac-redfish and ipmi", u.Scheme)
	case has && (b.Driver == "ipmi" || protocol != "http" && protocol != "https"):
		return BMC{}, fmt.Errorf("has the protocol %s: %s is asked by %s", protocol, kind, map[bool]string{true: "IPMI alone", false: "http or https"}[b.Driver == "ipmi"])
	case u.User != nil:
		return BMC{}, fmt.Errorf("holds an account, which Git and Ironic would show: write it into the Secret that credentialsName names")
	case u.Fragment != "":
		return BMC{}, fmt.Errorf("has a part after #, which is not used")
	}
	b.Type, b.Host, b.VerifyCA = kind, u.Host, verify
	if err := hostOf(u); err != nil {
		return BMC{}, err
	}
	if b.Driver == "ipmi" {
		return b.ipmi(u)
	}
	if u.RawQuery != "" {
		return BMC{}, fmt.Errorf("has a part after ?, which is not used")
	}
	b.Protocol = cmp.Or(protocol, "https")
	if path := strings.Trim(u.Path, "/"); path != "" && path != "redfish/v1" {
		b.Path = "/" + path
	}
	if b.Path == "" && kind == "redfish-uefihttp" {
		return BMC{}, fmt.Errorf("has no path: name the system, such as /redfish/v1/Systems/1")
	}
	return b, nil
}

// hostOf checks the host of an address.
func hostOf(u *url.URL) error {
	host := u.Hostname()
	if host == "" {
		return fmt.Errorf("names no host")
	}
	if _, err := netip.ParseAddr(host); err != nil && len(validation.IsDNS1123Subdomain(strings.ToLower(host))) > 0 {
		return fmt.Errorf("has the host %q, which is neither an IP address nor a DNS name", host)
	}
	return nil
}

// ipmi completes b, of an address of IPMI.
func (b BMC) ipmi(u *url.URL) (BMC, error) {
	if strings.Trim(u.Path, "/") != "" {
		return BMC{}, fmt.Errorf("has the path %s: IPMI has none", u.Path)
	}
	b.PrivilegeLevel = "ADMINISTRATOR"
	for name, values := range u.Query() {
		if name != "privilegelevel" || len(values) != 1 {
			return BMC{}, fmt.Errorf("has the parameter %s: IPMI has privilegelevel alone", name)
		}
		b.PrivilegeLevel = values[0]
		switch b.PrivilegeLevel {
		case "CALLBACK", "USER", "OPERATOR", "ADMINISTRATOR":
		default:
			return BMC{}, fmt.Errorf("has the privilegelevel %s, which is none of CALLBACK, USER, OPERATOR and ADMINISTRATOR", b.PrivilegeLevel)
		}
	}
	return b, nil
}

// DriverInfo returns Ironic's driver_info of the BMC, for an account.
func (b BMC) DriverInfo(username, password string) map[string]any {
	if b.Driver == "ipmi" {
		host, port, err := net.SplitHostPort(b.Host)
		if err != nil {
			host, port = strings.Trim(b.Host, "[]"), "623"
		}
		return map[string]any{
			"ipmi_address": host, "ipmi_port": port, "ipmi_username": username, "ipmi_password": password, "ipmi_priv_level": b.PrivilegeLevel,
		}
	}
	out := map[string]any{
		"redfish_address": b.Protocol + "://" + b.Host, "redfish_username": username, "redfish_password": password,
	}
	if b.Path != "" {
		out["redfish_system_id"] = b.Path
	}
	if !b.VerifyCA {
		out["redfish_verify_ca"] = false
	}
	return out
}
