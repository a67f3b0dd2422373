package api

import (
	"testing"

	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/test/run/kindstest"
)

const image = "image: {url: 'http://a.example.com/b.raw', checksum: 'http://a.example.com/b.sum'}"

func TestClusterChecks(t *testing.T) {
	for name, tc := range map[string]struct{ version, spec, want, reason string }{
		"Endpoint":      {"v1beta2", "controlPlaneEndpoint: {host: 10.0.0.9, port: 6443}", "", "the usual one"},
		"Nothing":       {"v1beta2", "{}", "", "a control plane may be hosted: Serving asks for the endpoint"},
		"Host":          {"v1beta2", "controlPlaneEndpoint: {host: '10.0.0.9:6443'}", "controlPlaneEndpoint.host: Invalid value", "the port has a field"},
		"Port":          {"v1beta2", "controlPlaneEndpoint: {host: a, port: 70000}", "controlPlaneEndpoint.port: Invalid value", "there is none"},
		"VirtualIP":     {"v1beta2", "controlPlaneEndpoint: {host: a.example.com}\nvirtualIP: {}", "controlPlaneEndpoint.host: Invalid value", "nobody can announce a name"},
		"Domains":       {"v1beta2", "failureDomains: [{name: a}, {name: b, controlPlane: true}]", "", "as upstream has them"},
		"DomainTwice":   {"v1beta2", "failureDomains: [{name: a}, {name: a}]", "failureDomains[1].name: Duplicate value", "one label, one domain"},
		"DomainNoName":  {"v1beta2", "failureDomains: [{controlPlane: true}]", "failureDomains[0].name: Required value", "hosts name it"},
		"DomainLabel":   {"v1beta2", "failureDomains: [{name: 'a b'}]", "failureDomains[0].name: Invalid value", "no host can have the label"},
		"OldDomains":    {"v1beta1", "failureDomains: {a: {controlPlane: true}, 'a b': {}}", "failureDomains[1].name: Invalid value", "a mapping in v1beta1"},
		"NoProvider":    {"v1beta1", "noCloudProvider: true", "", "v1beta1 says it so"},
		"BothProviders": {"v1beta1", "noCloudProvider: true\ncloudProviderEnabled: true", "noCloudProvider: Forbidden: says the contrary", "one of them is wrong"},
		"SameProviders": {"v1beta1", "noCloudProvider: true\ncloudProviderEnabled: false", "", "both say the same"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := normalised(t, "Metal3Cluster", tc.version, tc.spec, nil)
			kindstest.Check(t, got, tc.want, tc.reason)
		})
	}
	out, _ := normalised(t, "Metal3Cluster", "v1beta1", "controlPlaneEndpoint: {host: a}\nnoCloudProvider: false\nfailureDomains: {b: {}, a: {controlPlane: true}}", nil)
	const want = "cloudProviderEnabled: true\ncontrolPlaneEndpoint:\n  host: a\n  port: 6443\nfailureDomains:\n- controlPlane: true\n  name: a\n- name: b\n"
	if got := kindstest.YAML(t, out); got != want {
		t.Errorf("v1beta1 as v1beta2: got\n%s, want\n%s", got, want)
	}
	if errs := serving(out); len(errs) > 0 {
		t.Errorf("serving: %v", errs)
	}
	if errs := elsewhere(&Metal3ClusterSpec{VirtualIP: &endpoint.VirtualIP{}}); len(errs) != 1 {
		t.Errorf("a virtual IP where the control plane is hosted: %v", errs)
	}
	if errs := serving(&Metal3ClusterSpec{}); len(errs) != 1 {
		t.Errorf("serving without an endpoint: %v", errs)
	}
}

