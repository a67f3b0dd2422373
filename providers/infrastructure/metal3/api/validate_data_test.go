package api

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/test/run/kindstest"
)

func pools() map[string]map[string]any {
	four, six := "10.0.0.0/24", "fd00::/64"
	return map[string]map[string]any{
		"IPPool":          {"p": &IPPoolSpec{Pools: []Pool{{Subnet: &four}}}, "q": &IPPoolSpec{Pools: []Pool{{Subnet: &six}}}},
		"InClusterIPPool": {"p": nil},
	}
}

func TestMetaDataChecks(t *testing.T) {
	for name, tc := range map[string]struct{ metaData, want, reason string }{
		"All": {`strings: [{key: a, value: b}], objectNames: [{key: c, object: machine}], indexes: [{key: d, offset: 3, step: 2}], namespaces: [{key: e}],
			ipAddressesFromPool: [{key: f, name: p}], prefixesFromPool: [{key: g, name: p}], gatewaysFromPool: [{key: h, name: p}], dnsServersFromPool: [{key: i, name: p}],
			fromHostInterfaces: [{key: j, interface: eth0}, {key: k, fromBootMAC: true}], fromLabels: [{key: l, object: baremetalhost, label: rack}],
			fromAnnotations: [{key: m, object: metal3machine, annotation: o}]`, "", "as upstream has it"},
		"NoKey":       {"strings: [{value: b}]", "strings[0].key: Required value", "nothing would be called so"},
		"Twice":       {"strings: [{key: a}], namespaces: [{key: a}]", "namespaces[0].key: Duplicate value", "upstream lets the last one win"},
		"ProviderID":  {"strings: [{key: providerid, value: a}]", "strings[0].key: Forbidden", "upstream overwrites it without a word"},
		"Name":        {"objectNames: [{key: local-hostname, object: machine}]", "", "people call hosts like machines so"},
		"Object":      {"objectNames: [{key: a, object: node}]", "objectNames[0].object: Unsupported value", "as upstream says"},
		"LabelObject": {"fromLabels: [{key: a, label: b}]", "fromLabels[0].object: Unsupported value", "as upstream says"},
		"Label":       {"fromLabels: [{key: a, object: machine}]", "fromLabels[0].label: Required value", "as upstream says"},
		"Annotation":  {"fromAnnotations: [{key: a, object: machine}]", "fromAnnotations[0].annotation: Required value", "as upstream says"},
		"NoteObject":  {"fromAnnotations: [{key: a, object: node, annotation: b}]", "fromAnnotations[0].object: Unsupported value", "as upstream says"},
		"Offset":      {"indexes: [{key: a, offset: -1}]", "indexes[0].offset: Invalid value", "as upstream says"},
		"Step":        {"indexes: [{key: a, step: -1}]", "indexes[0].step: Invalid value", "as upstream says"},
		"NoInterface": {"fromHostInterfaces: [{key: a}]", "fromHostInterfaces[0].interface: Required value", "as upstream says"},
		"Both":        {"fromHostInterfaces: [{key: a, interface: eth0, fromBootMAC: true}]", "fromHostInterfaces[0].interface: Forbidden", "as upstream says"},
		"PoolGone":    {"ipAddressesFromPool: [{key: a, name: x}]", "ipAddressesFromPool[0].name: Not found", "Git has it not"},
		"PoolNoName":  {"ipAddressesFromPool: [{key: a}]", "ipAddressesFromPool[0].name: Required value", "it names none"},
		"PoolKind":    {"ipAddressesFromPool: [{key: a, name: p, kind: InClusterIPPool}]", "", "upstream takes the IPPool of that name instead"},
		"PoolOther":   {"prefixesFromPool: [{key: a, name: p, kind: Infoblox}]", "prefixesFromPool[0].kind: Unsupported value", "nobody here asks it"},
		"PoolGroup":   {"gatewaysFromPool: [{key: a, name: p, apiGroup: ipam.cluster.x-k8s.io}]", "gatewaysFromPool[0].apiGroup: Unsupported value", "an IPPool is of another"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := normalised(t, "Metal3DataTemplate", "v1beta2", "{metaData: {"+tc.metaData+"}}", pools())
			kindstest.Check(t, got, tc.want, tc.reason)
		})
	}
}

