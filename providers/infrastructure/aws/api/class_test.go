package api_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// classOfEKS is a class of clusters of EKS, and a cluster of it. Its addon has another version for each one of Kubernetes.
const classOfEKS = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: eks, namespace: prod}
spec:
  kubernetesVersions: [v1.33.4, v1.34.1, v1.35.2]
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AWSManagedControlPlaneTemplate, name: eks}
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSManagedClusterTemplate, name: eks}
  workers:
    machineDeployments:
    - class: worker
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: NodeadmConfigTemplate, name: eks}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachineTemplate, name: eks}}
  variables:
  - {name: region, required: true, schema: {openAPIV3Schema: {type: string}}}
  patches:
  - name: plane
    definitions:
    - selector: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AWSManagedControlPlaneTemplate, matchResources: {controlPlane: true}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/region, valueFrom: {variable: region}}
      - {op: add, path: /spec/template/spec/eksClusterName, valueFrom: {template: "{{ .builtin.cluster.namespace }}_{{ .builtin.cluster.name }}"}}
      - {op: add, path: /spec/template/spec/addons, valueFrom: {template: "[{name: coredns, version: {{ .builtin.controlPlane.version }}-eksbuild.1}]"}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedClusterTemplate
metadata: {name: eks, namespace: prod}
spec: {template: {spec: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlaneTemplate
metadata: {name: eks, namespace: prod}
spec: {template: {spec: {version: v1.30.0, accessConfig: {authenticationMode: api}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: eks, namespace: prod}
spec: {template: {spec: {instanceType: m6i.large, iamInstanceProfile: nodes}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: NodeadmConfigTemplate
metadata: {name: eks, namespace: prod}
spec: {template: {}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, namespace: prod}
spec:
  topology:
    classRef: {name: eks}
    version: v1.35.2
    variables: [{name: region, value: eu-central-1}]
    workers: {machineDeployments: [{class: worker, name: md-0, replicas: 2}]}
`

func decodeEKS(text string) ([]fleet.Cluster, []fleet.Problem) {
	var objects []render.Object
	for part := range strings.SplitSeq(text, "\n---\n") {
		objects = append(objects, render.Object{File: "f.yaml", YAML: []byte(part)})
	}
	return decode.New("f", kinds()).Decode("overlay", objects)
}

// TestClassOfEKS: a class makes clusters of EKS, and what each of its versions is of.
func TestClassOfEKS(t *testing.T) {
	clusters, problems := decodeEKS(classOfEKS)
	if len(problems) > 0 || len(clusters) != 1 {
		t.Fatalf("%d clusters, problems %v", len(clusters), problems)
	}
	c := clusters[0]
	plane, err := api.ReadControlPlane(&c)
	if err != nil {
		t.Fatal(err)
	}
	w := c.Workers[0]
	got := []string{
		plane.EKSClusterName, plane.Version, plane.Region, plane.AccessConfig.AuthenticationMode, plane.Addons[0].Version,
		c.Hosted.Version, c.Topology.Version, w.Version, w.Bootstrap.Kind, fmt.Sprint(w.Replicas), c.Provider,
	}
	want := []string{"prod_eu-1", "1.35", "eu-central-1", "api", "v1.35.2-eksbuild.1", "v1.35.0", "v1.35.2", "v1.35.2", "NodeadmConfig", "2", "aws"}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	got, want = nil, []string{"v1.33.4 v1.33.0 v1.33.4-eksbuild.1", "v1.34.1 v1.34.0 v1.34.1-eksbuild.1"}
	for _, o := range c.Topology.Older {
		then := c
		then.Hosted = o.Hosted
		plane, err := api.ReadControlPlane(&then)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Version+" "+o.Hosted.Version+" "+plane.Addons[0].Version)
		if _, ok := o.Pools[w.Name]; !ok || len(o.Pools) != 1 {
			t.Errorf("at %s its pools are %v", o.Version, o.Pools)
		}
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("its older versions: -want +got:\n%s", d)
	}
}

// TestClassOfEKSRefuses: what is for machines of the control plane is refused where people wrote it.
func TestClassOfEKSRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ change, want string }{
		"machines": {
			"kind: AWSManagedControlPlaneTemplate, name: eks}\n>kind: AWSManagedControlPlaneTemplate, name: eks}\n    machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachineTemplate, name: eks}}\n",
			"ClusterClass prod/eks: spec.controlPlane.machineInfrastructure.templateRef: is for machines of the control plane, and AWSManagedControlPlane has none (leave it out)",
		},
		"drain":    {"  infrastructure:\n>    deletion: {nodeDrainTimeoutSeconds: 1}\n  infrastructure:\n", "spec.controlPlane.deletion: is for machines"},
		"replicas": {"    workers:>    controlPlane: {replicas: 3}\n    workers:", "Cluster prod/eu-1: spec.topology.controlPlane.replicas: is for machines of the control plane, and the AWSManagedControlPlane of ClusterClass prod/eks has none (leave it out)"},
		"health":   {"    workers:>    controlPlane: {healthCheck: {enabled: true}}\n    workers:", "spec.topology.controlPlane.healthCheck: is for machines"},
		"rollout":  {"    workers:>    controlPlane: {rollout: {after: \"2026-01-01T00:00:00Z\"}}\n    workers:", "spec.topology.controlPlane.rollout: is for machines"},
		"a field":  {"accessConfig: {authenticationMode: api}>associateOIDCProvide: true", `AWSManagedControlPlaneTemplate prod/eks: spec.template.spec.associateOIDCProvide: `},
		"endpoint": {"spec: {template: {spec: {}}}>spec: {template: {spec: {controlPlaneEndpoint: {host: a, port: 1}}}}", "EKS gives the endpoint: leave it out"},
		"value":    {"authenticationMode: api>authenticationMode: never", "accessConfig.authenticationMode"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after, _ := strings.Cut(tc.change, ">")
			_, problems := decodeEKS(strings.Replace(classOfEKS, before, after, 1))
			if text := fmt.Sprint(problems); !strings.Contains(text, tc.want) {
				t.Errorf("problems %s, want %s", text, tc.want)
			}
		})
	}
}

// TestClassOfEKSInWaves: what a class makes of the control plane at an older version is a change that waits for its turn, and
// where its file is makes none.
func TestClassOfEKSInWaves(t *testing.T) {
	of := func(text, file string) fleet.Cluster {
		var objects []render.Object
		for part := range strings.SplitSeq(text, "\n---\n") {
			objects = append(objects, render.Object{File: file, YAML: []byte(part)})
		}
		clusters, problems := decode.New("f", kinds()).Decode("overlay", objects)
		if len(problems) > 0 || len(clusters) != 1 {
			t.Fatalf("%d clusters, problems %v", len(clusters), problems)
		}
		return clusters[0]
	}
	is, moved := of(classOfEKS, "f.yaml"), of(classOfEKS, "g.yaml")
	if is.Digest != moved.Digest || is.RolloutDigest() != moved.RolloutDigest() {
		t.Error("another file is another cluster")
	}
	older := strings.Replace(classOfEKS, `{{ .builtin.controlPlane.version }}-eksbuild.1`, `{{ if eq .builtin.controlPlane.version \"v1.33.4\" }}old{{ else }}{{ .builtin.controlPlane.version }}-eksbuild.1{{ end }}`, 1)
	if changed := of(older, "f.yaml"); is.RolloutDigest() == changed.RolloutDigest() || is.Digest == changed.Digest {
		t.Error("another addon of an older version is no change")
	}
}
