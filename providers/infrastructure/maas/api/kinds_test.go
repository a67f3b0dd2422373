package api

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/kindstest"
)

// TestFieldsOfCRDs: the Go types have the fields of CAPMAAS' resource definitions, and one of Fairlead's
// own for clusters and for machines each. MaasClusterTemplate has no definition.
func TestFieldsOfCRDs(t *testing.T) {
	of := func(names ...string) []fleet.Kind {
		return slices.DeleteFunc(Kinds(), func(k fleet.Kind) bool { return !slices.Contains(names, k.Kind) })
	}
	kindstest.Definitions{Project: "capmaas", Group: group, Own: ".virtualIP", Missing: []string{"MaasMachine", "MaasMachineTemplate"}}.Compare(t, of("MaasCluster"))
	kindstest.Definitions{Project: "capmaas", Group: group, Own: ".eraseDisks", Missing: []string{"MaasCluster"}}.Compare(t, of("MaasMachine", "MaasMachineTemplate"))
}

// TestSpecs: what is written is normalised, or refused with the field.
func TestSpecs(t *testing.T) {
	const machine = "image: u-2204\nminCPU: 4\nminMemory: 8192\n"
	for reason, tc := range map[string]struct{ kind, spec, want, wrong string }{
		"a cluster":                   {"MaasCluster", "dnsDomain: MAAS.sc.", "controlPlaneEndpoint:\n  port: 6443\ndnsDomain: maas.sc\n", ""},
		"an endpoint without a port":  {"MaasCluster", "{dnsDomain: maas, controlPlaneEndpoint: {host: api.example.com}}", "controlPlaneEndpoint:\n  host: api.example.com\n  port: 6443\ndnsDomain: maas\n", ""},
		"zones are a set":             {"MaasCluster", "{dnsDomain: maas, failureDomains: [b, a]}", "controlPlaneEndpoint:\n  port: 6443\ndnsDomain: maas\nfailureDomains:\n- a\n- b\n", ""},
		"lxd that is off":             {"MaasCluster", "{dnsDomain: maas, lxdConfig: {enabled: false, zone: a}}", "controlPlaneEndpoint:\n  port: 6443\ndnsDomain: maas\n", ""},
		"no domain":                   {"MaasCluster", "{}", "", "spec.dnsDomain"},
		"no name of a domain":         {"MaasCluster", "dnsDomain: a_b", "", "spec.dnsDomain"},
		"zones twice":                 {"MaasCluster", "{dnsDomain: maas, failureDomains: [a, a]}", "", "spec.failureDomains[1]"},
		"no zone":                     {"MaasCluster", "{dnsDomain: maas, failureDomains: ['a/b']}", "", "spec.failureDomains[0]"},
		"VM hosts":                    {"MaasCluster", "{dnsDomain: maas, lxdConfig: {enabled: true}}", "", "spec.lxdConfig.enabled"},
		"a virtual IP without a host": {"MaasCluster", "{dnsDomain: maas, virtualIP: {}}", "", "spec.controlPlaneEndpoint.host"},
		"a virtual IP with a name":    {"MaasCluster", "{dnsDomain: maas, virtualIP: {}, controlPlaneEndpoint: {host: api.maas}}", "", "spec.controlPlaneEndpoint.host"},
		"no port":                     {"MaasCluster", "{dnsDomain: maas, controlPlaneEndpoint: {host: 10.0.0.7, port: 70000}}", "", "spec.controlPlaneEndpoint.port"},
		"a template may lack things":  {"MaasClusterTemplate", "{}", "{}\n", ""},
		"an image without a prefix":   {"MaasMachineTemplate", machine, "deployInMemory: false\neraseDisks: Quick\nimage: custom/u-2204\nminCPU: 4\nminMemory: 8192\n", ""},
		"what templates leave empty":  {"MaasMachineTemplate", machine + "resourcePool:\ntags: []", "deployInMemory: false\neraseDisks: Quick\nimage: custom/u-2204\nminCPU: 4\nminMemory: 8192\n", ""},
		"all fields": {
			"MaasMachine", "{image: ubuntu/noble, minCPU: 0, minMemory: 0, minDiskSize: 60, resourcePool: p, tags: [b, a], failureDomain: z, deployInMemory: true, eraseDisks: Never, lxd: {enabled: false}}",
			"deployInMemory: true\neraseDisks: Never\nfailureDomain: z\nimage: ubuntu/noble\nminCPU: 0\nminDiskSize: 60\nminMemory: 0\nresourcePool: p\ntags:\n- a\n- b\n", "",
		},
		"no image":             {"MaasMachineTemplate", "{minCPU: 1, minMemory: 1}", "", "spec.template.spec.image"},
		"no name of an image":  {"MaasMachineTemplate", "{image: 'a/b/c', minCPU: 1, minMemory: 1}", "", "spec.template.spec.image"},
		"no CPUs":              {"MaasMachineTemplate", "{image: a, minMemory: 1}", "", "spec.template.spec.minCPU"},
		"no memory":            {"MaasMachineTemplate", "{image: a, minCPU: 1}", "", "spec.template.spec.minMemory"},
		"negative":             {"MaasMachineTemplate", "{image: a, minCPU: 1, minMemory: 1, minDiskSize: -1}", "", "spec.template.spec.minDiskSize"},
		"no name of a pool":    {"MaasMachineTemplate", machine + "resourcePool: 'a,b'", "", "spec.template.spec.resourcePool"},
		"no name of a tag":     {"MaasMachineTemplate", machine + "tags: ['a,b']", "", "spec.template.spec.tags[0]"},
		"no name of a zone":    {"MaasMachineTemplate", machine + "failureDomain: 'a,b'", "", "spec.template.spec.failureDomain"},
		"a VM":                 {"MaasMachineTemplate", machine + "lxd: {enabled: true}", "", "spec.template.spec.lxd.enabled"},
		"no such way to erase": {"MaasMachineTemplate", machine + "eraseDisks: Twice", "", "spec.template.spec.eraseDisks"},
	} {
		spec, errs := kindstest.Normalised(t, kindstest.Kind(t, Kinds(), tc.kind), "v1beta1", tc.spec, nil)
		if kindstest.Check(t, kindstest.Text(errs), tc.wrong, reason); tc.wrong != "" {
			continue
		}
		if got := kindstest.YAML(t, spec); got != tc.want {
			t.Errorf("%s: got\n%swant\n%s", reason, got, tc.want)
		}
	}
}

// TestHashed: a wish for another erasure is no other machine.
func TestHashed(t *testing.T) {
	k := kindstest.Kind(t, Kinds(), "MaasMachineTemplate")
	text := func(spec string) string {
		s, errs := kindstest.Normalised(t, k, "v1beta1", spec, nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return kindstest.YAML(t, k.Hashed(s))
	}
	is := text("{image: a, minCPU: 1, minMemory: 1}")
	if other := text("{image: a, minCPU: 1, minMemory: 1, eraseDisks: Full}"); other != is {
		t.Errorf("hashed is\n%sand\n%s", is, other)
	}
	if other := text("{image: b, minCPU: 1, minMemory: 1}"); other == is {
		t.Errorf("hashed of two images is\n%s", is)
	}
}
