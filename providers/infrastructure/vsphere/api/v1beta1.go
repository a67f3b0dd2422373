package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The specs of v1beta1 that differ from those of v1beta2.

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

type v1beta1FailureDomainSpec struct {
	Region   v1beta1FailureDomain `json:"region"`
	Zone     v1beta1FailureDomain `json:"zone"`
	Topology Topology             `json:"topology"`
}

type v1beta1FailureDomain struct {
	FailureDomain `json:",inline"`
	AutoConfigure *bool `json:"autoConfigure,omitempty"`
}
