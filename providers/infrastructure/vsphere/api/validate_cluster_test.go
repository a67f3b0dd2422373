package api

import (
	"strings"
	"testing"

	"fairlead.dev/test/run/kindstest"
)

func TestClusterChecks(t *testing.T) {
	const whole = "server: vc.example.com\nidentityRef: {kind: Secret, name: s}\n"
	for name, tc := range map[string]struct{ spec, want, reason string }{
		"Least":        {whole, "", "the endpoint is asked for where machines serve it"},
		"NoServer":     {"identityRef: {kind: Secret, name: s}", "spec.server: Required value", "there is no other way to the vCenter"},
		"NoIdentity":   {"server: vc.example.com", "spec.identityRef: Required value: name a Secret with the keys username and password", "no controller has credentials"},
		"IdentityKind": {"server: s\nidentityRef: {kind: ConfigMap, name: s}", "identityRef.kind: Unsupported value", "it is no secret"},
		"IdentityName": {"server: s\nidentityRef: {kind: Secret}", "identityRef.name: Required value: the name of the Secret", "which one"},
		"EmptyIdKind":  {"server: s\nidentityRef: {name: s}", "identityRef.kind: Unsupported value", "upstream needs it"},
		"Thumbprint":   {whole + "thumbprint: x", "thumbprint: Invalid value", "it would never match"},
		"NoThumbprint": {whole + "thumbprint: ''", "", "upstream's templates"},
		"Selector":     {whole + "failureDomainSelector: {matchExpressions: [{key: a, operator: Like}]}", "failureDomainSelector.matchExpressions[0].operator", "there is no such operator"},
		"Endpoint":     {whole + "controlPlaneEndpoint: {host: '10.0.0.1:6443'}", "the port has a field of its own", "host alone"},
		"EndpointPort": {whole + "controlPlaneEndpoint: {host: a, port: 70000}", "controlPlaneEndpoint.port: Invalid value", "there is no such port"},
		"VirtualIP":    {whole + "controlPlaneEndpoint: {host: a.example.com}\nvirtualIP: {}", "controlPlaneEndpoint.host: Invalid value", "servers cannot have a name"},
		"PoolKind":     {whole + "virtualIP: {addressFromPool: {kind: IPPool, name: p}}", "virtualIP.addressFromPool.kind: Unsupported value", "nobody here gives its addresses"},
		"PoolName":     {whole + "virtualIP: {addressFromPool: {kind: InClusterIPPool}}", "virtualIP.addressFromPool.name: Required value", "which one"},
		"Modules":      {whole + "clusterModules: [{controlPlane: true, targetObjectName: a, moduleUUID: b}]\ndisableClusterModule: true", "", "the controller wrote them"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, version := range []string{"v1beta1", "v1beta2"} {
				_, got := normalised(t, "VSphereCluster", version, tc.spec, nil)
				kindstest.Check(t, got, tc.want, tc.reason)
				if strings.Contains(tc.want, "server: Required") || strings.Contains(tc.want, "identityRef: Required") {
					tc.want = "" // patches of a class add it
				}
				_, got = normalised(t, "VSphereClusterTemplate", version, tc.spec, nil)
				kindstest.Check(t, got, strings.TrimPrefix(tc.want, "spec."), tc.reason+", in a template")
				if tc.want == "" {
					return
				}
			}
		})
	}
	s, _ := normalised(t, "VSphereCluster", "v1beta1", whole+"controlPlaneEndpoint: {host: '', port: 0}\nclusterModules: [{controlPlane: true, targetObjectName: a, moduleUUID: b}]", nil)
	const want = "controlPlaneEndpoint:\n  port: 6443\nidentityRef:\n  kind: Secret\n  name: s\nserver: vc.example.com\n"
	if got := kindstest.YAML(t, s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestServing(t *testing.T) {
	k := kindstest.Kind(t, Kinds(), "VSphereCluster")
	with := &VSphereClusterSpec{ControlPlaneEndpoint: APIEndpoint{Host: "10.0.0.1"}}
	if errs := k.Serving(with); len(errs) > 0 {
		t.Errorf("a host is given: %v", errs)
	}
	if errs := k.Serving(&VSphereClusterSpec{}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "spec.controlPlaneEndpoint.host: Required value: vSphere makes nothing for an endpoint") {
		t.Errorf("no host is given: %v", errs)
	}
	s, wrong := normalised(t, k.Kind, "v1beta2", "server: s\nidentityRef: {kind: Secret, name: s}\ncontrolPlaneEndpoint: {host: 10.0.0.1}\nvirtualIP: {}", nil)
	if wrong != "" {
		t.Fatal(wrong)
	}
	if errs := k.Elsewhere(s); len(errs) != 1 || !strings.Contains(errs[0].Error(), "spec.virtualIP: Forbidden") {
		t.Errorf("a hosted control plane with a virtual address: %v", errs)
	}
	if errs := k.Elsewhere(with); len(errs) > 0 {
		t.Errorf("a hosted control plane: %v", errs)
	}
}

// TestEndpointPool: a pool stands for a host, has to be in Git, and is passed over where Git names
// a host.
func TestEndpointPool(t *testing.T) {
	k := kindstest.Kind(t, Kinds(), "VSphereCluster")
	const spec = "server: s\nidentityRef: {kind: Secret, name: s}\nvirtualIP: {addressFromPool: {kind: GlobalInClusterIPPool, name: vips}}\n"
	for host, want := range map[string]string{"": "vips", "10.0.0.1": ""} {
		in, wrong := normalised(t, k.Kind, "v1beta2", spec+"controlPlaneEndpoint: {host: '"+host+"'}", map[string]map[string]any{"GlobalInClusterIPPool": {"vips": nil}})
		if wrong != "" {
			t.Fatal(wrong)
		}
		s := in.(*VSphereClusterSpec)
		if errs := k.Serving(s); len(errs) > 0 {
			t.Errorf("host %q: %v", host, errs)
		}
		got := ""
		if ref := s.EndpointPool(); ref != nil && ref.APIGroup == "ipam.cluster.x-k8s.io" {
			got = ref.Name
		}
		if got != want || s.VirtualIP.Image == "" {
			t.Errorf("host %q: the pool is %q, want %q; %+v", host, got, want, s.VirtualIP)
		}
	}
	_, got := normalised(t, k.Kind, "v1beta1", spec, nil)
	kindstest.Check(t, got, "spec.virtualIP.addressFromPool: Not found", "Git has no such pool")
}

// TestSecrets: which Secrets come with an object.
func TestSecrets(t *testing.T) {
	for name, tc := range map[string]struct{ kind, spec, want string }{
		"Secret":   {"VSphereCluster", "server: s\nidentityRef: {kind: Secret, name: a}", "prod/a"},
		"Identity": {"VSphereCluster", "server: s\nidentityRef: {kind: VSphereClusterIdentity, name: a}", ""},
		"OfIt":     {"VSphereClusterIdentity", "secretName: a", "capv-system/a"},
		"Machine":  {"VSphereMachine", "template: t\n" + network, ""},
	} {
		s, wrong := normalised(t, tc.kind, "v1beta2", tc.spec, nil)
		got := ""
		for _, k := range kindstest.Kind(t, Kinds(), tc.kind).Secrets(s, "prod") {
			got += k.String()
		}
		if got != tc.want || wrong != "" {
			t.Errorf("%s: got %q %s, want %q", name, got, wrong, tc.want)
		}
	}
}

func TestCompanionChecks(t *testing.T) {
	const region, zone = "region: {name: r, type: Datacenter, tagCategory: c}\n", "zone: {name: z, type: ComputeCluster, tagCategory: c}\n"
	const topology = "topology: {datacenter: d, computeCluster: c"
	for name, tc := range map[string]struct{ kind, spec, want, reason string }{
		"Identity":       {"VSphereClusterIdentity", "secretName: s", "", "nobody may use it, which is told when somebody does"},
		"NoSecret":       {"VSphereClusterIdentity", "allowedNamespaces: {selector: {}}", "secretName: Required value", "which one"},
		"AllowedBad":     {"VSphereClusterIdentity", "secretName: s\nallowedNamespaces: {selector: {matchLabels: {'a b': c}}}", "allowedNamespaces.selector", "no label is called so"},
		"Zone":           {"VSphereDeploymentZone", "failureDomain: f", "", "the server is the cluster's"},
		"ZoneNoDomain":   {"VSphereDeploymentZone", "server: vc.example.com", "failureDomain: Required value: the name of a VSphereFailureDomain", "which one"},
		"ZoneServer":     {"VSphereDeploymentZone", "failureDomain: f\nserver: 'a b'", "server: Invalid value", "no such host"},
		"Domain":         {"VSphereFailureDomain", region + zone + topology + ", hosts: {vmGroupName: v, hostGroupName: h}}", "", "everything is there"},
		"NoTag":          {"VSphereFailureDomain", "region: {type: Datacenter, tagCategory: c}\n" + zone + topology + "}", "region.name: Required value", "which tag"},
		"NoCategory":     {"VSphereFailureDomain", "region: {type: Datacenter, name: c}\n" + zone + topology + "}", "region.tagCategory: Required value", "tags of several categories have one name"},
		"Type":           {"VSphereFailureDomain", region + "zone: {name: z, type: Rack, tagCategory: c}\n" + topology + "}", "zone.type: Unsupported value", "there is none"},
		"RegionOfHosts":  {"VSphereFailureDomain", "region: {name: r, type: HostGroup, tagCategory: c}\n" + zone + topology + "}", "region.type: Forbidden: a region is a Datacenter or a ComputeCluster", "as upstream"},
		"NoCompute":      {"VSphereFailureDomain", region + zone + "topology: {datacenter: d}", "topology.computeCluster: Required value: the zone is one", "as upstream"},
		"HostsNoCompute": {"VSphereFailureDomain", region + "zone: {name: z, type: Datacenter, tagCategory: c}\ntopology: {datacenter: d, hosts: {vmGroupName: v, hostGroupName: h}}", "topology.computeCluster: Required value: the compute cluster that the groups", "as upstream"},
		"NoHosts":        {"VSphereFailureDomain", region + "zone: {name: z, type: HostGroup, tagCategory: c}\n" + topology + "}", "topology.hosts: Required value", "as upstream"},
		"HalfHosts":      {"VSphereFailureDomain", region + zone + topology + ", hosts: {vmGroupName: v}}", "topology.hosts.hostGroupName: Required value", "the rule is of both"},
		"OtherHalf":      {"VSphereFailureDomain", region + zone + topology + ", hosts: {hostGroupName: h}}", "topology.hosts.vmGroupName: Required value", "the rule is of both"},
		"NoDatacenter":   {"VSphereFailureDomain", region + zone + "topology: {computeCluster: c}", "topology.datacenter: Required value", "inventory begins there"},
		"TwoNetworks":    {"VSphereFailureDomain", region + zone + topology + ", networks: [a], networkConfigurations: [{networkName: a}]}", "topology.networks: Forbidden", "as upstream"},
		"EmptyNetwork":   {"VSphereFailureDomain", region + zone + topology + ", networks: ['']}", "topology.networks[0]: Required value", "which one"},
		"EmptyName":      {"VSphereFailureDomain", region + zone + topology + ", networkConfigurations: [{dhcp4: true}]}", "networkConfigurations[0].networkName: Required value", "as upstream"},
		"NetworkTwice":   {"VSphereFailureDomain", region + zone + topology + ", networkConfigurations: [{networkName: a}, {networkName: a}]}", "networkConfigurations[1].networkName: Duplicate value", "the schema's key"},
		"Configuration":  {"VSphereFailureDomain", region + zone + topology + ", networkConfigurations: [{networkName: a, nameservers: [x]}]}", "networkConfigurations[0].nameservers[0]: Invalid value", "it is checked as that of a machine"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, version := range []string{"v1beta1", "v1beta2"} {
				_, got := normalised(t, tc.kind, version, tc.spec, nil)
				kindstest.Check(t, got, tc.want, tc.reason)
			}
		})
	}
}

