package api

import (
	"testing"

	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/test/run/kindstest"
)

func TestNetworkChecks(t *testing.T) {
	for name, tc := range map[string]struct{ device, want, reason string }{
		"DHCP":            {"networkName: lan, dhcp4: true", "", "the usual one"},
		"DHCP6":           {"networkName: lan, dhcp6: true", "", "IPv6 is as good"},
		"Skip":            {"networkName: lan, skipIPAllocation: true", "", "something else gives it addresses"},
		"NoNetwork":       {"dhcp4: true", "network.devices[0].networkName: Required value", "no zone names it"},
		"NoAddress":       {"networkName: lan, dhcp4: false", "it is not said where the device gets its address", "Cluster API waits for ever"},
		"Static":          {"networkName: lan, ipAddrs: [10.0.0.5/24, 'fd00::5/64'], gateway4: 10.0.0.1, gateway6: 'fd00::1'", "", "a machine that stands alone"},
		"StaticNoPrefix":  {"networkName: lan, ipAddrs: [10.0.0.5]", "ipAddrs[0]: Invalid value: \"10.0.0.5\": must be an address with the length", "netplan needs it"},
		"StaticAndDHCP":   {"networkName: lan, ipAddrs: [10.0.0.5/24], dhcp4: true", "ipAddrs[0]: Forbidden: dhcp4 gives the device its address", "as upstream says"},
		"StaticAndDHCP6":  {"networkName: lan, ipAddrs: [10.0.0.5/24], dhcp6: true", "", "the other family"},
		"StaticAndBoth6":  {"networkName: lan, ipAddrs: ['fd00::5/64'], dhcp6: true", "ipAddrs[0]: Forbidden: dhcp6 gives the device its address", "as upstream says"},
		"GatewayOfDHCP":   {"networkName: lan, ipAddrs: ['fd00::5/64'], dhcp4: true, gateway4: 10.0.0.1", "", "the IPv4 network is DHCP's"},
		"Gateway":         {"networkName: lan, ipAddrs: [10.0.0.5/24], gateway4: 10.0.1.1", "gateway4: Invalid value: \"10.0.1.1\": is in none of the networks of ipAddrs", "nothing would leave"},
		"GatewayFamily":   {"networkName: lan, ipAddrs: [10.0.0.5/24], gateway4: 'fd00::1'", "is of the other family", "gateway6 is for that"},
		"Gateway6":        {"networkName: lan, ipAddrs: ['fd00::5/64'], gateway6: 'fd01::1'", "gateway6: Invalid value: \"fd01::1\": is in none of the networks", "nothing would leave"},
		"GatewayLocal":    {"networkName: lan, ipAddrs: ['fd00::5/64'], gateway6: 'fe80::1'", "", "routers have that one"},
		"GatewayOfPool":   {"networkName: lan, addressesFromPools: [{kind: InClusterIPPool, name: p}], gateway4: 10.0.1.1", "", "whose network is not known here"},
		"GatewayText":     {"networkName: lan, dhcp4: true, gateway4: router", "gateway4: Invalid value", "it is no address"},
		"Pool":            {"networkName: lan, addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: p}]", "", "as upstream's example"},
		"PoolGone":        {"networkName: lan, addressesFromPools: [{kind: InClusterIPPool, name: q}]", "addressesFromPools[0]: Not found", "Git has it not"},
		"PoolKind":        {"networkName: lan, addressesFromPools: [{kind: InfobloxIPPool, name: p}]", "addressesFromPools[0].kind: Unsupported value", "nobody here asks it"},
		"PoolGroup":       {"networkName: lan, addressesFromPools: [{apiGroup: x.example.com, kind: InClusterIPPool, name: p}]", "addressesFromPools[0].apiGroup: Unsupported value", "nobody here asks it"},
		"Overrides":       {"networkName: lan, dhcp4: true, dhcp4Overrides: {useDomains: route, useRoutes: 'true', routeMetric: 5}", "", "as netplan has it"},
		"OverridesNoDHCP": {"networkName: lan, dhcp4: false, dhcp6: true, dhcp4Overrides: {useDNS: false}", "dhcp4Overrides: Forbidden: dhcp4 is false", "they would do nothing"},
		"UseDomains":      {"networkName: lan, dhcp6: true, dhcp6Overrides: {useDomains: 'yes'}", "useDomains: Unsupported value", "netplan refuses it"},
		"UseRoutes":       {"networkName: lan, dhcp4: true, dhcp4Overrides: {useRoutes: route}", "useRoutes: Unsupported value", "netplan refuses it"},
		"RouteMetric":     {"networkName: lan, dhcp4: true, dhcp4Overrides: {routeMetric: -1}", "routeMetric: Invalid value", "netplan refuses it"},
		"Nameserver":      {"networkName: lan, dhcp4: true, nameservers: [dns.example.com]", "nameservers[0]: Invalid value", "a name needs a server to be found"},
		"SearchDomain":    {"networkName: lan, dhcp4: true, searchDomains: ['a b']", "searchDomains[0]: Invalid value", "it is no domain"},
		"DeviceName":      {"networkName: lan, dhcp4: true, deviceName: a-name-that-is-too-long", "deviceName: Invalid value", "Linux has 15 characters"},
		"MAC":             {"networkName: lan, dhcp4: true, macAddr: '00:50:56'", "macAddr: Invalid value", "it is half of one"},
		"MTU":             {"networkName: lan, dhcp4: true, mtu: 10", "mtu: Invalid value", "IPv4 needs 68"},
		"Route":           {"networkName: lan, dhcp4: true, routes: [{to: 10.1.0.0/16, via: 10.0.0.1, metric: 5}, {to: default, via: 10.0.0.2}]", "", "as netplan has it"},
		"RouteFamily":     {"networkName: lan, dhcp4: true, routes: [{to: 10.1.0.0/16, via: 'fd00::1'}]", "routes[0].via: Invalid value: \"fd00::1\": is of the other family", "nothing would go there"},
		"RouteTo":         {"networkName: lan, dhcp4: true, routes: [{to: net, via: 10.0.0.1}]", "routes[0].to: Invalid value", "it is no range"},
		"RouteVia":        {"networkName: lan, dhcp4: true, routes: [{to: 10.1.0.0/16}]", "routes[0].via: Required value", "it leads nowhere"},
		"RouteMinus":      {"networkName: lan, dhcp4: true, routes: [{to: 10.1.0.0/16, via: 10.0.0.1, metric: -1}]", "routes[0].metric: Invalid value", "netplan refuses it"},
		"NameTwice":       {"networkName: lan, dhcp4: true, deviceName: eth0}, {networkName: lan, dhcp4: true, deviceName: eth0", "devices[1].deviceName: Duplicate value", "Linux has one of a name"},
		"MACTwice":        {"networkName: lan, dhcp4: true, macAddr: '00:50:56:00:00:AA'}, {networkName: lan, dhcp4: true, macAddr: '00:50:56:00:00:aa'", "devices[1].macAddr: Duplicate value", "one switch, one address"},
	} {
		t.Run(name, func(t *testing.T) {
			pools := map[string]map[string]any{"InClusterIPPool": {"p": addresses.PoolSpec{}}}
			_, got := normalised(t, "VSphereMachine", "v1beta2", "template: t\nnetwork: {devices: [{"+tc.device+"}]}", pools)
			kindstest.Check(t, got, tc.want, tc.reason)
		})
	}
	_, got := normalised(t, "VSphereMachine", "v1beta2", "template: t\nnetwork: {devices: [{networkName: lan, dhcp4: true}], routes: [{to: x}]}", nil)
	kindstest.Check(t, got, "spec.network.routes[0].to: Invalid value", "routes of the machine are checked too")
	_, got = normalised(t, "VSphereMachine", "v1beta2", "template: t\nnetwork: {devices: []}", nil)
	kindstest.Check(t, got, "network.devices: Required value: a machine needs a network", "nobody could reach it")
}

