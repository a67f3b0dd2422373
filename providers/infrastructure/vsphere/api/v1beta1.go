package api

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The kinds of v1beta1, where they differ from those of v1beta2.

type v1beta1ClusterTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec v1beta1ClusterTemplateSpec `json:"spec,omitempty"`
}

type v1beta1ClusterTemplateSpec struct {
	Template v1beta1ClusterTemplateResource `json:"template"`
}

type v1beta1ClusterTemplateResource struct {
	Spec VSphereClusterSpec `json:"spec"`
}

type v1beta1Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   v1beta1MachineSpec `json:"spec,omitempty"`
	Status json.RawMessage    `json:"status,omitempty"`
}

type v1beta1MachineTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec v1beta1MachineTemplateSpec `json:"spec,omitempty"`
}

type v1beta1MachineTemplateSpec struct {
	Template v1beta1MachineTemplateResource `json:"template"`
}

type v1beta1MachineTemplateResource struct {
	ObjectMeta v1beta1ObjectMeta  `json:"metadata,omitzero"` // refused
	Spec       v1beta1MachineSpec `json:"spec"`
}

type v1beta1ObjectMeta struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type v1beta1MachineSpec struct {
	VirtualMachineCloneSpec `json:",inline"`

	Network                  v1beta1NetworkSpec     `json:"network"`
	FailureDomain            *string                `json:"failureDomain,omitempty"` // refused
	ProviderID               *string                `json:"providerID,omitempty"`    // refused
	PowerOffMode             PowerOffMode           `json:"powerOffMode,omitempty"`
	GuestSoftPowerOffTimeout *metav1.Duration       `json:"guestSoftPowerOffTimeout,omitempty"`
	NamingStrategy           *v1beta1NamingStrategy `json:"namingStrategy,omitempty"`
}

type v1beta1NamingStrategy struct {
	Template *string `json:"template,omitempty"`
}

type v1beta1NetworkSpec struct {
	Devices                []NetworkDeviceSpec `json:"devices"`
	Routes                 []NetworkRouteSpec  `json:"routes,omitempty"`
	PreferredAPIServerCIDR string              `json:"preferredAPIServerCidr,omitempty"` // refused
}

type v1beta1FailureDomainObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec v1beta1FailureDomainSpec `json:"spec,omitempty"`
}

type v1beta1FailureDomainSpec struct {
	Region   v1beta1FailureDomain `json:"region"`
	Zone     v1beta1FailureDomain `json:"zone"`
	Topology Topology             `json:"topology"`
}

type v1beta1FailureDomain struct {
	FailureDomain `json:",inline"`
	AutoConfigure *bool `json:"autoConfigure,omitempty"`
}