func TestLinkChecks(t *testing.T) {
	const eth = "{type: phy, id: a, macAddress: {fromHostInterface: eth0}}, {type: phy, id: b, macAddress: {string: '52:54:00:00:00:01'}}"
	for name, tc := range map[string]struct{ links, want, reason string }{
		"Ethernets":   {"ethernets: [" + eth + "]", "", "the usual ones"},
		"Bond":        {"ethernets: [" + eth + "], bonds: [{id: c, bondMode: 802.3ad, bondLinks: [a, b], parameters: [{name: miimon, value: 100}]}]", "", "as upstream has it"},
		"Vlan":        {"ethernets: [" + eth + "], vlans: [{id: c, vlanID: 7, vlanLink: a, name: eth0.7, mtu: 9000}]", "", "as upstream has it"},
		"Type":        {"ethernets: [{id: a, macAddress: {fromHostInterface: eth0}}]", "ethernets[0].type: Unsupported value", "as upstream says"},
		"NoID":        {"ethernets: [{type: phy, macAddress: {fromHostInterface: eth0}}]", "ethernets[0].id: Required value", "networks name it"},
		"Twice":       {"ethernets: [" + eth + "], vlans: [{id: a, vlanID: 7, vlanLink: b}]", "vlans[0].id: Duplicate value", "networks name one link"},
		"NoMAC":       {"ethernets: [{type: phy, id: a}]", "ethernets[0].macAddress: Required value", "no card would be found"},
		"TwoMACs":     {"ethernets: [{type: phy, id: a, macAddress: {string: '52:54:00:00:00:01', fromHostInterface: eth0}}]", "macAddress: Invalid value", "upstream takes the first"},
		"MAC":         {"ethernets: [{type: phy, id: a, macAddress: {string: '52:54'}}]", "macAddress.string: Invalid value", "it is half of one"},
		"Annotation":  {"ethernets: [{type: phy, id: a, macAddress: {fromAnnotation: {object: baremetalhost}}}]", "fromAnnotation.annotation: Required value", "as upstream says"},
		"MTU":         {"ethernets: [{type: phy, id: a, mtu: 100, macAddress: {fromHostInterface: eth0}}]", "ethernets[0].mtu: Invalid value", "as upstream says"},
		"Name":        {"ethernets: [{type: phy, id: a, name: a-name-that-is-too-long, macAddress: {fromHostInterface: eth0}}]", "ethernets[0].name: Invalid value", "Linux has 15 characters"},
		"BondMode":    {"ethernets: [" + eth + "], bonds: [{id: c, bondLinks: [a, b]}]", "bonds[0].bondMode: Unsupported value", "as upstream says"},
		"BondPolicy":  {"ethernets: [" + eth + "], bonds: [{id: c, bondMode: 802.3ad, bondXmitHashPolicy: layer3, bondLinks: [a]}]", "bondXmitHashPolicy: Unsupported value", "as upstream says"},
		"BondEmpty":   {"bonds: [{id: c, bondMode: 802.3ad}]", "bonds[0].bondLinks: Required value", "a bond of nothing"},
		"BondMember":  {"ethernets: [" + eth + "], bonds: [{id: c, bondMode: 802.3ad, bondLinks: [a, x]}]", "bonds[0].bondLinks[1]: Invalid value", "there is no such link"},
		"BondOfBond":  {"bonds: [{id: c, bondMode: 802.3ad, bondLinks: [c]}]", "bonds[0].bondLinks[0]: Invalid value", "it is itself"},
		"BondParam":   {"ethernets: [" + eth + "], bonds: [{id: c, bondMode: 802.3ad, bondLinks: [a], parameters: [{name: mode, value: 1}]}]", "parameters[0].name: Forbidden", "upstream refuses to render it"},
		"BondNoValue": {"ethernets: [" + eth + "], bonds: [{id: c, bondMode: 802.3ad, bondLinks: [a], parameters: [{name: miimon}]}]", "parameters[0].value: Required value", "it says nothing"},
		"BondTwice":   {"ethernets: [" + eth + "], bonds: [{id: c, bondMode: 802.3ad, bondLinks: [a], parameters: [{name: miimon, value: 1}, {name: miimon, value: 2}]}]", "parameters[1].name: Duplicate value", "one would win"},
		"NoteObject":  {"ethernets: [{type: phy, id: a, macAddress: {fromAnnotation: {object: node, annotation: mac}}}]", "fromAnnotation.object: Unsupported value", "as upstream says"},
		"VlanNoID":    {"ethernets: [" + eth + "], vlans: [{id: c, vlanLink: a}]", "vlans[0].vlanID: Required value", "as upstream says"},
		"VlanZero":    {"ethernets: [" + eth + "], vlans: [{id: c, vlanID: 0, vlanLink: a}]", "vlans[0].vlanID: Invalid value", "IEEE 802.1Q"},
		"VlanMany":    {"ethernets: [" + eth + "], vlans: [{id: c, vlanID: 4095, vlanLink: a}]", "vlans[0].vlanID: Invalid value", "IEEE 802.1Q; upstream has 4096"},
		"VlanLink":    {"ethernets: [" + eth + "], vlans: [{id: c, vlanID: 7, vlanLink: x}]", "vlans[0].vlanLink: Invalid value", "there is no such link"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := normalised(t, "Metal3DataTemplate", "v1beta2", "networkData: {links: {"+tc.links+"}}", nil)
			kindstest.Check(t, got, tc.want, tc.reason)
		})
	}
}

