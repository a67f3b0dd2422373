package kustomize

import (
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"fairlead.dev/fleet/documents"
)

// directive is the key of an instruction in a strategic merge patch.
const directive = "$patch"

// whole replaces each keyed list in the mapping patch with the list that results from
// merging it into the same list of base. base is nil if there is no such mapping. The former
// order of the lists is noted in o, unless it is nil; path is that of patch.
func (f *field) whole(patch, base *yaml.Node, o orders, path string) error {
	if patch.Kind != yaml.MappingNode || documents.Child(patch, directive) != nil {
		return nil
	}
	for i := 0; i+1 < len(patch.Content); i += 2 {
		below, value := f.fields[patch.Content[i].Value], patch.Content[i+1]
		at := strings.TrimPrefix(path+"."+patch.Content[i].Value, ".")
		if below == nil {
			continue
		}
		old := documents.Child(base, patch.Content[i].Value)
		if len(below.keys) == 0 || value.Kind != yaml.SequenceNode {
			if err := below.whole(value, old, o, at); err != nil {
				return err
			}
			continue
		}
		if old != nil && old.Kind != yaml.SequenceNode && old.ShortTag() != "!!null" {
			continue // kustomize refuses it
		}
		merged, err := below.merge(value, old)
		if err != nil {
			return err
		}
		if o != nil {
			o.note(at, below, value, old, merged)
		}
		patch.Content[i+1] = merged
	}
	return nil
}

// merge returns the list that results from merging the keyed list patch into base, which may
// be nil. Items of base keep their places. An item of the patch is merged into the item with
// the same keys; items that both have several times are merged in their order. New items
// go to the end, or after the last item with the same keys.
func (f *field) merge(patch, base *yaml.Node) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: patch.Style}
	items := slices.Clone(patch.Content)
	switch directiveOf(&items) {
	case "delete":
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	case "replace":
		base = nil
	}
	if len(patch.Content) == 0 {
		return out, nil
	}
	var list []item
	if base != nil {
		for _, n := range base.Content {
			list = append(list, item{node: kyaml.CopyYNode(n)})
		}
	}
	for _, n := range items {
		var err error
		if list, err = f.put(list, n); err != nil {
			return nil, err
		}
	}
	for _, i := range list {
		out.Content = append(out.Content, i.node)
	}
	return out, nil
}

// An item is an item of a list that a patch is merged into.
type item struct {
	node    *yaml.Node
	patched bool // an item of the patch with all keys is merged into it
}

// put merges an item of a patch into list.
func (f *field) put(list []item, patch *yaml.Node) ([]item, error) {
	if patch.Kind != yaml.MappingNode {
		if !slices.ContainsFunc(list, func(i item) bool { return i.node.Kind == patch.Kind && i.node.Value == patch.Value }) {
			list = append(list, item{node: patch})
		}
		return list, nil
	}
	deletes := documents.ChildText(patch, directive) == "delete"
	keys := f.keys
	if deletes && f.value != "" {
		keys = append(slices.Clone(keys), f.value)
	}
	same := func(i item) bool { return alike(i.node, patch, keys) }
	if deletes {
		return slices.DeleteFunc(list, same), nil
	}
	identified := !slices.ContainsFunc(f.keys, func(k string) bool { return documents.Child(patch, k) == nil })
	if identified && f.value != "" && documents.Child(patch, f.value) != nil && !slices.ContainsFunc(list, func(i item) bool { return same(i) && i.patched }) {
		list = f.first(list, same) // the patch sets all values of the argument
	}
	last := -1
	for n := range list {
		if !same(list[n]) {
			continue
		}
		last = n
		if identified && list[n].patched {
			continue
		}
		merged, err := f.mergeItem(patch, list[n].node)
		if err != nil {
			return nil, err
		}
		list[n].node = merged
		if identified {
			list[n].patched = true
			return list, nil
		}
	}
	if last >= 0 && !identified {
		return list, nil
	}
	added, err := f.mergeItem(patch, nil)
	if err != nil || added == nil {
		return list, err
	}
	if last < 0 {
		last = len(list) - 1
	}
	return slices.Insert(list, last+1, item{added, true}), nil
}

// first returns list without all but the first of the same items.
func (f *field) first(list []item, same func(item) bool) []item {
	n := slices.IndexFunc(list, same)
	if n < 0 {
		return list
	}
	return append(list[:n+1:n+1], slices.DeleteFunc(slices.Clone(list[n+1:]), same)...)
}

// mergeItem returns base with an item of a patch merged into it, as kustomize merges
// mappings, but for keyed lists below. base is nil for a new item.
func (f *field) mergeItem(patch, base *yaml.Node) (*yaml.Node, error) {
	patch = kyaml.CopyYNode(patch)
	if err := f.whole(patch, base, nil, ""); err != nil {
		return nil, err
	}
	merged, err := merge2.Merge(kyaml.NewRNode(patch), kyaml.NewRNode(base), kyaml.MergeOptions{})
	if err != nil || merged == nil {
		return nil, err
	}
	return merged.YNode(), nil
}

// alike reports whether the item patch, if it has one of the keys, has the same values as
// the item n in all keys that it has.
func alike(n, patch *yaml.Node, keys []string) bool {
	found := false
	for _, k := range keys {
		want := documents.Child(patch, k)
		if want == nil {
			continue
		}
		got := documents.Child(n, k)
		if got == nil || got.Kind != yaml.ScalarNode || got.Value != want.Value {
			return false
		}
		found = true
	}
	return found
}

// directiveOf returns the directive of the list items, and removes the item that has it.
func directiveOf(items *[]*yaml.Node) string {
	for i, n := range *items {
		if d := documents.Child(n, directive); d != nil && len(n.Content) == 2 {
			*items = slices.Delete(*items, i, i+1)
			return d.Value
		}
	}
	return ""
}
