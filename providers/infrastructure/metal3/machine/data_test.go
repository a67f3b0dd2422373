package machine

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/kinds"
)

var (
	four = api.IPPoolReference{Name: "p", Kind: "IPPool", APIGroup: "ipam.metal3.io"}
	six  = api.IPPoolReference{Name: "q", Kind: "IPPool", APIGroup: "ipam.metal3.io"}
	bare = api.IPPoolReference{Name: "b", Kind: "InClusterIPPool", APIGroup: "ipam.cluster.x-k8s.io"}
)

func data() *Data {
	return &Data{
		Host: Host{
			Namespace: "metal", Name: "host-0", UUID: "7f1e", Labels: map[string]string{"rack": "a"}, BootMAC: "52:54:00:00:00:01",
			Annotations: map[string]string{"pool": "p", "mac": "52:54:00:00:00:03", "no-mac": "x"},
			NICs:        map[string]string{"eth0": "52:54:00:00:00:01", "eth1": "52:54:00:00:00:02"},
		},
		Machine: Machine{Name: "eu-md-0-x7k", Labels: map[string]string{"rack": "of-machine"}, Annotations: map[string]string{"note": "n"}, Index: 2},
		Addresses: map[api.IPPoolReference]Address{
			four: {Prefix: netip.MustParsePrefix("10.0.0.5/24"), Gateway: netip.MustParseAddr("10.0.0.1"), DNS: []netip.Addr{netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")}},
			six:  {Prefix: netip.MustParsePrefix("fd00::5/64"), Gateway: netip.MustParseAddr("fd00::1")},
			bare: {Prefix: netip.MustParsePrefix("10.1.0.5/31")},
		},
	}
}

// template reads the spec of a Metal3DataTemplate, normalised as the decoder does it.
func template(t *testing.T, text string) *api.Metal3DataTemplateSpec {
	t.Helper()
	o := new(kinds.Object[api.Metal3DataTemplateSpec])
	if err := yaml.UnmarshalStrict([]byte(text), &o.Spec); err != nil {
		t.Fatal(err)
	}
	for _, k := range api.Kinds() {
		if k.Kind == "Metal3DataTemplate" {
			out, errs := k.Normalise(o)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			return out.(*api.Metal3DataTemplateSpec)
		}
	}
	t.Fatal("no such kind")
	return nil
}

func TestMetaData(t *testing.T) {
	base := map[string]string{
		"uuid": "7f1e", "metal3-namespace": "metal", "metal3-name": "host-0", "name": "host-0", "local-hostname": "host-0", "local_hostname": "host-0",
		"providerid": "metal/host-0/eu-md-0-x7k",
	}
	for name, tc := range map[string]struct {
		template string
		want     map[string]string
		reason   string
	}{
		"Nothing":     {"{}", nil, "what every machine is told"},
		"Strings":     {"metaData: {strings: [{key: a, value: b}]}", map[string]string{"a": "b"}, "as written"},
		"Names":       {"metaData: {objectNames: [{key: a, object: machine}, {key: b, object: metal3machine}, {key: c, object: baremetalhost}]}", map[string]string{"a": "eu-md-0-x7k", "b": "eu-md-0-x7k", "c": "host-0"}, "both objects of a machine are one"},
		"Hostname":    {"metaData: {objectNames: [{key: local-hostname, object: machine}]}", map[string]string{"local-hostname": "eu-md-0-x7k"}, "the template goes before the host"},
		"Indexes":     {"metaData: {indexes: [{key: a}, {key: b, offset: 3, step: 5, prefix: x-, suffix: -y}]}", map[string]string{"a": "2", "b": "x-13-y"}, "offset + index × step"},
		"Namespaces":  {"metaData: {namespaces: [{key: a}]}", map[string]string{"a": "metal"}, "that of the machine"},
		"Pools":       {"metaData: {ipAddressesFromPool: [{key: a, name: p}], prefixesFromPool: [{key: b, name: p}], gatewaysFromPool: [{key: c, name: p}], dnsServersFromPool: [{key: d, name: p}]}", map[string]string{"a": "10.0.0.5", "b": "24", "c": "10.0.0.1", "d": "10.0.0.2,10.0.0.3"}, "one address of the pool"},
		"NoGateway":   {"metaData: {gatewaysFromPool: [{key: c, name: b, kind: InClusterIPPool}]}", map[string]string{"c": ""}, "the pool has none"},
		"Interfaces":  {"metaData: {fromHostInterfaces: [{key: a, interface: eth1}, {key: b, fromBootMAC: true}]}", map[string]string{"a": "52:54:00:00:00:02", "b": "52:54:00:00:00:01"}, "as inspection found them"},
		"Labels":      {"metaData: {fromLabels: [{key: a, object: machine, label: rack}, {key: b, object: baremetalhost, label: rack}, {key: c, object: machine, label: x}]}", map[string]string{"a": "of-machine", "b": "a", "c": ""}, "one that is not there is empty"},
		"Annotations": {"metaData: {fromAnnotations: [{key: a, object: metal3machine, annotation: note}, {key: b, object: baremetalhost, annotation: pool}]}", map[string]string{"a": "n", "b": "p"}, "of either"},
	} {
		got, err := data().MetaData(template(t, tc.template))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := make(map[string]string)
		for _, m := range []map[string]string{base, tc.want} {
			for k, v := range m {
				want[k] = v
			}
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s: -want +got:\n%s", name, tc.reason, d)
		}
	}
}

// TestNetworkData: the network of upstream's example, and of each kind of link and network.
func TestNetworkData(t *testing.T) {
	for name, tc := range map[string]struct{ template, want string }{
		"Nothing": {"{}", "null"},
		"Example": {`
networkData:
  links:
    ethernets:
    - {type: phy, id: enp1s0, macAddress: {fromHostInterface: eth0}}
    - {type: phy, id: enp2s0, macAddress: {fromHostInterface: eth1}}
  networks:
    ipv4DHCP: [{id: provisioning, link: enp1s0}]
    ipv4:
    - id: baremetal
      link: enp2s0
      ipAddressFromIPPool: p
      routes: [{network: 0.0.0.0, prefix: 0, gateway: {fromIPPool: p}, services: {dns: [8.8.4.4]}}]
  services: {dns: [8.8.8.8]}
`, `{
  "links": [
    {"ethernet_mac_address": "52:54:00:00:00:01", "id": "enp1s0", "mtu": 1500, "type": "phy"},
    {"ethernet_mac_address": "52:54:00:00:00:02", "id": "enp2s0", "mtu": 1500, "type": "phy"}
  ],
  "networks": [
    {"type": "ipv4", "id": "baremetal", "link": "enp2s0", "ip_address": "10.0.0.5", "netmask": "255.255.255.0", "routes": [
      {"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.0.1", "services": [{"type": "dns", "address": "8.8.4.4"}]}
    ]},
    {"type": "ipv4_dhcp", "id": "provisioning", "link": "enp1s0", "routes": []}
  ],
  "services": [{"type": "dns", "address": "8.8.8.8"}]
}`},
		"BondAndVLAN": {`
networkData:
  links:
    ethernets:
    - {type: phy, id: a, name: eno1, mtu: 9000, macAddress: {string: "52:54:00:00:00:09"}}
    - {type: phy, id: b, macAddress: {fromAnnotation: {object: baremetalhost, annotation: mac}}}
    bonds: [{id: bond, name: bond0, bondMode: 802.3ad, bondXmitHashPolicy: layer3+4, bondLinks: [a, b], macAddress: {fromHostInterface: eth0}, parameters: [{name: miimon, value: 100}]}]
    vlans: [{id: vlan, vlanID: 7, vlanLink: bond, macAddress: {fromHostInterface: eth0}}]
  networks:
    ipv6:
    - {id: six, link: vlan, ipAddressFromIPPool: q, routes: [{network: "::", gateway: {string: "fe80::1"}, services: {dnsFromIPPool: p}}]}
    ipv4:
    - {id: noted, link: vlan, fromPoolAnnotation: {object: baremetalhost, annotation: pool}, routes: [{network: 10.9.0.0, prefix: 16, gateway: {fromPoolAnnotation: {object: baremetalhost, annotation: pool}}}]}
    - {id: other, link: vlan, fromPoolRef: {name: b, kind: InClusterIPPool}}
    ipv6DHCP: [{id: d, link: a}]
    ipv6SLAAC: [{id: s, link: a}]
  services: {dnsFromIPPool: p}
`, `{
  "links": [
    {"bond_links": ["a", "b"], "bond_miimon": 100, "bond_mode": "802.3ad", "bond_xmit_hash_policy": "layer3+4", "ethernet_mac_address": "52:54:00:00:00:01", "id": "bond", "mtu": 1500, "name": "bond0", "type": "bond"},
    {"ethernet_mac_address": "52:54:00:00:00:09", "id": "a", "mtu": 9000, "name": "eno1", "type": "phy"},
    {"ethernet_mac_address": "52:54:00:00:00:03", "id": "b", "mtu": 1500, "type": "phy"},
    {"id": "vlan", "mtu": 1500, "type": "vlan", "vlan_id": 7, "vlan_link": "bond", "vlan_mac_address": "52:54:00:00:00:01"}
  ],
  "networks": [
    {"type": "ipv4", "id": "noted", "link": "vlan", "ip_address": "10.0.0.5", "netmask": "255.255.255.0", "routes": [
      {"network": "10.9.0.0", "netmask": "255.255.0.0", "gateway": "10.0.0.1", "services": []}
    ]},
    {"type": "ipv4", "id": "other", "link": "vlan", "ip_address": "10.1.0.5", "netmask": "255.255.255.254", "routes": []},
    {"type": "ipv6", "id": "six", "link": "vlan", "ip_address": "fd00::5", "netmask": "ffff:ffff:ffff:ffff::", "routes": [
      {"network": "::", "netmask": "::", "gateway": "fe80::1", "services": [{"type": "dns", "address": "10.0.0.2"}, {"type": "dns", "address": "10.0.0.3"}]}
    ]},
    {"type": "ipv6_dhcp", "id": "d", "link": "a", "routes": []},
    {"type": "ipv6_slaac", "id": "s", "link": "a", "routes": []}
  ],
  "services": [{"type": "dns", "address": "10.0.0.2"}, {"type": "dns", "address": "10.0.0.3"}]
}`},
	} {
		n, err := data().NetworkData(template(t, tc.template))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

func TestDataThatIsRefused(t *testing.T) {
	const links = "links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eth0}}]}"
	for name, tc := range map[string]struct {
		template, want string
		change         func(*Data)
	}{
		"NoNIC":        {"networkData: {links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eth9}}]}}", "it has no network card eth9, but eth0, eth1", nil},
		"NoNICs":       {"networkData: {" + links + "}", "inspectionMode: agent", func(d *Data) { d.Host.NICs = nil }},
		"NoBootMAC":    {"metaData: {fromHostInterfaces: [{key: a, fromBootMAC: true}]}", "spec.bootMACAddress", func(d *Data) { d.Host.BootMAC = "" }},
		"NoAddress":    {"metaData: {ipAddressesFromPool: [{key: a, name: x}]}", "it has no address of IPPool x yet", nil},
		"OtherKind":    {"metaData: {ipAddressesFromPool: [{key: a, name: b}]}", "it has no address of IPPool b yet", nil},
		"NoMAC":        {"networkData: {links: {ethernets: [{type: phy, id: a, macAddress: {fromAnnotation: {object: baremetalhost, annotation: no-mac}}}]}}", "has to be a MAC address, and is \"x\"", nil},
		"NoAnnotation": {"networkData: {" + links + ", networks: {ipv4: [{id: w, link: a, fromPoolAnnotation: {object: machine, annotation: pool}}]}}", "annotation pool of the machine has to name an IPPool", nil},
		"Family":       {"networkData: {" + links + ", networks: {ipv4: [{id: w, link: a, ipAddressFromIPPool: q}]}}", "network w is of ipv4, and IPPool q gives fd00::5", nil},
		"NoGateway":    {"networkData: {" + links + ", networks: {ipv4DHCP: [{id: w, link: a, routes: [{network: 0.0.0.0, gateway: {fromPoolRef: {name: b, kind: InClusterIPPool}}}]}]}}", "which has none of its family", nil},
		"GatewayOf6":   {"networkData: {" + links + ", networks: {ipv4DHCP: [{id: w, link: a, routes: [{network: 0.0.0.0, gateway: {fromIPPool: q}}]}]}}", "which has none of its family", nil},
	} {
		d := data()
		if tc.change != nil {
			tc.change(d)
		}
		_, err := d.ConfigDrive(template(t, tc.template), "")
		if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "metal/host-0") {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestPoolsOfData(t *testing.T) {
	spec := template(t, `
metaData: {ipAddressesFromPool: [{key: a, name: q}]}
networkData:
  links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eth0}}]}
  networks:
    ipv4:
    - {id: v, link: a, fromPoolRef: {name: b, kind: InClusterIPPool}}
    - {id: w, link: a, fromPoolAnnotation: {object: baremetalhost, annotation: pool}, routes: [{network: 0.0.0.0, gateway: {fromPoolAnnotation: {object: baremetalhost, annotation: pool}}}]}
`)
	got, err := data().Pools(spec)
	if d := gocmp.Diff([]api.IPPoolReference{six, bare, four}, got, gocmp.Transformer("sort", sorted)); d != "" || err != nil {
		t.Errorf("%v: -want +got:\n%s", err, d)
	}
	d := data()
	d.Host.Annotations = nil
	if _, err := d.Pools(spec); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("without the annotation: got %v, want Invalid", err)
	}
	if got, err := data().Pools(nil); len(got) > 0 || err != nil {
		t.Errorf("of no template: %v %v", got, err)
	}
}

func sorted(list []api.IPPoolReference) map[api.IPPoolReference]int {
	out := make(map[api.IPPoolReference]int)
	for _, r := range list {
		out[r]++
	}
	return out
}

func TestConfigDrive(t *testing.T) {
	drive, err := data().ConfigDrive(nil, "#cloud-config\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := drive.JSON()
	const want = `{"meta_data":{"local-hostname":"host-0","local_hostname":"host-0","metal3-name":"host-0","metal3-namespace":"metal","name":"host-0",` +
		`"providerid":"metal/host-0/eu-md-0-x7k","uuid":"7f1e"},"user_data":"#cloud-config\n"}`
	if string(got) != want || err != nil {
		t.Errorf("got %s %v, want %s", got, err, want)
	}
}

func TestIdentity(t *testing.T) {
	const id = "metal3://metal/host-0/eu-md-0-x7k"
	if got := ProviderID("metal", "host-0", "eu-md-0-x7k"); got != id {
		t.Errorf("got %s", got)
	}
	if ns, host, m, ok := ParseProviderID(id); ns != "metal" || host != "host-0" || m != "eu-md-0-x7k" || !ok {
		t.Errorf("got %s %s %s %v", ns, host, m, ok)
	}
	for _, other := range []fleet.ProviderID{"", "metal3://a/b", "metal3://a//c", "openstack://a/b/c", "metal3://a/b/c/d", "metal3://7f1e"} {
		if _, _, _, ok := ParseProviderID(other); ok {
			t.Errorf("%q was read", other)
		}
	}
	if ns, host, ok := ParseNodeName(NodeName("metal", "host-0")); ns != "metal" || host != "host-0" || !ok || NodeName("a", "b") != "a~b" {
		t.Errorf("got %s %s %v", ns, host, ok)
	}
	for _, other := range []string{"", "host-0", "~a", "a~"} {
		if _, _, ok := ParseNodeName(other); ok {
			t.Errorf("%q was read", other)
		}
	}
	if a, b := NextIndex(nil), NextIndex(map[int32]bool{0: true, 1: true, 3: true}); a != 0 || b != 2 {
		t.Errorf("indexes %d and %d", a, b)
	}
}
