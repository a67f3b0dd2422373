package decode

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"fairlead.dev/providers/all"
	"fairlead.dev/test/run/short"
)

// TestParityOfBounds fills objects of every kind and version with values that upstream's
// definitions take, puts one value out of bounds at a time, and compares the verdict with
// that of the code by which API servers validate objects of these definitions.
func TestParityOfBounds(t *testing.T) {
	registry, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	kinds, definitions := knownKinds(registry.Kinds()), readDefinitions(t)
	whole, tried, refused := !short.Form(t), 0, 0
	var each []*kind
	for _, gk := range slices.Sorted(maps.Keys(kinds)) {
		each = append(each, kinds[gk].each()...)
	}
	for _, k := range each {
		for _, version := range k.versions {
			s := definitions[k.groupKind()][version]
			if s == nil {
				continue
			}
			f := filler{t: t, kind: k, version: version}
			spec, typ := s.Properties["spec"], deref(reflect.TypeOf(k.new(version)))
			schema := &crdSchema{Type: "object", Properties: map[string]*crdSchema{"spec": spec}}
			object := f.object(schema, typ, "")
			server := newServer(t, schema)
			if errs := server(object); len(errs) > 0 {
				t.Errorf("%s %s: API servers refuse the object that is to be good: %v", k.name, version, errs)
			}
			if flaws := knownBounds().outOfBounds(k, version, object); len(flaws) > 0 {
				t.Errorf("%s %s: %v", k.name, version, flaws)
			}
			for i, m := range f.mutants {
				if !whole && i%20 != 0 {
					continue
				}
				undo := m.change()
				if undo == nil {
					continue
				}
				theirs, ours := server(object), knownBounds().outOfBounds(k, version, object)
				undo()
				tried++
				if len(theirs) > 0 {
					refused++
				}
				if (len(theirs) > 0) != (len(ours) > 0) {
					t.Errorf("%s %s: %s: %s: API servers say %v, Fairlead says %v", k.name, version, m.path, m.what, theirs, ours)
				}
			}
		}
	}
	t.Logf("%d values, of which API servers refuse %d", tried, refused)
	if refused == 0 {
		t.Error("no value was out of bounds")
	}
}

// newServer returns what API servers say of an object of a definition.
func newServer(t *testing.T, s *crdSchema) func(object map[string]any) []string {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(data, &v1); err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := structural.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	return func(object map[string]any) []string {
		var out []string
		for _, err := range slices.Concat(validation.ValidateCustomResource(nil, object, validator), listtype.ValidateListSetsAndMaps(nil, lists, object)) {
			out = append(out, err.Error())
		}
		return out
	}
}

// A mutant changes one value of an object, and undoes that. It returns nil where the two
// verdicts differ on purpose.
type mutant struct {
	path, what string
	change     func() (undo func())
}

// A filler makes an object with a good value in every field that is honoured, and the mutants
// of it.
type filler struct {
	t       *testing.T
	kind    *kind
	version string
	mutants []mutant
}

func (f *filler) add(path, what string, put func(v any), value, before any) {
	f.mutants = append(f.mutants, mutant{path, what, func() func() {
		put(value)
		return func() { put(before) }
	}})
}

func (f *filler) object(s *crdSchema, t reflect.Type, bare string) map[string]any {
	out := map[string]any{}
	fields := fieldsOf(t)
	if s.MaxProperties > 0 && s.MaxProperties < len(fields) {
		fields = fields[len(fields)-s.MaxProperties:] // a union: the last has the most fields
	}
	for _, field := range fields {
		p, at := s.Properties[field.name], join(bare, field.name)
		required := slices.Contains(s.Required, field.name)
		if p == nil || f.kind.refused[at] != "" || f.kind.unused[at] != "" && !required {
			continue
		}
		if field.name == "diskLayout" && !slices.Contains(s.Required, "layout") {
			continue // one of the two
		}
		put := func(v any) {
			out[field.name] = v
			if v == nil {
				delete(out, field.name)
			}
		}
		v := f.value(p, field.typ, at, put)
		if isEmpty(v) && !required {
			continue
		}
		out[field.name] = v
		optional := slices.Contains(filledIn(), typeName(t)+"."+field.name) || deref(field.typ).Kind() == reflect.Bool || f.kind.unused[at] != ""
		if required && p.Default == nil && !optional {
			f.mutants = append(f.mutants, mutant{at, "not there", func() func() {
				if len(out) == 1 {
					return nil // an empty mapping is as good as none
				}
				put(nil)
				return func() { put(v) }
			}})
		}
	}
	return out
}

