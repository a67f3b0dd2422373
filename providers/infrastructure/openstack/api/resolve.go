package api

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resolve implements fleet.Kind: what an imageRef names becomes part of the spec.
func resolve(spec any, companions func(kind string) map[string]any, at *field.Path) (any, field.ErrorList) {
	var v validator
	switch s := spec.(type) {
	case *OpenStackMachineSpec:
		return v.resolveMachine(at, s, companions(imageKind)), v.Errs
	case *OpenStackClusterSpec:
		if s.Bastion == nil || s.Bastion.Spec == nil {
			return s, nil
		}
		out, bastion := *s, *s.Bastion
		bastion.Spec = v.resolveMachine(at.Child("bastion", "spec"), bastion.Spec, companions(imageKind))
		out.Bastion = &bastion
		return &out, v.Errs
	}
	return spec, nil
}

// resolveMachine returns s with the image that its imageRef names.
//
// Where the namespace has Images it names one of them. An image that exists is then
// what people could have written in place of the reference; of one that is made, and
// of one that only its visibility tells, the reference goes on to stand, with the
// Image's essence for a name. Where the namespace has none it is the image that
// Glance calls so: the controller calls an image like its object, and people may
// run one elsewhere.
func (v *validator) resolveMachine(at *field.Path, s *OpenStackMachineSpec, images map[string]any) *OpenStackMachineSpec {
	ref := s.Image.ImageRef
	if ref == nil {
		return s
	}
	out, name := *s, ref.Name
	out.Image = ImageParam{Filter: &ImageFilter{Name: &name}}
	if len(images) == 0 {
		return &out
	}
	found, there := images[ref.Name]
	if !there {
		v.Invalid(at.Child("image", "imageRef", "name"), ref.Name,
			"the overlay holds no Image of that name in the namespace; it holds "+strings.Join(slices.Sorted(maps.Keys(images)), ", "))
		return &out
	}
	image, ok := found.(*ImageSpec)
	if !ok {
		return &out // the Image's own problem says why
	}
	switch i := image.Import; {
	case i != nil && i.ID != nil:
		out.Image = ImageParam{ID: i.ID}
	case i != nil && isEmpty(i.Filter.Visibility):
		out.Image = ImageParam{Filter: &ImageFilter{Name: i.Filter.Name, Tags: i.Filter.Tags}}
	default:
		out.Image = ImageParam{ImageRef: &ResourceReference{Name: image.Essence()}}
	}
	return &out
}
