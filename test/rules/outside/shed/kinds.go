package shed

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// A ShedCluster is what the machines of a cluster share.
type ShedCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterSpec     `json:"spec"`
	Status json.RawMessage `json:"status,omitempty"`
}

// ClusterSpec is the spec of a ShedCluster.
type ClusterSpec struct {
	// ControlPlaneEndpoint is where the API server is reached.
	ControlPlaneEndpoint Endpoint `json:"controlPlaneEndpoint"`
	// Shelves are the failure domains.
	Shelves []string `json:"shelves,omitempty"`
}

// Endpoint is host and port of an API server.
type Endpoint struct {
	Host string `json:"host"`
	Port int32  `json:"port,omitempty"`
}

// A ShedMachineTemplate is what machines are made from.
type ShedMachineTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TemplateSpec    `json:"spec"`
	Status json.RawMessage `json:"status,omitempty"`
}

// TemplateSpec is the spec of a ShedMachineTemplate.
type TemplateSpec struct {
	Template struct {
		Spec MachineSpec `json:"spec"`
	} `json:"template"`
}

// MachineSpec says what one machine is.
type MachineSpec struct {
	Size       string `json:"size,omitempty"` // "small", or "large"
	ProviderID string `json:"providerID,omitempty"`
}

// The kinds, as people write them.
const (
	group        = "infrastructure.cluster.x-k8s.io"
	clusterKind  = "ShedCluster"
	templateKind = "ShedMachineTemplate"
)

// kinds describes them to the decoder.
func kinds() []fleet.Kind {
	return []fleet.Kind{
		{
			Provider: Name, Role: fleet.InfrastructureCluster,
			Group: group, Kind: clusterKind, Versions: []string{"v1beta1"},
			New:       func(string) any { return new(ShedCluster) },
			Normalise: normaliseCluster,
		},
		{
			Provider: Name, Role: fleet.InfrastructureMachineTemplate,
			Group: group, Kind: templateKind, Versions: []string{"v1beta1"},
			New:       func(string) any { return new(ShedMachineTemplate) },
			Normalise: normaliseTemplate,
			Refused: map[string]string{
				"spec.template.spec.providerID": "the provider gives each machine its own id: leave the field out",
			},
		},
	}
}

// normaliseCluster implements fleet.Kind.
func normaliseCluster(v any) (any, field.ErrorList) {
	var errs objects.Validator
	spec, at := v.(*ShedCluster).Spec, field.NewPath("spec")
	e := &spec.ControlPlaneEndpoint
	if errs.Required(at.Child("controlPlaneEndpoint", "host"), e.Host, "an address that leads to the control plane: a shed has no load balancer") {
		errs.Address(at.Child("controlPlaneEndpoint", "host"), e.Host, "the API server")
	}
	if e.Port == 0 {
		e.Port = 6443
	}
	errs.Port(at.Child("controlPlaneEndpoint", "port"), e.Port)
	spec.Shelves = objects.Set(&errs, at.Child("shelves"), slices.Clone(spec.Shelves))
	return spec, errs.Errs
}

// normaliseTemplate implements fleet.Kind.
func normaliseTemplate(v any) (any, field.ErrorList) {
	var errs objects.Validator
	spec, at := v.(*ShedMachineTemplate).Spec.Template.Spec, field.NewPath("spec", "template", "spec")
	if spec.Size == "" {
		spec.Size = "small"
	}
	objects.Enum(&errs, at.Child("size"), spec.Size, "small", "large")
	return spec, errs.Errs
}
