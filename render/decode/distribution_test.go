package decode_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/render/decode"
)

// The kinds of a distribution that exists for these tests only, in the shape of Cluster
// API's v1beta1.
type (
	plankConfigSpec struct {
		Commands []string `json:"commands,omitempty"`
		Greeting string   `json:"greeting,omitempty"` // counts in no hash
		From     string   `json:"from,omitempty"`     // a Secret with the key plan
	}
	plankControlPlane struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              struct {
			Replicas        *int32          `json:"replicas,omitempty"`
			Version         string          `json:"version"`
			Config          plankConfigSpec `json:"config,omitempty"`
			MachineTemplate struct {
				ObjectMeta        clusterv1.ObjectMeta   `json:"metadata,omitempty"`
				InfrastructureRef corev1.ObjectReference `json:"infrastructureRef"`
			} `json:"machineTemplate"`
		} `json:"spec"`
	}
	plankControlPlaneTemplate struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              struct {
			Template struct {
				Spec struct {
					Config plankConfigSpec `json:"config,omitempty"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	plankConfig struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              plankConfigSpec `json:"spec"`
	}
	plankConfigTemplate struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              struct {
			Template struct {
				Spec plankConfigSpec `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
)

func plankBootstrap(kind string, c plankConfigSpec, path string) fleet.BootstrapManifest {
	hashed := c
	hashed.Greeting = ""
	m := fleet.BootstrapManifest{Kind: kind, Spec: c, Hashed: hashed}
	if kind == "PlankControlPlane" {
		m.Spec, m.Hashed = map[string]any{"config": c}, map[string]any{"config": hashed}
	}
	if c.From != "" {
		m.Secrets = []fleet.SecretRef{{Field: path + ".from", Name: c.From, Key: "plan"}}
	}
	return m
}

func plankKinds() []fleet.Kind {
	const group = "cluster.x-k8s.io"
	of := func(role fleet.KindRole, group, name string, value func() any, normalise func(any) any) fleet.Kind {
		return fleet.Kind{
			Distribution: "plank", Role: role, Group: group, Kind: name, Versions: []string{"v1"}, V1Beta1Contract: []string{"v1"},
			New:       func(string) any { return value() },
			Normalise: func(v any) (any, field.ErrorList) { return normalise(v), nil },
		}
	}
	plane := of(fleet.ControlPlaneKind, "controlplane."+group, "PlankControlPlane", func() any { return &plankControlPlane{} }, func(v any) any {
		p := v.(*plankControlPlane)
		return &fleet.ControlPlaneManifest{
			Object: p, Replicas: p.Spec.Replicas, Version: p.Spec.Version, Metadata: p.Spec.MachineTemplate.ObjectMeta, OldInfrastructureRef: &p.Spec.MachineTemplate.InfrastructureRef,
			Bootstrap: plankBootstrap("PlankControlPlane", p.Spec.Config, "spec.config"),
		}
	})
	plane.Renamed = map[string]map[string]string{"v1": {"spec.machineTemplate.spec": "spec.machineTemplate"}}
	return append(testKinds(), plane,
		of(fleet.ControlPlaneTemplateKind, "controlplane."+group, "PlankControlPlaneTemplate", func() any { return &plankControlPlaneTemplate{} }, nil),
		of(fleet.BootstrapConfigKind, "bootstrap."+group, "PlankConfig", func() any { return &plankConfig{} }, func(v any) any {
			spec := v.(*plankConfig).Spec
			m := plankBootstrap("PlankConfig", spec, "spec")
			return &m
		}),
		of(fleet.BootstrapConfigTemplateKind, "bootstrap."+group, "PlankConfigTemplate", func() any { return &plankConfigTemplate{} }, func(v any) any {
			spec := v.(*plankConfigTemplate).Spec.Template.Spec
			m := plankBootstrap("PlankConfig", spec, "spec.template.spec")
			return &m
		}),
	)
}

// planked are the manifests of newest with the kinds of the distribution.
func planked(t *testing.T) string {
	t.Helper()
	control, rest, _ := strings.Cut(newest, "kind: KubeadmControlPlane\nmetadata")
	_, rest, _ = strings.Cut(rest, "\n---\n")
	control = strings.TrimSuffix(control, "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\n")
	return replaced(t, control+`apiVersion: controlplane.cluster.x-k8s.io/v1
kind: PlankControlPlane
metadata: {name: eu-cp, namespace: prod}
spec:
  version: v1.34.1+plank2
  config: {commands: [saw], greeting: ahoy}
  machineTemplate:
    infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: TestMachineTemplate, name: m}
---
`+rest,
		"kind: KubeadmControlPlane, name: eu-cp", "kind: PlankControlPlane, name: eu-cp",
		"kind: KubeadmConfigTemplate, name: w", "kind: PlankConfigTemplate, name: w",
		"apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate", "apiVersion: bootstrap.cluster.x-k8s.io/v1\nkind: PlankConfigTemplate",
		"preKubeadmCommands: [echo hello]", "commands: [plane]")
}

func decodePlanks(manifests string) ([]fleet.Cluster, []fleet.Problem) {
	return decode.New("f1", plankKinds()).Decode("prod", objects(manifests))
}

// mustPlank decodes manifests of one good cluster.
func mustPlank(t *testing.T, manifests string) fleet.Cluster {
	t.Helper()
	clusters, problems := decodePlanks(manifests)
	if len(problems) > 0 || len(clusters) != 1 {
		t.Fatalf("%d clusters, problems %v", len(clusters), problems)
	}
	return clusters[0]
}

func TestDistributionBringsItsKinds(t *testing.T) {
	c := mustPlank(t, planked(t))
	p, w := c.ControlPlane, c.Workers[0]
	if p.Kind != "PlankControlPlane" || p.Replicas != 1 || p.Version != "v1.34.1+plank2" || p.MaxSurge != 1 || p.Infrastructure.Name != "m" {
		t.Errorf("control plane %+v", p)
	}
	if w.Kind != "" || w.Bootstrap.Kind != "PlankConfig" || string(w.Bootstrap.Spec) != `{"commands":["plane"]}` {
		t.Errorf("workers %q %+v", w.Kind, w.Bootstrap)
	}
	data, err := json.Marshal(p.Bootstrap)
	if want := `{"kind":"PlankControlPlane","spec":{"config":{"commands":["saw"],"greeting":"ahoy"}}}`; err != nil || string(data) != want {
		t.Errorf("bootstrap %s, %v", data, err)
	}
	same := mustPlank(t, replaced(t, planked(t), "greeting: ahoy", "greeting: moin")).ControlPlane
	if same.Template != p.Template {
		t.Error("what counts in no hash gives another one")
	}
	other := mustPlank(t, replaced(t, planked(t), "[saw]", "[axe]", "[plane]", "[sand]"))
	if d := cmp.Diff([]string{"PlankControlPlane spec.config.commands[0]"}, decode.Differences(&p, &other.ControlPlane)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"PlankConfigTemplate spec.template.spec.commands[0]"}, decode.Differences(&w, &other.Workers[0])); d != "" {
		t.Error(d)
	}
}

func TestKindsOfADistributionFitTogether(t *testing.T) {
	for reason, tc := range map[string]struct {
		manifests  string
		change     []string
		field, say string
	}{
		"workers of kubeadm": {planked(t), []string{
			"kind: PlankConfigTemplate, name: w", "kind: KubeadmConfigTemplate, name: w",
			"apiVersion: bootstrap.cluster.x-k8s.io/v1\nkind: PlankConfigTemplate", "apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate", "commands: [plane]", "preKubeadmCommands: [plane]",
		}, "spec.template.spec.bootstrap.configRef", "refers to KubeadmConfigTemplate prod/w, which is for kubeadm; the control plane of cluster prod/eu is a PlankControlPlane (use a PlankConfigTemplate)"},
		"workers of another than kubeadm": {newest, []string{
			"kind: KubeadmConfigTemplate, name: w", "kind: PlankConfigTemplate, name: w",
			"apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate", "apiVersion: bootstrap.cluster.x-k8s.io/v1\nkind: PlankConfigTemplate", "preKubeadmCommands: [echo hello]", "commands: [plane]",
		}, "spec.template.spec.bootstrap.configRef", "refers to PlankConfigTemplate prod/w, which is for plank; the control plane of cluster prod/eu is a KubeadmControlPlane (use a KubeadmConfigTemplate)"},
		"a configuration for a template": {planked(t), []string{
			"kind: PlankConfigTemplate, name: w", "kind: PlankConfig, name: w",
			"kind: PlankConfigTemplate\n", "kind: PlankConfig\n", "{\n", "{\n", "  template:\n    spec:\n      commands: [plane]", "  commands: [plane]",
		}, "spec.template.spec.bootstrap.configRef", "must refer to a PlankConfigTemplate, not to PlankConfig"},
		"no control plane": {
			planked(t),
			[]string{"controlplane.cluster.x-k8s.io, kind: PlankControlPlane, name: eu-cp", "infrastructure.cluster.x-k8s.io, kind: TestCluster, name: eu"},
			"spec.controlPlaneRef", "must refer to a KubeadmControlPlane or PlankControlPlane, not to TestCluster",
		},
		"an even number": {planked(t), []string{"  version: v1.34.1+plank2", "  replicas: 2\n  version: v1.34.1+plank2"}, "spec.replicas", "must be odd"},
		"no version":     {planked(t), []string{"version: v1.34.1+plank2", "version: soon"}, "spec.version", "must be a version of Kubernetes"},
		"no machines": {
			planked(t),
			[]string{"infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: TestMachineTemplate, name: m}", "infrastructureRef: {}"},
			"spec.machineTemplate.infrastructureRef", "Required value",
		},
		"a Secret that is not there": {planked(t), []string{"greeting: ahoy", "from: plans"}, "spec.config.from", "refers to Secret prod/plans, which the overlay does not hold"},
		"an unknown field":           {planked(t), []string{"greeting: ahoy", "greating: ahoy"}, "spec.config.greating", `unknown field (did you mean "greeting"?)`},
	} {
		t.Run(reason, func(t *testing.T) {
			for i := 0; i+1 < len(tc.change); i += 2 {
				if tc.change[i] != tc.change[i+1] {
					tc.manifests = replaced(t, tc.manifests, tc.change[i], tc.change[i+1])
				}
			}
			clusters, problems := decodePlanks(tc.manifests)
			if len(clusters) != 0 || len(problems) != 1 || problems[0].Field != tc.field || !strings.Contains(problems[0].String(), tc.say) {
				t.Errorf("%d clusters, problems %v, want %s: %s", len(clusters), problems, tc.field, tc.say)
			}
		})
	}
}

func TestClassOfAnotherControlPlane(t *testing.T) {
	manifests := `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu, namespace: prod}
spec:
  topology:
    classRef: {name: small}
    version: v1.34.1+plank2
    controlPlane: {replicas: 3, deletion: {nodeDrainTimeoutSeconds: 30}}
    workers: {machineDeployments: [{class: worker, name: md, replicas: 2}]}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: small, namespace: prod}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: TestClusterTemplate, name: small}}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1, kind: PlankControlPlaneTemplate, name: small}
    machineInfrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: TestMachineTemplate, name: small}}
  workers:
    machineDeployments:
    - class: worker
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1, kind: PlankConfigTemplate, name: small}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: TestMachineTemplate, name: small}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TestClusterTemplate
metadata: {name: small, namespace: prod}
spec: {template: {spec: {region: fra}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1
kind: PlankControlPlaneTemplate
metadata: {name: small, namespace: prod}
spec: {template: {spec: {config: {commands: [saw]}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1
kind: PlankConfigTemplate
metadata: {name: small, namespace: prod}
spec: {template: {spec: {commands: [plane]}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: TestMachineTemplate
metadata: {name: small, namespace: prod}
spec: {template: {spec: {flavor: small}}}
`
	template := fleet.Kind{
		Provider: "test", Role: fleet.InfrastructureClusterTemplate, Group: testGroup, Kind: "TestClusterTemplate", Versions: []string{"v1beta2"},
		New: func(string) any {
			return &struct {
				metav1.TypeMeta   `json:",inline"`
				metav1.ObjectMeta `json:"metadata,omitempty"`
				Spec              struct {
					Template struct {
						Spec testClusterSpec `json:"spec"`
					} `json:"template"`
				} `json:"spec"`
			}{}
		},
		Normalise: func(v any) (any, field.ErrorList) { return testClusterSpec{}, nil },
	}
	clusters, problems := decode.New("f1", append(plankKinds(), template)).Decode("prod", objects(manifests))
	if want := "spec.topology.controlPlane.deletion.nodeDrainTimeoutSeconds: unknown field"; len(clusters) != 0 || len(problems) != 1 || !strings.Contains(problems[0].String(), want) {
		t.Errorf("what the kind does not have: %d clusters, %v, want %s", len(clusters), problems, want)
	}
	manifests = replaced(t, manifests, ", deletion: {nodeDrainTimeoutSeconds: 30}", "")
	clusters, problems = decode.New("f1", append(plankKinds(), template)).Decode("prod", objects(manifests))
	if len(problems) > 0 || len(clusters) != 1 {
		t.Fatalf("%d clusters, %v", len(clusters), problems)
	}
	p := clusters[0].ControlPlane
	if p.Kind != "PlankControlPlane" || p.Replicas != 3 || p.Version != "v1.34.1+plank2" || string(p.Bootstrap.Spec) != `{"config":{"commands":["saw"]}}` {
		t.Errorf("control plane %+v", p)
	}
}
