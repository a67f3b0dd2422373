package adopt

import (
	"cmp"
	"encoding/json"
	"slices"

	"fairlead.dev/fleet"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A ref is a reference of an object to another object in its namespace.
type ref struct {
	gk   schema.GroupKind
	name string
}

// refAt reads a reference in the form of v1beta1 or v1beta2.
func refAt(o Object, path ...string) ref {
	m, _, _ := unstructured.NestedMap(o.Object, path...)
	return refOf(m)
}

func refOf(m map[string]any) ref {
	part := func(key string) string { s, _ := m[key].(string); return s }
	group := part("apiGroup")
	if group == "" {
		gv, _ := schema.ParseGroupVersion(part("apiVersion")) // without a valid version the kind is not served either
		group = gv.Group
	}
	return ref{schema.GroupKind{Group: group, Kind: part("kind")}, part("name")}
}

func text(o Object, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

// number returns an integer, and whether it is there.
func number(o Object, path ...string) (int64, bool) {
	n, ok, err := unstructured.NestedInt64(o.Object, path...)
	return n, ok && err == nil
}

// dataOf returns the content of a Secret.
func dataOf(o Object) fleet.SecretData {
	var s struct{ Data map[string][]byte }
	raw, err := json.Marshal(map[string]any{"data": o.Object["data"]})
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	out := make(fleet.SecretData, len(s.Data))
	if err != nil { // API servers return no such Secret
		return out
	}
	for k, v := range s.Data {
		out[k] = fleet.NewSecret(v)
	}
	return out
}

// byName sorts objects by kind and name, and removes duplicates.
func byName(all []Object) []Object {
	slices.SortFunc(all, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), keyOf(a).Compare(keyOf(b)))
	})
	return slices.CompactFunc(all, func(a, b Object) bool { return a.GetKind() == b.GetKind() && keyOf(a) == keyOf(b) })
}
