package shed

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/kinds"
)

// ClusterSpec is the spec of a ShedCluster: what the machines of a cluster share.
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

// MachineSpec says what one machine is: the spec in a ShedMachineTemplate.
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

// table describes them to the decoder.
func table() []fleet.Kind {
	const version = "v1beta1"
	return []fleet.Kind{
		kinds.Of(fleet.Kind{Provider: Name, Role: fleet.InfrastructureCluster, Group: group, Kind: clusterKind},
			kinds.Objects(kinds.Checked((*validator).cluster), version)),
		kinds.Of(fleet.Kind{
			Provider: Name, Role: fleet.InfrastructureMachineTemplate, Group: group, Kind: templateKind,
			Refused: map[string]string{
				"spec.template.spec.providerID": "the provider gives each machine its own id: leave the field out",
			},
		}, kinds.BareTemplates(kinds.Checked((*validator).machine), version)),
	}
}

// A validator collects what is wrong with an object, and fills in defaults.
type validator struct{ objects.Validator }

func (v *validator) cluster(at *field.Path, s *ClusterSpec) {
	e, host := &s.ControlPlaneEndpoint, at.Child("controlPlaneEndpoint", "host")
	if v.Required(host, e.Host, "an address that leads to the control plane: a shed has no load balancer") {
		v.Address(host, e.Host, "the API server")
	}
	e.Port = cmp.Or(e.Port, 6443)
	v.Port(at.Child("controlPlaneEndpoint", "port"), e.Port)
	s.Shelves = objects.Set(v, at.Child("shelves"), s.Shelves)
}

func (v *validator) machine(at *field.Path, s *MachineSpec) {
	s.Size = cmp.Or(s.Size, "small")
	objects.Enum(v, at.Child("size"), s.Size, "small", "large")
}
