package api_test

import (
	"strings"
	"testing"

	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/test/run/kindstest"
)

// TestServing: where hosts have workers alone, their HostCluster names no endpoint.
func TestServing(t *testing.T) {
	for text, want := range map[string]string{
		"spec: {}": "spec.controlPlaneEndpoint.host: Required value: give a virtual IP",
		"spec: {controlPlaneEndpoint: {host: 10.0.0.1}}":         "",
		"spec: {loadBalancer: {poolName: hall, hostName: gate}}": "",
	} {
		k := api.Kinds()[0]
		spec, errs := k.Normalise(kindstest.Object(t, k, "v1alpha1", text))
		if len(errs) > 0 {
			t.Errorf("%s is refused for a guest: %v", text, errs)
			continue
		}
		kindstest.Check(t, kindstest.Text(k.Serving(spec)), want, text)
	}
}

// normalised decodes text as an object of kind and returns its spec as YAML, or what is
// wrong with it.
func normalised(t *testing.T, kind, text string) string {
	t.Helper()
	k := kindstest.Kind(t, api.Kinds(), kind)
	spec, errs := k.Normalise(kindstest.Object(t, k, "v1alpha1", text))
	if len(errs) > 0 {
		return kindstest.Text(errs)
	}
	return kindstest.YAML(t, spec)
}

func TestNormalise(t *testing.T) {
	const pool = "spec:\n  ssh: {identityRef: {name: ssh}}\n  hosts:\n"
	for name, c := range map[string]struct{ kind, text, want string }{
		"Cluster":        {"HostCluster", "spec: {controlPlaneEndpoint: {host: 10.0.0.1}}", "port: 6443"},
		"NoEndpoint":     {"HostClusterTemplate", "spec: {template: {spec: {}}}", "spec.template.spec.controlPlaneEndpoint.host: Required value: give a virtual IP"},
		"LoadBalancer":   {"HostCluster", "spec: {loadBalancer: {poolName: hall, hostName: gate}}", "hostName: gate"},
		"BalancerHost":   {"HostCluster", "spec: {loadBalancer: {poolName: hall}}", "spec.loadBalancer.hostName: Required value"},
		"BalancerPool":   {"HostCluster", "spec: {loadBalancer: {hostName: gate}}", "spec.loadBalancer.poolName: Required value"},
		"BalancerName":   {"HostCluster", "spec: {loadBalancer: {poolName: hall, hostName: gate}, controlPlaneEndpoint: {host: x_y}}", "spec.controlPlaneEndpoint.host: Invalid value"},
		"EndpointPort":   {"HostCluster", "spec: {controlPlaneEndpoint: {host: 10.0.0.1:6443}}", "the port has a field of its own"},
		"Template":       {"HostClusterTemplate", "spec: {template: {spec: {controlPlaneEndpoint: {host: x_y}}}}", "spec.template.spec.controlPlaneEndpoint.host: Invalid value"},
		"Machine":        {"HostMachineTemplate", "spec: {template: {spec: {}}}", "bootstrap: Auto"},
		"MinMemory":      {"HostMachineTemplate", "spec: {template: {spec: {minMemory: 16Gi, minCPUs: 4}}}", "minMemory: 16Gi"},
		"NoMemory":       {"HostMachineTemplate", "spec: {template: {spec: {minMemory: much, minCPUs: -1}}}", "spec.template.spec.minMemory: Invalid value"},
		"Selector":       {"HostMachineTemplate", "spec: {template: {spec: {hostSelector: {matchExpressions: [{key: a, operator: Like}]}}}}", "hostSelector.matchExpressions[0].operator"},
		"Bootstrap":      {"HostMachineTemplate", "spec: {template: {spec: {bootstrap: Magic}}}", `supported values: "Auto", "CloudInit", "Script"`},
		"Pool":           {"HostPool", pool + "  - {name: a, address: 10.0.0.1}", "port: 22\n  user: root"},
		"NoIdentity":     {"HostPool", "spec: {ssh: {knownHosts: x}}", "spec.ssh.identityRef: Required value"},
		"NoKnownHosts":   {"HostPool", "spec: {ssh: {agent: true}}", "spec.ssh.knownHosts: Required value"},
		"AgentAndKey":    {"HostPool", "spec: {ssh: {agent: true, identityRef: {name: a}}}", "spec.ssh.agent: Forbidden"},
		"HostTwice":      {"HostPool", pool + "  - {name: a, address: 10.0.0.1}\n  - {name: a, address: 10.0.0.2}", "spec.hosts[1].name: Duplicate value"},
		"HostName":       {"HostPool", pool + "  - {name: A B, address: 10.0.0.1}", "spec.hosts[0].name: Invalid value"},
		"HostAddress":    {"HostPool", pool + "  - {name: a}", "spec.hosts[0].address: Required value"},
		"HostLabels":     {"HostPool", pool + "  - {name: a, address: b, labels: {'a b': c}}", "spec.hosts[0].labels"},
		"FailureDomain":  {"HostPool", pool + "  - {name: a, address: b, failureDomain: rack one}", "spec.hosts[0].failureDomain: Invalid value"},
		"Bastion":        {"HostPool", "spec: {ssh: {identityRef: {name: a}, bastion: {}}}", "spec.ssh.bastion.address: Required value"},
		"BastionPort":    {"HostPool", "spec: {ssh: {identityRef: {name: a}, bastion: {address: gate.example.com}}}", "bastion:\n    address: gate.example.com\n    port: 22"},
		"User":           {"HostPool", "spec: {ssh: {identityRef: {name: a}, user: 'a b'}}", "spec.ssh.user: Invalid value"},
		"Host":           {"Host", "spec: {poolName: p, address: 'fd00::1'}", "address: fd00::1"},
		"HostOfNoPool":   {"Host", "spec: {address: a}", "spec.poolName: Required value"},
		"HostIdentity":   {"Host", "spec: {poolName: p, address: a, ssh: {identityRef: {}}}", "spec.ssh.identityRef.name: Required value"},
		"HostPortNumber": {"Host", "spec: {poolName: p, address: a, ssh: {port: 70000}}", "spec.ssh.port: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := normalised(t, c.kind, c.text); !strings.Contains(got, c.want) {
				t.Errorf("got:\n%s\nwant it to have %q", got, c.want)
			}
		})
	}
}
