package charts

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// Each value reaches what is rendered: changed, alone, it makes a difference
// beside one of the files of values.
func TestEveryValueHasAnEffect(t *testing.T) {
	chart, err := loader.LoadDir(Name)
	if err != nil {
		t.Fatal(err)
	}
	var bases []map[string]any
	var plain []map[string]string
	for _, file := range valueFiles(t) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var values map[string]any
		if err := yaml.Unmarshal(b, &values); err != nil {
			t.Fatal(err)
		}
		out, err := rendered(chart, values)
		if err != nil {
			t.Fatal(err)
		}
		bases, plain = append(bases, values), append(plain, out)
	}
	// Ingress and HTTPRoute, which the files have, do not let the webhook be off.
	hook := with(bases[0], []string{"webhook"}, map[string]any{"enabled": true, "existingSecret": "fleet-webhook"})
	out, err := rendered(chart, hook)
	if err != nil {
		t.Fatal(err)
	}
	bases, plain = append(bases, hook), append(plain, out)
	checked := 0
	each(chart.Values, nil, func(path []string, initial any) {
		checked++
		for i, base := range bases {
			for _, other := range otherThan(initial) {
				out, err := rendered(chart, with(base, path, other))
				if err == nil && !maps.Equal(out, plain[i]) {
					return
				}
			}
		}
		t.Errorf("%v: to change it changes nothing that is rendered", path)
	})
	if checked < 100 {
		t.Errorf("%d values were changed", checked)
	}
	if out, err := rendered(chart, with(bases[0], []string{"noSuchValue"}, "x")); err != nil || !maps.Equal(out, plain[0]) {
		t.Errorf("a value that nothing reads changes something: %v", err)
	}
}

// rendered returns what each template gives, but for the notes.
func rendered(chart *chartv2.Chart, values map[string]any) (map[string]string, error) {
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(capabilities.APIVersions, "monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1")
	options := common.ReleaseOptions{Name: "fairlead", Namespace: "fairlead-system", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValuesWithSchemaValidation(chart, values, options, capabilities, true)
	if err != nil {
		return nil, err
	}
	out, err := engine.Render(chart, all)
	delete(out, Name+"/templates/NOTES.txt")
	return out, err
}

// each calls f with each value below v that holds no others.
func each(v map[string]any, above []string, f func(path []string, initial any)) {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		path := append(slices.Clone(above), key)
		if below, ok := v[key].(map[string]any); ok && len(below) > 0 {
			each(below, path, f)
			continue
		}
		f(path, v[key])
	}
}

// otherThan returns values of which one can stand in place of v.
func otherThan(v any) []any {
	switch v.(type) {
	case bool:
		return []any{false, true}
	case []any:
		return []any{[]any{"--changed=1"}, []any{map[string]any{"name": "changed"}}}
	case map[string]any:
		return []any{map[string]any{"changed": "1"}}
	}
	return []any{7, fmt.Sprint(v, "7"), "gitlab"} // "gitlab" for what the templates check themselves
}

// with returns values in which the one at path is v.
func with(values map[string]any, path []string, v any) map[string]any {
	out := maps.Clone(values)
	if len(path) == 1 {
		out[path[0]] = v
		return out
	}
	below, _ := out[path[0]].(map[string]any)
	if below == nil {
		below = map[string]any{}
	}
	out[path[0]] = with(below, path[1:], v)
	return out
}
