package machine_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

// TestMetadata: what a machine with every kind of device is told.
func TestMetadata(t *testing.T) {
	cards := []machine.Card{
		{
			MAC: "00:50:56:00:00:01",
			Spec: api.NetworkDeviceSpec{
				NetworkConfiguration: api.NetworkConfiguration{
					Nameservers: []string{"10.0.0.2", "10.0.0.3"}, SearchDomains: []string{"example.com"},
					AddressesFromPools: []addresses.Ref{{Kind: "InClusterIPPool", Name: "nodes"}},
				},
				MTU: new(int64(9000)), Routes: []api.NetworkRouteSpec{{To: "10.9.0.0/16", Via: "10.0.0.9", Metric: new(int32(5))}},
			},
			Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.11/24"), netip.MustParsePrefix("fd00::11/64")},
			Gateway4:  netip.MustParseAddr("10.0.0.1"), Gateway6: netip.MustParseAddr("fd00::1"),
		},
		{
			MAC: "00:50:56:00:00:02",
			Spec: api.NetworkDeviceSpec{
				NetworkConfiguration: api.NetworkConfiguration{
					DHCP4: new(true),
					DHCP4Overrides: &api.DHCPOverrides{
						UseRoutes: new("false"), UseDomains: new("route"), RouteMetric: new(int32(200)), UseDNS: new(false), Hostname: new("other"),
					},
					DHCP6Overrides: &api.DHCPOverrides{UseDNS: new(true)},
				},
				DeviceName: "storage0",
			},
		},
	}
	routes := []api.NetworkRouteSpec{{To: "10.8.0.0/16", Via: "10.0.0.8"}}
	got, err := machine.Metadata(machine.Identity{UUID: m0, Hostname: "m-0", ProviderID: "vsphere://" + m0}, cards, routes)
	if err != nil {
		t.Fatal(err)
	}
	want := `instance-id: ` + m0 + `
local-hostname: m-0
network:
  ethernets:
    id0:
      accept-ra: false
      addresses:
      - 10.0.0.11/24
      - fd00::11/64
      dhcp4: false
      dhcp6: false
      gateway4: 10.0.0.1
      gateway6: fd00::1
      match:
        macaddress: "00:50:56:00:00:01"
      mtu: 9000
      nameservers:
        addresses:
        - 10.0.0.2
        - 10.0.0.3
        search:
        - example.com
      routes:
      - metric: 5
        to: 10.9.0.0/16
        via: 10.0.0.9
      - to: 10.8.0.0/16
        via: 10.0.0.8
      set-name: eth0
      wakeonlan: true
    id1:
      accept-ra: false
      dhcp4: true
      dhcp4-overrides:
        hostname: other
        route-metric: 200
        use-dns: false
        use-domains: route
        use-routes: false
      dhcp6: false
      match:
        macaddress: "00:50:56:00:00:02"
      routes:
      - to: 10.8.0.0/16
        via: 10.0.0.8
      set-name: storage0
      wakeonlan: true
  version: 2
provider_id: vsphere://` + m0 + `
wait-on-network:
  ipv4: true
  ipv6: true
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestWaitOnNetwork: a boot waits for no address that never is the one of a default route.
func TestWaitOnNetwork(t *testing.T) {
	device := func(change func(c *machine.Card)) machine.Card {
		c := machine.Card{MAC: "00:50:56:00:00:01"}
		change(&c)
		return c
	}
	static := []netip.Prefix{netip.MustParsePrefix("10.0.0.11/24")}
	static6 := []netip.Prefix{netip.MustParsePrefix("fd00::11/64")}
	for reason, tc := range map[string]struct {
		card      machine.Card
		four, six bool
	}{
		"DHCP":         {device(func(c *machine.Card) { c.Spec.DHCP4 = new(true) }), true, false},
		"DHCP of IPv6": {device(func(c *machine.Card) { c.Spec.DHCP6 = new(true) }), false, true},
		"DHCP without routes": {device(func(c *machine.Card) {
			c.Spec.DHCP4, c.Spec.DHCP4Overrides = new(true), &api.DHCPOverrides{UseRoutes: new("false")}
		}), false, false},
		"static, with a gateway":       {device(func(c *machine.Card) { c.Addresses, c.Spec.Gateway4 = static, "10.0.0.1" }), true, false},
		"static, gateway of the pool":  {device(func(c *machine.Card) { c.Addresses, c.Gateway4 = static, netip.MustParseAddr("10.0.0.1") }), true, false},
		"static, without a gateway":    {device(func(c *machine.Card) { c.Addresses = static }), false, false},
		"static, a gateway of another": {device(func(c *machine.Card) { c.Addresses, c.Spec.Gateway4 = static6, "10.0.0.1" }), false, false},
		"static of IPv6":               {device(func(c *machine.Card) { c.Addresses, c.Spec.Gateway6 = static6, "fd00::1" }), false, true},
		"no address":                   {device(func(c *machine.Card) { c.Spec.SkipIPAllocation = new(true) }), false, false},
	} {
		got, err := machine.Metadata(machine.Identity{UUID: m0}, []machine.Card{tc.card}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got, "ipv4: true") != tc.four || strings.Contains(got, "ipv6: true") != tc.six {
			t.Errorf("%s: %s\nwant IPv4 %t, IPv6 %t", reason, got[strings.Index(got, "wait-on"):], tc.four, tc.six)
		}
	}
}
