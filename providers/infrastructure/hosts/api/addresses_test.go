package api_test

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
)

// spec returns the normalised spec of an object, and its kind.
func spec(t *testing.T, name, text string) (any, fleet.Kind) {
	t.Helper()
	i := slices.IndexFunc(api.Kinds(), func(k fleet.Kind) bool { return k.Kind == name })
	k := api.Kinds()[i]
	v := k.New("v1alpha1")
	if err := yaml.UnmarshalStrict([]byte(text), v); err != nil {
		t.Fatal(err)
	}
	out, errs := k.Normalise(v)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return out, k
}

// TestEndpointOfAHost: an endpoint that servers announce is not the address of a host. Without virtualIP it
// may be that of the only server, or of a load balancer.
func TestEndpointOfAHost(t *testing.T) {
	pool, _ := spec(t, "HostPool", "spec: {ssh: {agent: true, knownHosts: x}, hosts: [{name: a, address: 10.0.0.5}, {name: b, address: b.example.com}, {name: gone, address: 10.0.0.7, lost: true}]}")
	host, _ := spec(t, "Host", "spec: {poolName: hall, address: 10.0.0.6}")
	companions := func(kind string) map[string]any {
		return map[string]map[string]any{"HostPool": {"hall": pool, "unread": nil}, "Host": {"c": host}}[kind]
	}
	for text, refused := range map[string]bool{
		"{controlPlaneEndpoint: {host: 10.0.0.5}, virtualIP: {}}":     true,
		"{controlPlaneEndpoint: {host: 10.0.0.6}, virtualIP: {}}":     true,
		"{controlPlaneEndpoint: {host: 10.0.0.7}, virtualIP: {}}":     false, // of a host that is lost
		"{controlPlaneEndpoint: {host: 10.0.0.8}, virtualIP: {}}":     false,
		"{controlPlaneEndpoint: {host: 10.0.0.5}}":                    false,
		"{loadBalancer: {poolName: hall, hostName: a}}":               false,
		"{controlPlaneEndpoint: {host: api.example.com, port: 6443}}": false,
	} {
		s, k := spec(t, "HostCluster", "spec: "+text)
		_, errs := k.Resolve(s, companions)
		if got := len(errs) > 0; got != refused || got && !strings.Contains(errs.ToAggregate().Error(), "is the address of a host") {
			t.Errorf("%s is refused: %v, want %t", text, errs, refused)
		}
	}
}

// TestHostsInGit: what names a host or a pool that Git does not have is refused when Git is read, and a host that
// is there twice: with these the provider observes no machine.
func TestHostsInGit(t *testing.T) {
	pool, _ := spec(t, "HostPool", "spec: {ssh: {agent: true, knownHosts: x}, hosts: [{name: a, address: 10.0.0.5}]}")
	host, _ := spec(t, "Host", "spec: {poolName: hall, address: 10.0.0.6}")
	all := map[string]map[string]any{"HostPool": {"hall": pool, "unread": nil}, "Host": {"c": host, "unread": nil}}
	twice := map[string]map[string]any{"HostPool": {"hall": pool}, "Host": {"a": host}}
	for _, tc := range []struct {
		kind, text, want string
		companions       map[string]map[string]any
	}{
		{"HostCluster", "{loadBalancer: {poolName: hall, hostName: a}}", "", all},
		{"HostCluster", "{loadBalancer: {poolName: hall, hostName: c}}", "", all},
		{"HostCluster", "{loadBalancer: {poolName: hall, hostName: gaet}}", `spec.loadBalancer.hostName: Not found: "host gaet of HostPool hall"`, all},
		{"HostCluster", "{loadBalancer: {poolName: hal, hostName: a}}", `spec.loadBalancer.poolName: Not found: "HostPool hal"`, all},
		{"HostCluster", "{loadBalancer: {poolName: unread, hostName: a}}", "", all},
		{"HostCluster", "{loadBalancer: {poolName: hal, hostName: a}}", "", nil},
		{"HostCluster", "{controlPlaneEndpoint: {host: 10.0.0.8}}", "Host a have a host of that name", twice},
		{"Host", "{poolName: hall, address: 10.0.0.6}", "", all},
		{"Host", "{poolName: hal, address: 10.0.0.6}", `spec.poolName: Not found: "HostPool hal"`, all},
		{"Host", "{poolName: hal, address: 10.0.0.6}", "", nil},
	} {
		s, k := spec(t, tc.kind, "spec: "+tc.text)
		_, errs := k.Resolve(s, func(kind string) map[string]any { return tc.companions[kind] })
		if err := errs.ToAggregate(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %s: %v, want %q", tc.kind, tc.text, err, tc.want)
		}
	}
}

// TestNetworks: a kind of hosts tells their addresses.
func TestNetworks(t *testing.T) {
	for name, text := range map[string]string{
		"HostPool": "spec: {ssh: {agent: true, knownHosts: x}, hosts: [{name: a, address: 10.0.0.5}, {name: b, address: b.example.com}, {name: gone, address: 10.0.0.7, lost: true}]}",
		"Host":     "spec: {poolName: hall, address: 10.0.0.5}",
	} {
		s, k := spec(t, name, text)
		if got := k.Networks(s); !slices.Equal(got, []string{"10.0.0.5"}) {
			t.Errorf("%s has %q", name, got)
		}
	}
}