func TestMachineChecks(t *testing.T) {
	const sum32, sum64 = "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, tc := range map[string]struct{ spec, want, reason string }{
		"Image":           {image, "", "the usual one"},
		"NoImage":         {"hostSelector: {}", "image.url: Required value", "nothing would be written"},
		"NotURL":          {"image: {url: b.raw, checksum: " + sum64 + "}", "image.url: Invalid value", "Ironic cannot find it"},
		"Account":         {"image: {url: 'http://u:secret@a/b', checksum: " + sum64 + "}", "must be without an account", "it would be shown"},
		"NoChecksum":      {"image: {url: 'http://a/b'}", "image.checksum: Required value", "as upstream says"},
		"Live":            {"image: {url: 'http://a/b.iso', diskFormat: live-iso}", "", "nothing is written"},
		"LiveSum":         {"image: {url: 'http://a/b.iso', checksum: " + sum64 + ", diskFormat: live-iso}", "image.checksum: Forbidden", "nobody would compare it"},
		"LiveSumType":     {"image: {url: 'http://a/b.iso', checksumType: md5, diskFormat: live-iso}", "image.checksumType: Forbidden", "nobody would compare it"},
		"Digits":          {"image: {url: 'http://a/b', checksum: " + sum64 + ", checksumType: sha256}", "", "as people have it"},
		"DigitsOfType":    {"image: {url: 'http://a/b', checksum: " + sum32 + ", checksumType: sha256}", "64 hexadecimal digits of sha256", "it is one of md5"},
		"DigitsFound":     {"image: {url: 'http://a/b', checksum: " + sum32 + "}", "", "Ironic finds out that it is md5"},
		"DigitsOfNothing": {"image: {url: 'http://a/b', checksum: abc}", "image.checksum: Invalid value", "of no algorithm"},
		"ChecksumURL":     {"image: {url: 'http://a/b', checksum: 'ftp://a/c'}", "image.checksum: Invalid value", "Ironic does not fetch that"},
		"ChecksumType":    {"image: {url: 'http://a/b', checksum: 'http://a/c', checksumType: sha1}", "checksumType: Unsupported value", "as upstream says"},
		"Format":          {"image: {url: 'http://a/b', checksum: 'http://a/c', diskFormat: iso}", "diskFormat: Unsupported value", "as upstream says"},
		"Registry":        {"image: {url: 'oci://a/b:c'}", "", "it has a digest"},
		"RegistrySum":     {"image: {url: 'oci://a/b:c', checksum: " + sum64 + "}", "image.checksum: Forbidden", "as upstream says"},
		"RegistryType":    {"image: {url: 'oci://a/b:c', checksumType: md5}", "image.checksumType: Forbidden", "as upstream says"},
		"Selector":        {image + "\nhostSelector: {matchLabels: {rack: a}, matchExpressions: [{key: cpu, operator: Gt, values: ['8']}]}", "", "in letters of any case"},
		"SelectorOp":      {image + "\nhostSelector: {matchExpressions: [{key: cpu, operator: like, values: [a]}]}", "operator: Unsupported value", "no host would ever match"},
		"SelectorValues":  {image + "\nhostSelector: {matchExpressions: [{key: cpu, operator: in}]}", "matchExpressions[0]: Invalid value", "no host would ever match"},
		"SelectorLabel":   {image + "\nhostSelector: {matchLabels: {rack: 'a b'}}", "matchLabels[rack]: Invalid value", "no host can have it"},
		"Data":            {image + "\ndataTemplate: {name: d}", "", "Git has it"},
		"DataGone":        {image + "\ndataTemplate: {name: e}", "dataTemplate.name: Not found", "Git has it not"},
		"DataNoName":      {image + "\ndataTemplate: {}", "dataTemplate.name: Required value", "it names none"},
		"DataNamespace":   {image + "\ndataTemplate: {name: d, namespace: other}", "dataTemplate.namespace: Forbidden", "it could not be found"},
		"Cleaning":        {image + "\nautomatedCleaningMode: full", "automatedCleaningMode: Unsupported value", "as upstream says"},
		"Deploy":          {"customDeploy: {method: m}", "", "the ramdisk knows what to write"},
		"DeployImage":     {"customDeploy: {method: m}\n" + image, "", "the ramdisk is told what to write"},
		"DeployNoSum":     {"customDeploy: {method: m}\nimage: {url: 'http://a/b'}", "image.checksum: Required value", "as upstream says"},
		"DeployLive":      {"customDeploy: {method: m}\nimage: {url: 'http://a/b.iso', diskFormat: live-iso}", "diskFormat: Forbidden", "one of them would be ignored"},
	} {
		t.Run(name, func(t *testing.T) {
			companions := map[string]map[string]any{"Metal3DataTemplate": {"d": &Metal3DataTemplateSpec{ClusterName: "c"}}}
			_, got := normalised(t, "Metal3MachineTemplate", "v1beta2", tc.spec, companions)
			kindstest.Check(t, got, tc.want, tc.reason)
		})
	}
	_, got := normalised(t, "Metal3MachineTemplate", "v1beta1", image+"\ndataTemplate: {name: d, kind: Secret}", nil)
	kindstest.Check(t, got, "dataTemplate.kind: Forbidden", "v1beta1 has a reference to anything")
}

