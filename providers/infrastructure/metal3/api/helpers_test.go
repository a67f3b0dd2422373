package api

import (
	"encoding/json"
	"strings"
	"testing"

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

// normalised decodes a spec strictly, puts it where the kind has it, and returns what
// Normalise and Resolve make of it beside the companions, and what is wrong with it.
func normalised(t *testing.T, kind, version, spec string, companions map[string]map[string]any) (any, string) {
	t.Helper()
	var s any
	if err := yaml.UnmarshalStrict([]byte(spec), &s); err != nil {
		t.Fatalf("%v in:\n%s", err, spec)
	}
	if strings.HasSuffix(kind, "Template") && kind != "Metal3DataTemplate" {
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
	if len(errs) == 0 && k.Resolve != nil {
		out, errs = k.Resolve(out, func(kind string) map[string]any {
			if c := companions[kind]; c != nil {
				return c
			}
			return map[string]any{}
		})
	}
	if len(errs) > 0 {
		return nil, errs.ToAggregate().Error()
	}
	return out, ""
}

// asYAML returns v as people would write it.
func asYAML(t *testing.T, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// check wants what is wrong with a spec to hold want; empty: nothing is.
func check(t *testing.T, got, want, reason string) {
	t.Helper()
	if (got == "") != (want == "") || !strings.Contains(got, want) {
		t.Errorf("got %q, want %q: %s", got, want, reason)
	}
}
