package kinds

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// An Object is an object whose spec is a T.
type Object[T any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   T               `json:"spec,omitempty"`
	Status json.RawMessage `json:"status,omitempty"`
}

// A Template is the spec of a template of objects whose spec is a T.
type Template[T any] struct {
	Template struct {
		ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitzero"`
		Spec       T                    `json:"spec"`
	} `json:"template"`
}

// A BareTemplate is a Template in which the objects have no metadata.
type BareTemplate[T any] struct {
	Template struct {
		Spec T `json:"spec"`
	} `json:"template"`
}

// A Normaliser fills in the defaults of spec, which is at the path at of the object o, and says
// what is wrong with it. It returns what fleet.Kind.Normalise returns.
type Normaliser[S any] func(o metav1.Object, at *field.Path, spec *S) (any, field.ErrorList)

// A Version is what objects look like in one version of a kind, or in several.
type Version struct {
	names     []string
	new       func() any
	normalise func(object any) (spec any, errs field.ErrorList, ok bool)
}

// Objects returns versions in which an object is an Object[S].
func Objects[S any](normalise Normaliser[S], names ...string) Version {
	return version(names, func(o *Object[S]) (any, field.ErrorList) { return normalise(o, field.NewPath("spec"), &o.Spec) })
}

// Templates returns versions in which an object is an Object[Template[S]].
func Templates[S any](normalise Normaliser[S], names ...string) Version {
	return version(names, func(o *Object[Template[S]]) (any, field.ErrorList) {
		return normalise(o, field.NewPath("spec", "template", "spec"), &o.Spec.Template.Spec)
	})
}

// BareTemplates returns versions in which an object is an Object[BareTemplate[S]].
func BareTemplates[S any](normalise Normaliser[S], names ...string) Version {
	return version(names, func(o *Object[BareTemplate[S]]) (any, field.ErrorList) {
		return normalise(o, field.NewPath("spec", "template", "spec"), &o.Spec.Template.Spec)
	})
}

func version[O any](names []string, normalise func(o *O) (any, field.ErrorList)) Version {
	return Version{
		names: names,
		new:   func() any { return new(O) },
		normalise: func(object any) (any, field.ErrorList, bool) {
			o, ok := object.(*O)
			if !ok {
				return nil, nil, false
			}
			spec, errs := normalise(o)
			return spec, errs, true
		},
	}
}

// Of returns k with its versions, the newest first, and with New and Normalise for them.
func Of(k fleet.Kind, versions ...Version) fleet.Kind {
	for _, v := range versions {
		k.Versions = append(k.Versions, v.names...)
	}
	k.New = func(version string) any {
		for _, v := range versions {
			if slices.Contains(v.names, version) {
				return v.new()
			}
		}
		return versions[0].new()
	}
	k.Normalise = func(object any) (any, field.ErrorList) {
		for _, v := range versions {
			if spec, errs, ok := v.normalise(object); ok {
				return spec, errs
			}
		}
		return nil, field.ErrorList{field.InternalError(field.NewPath("spec"), fmt.Errorf("%T is no %s", object, k.Kind))}
	}
	return k
}

// A collector is a pointer to a V, whose zero value is ready to collect what is wrong with an
// object. What embeds an objects.Validator is one.
type collector[V any] interface {
	*V
	Errors() field.ErrorList
}

// Checked returns the Normaliser of the newest version: check fills in defaults and collects what
// is wrong.
func Checked[S, V any, C collector[V]](check func(c C, at *field.Path, spec *S)) Normaliser[S] {
	return CheckedOf(func(c C, _ metav1.Object, at *field.Path, spec *S) { check(c, at, spec) })
}

// CheckedOf is Checked where check needs the object, as for its name.
func CheckedOf[S, V any, C collector[V]](check func(c C, o metav1.Object, at *field.Path, spec *S)) Normaliser[S] {
	return func(o metav1.Object, at *field.Path, spec *S) (any, field.ErrorList) {
		c := C(new(V))
		check(c, o, at, spec)
		return spec, c.Errors()
	}
}

// Converted returns the Normaliser of an older version: convert returns the spec as the newest
// version has it, which check then checks.
func Converted[Old, S, V any, C collector[V]](convert func(c C, at *field.Path, old *Old) *S, check func(c C, at *field.Path, spec *S)) Normaliser[Old] {
	return func(_ metav1.Object, at *field.Path, old *Old) (any, field.ErrorList) {
		c := C(new(V))
		spec := convert(c, at, old)
		check(c, at, spec)
		return spec, c.Errors()
	}
}
