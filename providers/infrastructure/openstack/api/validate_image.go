package api

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// maxImageTags is how many tags an Image may have.
// Source: openstack-resource-controller, api/v1alpha1/image_types.go.
const maxImageTags = 64

// orcImage checks an Image and fills in its defaults.
func (v *validator) orcImage(o metav1.Object, at *field.Path, s *ImageSpec) {
	if s.ManagementPolicy == "" {
		s.ManagementPolicy = Managed
	}
	objects.Enum(v, at.Child("managementPolicy"), s.ManagementPolicy, Managed, Unmanaged)
	ref := at.Child("cloudCredentialsRef")
	v.Object(ref.Child("secretName"), s.CloudCredentialsRef.SecretName, "the name of a Secret with clouds.yaml")
	v.Required(ref.Child("cloudName"), s.CloudCredentialsRef.CloudName, "an entry of clouds.yaml")
	if s.ManagementPolicy == Unmanaged {
		v.Forbidden(at.Child("resource"), s.Resource != nil, "an image that exists is not made: leave it out, or make managementPolicy managed")
		v.Forbidden(at.Child("managedOptions"), s.ManagedOptions != nil, "an image that exists stays what it is: leave it out, or make managementPolicy managed")
		v.imageImport(at.Child("import"), s.Import)
		return
	}
	v.Forbidden(at.Child("import"), s.Import != nil, "an image that exists is not made: make managementPolicy unmanaged, or leave it out")
	if s.ManagedOptions == nil {
		s.ManagedOptions = new(ManagedOptions)
	}
	if s.ManagedOptions.OnDelete == "" {
		s.ManagedOptions.OnDelete = OnDeleteDelete
	}
	objects.Enum(v, at.Child("managedOptions", "onDelete"), s.ManagedOptions.OnDelete, OnDeleteDelete, OnDeleteDetach)
	if s.Resource == nil {
		v.Add(field.Required(at.Child("resource"), "what the image is made of; for one that exists make managementPolicy unmanaged"))
		return
	}
	v.imageResource(at.Child("resource"), s.Resource, o.GetName())
	if p := s.Resource.Protected; p != nil && *p && !s.Detach() {
		v.Forbidden(at.Child("resource", "protected"), true, "Glance deletes no image that is protected: make managedOptions.onDelete detach, or leave it out")
	}
}

// imageImport checks what finds an image that exists.
func (v *validator) imageImport(at *field.Path, i *ImageImport) {
	if i == nil {
		v.Add(field.Required(at, "what finds the image: id or filter"))
		return
	}
	f := i.Filter
	v.chooseUUID(at, i.ID, f != nil, f != nil && isEmpty(f.Name) && len(f.Tags) == 0 && isEmpty(f.Visibility))
	if f == nil {
		return
	}
	f.Tags = v.tags(at.Child("filter", "tags"), f.Tags)
	v.visibility(at.Child("filter", "visibility"), f.Visibility)
}

// visibility checks who sees an image.
func (v *validator) visibility(at *field.Path, s *string) {
	if s != nil {
		objects.Enum(v, at, *s, "public", "private", "shared", "community")
	}
}

