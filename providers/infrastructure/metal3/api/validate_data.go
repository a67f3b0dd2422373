package api

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// dataTemplate checks metadata and network of machines, and fills in its defaults.
func (v *validator) dataTemplate(at *field.Path, s *Metal3DataTemplateSpec) {
	if s.MetaData != nil {
		v.metaData(at.Child("metaData"), s.MetaData)
	}
	if s.NetworkData != nil {
		v.networkData(at.Child("networkData"), s.NetworkData)
	}
}

// metaData checks metadata. Keys are unique in all of it: Metal3 lets the last one win.
func (v *validator) metaData(at *field.Path, m *MetaData) {
	keys := map[string]bool{"providerid": true}
	key := func(list string, i int, k string) *field.Path {
		at := at.Child(list).Index(i)
		if v.Required(at.Child("key"), k, "what the value is called") && keys[k] {
			if k == "providerid" {
				v.Forbidden(at.Child("key"), true, "providerid is the machine's id, whatever is written: take another key")
			} else {
				v.Add(field.Duplicate(at.Child("key"), k))
			}
		}
		keys[k] = true
		return at
	}
	for i, e := range m.Strings {
		key("strings", i, e.Key)
	}
	for i, e := range m.ObjectNames {
		v.object(key("objectNames", i, e.Key), e.Object)
	}
	for i := range m.Indexes {
		e := &m.Indexes[i]
		at := key("indexes", i, e.Key)
		if deref(e.Offset) < 0 {
			v.Invalid(at.Child("offset"), *e.Offset, "must not be negative")
		}
		e.Step = cmp.Or(e.Step, 1)
		if e.Step < 1 {
			v.Invalid(at.Child("step"), e.Step, "must be at least 1")
		}
	}
	for i, e := range m.Namespaces {
		key("namespaces", i, e.Key)
	}
	for _, l := range m.fromPools() {
		for i := range l.list {
			e := &l.list[i]
			at := key(l.name, i, e.Key)
			ref := e.Ref()
			v.poolRef(at, &ref)
			e.Kind, e.APIGroup = ref.Kind, ref.APIGroup
		}
	}
	for i, e := range m.FromHostInterfaces {
		at := key("fromHostInterfaces", i, e.Key).Child("interface")
		boot := deref(e.FromBootMAC)
		if !boot {
			v.Required(at, e.Interface, "the network card, as inspection calls it, or fromBootMAC: true")
		}
		v.Forbidden(at, boot && e.Interface != "", "fromBootMAC names the network card: leave out one of them")
	}
	for i, e := range m.FromLabels {
		at := key("fromLabels", i, e.Key)
		v.object(at, e.Object)
		v.Required(at.Child("label"), e.Label, "the name of the label")
	}
	for i, e := range m.FromAnnotations {
		at := key("fromAnnotations", i, e.Key)
		v.object(at, e.Object)
		v.Required(at.Child("annotation"), e.Annotation, "the name of the annotation")
	}
}

// object checks whose name, label or annotation is meant.
func (v *validator) object(at *field.Path, o ObjectKind) {
	objects.Enum(v, at.Child("object"), o, ObjectMachine, ObjectMetal3Machine, ObjectHost)
}

// annotation checks a reference to an annotation; the zero value is none.
func (v *validator) annotation(at *field.Path, a FromAnnotation) {
	if a == (FromAnnotation{}) {
		return
	}
	v.object(at, a.Object)
	v.Required(at.Child("annotation"), a.Annotation, "the name of the annotation")
}

// poolRef checks a reference to a pool, and fills in what kind it is.
func (v *validator) poolRef(at *field.Path, r *IPPoolReference) {
	v.Object(at.Child("name"), r.Name, "the name of a pool")
	r.Kind = cmp.Or(r.Kind, PoolKind)
	of := groupOf(r.Kind)
	if of == "" {
		v.Add(field.NotSupported(at.Child("kind"), r.Kind, []string{PoolKind, "InClusterIPPool", "GlobalInClusterIPPool"}))
		return
	}
	r.APIGroup = cmp.Or(r.APIGroup, of)
	if r.APIGroup != of {
		v.Add(field.NotSupported(at.Child("apiGroup"), r.APIGroup, []string{of}))
	}
}
