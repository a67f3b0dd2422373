package api_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/addresses"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// zoned is a cluster with zones: a and b of its vCenter, c of another one, and d that its
// selector does not select.
const zoned = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: prod}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: c}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: c}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereCluster
metadata: {name: c, namespace: prod}
spec:
  server: https://VC.example.com/sdk
  thumbprint: "aa:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:10:11:12:13"
  controlPlaneEndpoint: {host: 10.0.0.10}
  identityRef: {kind: VSphereClusterIdentity, name: team}
  failureDomainSelector: {matchLabels: {env: prod}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: c, namespace: prod}
spec:
  version: v1.34.1
  replicas: 3
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachineTemplate, name: c}}}
  kubeadmConfigSpec: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereMachineTemplate
metadata: {name: c, namespace: prod}
spec:
  template:
    spec:
      template: /DC0/vm/ubuntu
      datacenter: DC9
      folder: of-machine
      resourcePool: of-machine
      datastore: of-machine
      network:
        devices:
        - {networkName: front, dhcp4: true, nameservers: [10.0.0.2]}
        - {networkName: back, dhcp4: true, mtu: 9000}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereDeploymentZone
metadata: {name: b, labels: {env: prod}}
spec: {server: "vc.example.com:443", failureDomain: fd-b, controlPlane: false}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereDeploymentZone
metadata: {name: a, labels: {env: prod}}
spec: {failureDomain: fd-a, placementConstraint: {folder: of-zone, resourcePool: of-zone}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereDeploymentZone
metadata: {name: c, labels: {env: prod}}
spec: {server: other.example.com, failureDomain: fd-b}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereDeploymentZone
metadata: {name: d}
spec: {server: vc.example.com, failureDomain: fd-b}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereFailureDomain
metadata: {name: fd-a}
spec:
  region: {name: eu, type: Datacenter, tagCategory: k8s-region, autoConfigure: false}
  zone: {name: eu-a, type: ComputeCluster, tagCategory: k8s-zone}
  topology:
    datacenter: DC0
    computeCluster: C0
    datastore: of-zone
    networkConfigurations:
    - {networkName: zone-front, dhcp4: false, addressesFromPools: [{kind: GlobalInClusterIPPool, name: pool}]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereFailureDomain
metadata: {name: fd-b}
spec:
  region: {name: eu, type: Datacenter, tagCategory: k8s-region}
  zone: {name: eu-b, type: HostGroup, tagCategory: k8s-zone}
  topology:
    datacenter: DC1
    computeCluster: C1
    hosts: {vmGroupName: vms, hostGroupName: hosts}
    networks: [one, two]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereClusterIdentity
metadata: {name: team}
spec: {secretName: vcenter, allowedNamespaces: {selector: {matchLabels: {team: a}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: prod, labels: {team: a}}
---
apiVersion: ipam.cluster.x-k8s.io/v1alpha2
kind: GlobalInClusterIPPool
metadata: {name: pool}
spec: {addresses: [10.1.0.20-10.1.0.99], prefix: 24, gateway: 10.1.0.1}
`

// decoded decodes text, changed, as an overlay with one cluster.
func decoded(t *testing.T, text string, change ...string) (*fleet.Cluster, []fleet.Problem) {
	t.Helper()
	var objects []render.Object
	for doc := range strings.SplitSeq(strings.NewReplacer(change...).Replace(text), "\n---\n") {
		objects = append(objects, render.Object{File: "f.yaml", YAML: []byte(doc)})
	}
	clusters, problems := decode.New("f", api.Kinds()).Decode("o", objects)
	if len(clusters) != 1 {
		return nil, problems
	}
	return &clusters[0], problems
}

func cluster(t *testing.T, change ...string) (*fleet.Cluster, *api.VSphereClusterSpec) {
	t.Helper()
	c, problems := decoded(t, zoned, change...)
	if len(problems) > 0 || c == nil {
		t.Fatalf("decoding: %v", problems)
	}
	s, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

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
	m.Server, m.Thumbprint = "own.example.com", "BB"
	var none *api.Zone
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

func TestCredentials(t *testing.T) {
	for name, tc := range map[string]struct {
		change []string
		want   string // the Secret, or what is wrong
	}{
		"Identity":       {nil, "capv-system/vcenter"},
		"Secret":         {[]string{"kind: VSphereClusterIdentity, name: team", "kind: Secret, name: login"}, "prod/login"},
		"NotAllowed":     {[]string{"{name: prod, labels: {team: a}}", "{name: prod, labels: {team: b}}"}, "does not let in the namespace prod"},
		"NobodyAllowed":  {[]string{", allowedNamespaces: {selector: {matchLabels: {team: a}}}", ""}, "lets in no namespace"},
		"EverybodyIs":    {[]string{"{selector: {matchLabels: {team: a}}}", "{}"}, "capv-system/vcenter"},
		"IdentityIsGone": {[]string{"metadata: {name: team}", "metadata: {name: other}"}, "Git has no VSphereClusterIdentity team"},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := cluster(t, tc.change...)
			k, _, err := api.CredentialsOf(c, s)
			switch {
			case err != nil && (fleet.KindOf(err) != fleet.Unauthorized || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %s", err, tc.want)
			case err == nil && k.String() != tc.want:
				t.Errorf("got %s, want %s", k, tc.want)
			}
		})
	}
}