// TestVersionsOfMachines: what is written in v1beta1 is the same in v1beta2.
func TestVersionsOfMachines(t *testing.T) {
	companions := map[string]map[string]any{"Metal3DataTemplate": {"d": &Metal3DataTemplateSpec{ClusterName: "c", MetaData: &MetaData{Namespaces: []MetaDataNamespace{{Key: "ns"}}}}}}
	const rest = "\nhostSelector: {matchLabels: {a: b}}\ndataTemplate: {name: d}\nautomatedCleaningMode: disabled"
	older, _ := normalised(t, "Metal3MachineTemplate", "v1beta1", "image: {url: 'http://a/b', checksum: 'http://a/c', format: raw}"+rest, companions)
	newer, _ := normalised(t, "Metal3MachineTemplate", "v1beta2", "image: {url: 'http://a/b', checksum: 'http://a/c', diskFormat: raw}"+rest, companions)
	const want = `automatedCleaningMode: disabled
data:
  metaData:
    namespaces:
    - key: ns
dataTemplate:
  name: d
hostSelector:
  matchLabels:
    a: b
image:
  checksum: http://a/c
  diskFormat: raw
  url: http://a/b
`
	if a, b := kindstest.YAML(t, older), kindstest.YAML(t, newer); a != want || b != want {
		t.Errorf("got\n%s, and\n%s, want\n%s", a, b, want)
	}
	if got := kindstest.YAML(t, hashed(newer)); got != `data:
  metaData:
    namespaces:
    - key: ns
hostSelector:
  matchLabels:
    a: b
image:
  checksum: http://a/c
  diskFormat: raw
  url: http://a/b
` {
		t.Errorf("what counts: got\n%s", got)
	}
}

func TestSelects(t *testing.T) {
	host := map[string]string{"rack": "a", "cpu": "16"}
	for name, tc := range map[string]struct {
		selector *HostSelector
		want     bool
	}{
		"Nil":     {nil, true},
		"Empty":   {&HostSelector{}, true},
		"Label":   {&HostSelector{MatchLabels: map[string]string{"rack": "a"}}, true},
		"Other":   {&HostSelector{MatchLabels: map[string]string{"rack": "b"}}, false},
		"Greater": {&HostSelector{MatchExpressions: []HostSelectorRequirement{{"cpu", "Gt", []string{"8"}}}}, true},
		"All":     {&HostSelector{MatchLabels: map[string]string{"rack": "a"}, MatchExpressions: []HostSelectorRequirement{{"cpu", "NotIn", []string{"16"}}}}, false},
		"Exists":  {&HostSelector{MatchExpressions: []HostSelectorRequirement{{"gpu", "exists", nil}}}, false},
		"Absent":  {&HostSelector{MatchExpressions: []HostSelectorRequirement{{"gpu", "!", nil}}}, true},
	} {
		if got, err := tc.selector.Selects(host); err != nil || got != tc.want {
			t.Errorf("%s: got %v %v, want %v", name, got, err, tc.want)
		}
	}
}
