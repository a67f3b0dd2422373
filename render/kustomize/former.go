package kustomize

import (
	"encoding/json"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"fairlead.dev/fleet/documents"
)

// Earlier versions left merging to kustomize, which puts the items of a patch first. Their
// template hashes depend on the order of some lists, so that an object with lists in another
// order is also known in the former one. During a build the former orders are in an
// annotation.
const orderAnnotation = "fairlead.dev/former-order"

// orders are the keys of the items of keyed lists in their former order, by the path of the
// list. A list in the same order is left out, and so is one with a key that is there twice:
// kustomize lost an item of it.
type orders map[string][]string

// ordersOf returns the orders of r.
func ordersOf(r *resource.Resource) orders {
	out := orders{}
	if text, ok := r.GetAnnotations()[orderAnnotation]; ok {
		_ = json.Unmarshal([]byte(text), &out) // what it is not is no order
	}
	return out
}

// note notes the former order of the list at path, which is merged of patch and base.
func (o orders) note(path string, f *field, patch, base, merged *yaml.Node) {
	before := o[path]
	delete(o, path)
	now, ok := f.keysOf(merged)
	if !ok || len(patch.Content) == 0 {
		return
	}
	if len(before) == 0 && base != nil {
		before, _ = f.keysOf(base)
	}
	changed, _ := f.keysOf(patch)
	var former []string
	for _, k := range slices.Concat(changed, before, now) {
		if slices.Contains(now, k) && !slices.Contains(former, k) {
			former = append(former, k)
		}
	}
	if !slices.Equal(former, now) {
		o[path] = former
	}
}

// keysOf returns the keys of the items of list, and whether each item has its own.
func (f *field) keysOf(list *yaml.Node) ([]string, bool) {
	var out []string
	own := true
	for _, n := range list.Content {
		k := f.keyOf(n)
		own = own && k != "" && !slices.Contains(out, k)
		out = append(out, k)
	}
	return out, own
}

// keyOf returns the key of an item; empty: it has none.
func (f *field) keyOf(n *yaml.Node) string {
	var out []string
	for _, k := range f.keys {
		if documents.Child(n, k) == nil {
			return ""
		}
		out = append(out, documents.ChildText(n, k))
	}
	return strings.Join(out, "\n")
}

// annotation returns o as the annotation of a patch.
func (o orders) annotation() (string, error) {
	data, err := json.Marshal(o)
	return string(data), err
}

// former removes the annotation from the object n, and returns n with its lists in their
// former order, or nil if that is the same.
func former(r *resource.Resource, n *yaml.Node) *yaml.Node {
	o := ordersOf(r)
	removeAnnotation(n, orderAnnotation)
	tree := treeOf(r)
	if len(o) == 0 || tree == nil {
		return nil
	}
	out := kyaml.CopyYNode(n)
	for path, keys := range o {
		list, f := out, tree
		for _, name := range strings.Split(path, ".") {
			if f != nil {
				f = f.fields[name]
			}
			list = documents.Child(list, name)
		}
		if list == nil || f == nil || list.Kind != yaml.SequenceNode {
			continue
		}
		at := func(n *yaml.Node) int { return slices.Index(keys, f.keyOf(n)) }
		slices.SortStableFunc(list.Content, func(a, b *yaml.Node) int { return at(a) - at(b) })
	}
	return out
}

// treeOf returns the tree of the keyed lists of the kind of r, or nil.
func treeOf(r *resource.Resource) *field {
	kinds, _ := keyedLists()
	return kinds[kind{r.GetGvk().Group, r.GetKind()}]
}