// value returns a good value, and adds the mutants of it.
func (f *filler) value(s *crdSchema, t reflect.Type, path string, put func(any)) any {
	t = deref(t)
	switch {
	case t.Kind() == reflect.Struct && !isLeaf(t):
		return f.object(s, t, path)
	case t.Kind() == reflect.Slice && !isLeaf(t):
		return f.list(s, t, path, put)
	case t.Kind() == reflect.Map:
		if e := s.entries(f.t); e != nil {
			m := map[string]any{}
			m["a"] = f.value(e, t.Elem(), path+".*", func(v any) { m["a"] = v })
			return m
		}
		return map[string]any{"a": "x"}
	}
	switch s.Type {
	case "boolean":
		return true
	case "integer", "number":
		return f.number(s, path, put)
	case "string":
		return f.text(s, t, path, put)
	case "object":
		return map[string]any{}
	}
	return int64(1) // a number or a text
}

func (f *filler) list(s *crdSchema, t reflect.Type, path string, put func(any)) any {
	if s.Items == nil {
		return []any{}
	}
	list := []any{nil}
	list[0] = f.value(s.Items, t.Elem(), path, func(v any) { list[0] = v })
	if s.MaxItems > 0 && s.ListType != "map" && s.ListType != "set" {
		f.add(path, "too long", put, slices.Repeat(list, s.MaxItems+1), list)
	}
	if s.ListType == "map" || s.ListType == "set" {
		f.add(path, "twice", put, slices.Repeat(list, 2), list)
	}
	return list
}

func (f *filler) number(s *crdSchema, path string, put func(any)) any {
	v := int64(1)
	if s.Minimum != nil {
		v = *s.Minimum
		f.add(path, "too small", put, v-1, v)
	}
	if s.Maximum != nil {
		v = *s.Maximum
		f.add(path, "too large", put, v+1, v)
	}
	return v
}

// text returns a good text. Types that read texts by themselves get none that is not theirs.
func (f *filler) text(s *crdSchema, t reflect.Type, path string, put func(any)) any {
	if reflect.PointerTo(t).Implements(unmarshaler) || t.Kind() == reflect.Slice {
		switch {
		case s.Format == "date-time":
			return "2026-01-31T08:00:00Z"
		case s.Format == "byte":
			return "eA=="
		case s.Pattern != "":
			return "1" // a quantity
		case strings.HasSuffix(path, ".token"):
			return "abcdef.0123456789abcdef"
		}
		return "1s"
	}
	samples := map[string]string{
		"": "x", "noComma": "x", "noSpace": "x", "dnsLabel": "x", "dnsName": "x", "qualifiedName": "x", "labelValue": "x", "kind": "x", "word": "x",
		"apiVersion": "x.io/v1", "balancerName": "x", "bucket": "xxx", "dedicatedHost": "h-0123456789abcdef0", "range": "[1-3]", "zone": "1", "digits": "1", "minutes": "1m", "seconds": "1s", "eksVersion": "1.33", "https": "https://x", "ipv4": "10.0.0.1", "ipv6": "::1", "ip": "::1", "uri": "https://x", "uuid": "0e8fa4d1-3a0c-4b5e-9f2a-6c1d2e3f4a5b",
	}
	name := s.Format
	if samples[name] == "" || name == "" {
		name = upstreamPatterns()[s.Pattern]
	}
	v := samples[name]
	if len(s.Enum) > 0 {
		v, _ = s.Enum[len(s.Enum)-1].(string)
		f.add(path, "another value", put, "no such value", v)
	}
	if strings.HasSuffix(path, ".partitionType") {
		v = "Linux"
	}
	for len(v) < s.MinLength {
		v += "x"
	}
	if name != "" && name != "uri" { // which providers check
		f.add(path, "against the pattern", put, ", !", v)
	}
	if s.MaxLength > 0 {
		f.add(path, "too long", put, strings.Repeat("x", s.MaxLength+1), v)
	}
	if s.MinLength > 1 {
		f.add(path, "too short", put, "x", v)
	}
	return v
}
