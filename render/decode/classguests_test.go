package decode_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	planes "fairlead.dev/providers/hosted/external"
	hostsapi "fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/inmemory"
	stackapi "fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/render/decode"
)

// classyGuest is the cluster of classy with a pool on hosts, a second site, that is called name.
func classyGuest(t *testing.T, name string) string {
	t.Helper()
	return replaced(t, classy,
		"  patches:\n", `    - class: metal
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: dev}
      infrastructure:
        templateRef: {apiVersion: fairlead.dev/v1alpha1, kind: HostMachineTemplate, name: dev}
  patches:
`, "machineDeployments: [{class: worker, name: md-0, replicas: 1}]", "machineDeployments: [{class: worker, name: md-0, replicas: 1}, {class: metal, name: metal, replicas: 2}]") + `
---
apiVersion: fairlead.dev/v1alpha1
kind: HostMachineTemplate
metadata: {name: dev}
spec: {template: {spec: {}}}
---
apiVersion: fairlead.dev/v1alpha1
kind: HostCluster
metadata: {name: ` + name + `, labels: {cluster.x-k8s.io/cluster-name: eu-1}}
spec: {}
`
}

func decodeClassyGuest(t *testing.T, name string) ([]fleet.Cluster, []fleet.Problem) {
	t.Helper()
	return decode.New("f", append(inmemory.Kinds(), hostsapi.Kinds()...)).Decode("prod", objects(classyGuest(t, name)))
}

// TestGuestOfAClass: where a class makes the infrastructure of a cluster, nobody writes its
// name. What makes another provider a site is called as the cluster.
func TestGuestOfAClass(t *testing.T) {
	clusters, problems := decodeClassyGuest(t, "eu-1")
	if len(problems) > 0 || len(clusters) != 1 {
		t.Fatalf("%d clusters, problems %v", len(clusters), problems)
	}
	c := clusters[0]
	if c.Provider != "inmemory" || len(c.Guests) != 1 || c.Guests[0].Provider != "hosts" || c.Guests[0].Infrastructure.Name != "eu-1" {
		t.Fatalf("first site %s, guests %+v", c.Provider, c.Guests)
	}
	on := map[string]int{}
	for _, p := range c.Workers {
		on[p.Provider]++
	}
	if on[""] != 1 || on["hosts"] != 1 {
		t.Errorf("pools by site: %v", on)
	}
	made := c.Infrastructure.Name // by the class: that name does as well
	if clusters, problems = decodeClassyGuest(t, made); len(problems) > 0 || len(clusters) != 1 || len(clusters[0].Guests) != 1 {
		t.Errorf("called %s: %d clusters, problems %v", made, len(clusters), problems)
	}
	_, problems = decodeClassyGuest(t, "metal")
	for _, want := range []string{
		"add a HostCluster default/eu-1 to the overlay, which makes hosts a site of the cluster's workers",
		"it says by its label that it is of Cluster default/eu-1, and what makes a provider a site of that has another name (call it eu-1)",
	} {
		if !strings.Contains(texts(problems), want) {
			t.Errorf("no problem says %q:\n%s", want, texts(problems))
		}
	}
}

// decodeReal decodes objects of real providers.
func decodeReal(manifests string) ([]fleet.Cluster, []fleet.Problem) {
	return decode.New("f", slices.Concat(inmemory.Kinds(), hostsapi.Kinds(), stackapi.Kinds(), planes.Kinds())).Decode("prod", objects(manifests))
}

func texts(problems []fleet.Problem) string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n")
}

