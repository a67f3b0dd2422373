package kustomize

import (
	"bytes"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"fairlead.dev/fleet/documents"
)

// FuzzMerge: a strategic merge patch of a KubeadmControlPlane is merged into it without a panic.
// It leaves the items of keyed lists that it does not name, adds no item twice, and changes
// nothing when it is merged again.
func FuzzMerge(f *testing.F) {
	for _, pair := range [][2]string{
		{"files: [{path: /a}, {path: /b}]", "files: [{path: /b, owner: o}, {path: /c}]"},
		{"clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: new}, {name: i, value: old}]}}", "clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: x}]}}"},
		{"joinConfiguration: {nodeRegistration: {taints: [{key: k, effect: e}]}}", "joinConfiguration: {nodeRegistration: {taints: []}}"},
		{"users: ['${ONE}', {name: a}]", "users: ['${TWO}', {name: a, $patch: delete}]"},
		{"files: null", "files: [{path: /a}]"},
		{"files: [{path: /a}]", "files: null"},
		{"files: [{path: /a}, {path: /a}]", "files: [{path: /a, x: 1}, {path: /a, x: 2}]"},
		{"files: [1, [2], {a: b}]", "files: [[2], 1, {path: [x]}, {path: {a: b}}]"},
		{"files: {path: /a}", "files: [{path: /a}]"},
		{"files: [{path: null}]", "files: [{path: null, x: 1}, {}]"},
		{"files: [{path: 1}]", "files: [{path: '1', x: 1}]"},
		{"files: [{path: /a}]", "files: [{$patch: replace}, {path: /b}]"},
		{"users: [{name: a, l: [1]}]", "users: [{name: a, l: []}, {name: b, $patch: replace}]"},
		{"diskSetup: {partitions: [{device: a}]}", "diskSetup: {partitions: [{device: b}]}"},
		{"files: [{path: /a}]", "$patch: delete"},
		{"a: b", "a: {$patch: replace, b: c}"},
	} {
		f.Add(pair[0], pair[1])
	}
	tree := &field{}
	for p, keys := range kubeadmLists() {
		tree.add(strings.Split(p, "."), keys)
	}
	merge := func(base, patch *yaml.Node) (*yaml.Node, error) {
		base, patch = kyaml.CopyYNode(base), kyaml.CopyYNode(patch)
		if err := tree.whole(patch, base, nil, ""); err != nil {
			return nil, err
		}
		out, err := merge2.Merge(kyaml.NewRNode(patch), kyaml.NewRNode(base), kyaml.MergeOptions{ListIncreaseDirection: kyaml.MergeOptionsListPrepend})
		if err != nil || out == nil {
			return nil, err
		}
		return out.YNode(), nil
	}
	f.Fuzz(func(t *testing.T, baseText, patchText string) {
		base, patch := mapping(baseText), mapping(patchText)
		if base == nil || patch == nil || directives(patch, place{}) != nil {
			return
		}
		once, err := merge(base, patch)
		if err != nil || once == nil {
			return
		}
		for p, keys := range kubeadmLists() {
			at := strings.Split(p, ".")
			was, said, is := nodeAt(base, at), nodeAt(patch, at), nodeAt(once, at)
			if was == nil || was.Kind != yaml.SequenceNode || strings.Contains(patchText, directive) || strings.Contains(patchText, "null") || strings.Contains(patchText, "~") {
				continue
			}
			if said == nil && !replaced(patch, at) && (is == nil || !bytes.Equal(written(t, was), written(t, is))) {
				t.Fatalf("%s, which the patch does not name, is\n%s\nnot\n%s", p, written(t, is), written(t, was))
			}
			if said == nil || said.Kind != yaml.SequenceNode || len(said.Content) == 0 || is == nil {
				continue
			}
			for _, item := range was.Content {
				key, _, _ := strings.Cut(keys, ",")
				if item.Kind != yaml.MappingNode || has(said, key, documents.ChildText(item, key)) || !has(was, key, documents.ChildText(item, key)) {
					continue
				}
				if !has(is, key, documents.ChildText(item, key)) {
					t.Fatalf("%s: the patch takes an item away:\n%s", p, written(t, item))
				}
			}
		}
		twice, err := merge(once, patch)
		if err != nil {
			t.Fatalf("it cannot be merged again: %v", err)
		}
		if strings.Contains(patchText, directive) || unkeyed(patch) {
			return
		}
		if a, b := written(t, once), written(t, twice); !bytes.Equal(a, b) {
			t.Fatalf("once:\n%s\ntwice:\n%s", a, b)
		}
	})
}

// mapping returns the root of text if it is one mapping that is plain.
func mapping(text string) *yaml.Node {
	f, err := documents.Parse([]byte(text), documents.DefaultLimits())
	if err != nil || len(f.Documents) != 1 || f.Documents[0].Kind != yaml.MappingNode {
		return nil
	}
	return f.Documents[0]
}

// nodeAt returns what is at a path of n, or nil.
func nodeAt(n *yaml.Node, path []string) *yaml.Node {
	for _, name := range path {
		if n = documents.Child(n, name); n == nil {
			return nil
		}
	}
	return n
}

// unkeyed reports whether a keyed list in patch has an item without a key: it is added each time.
func unkeyed(patch *yaml.Node) bool {
	for p, keys := range kubeadmLists() {
		n := nodeAt(patch, strings.Split(p, "."))
		key, _, _ := strings.Cut(keys, ",")
		if n == nil {
			continue
		}
		for _, item := range n.Content {
			if k := documents.Child(item, key); item.Kind == yaml.MappingNode && (k == nil || k.Kind != yaml.ScalarNode || k.ShortTag() == "!!null") {
				return true
			}
		}
	}
	return false
}

// replaced reports whether patch has something else than a mapping on the way to path.
func replaced(patch *yaml.Node, path []string) bool {
	for i := range path {
		if n := nodeAt(patch, path[:i+1]); n != nil && n.Kind != yaml.MappingNode {
			return true
		}
	}
	return false
}

// has reports whether a list has an item with a scalar at key.
func has(list *yaml.Node, key, value string) bool {
	for _, item := range list.Content {
		if k := documents.Child(item, key); k != nil && k.Kind == yaml.ScalarNode && k.Value == value {
			return true
		}
	}
	return false
}

func written(t *testing.T, n *yaml.Node) []byte {
	t.Helper()
	if n == nil {
		return nil
	}
	out, err := documents.Marshal([]*yaml.Node{n})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
