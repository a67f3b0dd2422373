package api

import "k8s.io/apimachinery/pkg/util/intstr"

// HostFirmwareSettingsSpec are settings of the firmware (BIOS) of the BareMetalHost of the same name.
type HostFirmwareSettingsSpec struct {
	Settings map[string]intstr.IntOrString `json:"settings"`

	host string // whose they are
}

// HostFirmwareComponentsSpec are versions of the firmware of the BareMetalHost of the same name.
type HostFirmwareComponentsSpec struct {
	Updates []FirmwareUpdate `json:"updates"`

	host string // whose they are
}

// A FirmwareUpdate is an image to flash to a component: "bios", "bmc", or "nic:" and a name.
type FirmwareUpdate struct {
	Component string `json:"component"`
	URL       string `json:"url"`
}

// Metal3RemediationSpec is the remediation of a host whose Node is unhealthy.
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
