package api

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// v1beta1ControlPlaneSpec is AWSManagedControlPlaneSpec as v1beta1 has it.
type v1beta1ControlPlaneSpec struct {
	controlPlaneSpec

	DisableVPCCNI bool           `json:"disableVPCCNI,omitempty"`
	VPCCNI        *v1beta1VPCCNI `json:"vpcCni,omitempty"`
}

// v1beta1VPCCNI is VPCCNI as v1beta1 has it.
type v1beta1VPCCNI struct {
	Env []corev1.EnvVar `json:"env,omitempty"`
}

// v1beta1PoolSpec is AWSManagedMachinePoolSpec as v1beta1 has it.
type v1beta1PoolSpec struct {
	poolSpec

	AWSLaunchTemplate *v1beta1LaunchTemplate `json:"awsLaunchTemplate,omitempty"`
	UpdateConfig      *v1beta1UpdateConfig   `json:"updateConfig,omitempty"`
}

// v1beta1UpdateConfig is UpdateConfig as v1beta1 has it.
type v1beta1UpdateConfig struct {
	MaxUnavailable           *int `json:"maxUnavailable,omitempty"`
	MaxUnavailablePrecentage *int `json:"maxUnavailablePrecentage,omitempty"`
}

// v1beta1LaunchTemplate is LaunchTemplate as v1beta1 has it.
type v1beta1LaunchTemplate struct {
	AdditionalSecurityGroups []ResourceReference `json:"additionalSecurityGroups,omitempty"`
	AMI                      *AMIReference       `json:"ami,omitempty"`
	IAMInstanceProfile       string              `json:"iamInstanceProfile,omitempty"`
	ImageLookupBaseOS        string              `json:"imageLookupBaseOS,omitempty"`
	ImageLookupFormat        string              `json:"imageLookupFormat,omitempty"`
	ImageLookupOrg           string              `json:"imageLookupOrg,omitempty"`
	InstanceType             string              `json:"instanceType,omitempty"`
	Name                     string              `json:"name,omitempty"`
	RootVolume               *Volume             `json:"rootVolume,omitempty"`
	SpotMarketOptions        *SpotMarketOptions  `json:"spotMarketOptions,omitempty"`
	SSHKeyName               *string             `json:"sshKeyName,omitempty"`
	VersionNumber            *int64              `json:"versionNumber,omitempty"`
}

// oldControlPlane is the kinds.Normaliser of v1beta1.
func oldControlPlane(o metav1.Object, at *field.Path, old *v1beta1ControlPlaneSpec) (any, field.ErrorList) {
	v := new(validator)
	spec := renewed[AWSManagedControlPlaneSpec](v, at, old)
	if len(v.Errs) > 0 {
		return nil, v.Errors()
	}
	if old.DisableVPCCNI {
		if spec.VPCCNI == nil {
			spec.VPCCNI = &VPCCNI{}
		}
		spec.VPCCNI.Disable = true
	}
	for i := range spec.Addons { // v1beta1 has another default
		spec.Addons[i].ConflictResolution = cmp.Or(spec.Addons[i].ConflictResolution, RefuseConflicts)
	}
	return managedControlPlane(o, at, spec)
}

// oldPool is the kinds.Normaliser of v1beta1, which misspells a field.
func oldPool(o metav1.Object, at *field.Path, old *v1beta1PoolSpec) (any, field.ErrorList) {
	v := new(validator)
	spec := renewed[AWSManagedMachinePoolSpec](v, at, old)
	if len(v.Errs) > 0 {
		return nil, v.Errors()
	}
	if old.UpdateConfig != nil {
		spec.UpdateConfig.MaxUnavailablePercentage = old.UpdateConfig.MaxUnavailablePrecentage
	}
	return managedPool(o, at, spec)
}
