package decode_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"github.com/google/go-cmp/cmp"
)

// guests is the cluster of newest with a pool on yard, a second site.
func guests(t *testing.T) string {
	t.Helper()
	return replaced(t, newest+`
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: YardCluster
metadata: {name: eu, namespace: prod}
spec: {secretRef: {name: login}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: YardMachineTemplate
metadata: {name: ym, namespace: prod}
spec: {template: {spec: {size: 1, secretRef: {name: spare}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: YardPool
metadata: {name: north, namespace: prod}
spec: {size: 2, secretRef: {name: login}}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: prod}
stringData: {clouds.yaml: one}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: yw, namespace: prod}
spec: {template: {spec: {preKubeadmCommands: [echo yard]}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: eu-yard, namespace: prod}
spec:
  clusterName: eu
  replicas: 2
  template:
    spec:
      clusterName: eu
      version: v1.34.1
      bootstrap:
        configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: yw}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: YardMachineTemplate, name: ym}
`)
}

// TestGuests: an object for clusters of another provider, of the name of the one that the
// Cluster refers to, makes that provider a site of its workers.
func TestGuests(t *testing.T) {
	c := mustDecodeYards(t, guests(t))
	if c.Provider != "test" || c.Infrastructure.GVK.Kind != "TestCluster" || len(c.Companions) > 0 {
		t.Errorf("the first site is %s with %s and companions %v", c.Provider, c.Infrastructure.GVK.Kind, c.Companions)
	}
	if len(c.Guests) != 1 || c.Guests[0].Provider != "yard" || c.Guests[0].Infrastructure.GVK.Kind != "YardCluster" ||
		len(c.Guests[0].Companions) != 1 || c.Guests[0].Companions[0].Name != "north" {
		t.Fatalf("guests are %+v", c.Guests)
	}
	if diff := cmp.Diff(map[string]string{"prod/login": "one"}, contents(c.Guests[0].Infrastructure)); diff != "" {
		t.Errorf("secrets of the guest: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]fleet.Key{{Namespace: "prod", Name: "spare"}}, c.StoredSecrets()); diff != "" {
		t.Errorf("Secrets that Git does not hold: -want +got:\n%s", diff)
	}
	got := map[fleet.PoolName]string{}
	for _, p := range c.Pools() {
		got[p.Name] = p.Provider
	}
	if diff := cmp.Diff(map[fleet.PoolName]string{"eu-cp": "", "eu-md-0": "", "eu-yard": "yard"}, got); diff != "" {
		t.Errorf("providers of pools: -want +got:\n%s", diff)
	}
	plain := mustDecodeYards(t, newest)
	for i, p := range plain.Pools() {
		if other, _ := c.Pool(p.Name); other.Template != p.Template {
			t.Errorf("pool %d is made anew: its hash was %s, and is %s beside a guest", i, p.Template, other.Template)
		}
	}
	for _, change := range [][]string{{"{size: 2,", "{size: 3,"}, {"clouds.yaml: one", "clouds.yaml: two"}} {
		if mustDecodeYards(t, replaced(t, guests(t), change...)).Digest == c.Digest {
			t.Errorf("the change of a guest from %q is none of the digest", change[0])
		}
	}
}

// TestGuestWithoutPools: what it had has to go, so it is known.
func TestGuestWithoutPools(t *testing.T) {
	manifests, _, _ := strings.Cut(guests(t), "\n---\napiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate\nmetadata: {name: yw")
	c := mustDecodeYards(t, manifests)
	if len(c.Guests) != 1 || c.InUse("yard") {
		t.Errorf("guests are %+v, in use: %t", c.Guests, c.InUse("yard"))
	}
}

func TestSitesAreRefused(t *testing.T) {
	const yard = "MachineDeployment prod/eu-yard"
	for name, c := range map[string]struct {
		reason string
		change []string
		want   []wantProblem
	}{
		"no infrastructure there": {
			change: []string{"kind: YardCluster\nmetadata: {name: eu,", "kind: YardCluster\nmetadata: {name: other,"},
			want: []wantProblem{{
				yard, "spec.template.spec.infrastructureRef", "refers to YardMachineTemplate of the provider yard; the cluster is on test",
				"add a HallCluster prod/eu to the overlay, which makes yard a site of the cluster's workers",
			}},
		},
		"broken infrastructure there": {
			reason: "one problem is enough",
			change: []string{"kind: YardCluster\nmetadata: {name: eu, namespace: prod}\nspec: {", "kind: YardCluster\nmetadata: {name: eu, namespace: prod}\nspec: {size: -1, "},
			want:   []wantProblem{{"YardCluster prod/eu", "spec.size", "Invalid value: -1: is negative", ""}},
		},
		"something unreadable": {
			reason: "it may be the infrastructure there",
			change: []string{"kind: YardCluster\nmetadata: {name: eu, namespace: prod}", "kind: YardCluster\nmetadata: {namespace: prod}"},
			want:   []wantProblem{{"YardCluster", "metadata.name", "is required", ""}},
		},
		"a control plane there": {
			change: []string{"kind: TestMachineTemplate, name: m}\n      deletion", "kind: YardMachineTemplate, name: ym}\n      deletion"},
			want: []wantProblem{{
				"KubeadmControlPlane prod/eu-cp", "spec.machineTemplate.spec.infrastructureRef",
				"refers to YardMachineTemplate of the provider yard, and the cluster's infrastructure is of test: a control plane is where its endpoint is",
				"use a template of test, or have spec.infrastructureRef of the Cluster name infrastructure of yard",
			}},
		},
		"two of one provider": {
			change: []string{"kind: YardPool\nmetadata: {name: north, namespace: prod}\nspec: {size: 2,", "kind: HallCluster\nmetadata: {name: eu, namespace: prod}\nspec: {size: 2,"},
			want: []wantProblem{{
				"YardCluster prod/eu", "metadata.name", "the cluster has two sites of the provider yard: HallCluster prod/eu and YardCluster prod/eu",
				"keep one of them: a cluster has one site of each provider",
			}},
		},
		"two cloud controller managers": {
			reason: "each deletes the Nodes of the other",
			change: []string{"preKubeadmCommands: [echo yard]", "joinConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: cloud-provider, value: external}]}}"},
			want: []wantProblem{{
				yard, "spec.template.spec.bootstrap.configRef",
				"cloud-provider is external there, and machines of test ask for a cloud controller manager too: that of one cloud deletes Nodes of the other",
				"leave cloud-provider out of what it refers to",
			}},
		},
		"a cloud controller manager of the guest alone": {
			change: []string{
				"preKubeadmCommands: [echo yard]", "joinConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: cloud-provider, value: external}]}}",
				"        kubeletExtraArgs: [{name: cloud-provider, value: external}]\n", "        name: '{{ x }}'\n",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeYards(replaced(t, guests(t), c.change...))
			var got []wantProblem
			for _, p := range problems {
				got = append(got, wantProblem{p.Object, p.Field, p.Message, p.Hint})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestSecondSiteOfTheFirstProvider: no guest is of the provider that the Cluster refers to.
func TestSecondSiteOfTheFirstProvider(t *testing.T) {
	_, problems := decodeYards(yards(t) + `
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: HallCluster
metadata: {name: eu, namespace: prod}
spec: {size: 2}
`)
	const want = "the cluster has two sites of the provider yard: YardCluster prod/eu and HallCluster prod/eu"
	if len(problems) != 1 || problems[0].Object != "HallCluster prod/eu" || problems[0].Message != want {
		t.Errorf("problems are %v, want that of HallCluster prod/eu: %s", problems, want)
	}
}

// TestInfrastructureThatServesNothing: the first site serves the API server, and no other.
func TestInfrastructureThatServesNothing(t *testing.T) {
	_, problems := decodeYards(replaced(t, yards(t), "kind: YardCluster\nmetadata: {name: eu, namespace: prod}\nspec: {", "kind: YardCluster\nmetadata: {name: eu, namespace: prod}\nspec: {size: 101, "))
	if len(problems) != 1 || problems[0].Object != "YardCluster prod/eu" || problems[0].Field != "spec.gate" || problems[0].Message != "Required value: name one" {
		t.Errorf("problems are %v, want that spec.gate is required", problems)
	}
	if _, problems = decodeYards(replaced(t, guests(t), "kind: YardCluster\nmetadata: {name: eu, namespace: prod}\nspec: {", "kind: YardCluster\nmetadata: {name: eu, namespace: prod}\nspec: {size: 101, ")); len(problems) > 0 {
		t.Errorf("of a guest: %v", problems)
	}
}
