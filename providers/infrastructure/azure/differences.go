package azure

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// A difference is a field of which Git has another value than Azure.
type difference struct {
	path     []string
	is, want any
}

func (d difference) String() string { return fieldIn(strings.Join(d.path, ".")) }

// differences returns the fields that want has and is has not, or has with another value. What want does not have is no
// difference.
func differences(is, want any, path ...string) []difference {
	w, ok := want.(map[string]any)
	if !ok {
		if same(is, want) {
			return nil
		}
		return []difference{{slices.Clone(path), is, want}}
	}
	in, _ := is.(map[string]any)
	var out []difference
	for _, k := range slices.Sorted(maps.Keys(w)) {
		out = append(out, differences(in[k], w[k], append(slices.Clone(path), k)...)...)
	}
	return out
}

// same compares values of JSON. Azure writes texts in any case, lists in any order, and leaves out what is off or empty.
func same(a, b any) bool {
	if x, ok := b.([]any); ok {
		y, _ := a.([]any)
		set := func(list []any) []string {
			var out []string
			for _, v := range list {
				data, _ := json.Marshal(v) // it came as JSON
				out = append(out, strings.ToLower(string(data)))
			}
			slices.Sort(out)
			return slices.Compact(out)
		}
		return slices.Equal(set(y), set(x))
	}
	if s, ok := b.(string); ok {
		t, _ := a.(string)
		return strings.EqualFold(s, t)
	}
	return reflect.DeepEqual(a, b) || a == nil && (b == false || b == "" || b == "none")
}

// set writes the value of d into a resource.
func (d difference) set(body map[string]any) {
	for _, k := range d.path[:len(d.path)-1] {
		next, ok := body[k].(map[string]any)
		if !ok {
			next = make(map[string]any)
			body[k] = next
		}
		body = next
	}
	body[d.path[len(d.path)-1]] = d.want
}

func propertiesIn(body map[string]any) map[string]any {
	p, ok := body["properties"].(map[string]any)
	if !ok {
		p = make(map[string]any)
		body["properties"] = p
	}
	return p
}

// plain returns v as JSON has it.
func plain(v any) map[string]any {
	var out map[string]any
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic(err) // it is of maps and of types of package api
	}
	return out
}

// renamed returns an object with its fields renamed.
func renamed(in map[string]any, name func(string) string) map[string]any {
	out := make(map[string]any)
	for k, v := range in {
		if below, ok := v.(map[string]any); ok {
			v = renamed(below, name)
		}
		out[name(k)] = v
	}
	return out
}

var upper = regexp.MustCompile(`[A-Z]`)

// kebab returns newPodScaleUpDelay as new-pod-scale-up-delay, as the autoscaler names its flags.
func kebab(s string) string {
	return upper.ReplaceAllStringFunc(s, func(c string) string { return "-" + strings.ToLower(c) })
}

// withID returns keyVaultResourceID as keyVaultResourceId, as Azure names ids in the profile of security.
func withID(s string) string {
	if rest, ok := strings.CutSuffix(s, "ID"); ok {
		return rest + "Id"
	}
	return s
}

// fieldIn returns the name in Git of a field of a cluster of AKS.
func fieldIn(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "properties."), "networkProfile.")
	for _, names := range [][2]string{
		{"nodeResourceGroup", "nodeResourceGroupName"},
		{"serviceCidr", "clusterNetwork.services"},
		{"podCidr", "clusterNetwork.pods"},
		{"loadBalancerSku", "loadBalancerSKU"},
		{"linuxProfile", "sshPublicKey"},
		{"identityProfile", "kubeletUserAssignedIdentity"},
		{"autoScalerProfile", "autoscalerProfile"},
	} {
		if path == names[0] || strings.HasPrefix(path, names[0]+".") {
			return names[1] + strings.TrimPrefix(path, names[0])
		}
	}
	return path
}
