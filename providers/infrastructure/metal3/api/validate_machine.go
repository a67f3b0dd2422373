package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// machine checks the spec of a machine of a template in a namespace.
func (v *validator) machine(at *field.Path, s *Metal3MachineSpec, namespace string) {
	custom := s.CustomDeploy.Method != ""
	if !custom || s.Image != (Image{}) {
		v.image(at.Child("image"), &s.Image)
	}
	v.Forbidden(at.Child("image", "diskFormat"), custom && s.Image.DiskFormat == LiveISO, "a step of the ramdisk brings the machine on its host, by customDeploy, and a live image is written nowhere: leave one of them out")
	if s.HostSelector != nil {
		v.selector(at.Child("hostSelector"), s.HostSelector)
	}
	if r := s.DataTemplate; r != nil {
		at := at.Child("dataTemplate")
		v.Object(at.Child("name"), r.Name, "the name of a "+dataTemplateKind)
		v.Forbidden(at.Child("namespace"), r.Namespace != "" && r.Namespace != namespace, "a "+dataTemplateKind+" is in the namespace of the cluster: leave the field out")
		r.Namespace = ""
	}
	enum(v, at.Child("automatedCleaningMode"), s.AutomatedCleaningMode, CleaningMetadata, CleaningDisabled)
}

// digits are how many hexadecimal digits checksums have.
var digits = map[ChecksumType]int{MD5: 32, SHA256: 64, SHA512: 128} //nolint:gochecknoglobals // a constant that Go cannot write as one

var hexForm = regexp.MustCompile(`^[0-9a-fA-F]+$`)

// image checks an image. Its rules are those of Metal3's webhook, and that a checksum can be one.
// Source: CAPM3, api/v1beta2/common_types.go.
func (v *validator) image(at *field.Path, i *Image) {
	if !v.Required(at.Child("url"), i.URL, "where Ironic finds the image of the operating system") {
		return
	}
	u := v.urlOf(at.Child("url"), i.URL, "http", "https", "oci", "file")
	enum(v, at.Child("checksumType"), i.ChecksumType, MD5, SHA256, SHA512)
	enum(v, at.Child("diskFormat"), i.DiskFormat, Raw, QCOW2, VDI, VMDK, LiveISO)
	sum := deref(i.Checksum)
	if sum == "" {
		i.Checksum = nil
	}
	switch {
	case u == nil:
		return
	case strings.EqualFold(u.Scheme, "oci"):
		v.Forbidden(at.Child("checksum"), sum != "", "an image of a registry is known by its digest: leave the field out")
		v.Forbidden(at.Child("checksumType"), i.ChecksumType != "", "an image of a registry is known by its digest: leave the field out")
		return
	case i.DiskFormat == LiveISO:
		const why = "the BMC boots a live image without comparing it: leave the field out"
		v.Forbidden(at.Child("checksum"), sum != "", why)
		v.Forbidden(at.Child("checksumType"), i.ChecksumType != "", why)
		return
	case sum == "":
		v.Add(field.Required(at.Child("checksum"), "the checksum of the image, or the URL of a file that has it"))
		return
	case strings.Contains(sum, "://"):
		v.urlOf(at.Child("checksum"), sum, "http", "https", "file")
		return
	}
	want, typed := digits[i.ChecksumType]
	if !hexForm.MatchString(sum) || typed && len(sum) != want || !typed && len(sum) != 32 && len(sum) != 64 && len(sum) != 128 {
		why := "must be a URL, or hexadecimal digits: 32 of md5, 64 of sha256, 128 of sha512"
		if typed {
			why = fmt.Sprintf("must be a URL, or the %d hexadecimal digits of %s", want, i.ChecksumType)
		}
		v.Invalid(at.Child("checksum"), sum, why)
	}
}

// operators are those of host selectors.
// Source: CAPM3, baremetal/metal3machine_manager.go, by way of labels.NewRequirement.
var operators = []selection.Operator{ //nolint:gochecknoglobals // a constant that Go cannot write as one
	selection.In, selection.NotIn, selection.Exists, selection.DoesNotExist, selection.Equals, selection.DoubleEquals, selection.NotEquals,
	selection.GreaterThan, selection.LessThan,
}

// selector checks a selector of hosts.
func (v *validator) selector(at *field.Path, s *HostSelector) {
	for key, value := range s.MatchLabels {
		if _, err := labels.NewRequirement(key, selection.Equals, []string{value}); err != nil {
			v.Invalid(at.Child("matchLabels").Key(key), value, err.Error())
		}
	}
	for i, e := range s.MatchExpressions {
		at := at.Child("matchExpressions").Index(i)
		op := selection.Operator(strings.ToLower(e.Operator))
		if !slices.Contains(operators, op) {
			v.Add(field.NotSupported(at.Child("operator"), e.Operator, operators))
			continue
		}
		if _, err := labels.NewRequirement(e.Key, op, e.Values); err != nil {
			v.Invalid(at, e.Key, err.Error())
		}
	}
}

// Selects reports whether s, which was normalised and may be nil, selects a host with labels.
func (s *HostSelector) Selects(of map[string]string) (bool, error) {
	if s == nil {
		return true, nil
	}
	selector := labels.SelectorFromSet(s.MatchLabels)
	for _, e := range s.MatchExpressions {
		r, err := labels.NewRequirement(e.Key, selection.Operator(strings.ToLower(e.Operator)), e.Values)
		if err != nil {
			return false, fmt.Errorf("hostSelector: %w", err)
		}
		selector = selector.Add(*r)
	}
	return selector.Matches(labels.Set(of)), nil
}

// label checks the value of a label.
func (v *validator) label(at *field.Path, s string) {
	for _, msg := range validation.IsValidLabelValue(s) {
		v.Invalid(at, s, msg)
	}
}