// TestTwoRegions: what says that it is another site of one provider is refused, and not
// passed over.
func TestTwoRegions(t *testing.T) {
	const fra = `
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TestCluster
metadata: {name: eu-fra, namespace: prod, labels: {cluster.x-k8s.io/cluster-name: eu}}
spec: {region: fra}
`
	_, problems := decodeYards(newest + fra)
	const want = "TestCluster prod/eu-fra: metadata.name: the cluster has another site of the provider test (take it out, or take the label out where it is for something else: two regions of one provider are no two sites of a cluster)"
	if len(problems) != 1 || !strings.Contains(problems[0].String(), want) {
		t.Errorf("problems:\n%s\nwant\n%s", texts(problems), want)
	}
	if _, problems := decodeYards(newest + strings.Replace(fra, ", labels: {cluster.x-k8s.io/cluster-name: eu}", "", 1)); len(problems) > 0 {
		t.Errorf("it is for something else: %v", problems)
	}
}

// TestInfrastructureBesideAHostedControlPlane: what would be made for an API server is
// refused where somebody else has that.
func TestInfrastructureBesideAHostedControlPlane(t *testing.T) {
	const plain = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu, namespace: prod}
spec:
  controlPlaneRef: {apiGroup: fairlead.dev, kind: ExternalControlPlane, name: eu}
  infrastructureRef: {apiGroup: GROUP, kind: KIND, name: eu}
---
apiVersion: fairlead.dev/v1alpha1
kind: ExternalControlPlane
metadata: {name: eu, namespace: prod}
spec: {controlPlaneEndpoint: {host: 10.0.0.1}}
---
apiVersion: GROUP/VERSION
kind: KIND
metadata: {name: eu, namespace: prod}
spec: SPEC
`
	const network = "identityRef: {name: a, cloudName: b}, managedSubnets: [{cidr: 10.6.0.0/24}]"
	const why = ": Forbidden: the control plane is hosted, and its operator serves its endpoint: leave the field out"
	host := []string{"fairlead.dev", "HostCluster", "v1alpha1"}
	dev := []string{"infrastructure.cluster.x-k8s.io", "DevCluster", "v1beta2"}
	stack := []string{"infrastructure.cluster.x-k8s.io", "OpenStackCluster", "v1beta2"}
	former := []string{"infrastructure.cluster.x-k8s.io", "OpenStackCluster", "v1beta1"}
	for spec, tc := range map[string]struct {
		kind  []string
		field string // empty: it is good
	}{
		"{}": {host, ""},
		"{loadBalancer: {poolName: hall-1, hostName: gate}}":      {host, "spec.loadBalancer"},
		"{virtualIP: {}, controlPlaneEndpoint: {host: 10.0.0.1}}": {host, "spec.virtualIP"},
		"{backend: {inMemory: {}}}":                               {dev, ""},
		"{backend: {inMemory: {virtualIP: {}}}}":                  {dev, "spec.backend.inMemory.virtualIP"},
		"{NETWORK}":                                               {stack, ""},
		"{NETWORK, apiServer: {enableFloatingIP: false}}":         {stack, ""},
		"{NETWORK, apiServer: {managedLoadBalancer: {}}}":         {stack, "spec.apiServer.managedLoadBalancer"},
		"{NETWORK, apiServer: {floatingIP: 203.0.113.9}}":         {stack, "spec.apiServer.floatingIP"},
		"{NETWORK, apiServerLoadBalancer: {enabled: true}}":       {former, "spec.apiServerLoadBalancer"},
		"{NETWORK, apiServerFloatingIP: 203.0.113.9}":             {former, "spec.apiServerFloatingIP"},
		"{NETWORK, apiServerLoadBalancer: {enabled: false}}":      {former, ""},
	} {
		manifests := strings.NewReplacer("GROUP", tc.kind[0], "KIND", tc.kind[1], "VERSION", tc.kind[2], "SPEC", strings.ReplaceAll(spec, "NETWORK", network)).Replace(plain)
		_, problems := decodeReal(manifests)
		got := texts(problems)
		if tc.field == "" && got != "" || tc.field != "" && !strings.Contains(got, tc.kind[1]+" prod/eu: "+tc.field+why) {
			t.Errorf("%s %s: %s", tc.kind[1], spec, got)
		}
	}
}
