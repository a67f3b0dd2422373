package api

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// HostFirmwareSettings are settings of the firmware (BIOS) of the BareMetalHost of its name.
type HostFirmwareSettings struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HostFirmwareSettingsSpec `json:"spec,omitempty"`
	Status json.RawMessage          `json:"status,omitempty"`
}

// HostFirmwareSettingsSpec is the spec of HostFirmwareSettings.
type HostFirmwareSettingsSpec struct {
	Settings map[string]intstr.IntOrString `json:"settings"`

	host string // whose they are
}

// HostFirmwareComponents are versions of the firmware of the BareMetalHost of its name.
type HostFirmwareComponents struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HostFirmwareComponentsSpec `json:"spec,omitempty"`
	Status json.RawMessage            `json:"status,omitempty"`
}

// HostFirmwareComponentsSpec is the spec of HostFirmwareComponents.
type HostFirmwareComponentsSpec struct {
	Updates []FirmwareUpdate `json:"updates"`

	host string // whose they are
}

// A FirmwareUpdate is what is flashed to a component: "bios", "bmc", or "nic:" and a name.
type FirmwareUpdate struct {
	Component string `json:"component"`
	URL       string `json:"url"`
}

// Metal3RemediationTemplate is what is done with a host whose Node is sick.
type Metal3RemediationTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Metal3RemediationTemplateSpec `json:"spec,omitempty"`
	Status json.RawMessage               `json:"status,omitempty"`
}

// Metal3RemediationTemplateSpec is the spec of a Metal3RemediationTemplate.
type Metal3RemediationTemplateSpec struct {
	Template Metal3RemediationTemplateResource `json:"template,omitzero"`
}

// Metal3RemediationTemplateResource is the remediation in a template.
type Metal3RemediationTemplateResource struct {
	Spec Metal3RemediationSpec `json:"spec,omitzero"`
}

// Metal3RemediationSpec is the spec of a remediation.
type Metal3RemediationSpec struct {
	Strategy *RemediationStrategy `json:"strategy,omitempty"`
}

// RebootRemediation is the one type of remediation: the host is switched off and on.
const RebootRemediation = "Reboot"

// A RemediationStrategy is how a host is remediated.
type RemediationStrategy struct {
	Type           string `json:"type,omitempty"`
	RetryLimit     int32  `json:"retryLimit,omitempty"`     // default 1
	TimeoutSeconds int32  `json:"timeoutSeconds,omitempty"` // default 600, at least 100
}