func TestNetworkChecks(t *testing.T) {
	const route = ", routes: [{network: 0.0.0.0, gateway: {fromIPPool: p}, services: {dns: [10.0.0.1], dnsFromIPPool: p}}]"
	for name, tc := range map[string]struct{ networks, want, reason string }{
		"Static":      {"ipv4: [{id: w, link: a, ipAddressFromIPPool: p" + route + "}]", "", "as upstream's example"},
		"Static6":     {"ipv6: [{id: w, link: a, ipAddressFromIPPool: q, routes: [{network: '::', gateway: {string: 'fe80::1'}}]}]", "", "the same in IPv6"},
		"Ref":         {"ipv4: [{id: w, link: a, fromPoolRef: {name: p, kind: InClusterIPPool}}]", "", "of another group, which is filled in"},
		"Annotation":  {"ipv4: [{id: w, link: a, fromPoolAnnotation: {object: baremetalhost, annotation: pool}}]", "", "the host says it"},
		"NoteObject":  {"ipv4: [{id: w, link: a, fromPoolAnnotation: {object: node, annotation: pool}}]", "fromPoolAnnotation.object: Unsupported value", "as upstream says"},
		"DNSName":     {"ipv4DHCP: [{id: w, link: a, routes: [{network: 0.0.0.0, gateway: {string: 10.0.0.1}, services: {dnsFromIPPool: A_B}}]}]", "services.dnsFromIPPool: Invalid value", "no object is called so"},
		"DHCP":        {"ipv4DHCP: [{id: w, link: a}], ipv6DHCP: [{id: o, link: a}], ipv6SLAAC: [{id: q, link: a}]", "", "nothing is to be given"},
		"NoPool":      {"ipv4: [{id: w, link: a}]", "ipv4[0].fromPoolRef: Required value", "as upstream says"},
		"TwoPools":    {"ipv4: [{id: w, link: a, ipAddressFromIPPool: p, fromPoolRef: {name: p}}]", "ipv4[0]: Forbidden: it is said twice", "upstream takes the reference"},
		"PoolGone":    {"ipv4: [{id: w, link: a, ipAddressFromIPPool: x}]", "fromPoolRef.name: Not found", "Git has it not"},
		"Family":      {"ipv4: [{id: w, link: a, ipAddressFromIPPool: q}]", "has addresses of IPv6", "upstream writes them down all the same"},
		"Family6":     {"ipv6: [{id: w, link: a, ipAddressFromIPPool: p}]", "has addresses of IPv4", "the other way round"},
		"Link":        {"ipv4DHCP: [{id: w, link: x}]", "ipv4DHCP[0].link: Invalid value", "there is no such link"},
		"Twice":       {"ipv4DHCP: [{id: w, link: a}], ipv6DHCP: [{id: w, link: a}]", "ipv6DHCP[0].id: Duplicate value", "cloud-init takes one"},
		"Gateway":     {"ipv4DHCP: [{id: w, link: a, routes: [{network: 10.1.0.0, prefix: 16}]}]", "routes[0].gateway.fromPoolRef: Required value", "it leads nowhere"},
		"GatewayBoth": {"ipv4DHCP: [{id: w, link: a, routes: [{network: 0.0.0.0, gateway: {string: 10.0.0.1, fromIPPool: p}}]}]", "routes[0].gateway: Forbidden", "upstream takes the text"},
		"GatewayV6":   {"ipv4DHCP: [{id: w, link: a, routes: [{network: 0.0.0.0, gateway: {string: 'fd00::1'}}]}]", "gateway.string: Invalid value", "as upstream says"},
		"GatewayPool": {"ipv4DHCP: [{id: w, link: a, routes: [{network: 0.0.0.0, gateway: {fromIPPool: q}}]}]", "has addresses of IPv6", "no gateway of IPv4"},
		"Prefix":      {"ipv4DHCP: [{id: w, link: a, routes: [{network: 0.0.0.0, prefix: 33, gateway: {string: 10.0.0.1}}]}]", "routes[0].prefix: Invalid value", "as upstream says"},
		"Network":     {"ipv4DHCP: [{id: w, link: a, routes: [{network: 10.1.2.0, prefix: 16, gateway: {string: 10.0.0.1}}]}]", "routes[0].network: Invalid value", "the kernel refuses it"},
		"DNS":         {"ipv4DHCP: [{id: w, link: a, routes: [{network: 0.0.0.0, gateway: {string: 10.0.0.1}, services: {dns: [ns.example.com]}}]}]", "services.dns[0]: Invalid value", "a name needs a server"},
		"DNSGone":     {"ipv4DHCP: [{id: w, link: a, routes: [{network: 0.0.0.0, gateway: {string: 10.0.0.1}, services: {dnsFromIPPool: x}}]}]", "services.dnsFromIPPool: Not found", "Git has it not"},
	} {
		t.Run(name, func(t *testing.T) {
			const links = "{links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eth0}}]}, networks: {"
			_, got := normalised(t, "Metal3DataTemplate", "v1beta2", "networkData: "+links+tc.networks+"}}", pools())
			kindstest.Check(t, got, tc.want, tc.reason)
		})
	}
}

