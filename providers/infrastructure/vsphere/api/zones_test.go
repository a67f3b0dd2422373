package api_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/vsphere/api"
)

func TestZones(t *testing.T) {
	const selector = "{matchLabels: {env: prod}}"
	for name, tc := range map[string]struct {
		change []string
		want   string // name and control plane of each
		reason string
	}{
		"Selected":    {nil, "a true, b false", "the labels of zones decide; one of another vCenter is not the cluster's"},
		"All":         {[]string{selector, "{}"}, "a true, b false, d true", "an empty selector selects all"},
		"None":        {[]string{"failureDomainSelector: " + selector, ""}, "", "no selector selects none"},
		"Nothing":     {[]string{selector, "{matchLabels: {env: test}}"}, "", "nothing has the label"},
		"OtherServer": {[]string{"server: https://VC.example.com/sdk", "server: other.example.com"}, "a true, c true", "a zone without server is of any vCenter"},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := cluster(t, tc.change...)
			slices.Reverse(c.Companions) // their order says nothing
			zones, err := api.Zones(c, s)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, z := range zones {
				got = append(got, z.Name+" "+map[bool]string{true: "true", false: "false"}[z.ControlPlane])
			}
			if strings.Join(got, ", ") != tc.want {
				t.Errorf("got %v, want %s: %s", got, tc.want, tc.reason)
			}
		})
	}
}

func TestZoneWithoutDomain(t *testing.T) {
	c, s := cluster(t, "failureDomain: fd-a", "failureDomain: fd-z")
	if _, err := api.Zones(c, s); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "no VSphereFailureDomain fd-z") {
		t.Errorf("got %v, want that there is none", err)
	}
	if _, err := api.FindZone(c, s, "z"); fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "no VSphereDeploymentZone of that name") {
		t.Errorf("got %v, want that there is none", err)
	}
	c, s = cluster(t, "{server: other.example.com, failureDomain: fd-b}", "{server: other.example.com, failureDomain: fd-z}")
	if zones, err := api.Zones(c, s); err != nil || len(zones) != 2 {
		t.Errorf("a zone of another vCenter has no domain: got %v %v, want those of the cluster's own", zones, err)
	}
	if z, err := api.FindZone(c, s, ""); z != nil || err != nil {
		t.Errorf("no failure domain: got %v %v, want none", z, err)
	}
}

// TestPlace: the zone comes first, then the machine, then the cluster.
func TestPlace(t *testing.T) {
	c, s := cluster(t)
	m, err := api.ReadMachine(c.ControlPlane.Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	type placed struct{ Server, Thumbprint, Datacenter, Folder, ResourcePool, Datastore, Devices string }
	const print = "AA:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13"
	of := func(m *api.VSphereMachineSpec) placed {
		var devices []string
		for _, d := range m.Network.Devices {
			text := d.NetworkName
			if d.DHCP4 != nil && *d.DHCP4 {
				text += " dhcp4"
			}
			for _, p := range d.AddressesFromPools {
				text += " " + p.Name
			}
			devices = append(devices, strings.Join(append([]string{text}, d.Nameservers...), " "))
		}
		return placed{m.Server, m.Thumbprint, m.Datacenter, m.Folder, m.ResourcePool, m.Datastore, strings.Join(devices, ", ")}
	}
	before := of(m)
	const bare = "front dhcp4 10.0.0.2, back dhcp4"
	for zone, want := range map[string]placed{
		"":  {"VC.example.com", print, "DC9", "of-machine", "of-machine", "of-machine", bare},
		"a": {"VC.example.com", print, "DC0", "of-zone", "of-zone", "of-zone", "zone-front pool 10.0.0.2, back dhcp4"},
		"b": {"vc.example.com:443", print, "DC1", "of-machine", "of-machine", "of-machine", "one dhcp4 10.0.0.2, two dhcp4"},
		"c": {"other.example.com", "", "DC1", "of-machine", "of-machine", "of-machine", "one dhcp4 10.0.0.2, two dhcp4"},
	} {
		z, err := api.FindZone(c, s, zone)
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, of(place(t, z, s, m))); d != "" {
			t.Errorf("zone %q: -want +got:\n%s", zone, d)
		}
	}
	var none *api.Zone
	m.Thumbprint = "BB"
	if got := of(place(t, none, s, m)); got.Thumbprint != "BB" {
		t.Errorf("a machine that says it of the cluster's vCenter: got %+v", got)
	}
	other, err := api.FindZone(c, s, "c")
	if err != nil {
		t.Fatal(err)
	}
	if got := of(place(t, other, s, m)); got.Thumbprint != "" {
		t.Errorf("the machine's thumbprint is said of the vCenter of its zone: %+v", got)
	}
	m.Server = "own.example.com"
	if got := of(place(t, none, s, m)); got.Server != "own.example.com" || got.Thumbprint != "BB" {
		t.Errorf("a machine with a vCenter of its own: got %+v", got)
	}
	m.Thumbprint = ""
	if got := of(place(t, none, s, m)); got.Thumbprint != "" {
		t.Errorf("the cluster's thumbprint is said of another vCenter: %+v", got)
	}
	m.Server = ""
	if d := gocmp.Diff(before, of(m)); d != "" {
		t.Errorf("the machine was changed: -before +after:\n%s", d)
	}
}

