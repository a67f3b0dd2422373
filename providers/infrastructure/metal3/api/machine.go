package api

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/providers/kinds"
)

// Metal3MachineTemplateSpec is the spec of a Metal3MachineTemplate.
type Metal3MachineTemplateSpec struct {
	kinds.Template[Metal3MachineSpec] `json:",inline"` // whose metadata is refused

	// NodeReuse has a machine that comes in place of one of the same pool take its host.
	NodeReuse *bool `json:"nodeReuse,omitempty"`
}

// Metal3MachineSpec is the spec of one machine: the image and the selection of its host.
type Metal3MachineSpec struct {
	ProviderID string `json:"providerID,omitempty"` // refused
	// Image is written to the disk of the host.
	Image        Image                   `json:"image,omitzero"`
	CustomDeploy CustomDeploy            `json:"customDeploy,omitzero"`
	UserData     *corev1.SecretReference `json:"userData,omitempty"` // refused
	// HostSelector selects hosts by their labels; nil selects all.
	HostSelector *HostSelector `json:"hostSelector,omitempty"`
	// DataTemplate names the Metal3DataTemplate with the machine's metadata and network.
	DataTemplate *Metal3ObjectRef        `json:"dataTemplate,omitempty"`
	MetaData     *corev1.SecretReference `json:"metaData,omitempty"`    // refused
	NetworkData  *corev1.SecretReference `json:"networkData,omitempty"` // refused
	// AutomatedCleaningMode is how a host is cleaned when the machine is gone; default:
	// what the host says.
	AutomatedCleaningMode AutomatedCleaningMode `json:"automatedCleaningMode,omitempty"`
	FailureDomain         string                `json:"failureDomain,omitempty"` // refused
}

// A MachineSpec is what a Metal3MachineTemplate was normalised to: a machine with what its
// template and its Metal3DataTemplate say.
type MachineSpec struct {
	Metal3MachineSpec `json:",inline"`

	NodeReuse bool `json:"nodeReuse,omitempty"`
	// Data is what the Metal3DataTemplate called DataTemplate says; nil: there is none.
	Data *Metal3DataTemplateSpec `json:"data,omitempty"`
}

// An AutomatedCleaningMode is what is done to the disks of a host before another machine has
// it, and before its first.
type AutomatedCleaningMode string

// The modes.
const (
	CleaningMetadata AutomatedCleaningMode = "metadata" // partition tables and signatures are wiped
	CleaningDisabled AutomatedCleaningMode = "disabled" // nothing is
)

// Image is an image to write to a disk.
type Image struct {
	URL string `json:"url,omitempty"`
	// Checksum is that of the image, in hexadecimal digits, or a URL of a file that has it.
	Checksum     *string      `json:"checksum,omitempty"`
	ChecksumType ChecksumType `json:"checksumType,omitempty"`
	DiskFormat   DiskFormat   `json:"diskFormat,omitempty"`
}

// A ChecksumType is the algorithm of a checksum; empty: Ironic finds out.
type ChecksumType string

// The algorithms.
const (
	MD5    ChecksumType = "md5"
	SHA256 ChecksumType = "sha256"
	SHA512 ChecksumType = "sha512"
)

// A DiskFormat is that of an image; empty: Ironic finds out.
type DiskFormat string

// The formats.
const (
	Raw     DiskFormat = "raw"
	QCOW2   DiskFormat = "qcow2"
	VDI     DiskFormat = "vdi"
	VMDK    DiskFormat = "vmdk"
	LiveISO DiskFormat = "live-iso" // is booted, and written nowhere
)

// CustomDeploy is a deploy step that the ramdisk of the site brings.
type CustomDeploy struct {
	Method string `json:"method,omitempty"`
}

// A Metal3ObjectRef names an object of Metal3 in the namespace of what names it.
type Metal3ObjectRef struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// HostSelector selects hosts by their labels: all of it has to be true.
type HostSelector struct {
	MatchLabels      map[string]string         `json:"matchLabels,omitempty"`
	MatchExpressions []HostSelectorRequirement `json:"matchExpressions,omitempty"`
}

// NamesHardware reports whether s, which may be nil, selects hosts by what inspection finds.
func (s *HostSelector) NamesHardware() bool {
	if s == nil {
		return false
	}
	for key := range s.MatchLabels {
		if strings.HasPrefix(key, HardwarePrefix) {
			return true
		}
	}
	return slices.ContainsFunc(s.MatchExpressions, func(r HostSelectorRequirement) bool { return strings.HasPrefix(r.Key, HardwarePrefix) })
}

// A HostSelectorRequirement is an expression over the labels of a host.
type HostSelectorRequirement struct {
	Key string `json:"key,omitempty"`
	// Operator is one of in, notin, exists, !, =, ==, !=, gt and lt, in letters of any case.
	Operator string   `json:"operator,omitempty"`
	Values   []string `json:"values,omitempty"`
}
