package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

func kindOf(t *testing.T, name string) fleet.Kind {
	t.Helper()
	for _, k := range Kinds() {
		if k.Kind == name {
			return k
		}
	}
	t.Fatalf("no kind %s", name)
	return fleet.Kind{}
}

// normalised decodes a spec strictly, puts it where the kind has it, and returns
// what Normalise makes of it where there are no companions.
func normalised(t *testing.T, kind, version, spec string) (any, field.ErrorList) {
	t.Helper()
	var s any
	if err := yaml.UnmarshalStrict([]byte(spec), &s); err != nil {
		t.Fatalf("%v in:\n%s", err, spec)
	}
	if strings.HasSuffix(kind, "Template") {
		s = map[string]any{"template": map[string]any{"spec": s}}
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "x"}, "spec": s})
	if err != nil {
		t.Fatal(err)
	}
	k := kindOf(t, kind)
	o := k.New(version)
	if strict, err := kjson.UnmarshalStrict(data, o); err != nil || len(strict) > 0 {
		t.Fatalf("decoding: %v %v in:\n%s", err, strict, spec)
	}
	out, errs := k.Normalise(o)
	if len(errs) > 0 || k.Resolve == nil {
		return out, errs
	}
	return k.Resolve(out, func(string) map[string]any { return nil })
}

// asYAML returns v without what is empty, the way people would write it.
func asYAML(t *testing.T, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// canonical returns text with sorted keys and in one layout.
func canonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return asYAML(t, v)
}

// fieldsOf returns the places of errs, sorted.
func fieldsOf(errs field.ErrorList) []string {
	seen := map[string]bool{}
	for _, e := range errs {
		seen[e.Field] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
