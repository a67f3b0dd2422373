package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
)

// aksClass is a class of AKS with a cluster of it, which people upgrade but for one pool.
const aksClass = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: aks, namespace: prod}
spec:
  kubernetesVersions: [v1.33.5, v1.34.1]
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureManagedClusterTemplate, name: aks}}
  controlPlane: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureManagedControlPlaneTemplate, name: aks}}
  workers:
    machinePools:
    - class: system
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: none}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureManagedMachinePoolTemplate, name: system}}
    - class: user
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: none}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureManagedMachinePoolTemplate, name: user}}
  patches:
  - name: names
    definitions:
    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureManagedMachinePoolTemplate, matchResources: {machinePoolClass: {names: ["*"]}}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/name, valueFrom: {variable: builtin.machinePool.topologyName}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedClusterTemplate
metadata: {name: aks, namespace: prod}
spec: {template: {spec: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedControlPlaneTemplate
metadata: {name: aks, namespace: prod}
spec: {template: {spec: {location: westeurope, subscriptionID: 0f5a6c1e-8f0b-4c0e-9d64-0d8b6f0a2f11, identityRef: {name: fleet}, version: v1.30.0}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedMachinePoolTemplate
metadata: {name: system, namespace: prod}
spec: {template: {spec: {mode: System, sku: Standard_D4s_v5}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedMachinePoolTemplate
metadata: {name: user, namespace: prod}
spec: {template: {spec: {mode: User, sku: Standard_D2s_v5}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: none, namespace: prod}
spec: {template: {spec: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: fleet, namespace: prod}
spec: {type: ServicePrincipal, tenantID: t, clientID: c, clientSecret: {name: principal}, allowedNamespaces: {}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, namespace: prod}
spec:
  topology:
    classRef: {name: aks}
    version: v1.34.1
    workers:
      machinePools:
      - {class: system, name: system, replicas: 1}
      - {class: user, name: web, replicas: 2}
      - {class: user, name: batch, replicas: 3, metadata: {annotations: {topology.cluster.x-k8s.io/defer-upgrade: ""}}}
`

// TestClassOfAKS: a class makes a cluster of AKS, in a resource group with the name of the cluster, and its pools.
func TestClassOfAKS(t *testing.T) {
	decoded := func(text string) ([]fleet.Cluster, []fleet.Problem) {
		objects := kindstest.Render(t, fstest.MapFS{"f.yaml": {Data: []byte(text)}}, nil, "f.yaml")
		return decode.New("f", slices.Concat(api.Kinds(), api.ControlPlaneKinds())).Decode("o", objects)
	}
	clusters, problems := decoded(aksClass)
	if len(problems) > 0 || len(clusters) != 1 {
		t.Fatalf("%d clusters, %v", len(clusters), problems)
	}
	c := clusters[0]
	plane, name, err := api.ReadControlPlane(&c)
	if err != nil {
		t.Fatal(err)
	}
	if plane.ResourceGroupName != "eu-1" || plane.Version != "1.34.1" || c.Hosted.Version != "v1.34.1" || !strings.HasPrefix(name, "eu-1-") {
		t.Errorf("%s in %s of version %s, and %s", name, plane.ResourceGroupName, plane.Version, c.Hosted.Version)
	}
	if shared, err := api.ReadShared(&c); err != nil || shared.ResourceGroup != "eu-1" {
		t.Errorf("%v, %v", shared, err)
	}
	got := map[string]string{}
	for _, p := range c.KeptPools {
		var spec struct{ Name, SKU string }
		if err := json.Unmarshal(p.Infrastructure.Spec, &spec); err != nil {
			t.Fatal(err)
		}
		got[spec.Name] = spec.SKU + " " + p.Version + " " + c.Topology.Deferred[p.Name]
	}
	want := map[string]string{
		"system": "Standard_D4s_v5 v1.34.1 ", "web": "Standard_D2s_v5 v1.34.1 ",
		"batch": "Standard_D2s_v5 v1.34.1 topology.cluster.x-k8s.io/defer-upgrade",
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if len(c.Topology.Order) != 3 || len(c.Topology.Older) != 1 || len(c.Topology.Older[0].Pools) != 0 {
		t.Errorf("topology %+v", c.Topology)
	}
	for reason, tc := range map[string]struct{ old, with, want string }{
		"an unknown field of a template": {"sku: Standard_D2s_v5", "size: Standard_D2s_v5", `spec.template.spec.size: unknown field`},
		"a refused field of a template":  {"version: v1.30.0", "version: v1.30.0, asoManagedClusterPatches: []", "spec.template.spec.asoManagedClusterPatches: is not supported"},
		"a field that a class makes":     {"mode: User", "mode: Other", "spec.template.spec.mode"},
		"labels in a template":           {"spec: {template: {spec: {}}}\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureManagedControlPlaneTemplate", "spec: {template: {metadata: {labels: {a: b}}, spec: {}}}\n---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureManagedControlPlaneTemplate", "spec.template.metadata: unknown field"},
		"machines of a control plane":    {"name: aks}}\n  workers", "name: aks}, machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureManagedMachinePoolTemplate, name: user}}}\n  workers", "and AzureManagedControlPlane has none"},
	} {
		text := strings.Replace(aksClass, tc.old, tc.with, 1)
		if text == aksClass {
			t.Fatalf("%s: there is no %q", reason, tc.old)
		}
		_, problems := decoded(text)
		var all []string
		for _, p := range problems {
			all = append(all, p.String())
		}
		if s := strings.Join(all, "\n"); !strings.Contains(s, tc.want) {
			t.Errorf("%s: %s", reason, s)
		}
	}
}
