package api

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestBMCs(t *testing.T) {
	redfish := func(boot string) map[string]string {
		return map[string]string{"boot": boot, "raid": "redfish", "firmware": "redfish", "inspect": "redfish"}
	}
	idrac := func(boot string) map[string]string {
		return map[string]string{
			"boot": boot, "bios": "idrac-redfish", "management": "idrac-redfish", "power": "idrac-redfish", "raid": "idrac-redfish", "vendor": "idrac-redfish",
			"firmware": "redfish", "inspect": "redfish",
		}
	}
	ipmi := map[string]string{"boot": "ipxe", "raid": "no-raid"}
	const path = "/redfish/v1/Systems/1"
	for address, want := range map[string]BMC{
		"redfish-virtualmedia://10.0.0.5" + path:       {Type: "redfish-virtualmedia", Driver: "redfish", Protocol: "https", Host: "10.0.0.5", Path: path, VerifyCA: true, Interfaces: redfish("redfish-virtual-media")},
		"redfish-virtualmedia+http://a.b:8000" + path:  {Type: "redfish-virtualmedia", Driver: "redfish", Protocol: "http", Host: "a.b:8000", Path: path, VerifyCA: true, Interfaces: redfish("redfish-virtual-media")},
		"ilo5-virtualmedia+https://[fd00::5]" + path:   {Type: "ilo5-virtualmedia", Driver: "redfish", Protocol: "https", Host: "[fd00::5]", Path: path, VerifyCA: true, Interfaces: redfish("redfish-virtual-media")},
		"idrac-virtualmedia://10.0.0.5" + path:         {Type: "idrac-virtualmedia", Driver: "idrac", Protocol: "https", Host: "10.0.0.5", Path: path, VerifyCA: true, Interfaces: idrac("idrac-redfish-virtual-media")},
		"redfish-uefihttp://10.0.0.5" + path:           {Type: "redfish-uefihttp", Driver: "redfish", Protocol: "https", Host: "10.0.0.5", Path: path, VerifyCA: true, Interfaces: redfish("redfish-https")},
		"redfish://10.0.0.5/redfish/v1/":               {Type: "redfish", Driver: "redfish", Protocol: "https", Host: "10.0.0.5", VerifyCA: true, Network: true, Interfaces: redfish("ipxe")},
		"ilo5-redfish://10.0.0.5" + path + "/":         {Type: "ilo5-redfish", Driver: "redfish", Protocol: "https", Host: "10.0.0.5", Path: path, VerifyCA: true, Network: true, Interfaces: redfish("ipxe")},
		"idrac-redfish+http://10.0.0.5" + path:         {Type: "idrac-redfish", Driver: "idrac", Protocol: "http", Host: "10.0.0.5", Path: path, VerifyCA: true, Network: true, Interfaces: idrac("ipxe")},
		"ipmi://10.0.0.5":                              {Type: "ipmi", Driver: "ipmi", Host: "10.0.0.5", VerifyCA: true, PrivilegeLevel: "ADMINISTRATOR", Network: true, Interfaces: ipmi},
		"ipmi://10.0.0.5:6230?privilegelevel=OPERATOR": {Type: "ipmi", Driver: "ipmi", Host: "10.0.0.5:6230", VerifyCA: true, PrivilegeLevel: "OPERATOR", Network: true, Interfaces: ipmi},
		"10.0.0.5:6230":                                {Type: "ipmi", Driver: "ipmi", Host: "10.0.0.5:6230", VerifyCA: true, PrivilegeLevel: "ADMINISTRATOR", Network: true, Interfaces: ipmi},
		"libvirt://10.0.0.5:6230":                      {Type: "libvirt", Driver: "ipmi", Host: "10.0.0.5:6230", VerifyCA: true, PrivilegeLevel: "ADMINISTRATOR", Network: true, NeedsMAC: true, Interfaces: ipmi},
	} {
		got, err := ParseBMC(address, true)
		if err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", address, d)
		}
	}
}

