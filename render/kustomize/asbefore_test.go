package kustomize

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
)

// listedSchema teaches kustomize merge keys of a kind that only this test has.
const listedSchema = `{"definitions": {"test.Listed": {
  "x-kubernetes-group-version-kind": [{"group": "test.example.com", "version": "v1", "kind": "Listed"}],
  "type": "object", "properties": {"spec": {"type": "object", "properties": {
    "pools": {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name",
      "items": {"type": "object", "properties": {
        "overrides": {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name", "items": {"type": "object"}}}}},
    "args": {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name", "items": {"type": "object"}},
    "taints": {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "key",
      "x-kubernetes-list-map-keys": ["key", "effect"], "items": {"type": "object"}}}}}}}}`

// listed draws a spec of the kind. No list has an item twice or is empty.
func listed(t *rapid.T, patch bool) string {
	list := func(label string, item func(n int) string) string {
		var items []string
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, 4), 1, 4, rapid.ID[int]).Draw(t, label) {
			items = append(items, "{"+item(n)+"}")
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	// one draws a field that both may have; a patch may also remove it.
	one := func(name string) string {
		values := []string{"", ", " + name + ": {a: 1}", ", " + name + ": {b: [x, y], d: {e: 1}}"}
		if patch {
			values = []string{"", ", " + name + ": {a: 2, c: 3}", ", " + name + ": {b: [z], d: {e: null}}", ", " + name + ": null"}
		}
		return rapid.SampledFrom(values).Draw(t, name)
	}
	// Kustomize ignores an item with $patch: replace, so that none is drawn.
	end := func() string {
		if patch {
			return rapid.SampledFrom([]string{"", "", ", $patch: delete"}).Draw(t, "directive")
		}
		return ""
	}
	pools := list("pools", func(n int) string {
		out := fmt.Sprintf("name: p%d", n)
		switch rapid.IntRange(0, 2).Draw(t, "overrides") {
		case 0:
			out += ", overrides: " + list("overrides", func(n int) string { return fmt.Sprintf("name: o%d, value: %t", n, patch) })
		case 1:
			out += ", replicas: " + fmt.Sprint(n)
		}
		return out + one("metadata") + end()
	})
	args := list("args", func(n int) string { return fmt.Sprintf("name: a%d, value: %t", n, patch) })
	taints := list("taints", func(n int) string {
		return fmt.Sprintf("key: k%d, effect: e%d", n/2, n%2) + one("value") + end()
	})
	return "apiVersion: test.example.com/v1\nkind: Listed\nmetadata: {name: l}\nspec: {pools: " + pools + ", args: " + args + ", taints: " + taints + one("field") + "}\n"
}

// Lists without doubled items are merged as kustomize merges them by key, but for the order.
func TestMergedAsByKustomize(t *testing.T) {
	LoadSchema()
	if err := openapi.AddSchema([]byte(listedSchema)); err != nil {
		t.Fatal(err)
	}
	tree := &field{}
	for path, keys := range map[string]string{"spec.pools": "name", "spec.pools.overrides": "name", "spec.args": "name,(value)", "spec.taints": "key,effect"} {
		tree.add(strings.Split(path, "."), keys)
	}
	rapid.Check(t, func(t *rapid.T) {
		base, patch := listed(t, false), listed(t, true)
		want, err := merge2.Merge(kyaml.MustParse(patch), kyaml.MustParse(base), kyaml.MergeOptions{ListIncreaseDirection: kyaml.MergeOptionsListPrepend})
		if err != nil {
			t.Fatal(err)
		}
		whole, plain := kyaml.MustParse(patch), kyaml.MustParse(base)
		if err := tree.whole(whole.YNode(), plain.YNode(), nil, ""); err != nil {
			t.Fatal(err)
		}
		// Without the kind, kustomize knows no keys.
		for _, n := range []*kyaml.RNode{whole, plain} {
			n.SetKind("Other")
		}
		got, err := merge2.Merge(whole, plain, kyaml.MergeOptions{ListIncreaseDirection: kyaml.MergeOptionsListPrepend})
		if err != nil {
			t.Fatal(err)
		}
		got.SetKind("Listed")
		if diff := cmp.Diff(ordered(t, want), ordered(t, got)); diff != "" {
			t.Fatalf("base:\n%s\npatch:\n%s\n-kustomize, +got:\n%s", base, patch, diff)
		}
	})
}

// ordered decodes n and puts its lists in one order.
func ordered(t *rapid.T, n *kyaml.RNode) any {
	var out any
	if err := n.YNode().Decode(&out); err != nil {
		t.Fatal(err)
	}
	var sort func(v any) any
	sort = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k, item := range v {
				v[k] = sort(item)
			}
		case []any:
			for _, item := range v {
				sort(item)
			}
			slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		return v
	}
	return sort(out)
}
