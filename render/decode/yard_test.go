package decode_test

import (
	"testing"

	"fairlead.dev/fleet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The kinds of a provider whose objects refer to Secrets and to each other.
type (
	secretRef struct {
		Name      string `json:"name,omitempty"`
		Namespace string `json:"namespace,omitempty"`
	}
	yardSpec struct {
		Identity string    `json:"identity,omitempty"`
		Secret   secretRef `json:"secretRef,omitzero"`
		Size     int       `json:"size,omitempty"`
	}
	yard struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              yardSpec `json:"spec,omitempty"`
		Status            struct{} `json:"status,omitempty"`
	}
	yardTemplate struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              struct {
			Template struct {
				Spec yardSpec `json:"spec"`
			} `json:"template"`
		} `json:"spec,omitempty"`
		Status struct{} `json:"status,omitempty"`
	}
)

func yardKinds() []fleet.Kind {
	secrets := func(spec any, namespace string) []fleet.Key {
		ref := spec.(yardSpec).Secret
		switch {
		case ref.Name == "":
			return nil
		case ref.Namespace != "":
			namespace = ref.Namespace
		}
		return []fleet.Key{{Namespace: namespace, Name: ref.Name}}
	}
	kind := func(provider string, role fleet.KindRole, name string, global bool) fleet.Kind {
		k := fleet.Kind{
			Provider: provider, Role: role, Group: testGroup, Kind: name, Versions: []string{"v1beta2"},
			New: func(string) any { return &yard{} }, Secrets: secrets, ClusterScoped: global,
			Normalise: func(v any) (any, field.ErrorList) {
				spec := v.(*yard).Spec
				if spec.Size < 0 {
					return nil, field.ErrorList{field.Invalid(field.NewPath("spec", "size"), spec.Size, "is negative")}
				}
				return spec, nil
			},
		}
		if role == fleet.InfrastructureMachineTemplate || role == fleet.InfrastructureClusterTemplate {
			k.New = func(string) any { return &yardTemplate{} }
			k.Normalise = func(v any) (any, field.ErrorList) { return v.(*yardTemplate).Spec.Template.Spec, nil }
		}
		if role == fleet.InfrastructureCluster { // what is larger than a yard has no gate
			k.Serving = func(spec any) field.ErrorList {
				if spec.(yardSpec).Size > 100 {
					return field.ErrorList{field.Required(field.NewPath("spec", "gate"), "name one")}
				}
				return nil
			}
		}
		return k
	}
	return append(testKinds(),
		kind("yard", fleet.InfrastructureCluster, "YardCluster", false),
		kind("yard", fleet.InfrastructureCluster, "HallCluster", false),
		kind("yard", fleet.InfrastructureMachineTemplate, "YardMachineTemplate", false),
		kind("yard", fleet.InfrastructureClusterTemplate, "YardClusterTemplate", false),
		kind("yard", fleet.InfrastructureCompanion, "YardPool", false),
		kind("yard", fleet.InfrastructureCompanion, "YardIdentity", true),
		kind("other", fleet.InfrastructureCompanion, "OtherPool", false),
	)
}

// yards is the cluster of newest on the provider yard, with companions.
func yards(t *testing.T) string {
	t.Helper()
	return replaced(t, newest, "TestCluster", "YardCluster", "TestMachineTemplate", "YardMachineTemplate",
		"spec: {region: fra}", "spec: {secretRef: {name: login}}",
		"{flavor: small}", "{size: 1, secretRef: {name: spare}}") + `
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: YardPool
metadata: {name: north, namespace: prod}
spec: {size: 2, secretRef: {name: login}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: YardPool
metadata: {name: south, namespace: staging}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: YardIdentity
metadata: {name: shared, namespace: put-there-by-kustomize}
spec: {secretRef: {name: shared, namespace: vault}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: YardClusterTemplate
metadata: {name: class, namespace: prod}
spec: {template: {spec: {size: 3}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OtherPool
metadata: {name: north, namespace: prod}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: OtherMachineTemplate
metadata: {name: claims, namespace: prod, labels: {cluster.x-k8s.io/cluster-name: eu}}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: prod}
stringData: {clouds.yaml: one}
---
apiVersion: v1
kind: Secret
metadata: {name: shared, namespace: vault}
stringData: {clouds.yaml: two}
---
apiVersion: v1
kind: Namespace
metadata: {name: prod, labels: {team: blue}}
---
apiVersion: v1
kind: Namespace
metadata: {name: staging, labels: {team: red}}`
}
