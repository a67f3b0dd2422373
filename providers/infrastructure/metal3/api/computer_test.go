package api_test

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
)

// TestComputer: notation tells no computers apart, and hosts, ports and systems do.
func TestComputer(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redfish-virtualmedia://10.0.0.5/redfish/v1/Systems/1":           "10.0.0.5/redfish/v1/systems/1",
		"redfish+http://10.0.0.5:80/redfish/v1/Systems/1/":               "10.0.0.5/redfish/v1/systems/1",
		"idrac-redfish+https://10.0.0.5:443/redfish/v1/Systems/System.1": "10.0.0.5/redfish/v1/systems/system.1",
		"redfish://BMC.example.com/redfish/v1":                           "bmc.example.com",
		"redfish://10.0.0.5:8000/redfish/v1/Systems/a":                   "10.0.0.5:8000/redfish/v1/systems/a",
		"ipmi://10.0.0.5":         "10.0.0.5",
		"10.0.0.5:623":            "10.0.0.5",
		"libvirt://10.0.0.5:6233": "10.0.0.5:6233",
		"ipmi://[2001:db8::0:5]":  "2001:db8::5",
		"redfish://[2001:DB8::5]:8000/redfish/v1/Systems/1":               "[2001:db8::5]:8000/redfish/v1/systems/1",
		"redfish-uefihttp+http://[::ffff:10.0.0.5]/redfish/v1/Systems/1/": "10.0.0.5/redfish/v1/systems/1",
	} {
		b, err := api.ParseBMC(address, true)
		if err != nil {
			t.Errorf("%s: %v", address, err)
		} else if got := b.Computer(); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
	for name, tc := range map[string]struct {
		info map[string]any
		want string
	}{
		"no scheme":    {map[string]any{"redfish_address": "10.0.0.5"}, "10.0.0.5"},
		"a number":     {map[string]any{"ipmi_address": "10.0.0.5", "ipmi_port": 6230.0}, "10.0.0.5:6230"},
		"trailing dot": {map[string]any{"redfish_address": "https://bmc.example.com."}, "bmc.example.com"},
		"old drac":     {map[string]any{"drac_address": "10.0.0.5"}, "10.0.0.5"},
		"bridged":      {map[string]any{"ipmi_address": "10.0.0.5", "ipmi_bridging": "single"}, ""},
		"not bridged":  {map[string]any{"ipmi_address": "10.0.0.5", "ipmi_bridging": "no"}, "10.0.0.5"},
		"unreadable":   {map[string]any{"redfish_address": "http://[/"}, ""},
		"another kind": {map[string]any{"snmp_address": "10.0.0.5"}, ""},
	} {
		if got := api.Computer(tc.info); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestSameComputer: a BMC that is told no system is that of each of its systems.
func TestSameComputer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"10.0.0.5", "10.0.0.5", true},
		{"10.0.0.5", "10.0.0.5/redfish/v1/systems/1", true},
		{"10.0.0.5/redfish/v1/systems/1", "10.0.0.5", true},
		{"10.0.0.5/redfish/v1/systems/1", "10.0.0.5/redfish/v1/systems/2", false},
		{"10.0.0.5", "10.0.0.50", false},
		{"10.0.0.5", "10.0.0.5:8000", false},
		{"", "", false},
	} {
		if got := fleet.SameIdentity(tc.a, tc.b); got != tc.want {
			t.Errorf("%q and %q: %t", tc.a, tc.b, got)
		}
	}
}
