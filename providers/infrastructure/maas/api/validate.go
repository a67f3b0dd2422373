package api

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// defaultAPIPort is the port of an endpoint without one.
const defaultAPIPort = 6443

// customImages is the prefix of images that people uploaded to MAAS.
const customImages = "custom/"

// A validator fills in defaults and collects what is wrong.
type validator struct{ objects.Validator }

func (v *validator) cluster(at *field.Path, s *MaasClusterSpec) {
	v.clusterTemplate(at, s)
	v.Required(at.Child("dnsDomain"), s.DNSDomain, "the domain of MAAS in which the endpoint gets a name")
	s.ControlPlaneEndpoint.Port = cmp.Or(s.ControlPlaneEndpoint.Port, defaultAPIPort)
}

// clusterTemplate checks the fields of a cluster that are set: patches of a class may add others.
func (v *validator) clusterTemplate(at *field.Path, s *MaasClusterSpec) {
	endpoint := at.Child("controlPlaneEndpoint")
	v.Add(s.VirtualIP.Normalise(at.Child("virtualIP"), s.ControlPlaneEndpoint.Host, endpoint.Child("host"))...)
	if s.VirtualIP != nil {
		v.Required(endpoint.Child("host"), s.ControlPlaneEndpoint.Host, "an unused address of the machines' network, which the servers announce")
	}
	if s.ControlPlaneEndpoint.Host != "" {
		v.Address(endpoint.Child("host"), s.ControlPlaneEndpoint.Host, "")
	}
	v.Port(endpoint.Child("port"), s.ControlPlaneEndpoint.Port)
	s.DNSDomain = strings.TrimSuffix(strings.ToLower(s.DNSDomain), ".")
	if s.DNSDomain != "" {
		for _, msg := range validation.IsDNS1123Subdomain(s.DNSDomain) {
			v.Invalid(at.Child("dnsDomain"), s.DNSDomain, msg)
		}
	}
	for i, zone := range s.FailureDomains {
		v.name(at.Child("failureDomains").Index(i), zone)
	}
	s.FailureDomains = objects.Set(v, at.Child("failureDomains"), s.FailureDomains)
	if c := s.LXDConfig; c != nil {
		v.Forbidden(at.Child("lxdConfig", "enabled"), isTrue(c.Enabled), noVMs)
	}
	s.LXDConfig = nil
}

// nameOfMAAS is what MAAS accepts as the name of a zone, a resource pool or a tag.
// Source: MAAS, maasserver/models/zone.py, resourcepool.py and tag.py.
var nameOfMAAS = regexp.MustCompile(`^[\w.-]([ \w.-]*[\w.-])?$`)

func (v *validator) name(at *field.Path, s string) {
	if !nameOfMAAS.MatchString(s) {
		v.Invalid(at, s, "must be a name of MAAS: letters, digits, '_', '.' and '-'")
	}
}

func (v *validator) machine(at *field.Path, s *MaasMachineSpec) {
	if v.Required(at.Child("image"), s.Image, `the name of a boot resource of MAAS, such as "custom/u-2404-0-k-1341-0"`) && !strings.Contains(s.Image, "/") {
		s.Image = customImages + s.Image
	}
	if strings.Count(s.Image, "/") > 1 || strings.HasPrefix(s.Image, "/") || strings.HasSuffix(s.Image, "/") || strings.ContainsAny(s.Image, " \t\r\n") {
		v.Invalid(at.Child("image"), s.Image, `must be the name of a boot resource, such as "custom/u-2404-0-k-1341-0" or "ubuntu/noble"`)
	}
	s.MinCPU = v.least(at.Child("minCPU"), s.MinCPU, "the smallest number of CPUs, or 0")
	s.MinMemoryInMB = v.least(at.Child("minMemory"), s.MinMemoryInMB, "the smallest memory in MiB, or 0")
	if s.MinDiskSizeInGB != nil {
		s.MinDiskSizeInGB = v.least(at.Child("minDiskSize"), s.MinDiskSizeInGB, "")
	}
	if s.ResourcePool != "" {
		v.name(at.Child("resourcePool"), s.ResourcePool)
	}
	s.Tags = slices.DeleteFunc(s.Tags, func(tag string) bool { return tag == "" }) // CAPMAAS' templates render one if people want none
	for i, tag := range s.Tags {
		v.name(at.Child("tags").Index(i), tag)
	}
	s.Tags = objects.Set(v, at.Child("tags"), s.Tags)
	if s.FailureDomain != "" {
		v.name(at.Child("failureDomain"), s.FailureDomain)
	}
	s.DeployInMemory = cmp.Or(s.DeployInMemory, new(bool))
	if s.LXD != nil {
		v.Forbidden(at.Child("lxd", "enabled"), isTrue(s.LXD.Enabled), noVMs)
	}
	s.LXD = nil
	s.EraseDisks = cmp.Or(s.EraseDisks, EraseQuick)
	objects.Enum(v, at.Child("eraseDisks"), s.EraseDisks, EraseQuick, EraseSecure, EraseFull, EraseNever)
}

// least checks a required number that is not negative.
func (v *validator) least(at *field.Path, n *int64, what string) *int64 {
	switch {
	case n == nil:
		v.Add(field.Required(at, what))
	case *n < 0:
		v.Invalid(at, *n, "must not be negative")
	}
	return n
}

func isTrue(b *bool) bool { return b != nil && *b }
