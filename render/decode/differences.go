package decode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"fairlead.dev/fleet"
)

// Differences returns the fields of two pools that differ so that machines are replaced:
// paths in the newest versions of their kinds, sorted. It is empty exactly where the
// template hashes are equal.
func Differences(before, after *fleet.Pool) []string {
	if before.Template == after.Template {
		return nil
	}
	var out []string
	if before.Version != after.Version {
		out = append(out, fmt.Sprintf("version %s → %s", before.Version, after.Version))
	}
	if before.FailureDomain != after.FailureDomain {
		out = append(out, "failureDomain")
	}
	if was, is := before.Bootstrap.Kind, after.Bootstrap.Kind; was != is {
		out = append(out, fmt.Sprintf("kind %s → %s", cmp.Or(was, "KubeadmConfig"), cmp.Or(is, "KubeadmConfig")))
	} else {
		differ(configurationAt(after), configurationOf(before), configurationOf(after), &out)
	}
	a, b := &before.Infrastructure, &after.Infrastructure
	if a.GVK.GroupKind() != b.GVK.GroupKind() {
		out = append(out, fmt.Sprintf("kind %s → %s", a.GVK.Kind, b.GVK.Kind))
	} else {
		differ(b.GVK.Kind+" spec.template.spec", plainJSON(a.Spec), plainJSON(b.Spec), &out)
	}
	slices.Sort(out)
	return out
}

// configurationAt returns the path of the bootstrap configuration of p.
func configurationAt(p *fleet.Pool) string {
	kind := p.Bootstrap.Kind
	switch controlPlane := p.Role == fleet.RoleControlPlane; {
	case kind == "" && controlPlane:
		return "KubeadmControlPlane spec.kubeadmConfigSpec"
	case controlPlane:
		return kind + " spec"
	}
	return cmp.Or(kind, "KubeadmConfig") + "Template spec.template.spec"
}

// configurationOf returns the part of the configuration of p that its hash depends on.
func configurationOf(p *fleet.Pool) any {
	if data := settledOf(p); data != nil {
		return plainJSON(data)
	}
	return map[string]any{}
}

// differ adds the paths below at where a and b differ. Lists of different lengths differ as
// a whole.
func differ(at string, a, b any, out *[]string) {
	if reflect.DeepEqual(a, b) {
		return
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			keys := maps.Clone(a)
			maps.Copy(keys, b)
			for key := range keys {
				differ(at+"."+key, a[key], b[key], out)
			}
			return
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				differ(fmt.Sprintf("%s[%d]", at, i), a[i], b[i], out)
			}
			return
		}
	}
	*out = append(*out, at)
}

// plainJSON decodes JSON to maps and lists; nil where there is none.
func plainJSON(data []byte) any {
	var v any
	_ = json.Unmarshal(data, &v) // none is no value
	return v
}