// TestAutoConfigure: nobody makes tags.
func TestAutoConfigure(t *testing.T) {
	const spec = "region: {name: r, type: Datacenter, tagCategory: k8s-region, autoConfigure: %}\nzone: {name: z, type: Datacenter, tagCategory: c}\ntopology: {datacenter: d}"
	_, got := normalised(t, "VSphereFailureDomain", "v1beta1", strings.Replace(spec, "%", "true", 1), nil)
	kindstest.Check(t, got, "spec.region.autoConfigure: Forbidden: no tags are made in vCenter, by Cluster API neither: make the tag r of the category k8s-region there, give it to each Datacenter", "it is silently ignored by Cluster API")
	_, got = normalised(t, "VSphereFailureDomain", "v1beta1", strings.Replace(spec, "%", "false", 1), nil)
	kindstest.Check(t, got, "", "false is what happens")
}

// TestControlPlaneOfZone: true where nothing is said.
func TestControlPlaneOfZone(t *testing.T) {
	for spec, want := range map[string]bool{"failureDomain: f": true, "failureDomain: f\ncontrolPlane: false": false} {
		s, wrong := normalised(t, "VSphereDeploymentZone", "v1beta1", spec, nil)
		if wrong != "" || *s.(*VSphereDeploymentZoneSpec).ControlPlane != want {
			t.Errorf("%s: got %+v %s, want %t", spec, s, wrong, want)
		}
	}
}