func TestBMCsThatAreRefused(t *testing.T) {
	for address, want := range map[string]string{
		"":                                     "names no host",
		"redfish:///redfish/v1/Systems/1":      "names no host",
		"redfish://a_b/redfish/v1/Systems/1":   "neither an IP address nor a DNS name",
		"telnet://10.0.0.5":                    "has the scheme telnet, which is none of",
		"idrac://10.0.0.5":                     "use idrac-virtualmedia or idrac-redfish",
		"ilo4://10.0.0.5":                      "use ipmi",
		"redfish+ftp://10.0.0.5/":              "has the protocol ftp: redfish is asked by http or https",
		"ipmi+https://10.0.0.5":                "has the protocol https: ipmi is asked by IPMI alone",
		"redfish://root:calvin@10.0.0.5/":      "holds an account",
		"redfish://10.0.0.5/#1":                "after #",
		"redfish://10.0.0.5/?a=b":              "after ?",
		"redfish-uefihttp://10.0.0.5":          "has no path",
		"ipmi://10.0.0.5/1":                    "IPMI has none",
		"ipmi://10.0.0.5?a=b":                  "has the parameter a",
		"ipmi://10.0.0.5?privilegelevel=ROOT":  "has the privilegelevel ROOT",
		"redfish://10.0.0.5:port/redfish/v1/1": "cannot be read as a URL",
	} {
		if _, err := ParseBMC(address, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", address, err, want)
		}
	}
}

// TestDriverInfo: what Ironic is told of a BMC.
// Source: Ironic, the drivers' documentation; baremetal-operator, pkg/hardwareutils/bmc.
func TestDriverInfo(t *testing.T) {
	for name, tc := range map[string]struct {
		address string
		verify  bool
		want    map[string]any
	}{
		"Redfish": {"redfish-virtualmedia+http://10.0.0.5:8000/redfish/v1/Systems/1", true, map[string]any{
			"redfish_address": "http://10.0.0.5:8000", "redfish_system_id": "/redfish/v1/Systems/1", "redfish_username": "u", "redfish_password": "p",
		}},
		"OneSystem":  {"redfish://10.0.0.5", true, map[string]any{"redfish_address": "https://10.0.0.5", "redfish_username": "u", "redfish_password": "p"}},
		"Unverified": {"idrac-redfish://a.b/", false, map[string]any{"redfish_address": "https://a.b", "redfish_username": "u", "redfish_password": "p", "redfish_verify_ca": false}},
		"IPMI": {"ipmi://10.0.0.5", false, map[string]any{
			"ipmi_address": "10.0.0.5", "ipmi_port": "623", "ipmi_username": "u", "ipmi_password": "p", "ipmi_priv_level": "ADMINISTRATOR",
		}},
		"IPMI6": {"ipmi://[fd00::5]", true, map[string]any{
			"ipmi_address": "fd00::5", "ipmi_port": "623", "ipmi_username": "u", "ipmi_password": "p", "ipmi_priv_level": "ADMINISTRATOR",
		}},
		"IPMIPort": {"10.0.0.5:6230", true, map[string]any{
			"ipmi_address": "10.0.0.5", "ipmi_port": "6230", "ipmi_username": "u", "ipmi_password": "p", "ipmi_priv_level": "ADMINISTRATOR",
		}},
	} {
		b, err := ParseBMC(tc.address, tc.verify)
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(tc.want, b.DriverInfo("u", "p")); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

func TestRootDevice(t *testing.T) {
	no := false
	for name, tc := range map[string]struct {
		hints *RootDeviceHints
		want  map[string]string
	}{
		"Nil":    {nil, nil},
		"Empty":  {&RootDeviceHints{}, nil},
		"ByPath": {&RootDeviceHints{DeviceName: "/dev/disk/by-path/pci-0"}, map[string]string{"by_path": "s== /dev/disk/by-path/pci-0"}},
		"All": {&RootDeviceHints{
			DeviceName: "/dev/sda", HCTL: "0:0:0:0", Model: "m", Vendor: "v", SerialNumber: "s", MinSizeGigabytes: 10, WWN: "w", WWNWithExtension: "we", WWNVendorExtension: "wv", Rotational: &no,
		}, map[string]string{
			"name": "s== /dev/sda", "hctl": "s== 0:0:0:0", "model": "<in> m", "vendor": "<in> v", "serial": "s== s", "size": ">= 10",
			"wwn": "s== w", "wwn_with_extension": "s== we", "wwn_vendor_extension": "s== wv", "rotational": "false",
		}},
	} {
		if d := gocmp.Diff(tc.want, tc.hints.RootDevice()); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}