// imageResource checks an image that is to be made.
func (v *validator) imageResource(at *field.Path, r *ImageResource, name string) {
	if isEmpty(r.Name) {
		r.Name = &name
	}
	v.Text(at.Child("name"), *r.Name, maxName)
	if len(r.Tags) > maxImageTags {
		v.Add(field.TooMany(at.Child("tags"), len(r.Tags), maxImageTags))
	}
	for i, t := range r.Tags {
		v.Forbidden(at.Child("tags").Index(i), strings.HasPrefix(t, "fairlead.dev:"), "tags that begin with fairlead.dev: say whose the image is")
	}
	r.Tags = v.tags(at.Child("tags"), r.Tags)
	v.visibility(at.Child("visibility"), r.Visibility)
	v.imageProperties(at.Child("properties"), r.Properties)
	if r.Content == nil {
		v.Add(field.Required(at.Child("content"), "what is in the image"))
		return
	}
	c, at := r.Content, at.Child("content")
	if c.ContainerFormat == "" {
		c.ContainerFormat = "bare"
	}
	objects.Enum(v, at.Child("containerFormat"), c.ContainerFormat, "bare", "ami", "ari", "aki", "compressed", "docker", "ova", "ovf")
	objects.Enum(v, at.Child("diskFormat"), c.DiskFormat, "qcow2", "raw", "iso", "vmdk", "vhd", "vhdx", "vdi", "ploop", "ami", "ari", "aki")
	if c.Download == nil {
		v.Add(field.Required(at.Child("download"), "where the content comes from"))
		return
	}
	v.download(at.Child("download"), c.Download)
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]+$`)

// download checks where the content of an image comes from. What is hashed with
// an algorithm whose hashes Glance does not tell cannot be checked.
// Source: Image API reference, "Show image": checksum and os_hash_value.
func (v *validator) download(at *field.Path, d *ImageDownload) {
	v.Text(at.Child("url"), d.URL, 2048)
	u, err := url.Parse(d.URL)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
		v.Invalid(at.Child("url"), d.URL, `must be an address that Glance can download from, such as "https://images.example.com/node.qcow2"`)
	} else if u.User != nil {
		v.Add(field.Forbidden(at.Child("url"), "no password may be in Git: have the image where it needs none"))
	}
	h := d.Hash
	if h == nil {
		return
	}
	at = at.Child("hash")
	lengths := map[string]int{HashMD5: 32, HashSHA512: 128}
	switch {
	case h.Algorithm == "sha1" || h.Algorithm == "sha256":
		v.Invalid(at.Child("algorithm"), h.Algorithm, "Glance does not tell this hash of what it downloads: give the md5 or sha512, or leave hash out")
	case lengths[h.Algorithm] == 0:
		objects.Enum(v, at.Child("algorithm"), h.Algorithm, HashMD5, HashSHA512)
	case len(h.Value) != lengths[h.Algorithm] || !hashPattern.MatchString(h.Value):
		v.Invalid(at.Child("value"), h.Value, "must be a hash of that algorithm, in lower-case hexadecimal")
	}
}

// imageProperties checks what Nova reads of an image. Words of hypervisors are
// theirs to check.
func (v *validator) imageProperties(at *field.Path, p *ImageProperties) {
	if p == nil {
		return
	}
	positive := func(at *field.Path, n *int32) {
		if n != nil {
			v.size(at, *n)
		}
	}
	text := func(at *field.Path, s *string, values ...string) {
		switch {
		case s == nil:
		case len(values) > 0:
			objects.Enum(v, at, *s, values...)
		default:
			v.Required(at, *s, "leave the field out, or say something")
			v.Text(at, *s, maxName)
		}
	}
	positive(at.Child("minDiskGB"), p.MinDiskGB)
	positive(at.Child("minMemoryMB"), p.MinMemoryMB)
	text(at.Child("architecture"), p.Architecture)
	text(at.Child("hypervisorType"), p.HypervisorType)
	if o := p.OperatingSystem; o != nil {
		text(at.Child("operatingSystem", "distro"), o.Distro)
		text(at.Child("operatingSystem", "version"), o.Version)
	}
	h, at := p.Hardware, at.Child("hardware")
	if h == nil {
		return
	}
	positive(at.Child("cpuSockets"), h.CPUSockets)
	positive(at.Child("cpuCores"), h.CPUCores)
	positive(at.Child("cpuThreads"), h.CPUThreads)
	text(at.Child("cpuPolicy"), h.CPUPolicy, "shared", "dedicated")
	text(at.Child("cpuThreadPolicy"), h.CPUThreadPolicy, "prefer", "isolate", "require")
	buses := []string{"scsi", "virtio", "uml", "xen", "ide", "usb", "lxc"}
	text(at.Child("cdromBus"), h.CDROMBus, buses...)
	text(at.Child("diskBus"), h.DiskBus, buses...)
	text(at.Child("scsiModel"), h.SCSIModel, "virtio-scsi")
	text(at.Child("vifModel"), h.VIFModel, "e1000", "e1000e", "ne2k_pci", "pcnet", "rtl8139", "virtio", "vmxnet3")
	text(at.Child("rngModel"), h.RngModel)
}