// TestPlaceDevices: a zone may have more networks than the machine, if it says where their
// addresses come from.
func TestPlaceDevices(t *testing.T) {
	for name, tc := range map[string]struct{ zone, want string }{
		"Configured": {"networkConfigurations: [{networkName: one}, {networkName: two}, {networkName: three, dhcp6: true}]", ""},
		"Names":      {"networks: [one, two, three]", "failure domain b: network.devices[2]: Required value: it is not said where the device gets its address"},
		"NoAddress":  {"networkConfigurations: [{networkName: one, dhcp4: false}]", "network.devices[0]: Required value"},
	} {
		c, s := cluster(t, "networks: [one, two]", tc.zone)
		m, _ := api.ReadMachine(c.ControlPlane.Infrastructure)
		z, err := api.FindZone(c, s, "b")
		if err != nil {
			t.Fatal(err)
		}
		got, err := z.Place(s, m)
		switch {
		case tc.want == "" && (err != nil || len(got.Network.Devices) != 3 || got.Network.Devices[2].NetworkName != "three"):
			t.Errorf("%s: got %+v %v, want three devices", name, got, err)
		case tc.want != "" && (fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got %v, want %s", name, err, tc.want)
		}
	}
}

// TestPlaceConfiguration: what a zone says of a device replaces what the machine says of it.
func TestPlaceConfiguration(t *testing.T) {
	c, s := cluster(t, "networks: [one, two]", "networkConfigurations: [{networkName: one, dhcp4: true, dhcp4Overrides: {useDNS: false}, "+
		"dhcp6: true, dhcp6Overrides: {useNTP: false}, nameservers: [10.9.0.2], searchDomains: [zone.example.com]}]")
	m, _ := api.ReadMachine(c.ControlPlane.Infrastructure)
	m.Network.Devices[0].SearchDomains = []string{"machine.example.com"}
	z, err := api.FindZone(c, s, "b")
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	got, want := place(t, z, s, m).Network.Devices, []api.NetworkConfiguration{
		{
			NetworkName: "one", DHCP4: &yes, DHCP6: &yes, DHCP4Overrides: &api.DHCPOverrides{UseDNS: &no}, DHCP6Overrides: &api.DHCPOverrides{UseNTP: &no},
			Nameservers: []string{"10.9.0.2"}, SearchDomains: []string{"zone.example.com"},
		},
		{NetworkName: "back", DHCP4: &yes},
	}
	for i, w := range want {
		if d := gocmp.Diff(w, got[i].NetworkConfiguration); d != "" {
			t.Errorf("device %d: -want +got:\n%s", i, d)
		}
	}
}

func place(t *testing.T, z *api.Zone, s *api.VSphereClusterSpec, m *api.VSphereMachineSpec) *api.VSphereMachineSpec {
	t.Helper()
	out, err := z.Place(s, m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPools: what a zone says of addresses is found as that of the machine is.
func TestPools(t *testing.T) {
	c, s := cluster(t)
	m, _ := api.ReadMachine(c.ControlPlane.Infrastructure)
	z, err := api.FindZone(c, s, "a")
	if err != nil {
		t.Fatal(err)
	}
	p, err := addresses.Find(c, place(t, z, s, m).Network.Devices[0].AddressesFromPools[0])
	if err != nil || p.ID != "GlobalInClusterIPPool/pool" {
		t.Errorf("got %v %v, want the pool of the zone", p, err)
	}
}
