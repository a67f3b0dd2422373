package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// imageGroup is the API group of the OpenStack Resource Controller, ORC.
const imageGroup = "openstack.k-orc.cloud"

// imageKind is the kind of an image there, which imageRef names.
const imageKind = "Image"

// A ManagementPolicy says who makes an image.
type ManagementPolicy string

// The policies.
const (
	Managed   ManagementPolicy = "managed"   // it is made as Resource says: the default
	Unmanaged ManagementPolicy = "unmanaged" // it exists, and Import finds it
)

// ImageSpec is an image of Glance as the OpenStack Resource Controller describes it:
// one that exists, or one that is made from a URL.
// Source: k-orc/openstack-resource-controller, api/v1alpha1.
type ImageSpec struct {
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`
	Import           *ImageImport     `json:"import,omitempty"`   // with Unmanaged, and only then
	Resource         *ImageResource   `json:"resource,omitempty"` // with Managed, and only then
	ManagedOptions   *ManagedOptions  `json:"managedOptions,omitempty"`
	// CloudCredentialsRef is for the project that the image is in.
	CloudCredentialsRef CloudCredentialsReference `json:"cloudCredentialsRef,omitzero"`
	ResyncPeriod        *metav1.Duration          `json:"resyncPeriod,omitempty"` // refused
}

// An ImageImport finds an image that exists: by ID, or by a filter that one image
// matches.
type ImageImport struct {
	ID     *string            `json:"id,omitempty"`
	Filter *ImageImportFilter `json:"filter,omitempty"`
}

// An ImageImportFilter says what an image must have; an empty field matches all.
type ImageImportFilter struct {
	Name       *string  `json:"name,omitempty"`
	Visibility *string  `json:"visibility,omitempty"`
	Tags       []string `json:"tags,omitempty"` // has all of them
}

// CloudCredentialsReference names a Secret with clouds.yaml in the namespace of the
// object, and an entry of it.
type CloudCredentialsReference struct {
	SecretName string `json:"secretName,omitempty"`
	CloudName  string `json:"cloudName,omitempty"`
}

// ManagedOptions say what becomes of what was made.
type ManagedOptions struct {
	OnDelete OnDelete `json:"onDelete,omitempty"`
}

// OnDelete says what becomes of an image that no cluster wants any more.
type OnDelete string

// What may become of it.
const (
	OnDeleteDelete OnDelete = "delete" // the default
	OnDeleteDetach OnDelete = "detach" // it stays
)

// An ImageResource is an image to make.
type ImageResource struct {
	Name       *string          `json:"name,omitempty"` // that of the object, where it says none
	Protected  *bool            `json:"protected,omitempty"`
	Tags       []string         `json:"tags,omitempty"`
	Visibility *string          `json:"visibility,omitempty"` // empty: as Glance has it
	Properties *ImageProperties `json:"properties,omitempty"`
	Content    *ImageContent    `json:"content,omitempty"`
}

// ImageContent says what is in an image and where that comes from.
type ImageContent struct {
	ContainerFormat string         `json:"containerFormat,omitempty"` // bare, where it says none
	DiskFormat      string         `json:"diskFormat,omitempty"`
	Download        *ImageDownload `json:"download,omitempty"`
}

// An ImageDownload is where Glance gets the content from.
type ImageDownload struct {
	URL        string     `json:"url,omitempty"`
	Decompress *string    `json:"decompress,omitempty"` // refused
	Hash       *ImageHash `json:"hash,omitempty"`       // of the content
}

// The algorithms of an ImageHash: those of which Glance tells the hash.
const (
	HashMD5    = "md5"
	HashSHA512 = "sha512"
)

// An ImageHash is what the content of an image is checked by.
type ImageHash struct {
	Algorithm string `json:"algorithm,omitempty"`
	Value     string `json:"value,omitempty"` // in hexadecimal
}

// ImageProperties are what Nova reads of an image.
type ImageProperties struct {
	Architecture    *string               `json:"architecture,omitempty"`
	HypervisorType  *string               `json:"hypervisorType,omitempty"`
	MinDiskGB       *int32                `json:"minDiskGB,omitempty"`
	MinMemoryMB     *int32                `json:"minMemoryMB,omitempty"`
	Hardware        *ImageHardware        `json:"hardware,omitempty"`
	OperatingSystem *ImageOperatingSystem `json:"operatingSystem,omitempty"`
}

// ImageHardware is the virtual hardware of a server.
type ImageHardware struct {
	CPUSockets      *int32  `json:"cpuSockets,omitempty"`
	CPUCores        *int32  `json:"cpuCores,omitempty"`
	CPUThreads      *int32  `json:"cpuThreads,omitempty"`
	CPUPolicy       *string `json:"cpuPolicy,omitempty"`
	CPUThreadPolicy *string `json:"cpuThreadPolicy,omitempty"`
	CDROMBus        *string `json:"cdromBus,omitempty"`
	DiskBus         *string `json:"diskBus,omitempty"`
	SCSIModel       *string `json:"scsiModel,omitempty"`
	VIFModel        *string `json:"vifModel,omitempty"`
	RngModel        *string `json:"rngModel,omitempty"`
	QemuGuestAgent  *bool   `json:"qemuGuestAgent,omitempty"`
}

// ImageOperatingSystem is what runs in a server.
type ImageOperatingSystem struct {
	Distro  *string `json:"distro,omitempty"`
	Version *string `json:"version,omitempty"`
}

// Essence identifies what servers boot from s, which was normalised: of an image
// that is made, its content and its properties; of one that exists, what finds it.
// It is in the template hashes of machines, and must stay what it is.
func (s *ImageSpec) Essence() string {
	if s.Resource != nil {
		return digest(struct {
			Content    *ImageContent    `json:"content"`
			Properties *ImageProperties `json:"properties,omitempty"`
		}{s.Resource.Content, s.Resource.Properties})
	}
	return digest(s.Import)
}

// Key identifies an image to make with all that it is made with.
func (s *ImageSpec) Key() string { return digest(s.Resource) }

// Detach reports whether the image stays when no cluster wants it any more.
func (s *ImageSpec) Detach() bool {
	return s.ManagedOptions != nil && s.ManagedOptions.OnDelete == OnDeleteDetach
}

// digest is over v as JSON, in which what is empty leaves no trace.
func digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, numbers and lists of them have a form in JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:10])
}