// TestVersionsOfData: what is written in v1beta1 is the same in v1beta2.
func TestVersionsOfData(t *testing.T) {
	older, wrong := normalised(t, "Metal3DataTemplate", "v1beta1", `
metaData: {ipAddressesFromIPPool: [{key: a, name: p}], indexes: [{key: i}]}
networkData:
  links:
    ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eth0}}]
    bonds: [{id: b, bondMode: 802.3ad, bondLinks: [a], parameters: {miimon: 100, downdelay: 5}}]
  networks: {ipv4: [{id: w, link: b, ipAddressFromIPPool: p}]}
`, pools())
	newer, wrong2 := normalised(t, "Metal3DataTemplate", "v1beta2", `
metaData: {ipAddressesFromPool: [{key: a, name: p, kind: IPPool, apiGroup: ipam.metal3.io}], indexes: [{key: i, step: 1}]}
networkData:
  links:
    ethernets: [{type: phy, id: a, mtu: 1500, macAddress: {fromHostInterface: eth0}}]
    bonds: [{id: b, bondMode: 802.3ad, bondLinks: [a], parameters: [{name: downdelay, value: 5}, {name: miimon, value: 100}]}]
  networks: {ipv4: [{id: w, link: b, fromPoolRef: {name: p}}]}
`, pools())
	if wrong+wrong2 != "" {
		t.Fatal(wrong, wrong2)
	}
	if d := gocmp.Diff(kindstest.YAML(t, newer), kindstest.YAML(t, older)); d != "" {
		t.Errorf("-v1beta2 +v1beta1:\n%s", d)
	}
	if got := newer.(*Metal3DataTemplateSpec).Pools(); len(got) != 1 || got[0] != (IPPoolReference{"p", "IPPool", "ipam.metal3.io"}) {
		t.Errorf("pools: %v", got)
	}
}