// TestNetworksOfZones: what failure domains say of a device need not be said of the machine.
func TestNetworksOfZones(t *testing.T) {
	const names, all = "networks: [a, b]", "networkConfigurations: [{networkName: a, dhcp4: true}]"
	for name, tc := range map[string]struct{ topology, devices, want, reason string }{
		"Named":        {names, "{dhcp4: true}, {dhcp4: true}", "", "the zone names both"},
		"TooFew":       {names, "{dhcp4: true}, {dhcp4: true}, {dhcp4: true}", "devices[2].networkName: Required value", "the zone names two"},
		"NoDevice":     {names, "", "", "the zone has devices"},
		"NamesAlone":   {names, "{}", "devices[0]: Required value: it is not said where the device gets its address", "names say nothing of addresses"},
		"Configured":   {all, "{}", "", "the zone says everything"},
		"SecondDevice": {all, "{}, {networkName: b}", "devices[1]: Required value", "the zone says it of the first"},
	} {
		t.Run(name, func(t *testing.T) {
			d, wrong := normalised(t, "VSphereFailureDomain", "v1beta2", "region: {name: r, type: Datacenter, tagCategory: c}\n"+
				"zone: {name: r, type: Datacenter, tagCategory: c}\ntopology: {datacenter: d, "+tc.topology+"}", nil)
			if wrong != "" {
				t.Fatal(wrong)
			}
			domains := map[string]map[string]any{"VSphereFailureDomain": {"d": d}}
			_, got := normalised(t, "VSphereMachineTemplate", "v1beta2", "template: t\nnetwork: {devices: ["+tc.devices+"]}", domains)
			kindstest.Check(t, got, tc.want, tc.reason)
			domains["VSphereFailureDomain"]["broken"] = nil
			_, got = normalised(t, "VSphereMachineTemplate", "v1beta2", "template: t\nnetwork: {devices: ["+tc.devices+"]}", domains)
			kindstest.Check(t, got, "", "one that cannot be read may say it")
		})
	}
}