func TestPoolChecks(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want, reason string }{
		"Range":       {"pools: [{start: 10.0.0.10, end: 10.0.0.20, prefix: 24, gateway: 10.0.0.1, dnsServers: [10.0.0.2]}]\nnamePrefix: p", "", "as upstream's example"},
		"Subnet":      {"pools: [{subnet: 10.0.0.0/24}]", "", "the prefix is the subnet's"},
		"Inherited":   {"pools: [{start: 10.0.0.10, end: 10.0.0.20}]\nprefix: 24\ngateway: 10.0.0.1", "", "as upstream has it"},
		"NoPools":     {"namePrefix: p", "pools: Required value", "it would give nothing"},
		"NoPrefix":    {"pools: [{start: 10.0.0.10, end: 10.0.0.20}]", "pools[0].prefix: Invalid value", "upstream gives the netmask 0.0.0.0"},
		"LongPrefix":  {"pools: [{start: 10.0.0.10, end: 10.0.0.20, prefix: 64}]", "pools[0].prefix: Invalid value", "IPv4 has 32 bits"},
		"EndAlone":    {"pools: [{end: 10.0.0.20, prefix: 24}]", "start or subnet is needed", "upstream takes it, and gives nothing"},
		"StartAlone":  {"pools: [{start: 10.0.0.20, prefix: 24}]", "end or subnet is needed", "upstream goes on for ever"},
		"Backwards":   {"pools: [{start: 10.0.0.20, end: 10.0.0.10, prefix: 24}]", "is before start", "as upstream says"},
		"Outside":     {"pools: [{start: 10.0.1.20, subnet: 10.0.0.0/24}]", "pools[0]: Invalid value", "as upstream says, when it is too late"},
		"EndOutside":  {"pools: [{end: 10.0.1.20, subnet: 10.0.0.0/24}]", "is not within the subnet", "as upstream says, when it is too late"},
		"Mixed":       {"pools: [{subnet: 10.0.0.0/24}, {subnet: 'fd00::/64'}]", "IPv4 and IPv6 do not mix", "a network is of one family"},
		"Start":       {"pools: [{start: a, subnet: 10.0.0.0/24}]", "pools[0].start: Invalid value", "as upstream says"},
		"SubnetText":  {"pools: [{subnet: 10.0.0.0}]", "pools[0].subnet: Invalid value", "as upstream says"},
		"Gateway":     {"pools: [{subnet: 10.0.0.0/24, gateway: 'fd00::1'}]", "pools[0].gateway: Invalid value", "of another family"},
		"GatewayTop":  {"pools: [{subnet: 10.0.0.0/24}]\ngateway: 'fd00::1'", "spec.gateway: Invalid value", "of another family"},
		"DNS":         {"pools: [{subnet: 10.0.0.0/24}]\ndnsServers: [a]", "dnsServers[0]: Invalid value", "as upstream says"},
		"Strategy":    {"pools: [{subnet: 10.0.0.0/24}]\nallocationStrategy: best", "allocationStrategy: Unsupported value", "as upstream says"},
		"PreAllocate": {"pools: [{subnet: 10.0.0.0/24}]\npreAllocations: {host-0-p: 10.0.0.5}", "", "as upstream has it"},
		"PreOutside":  {"pools: [{subnet: 10.0.0.0/24}]\npreAllocations: {host-0-p: 10.0.1.5}", "preAllocations[host-0-p]: Invalid value", "as upstream says"},
		"PreTwice":    {"pools: [{subnet: 'fd00::/64'}]\npreAllocations: {a: 'fd00::5', b: 'fd00:0::5'}", "preAllocations[b]: Invalid value", "as upstream says, however it is spelt"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := normalised(t, "IPPool", "v1alpha1", tc.spec, nil)
			kindstest.Check(t, got, tc.want, tc.reason)
		})
	}
}
