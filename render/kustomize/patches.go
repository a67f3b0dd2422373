package kustomize

import (
	"bytes"
	"path"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"fairlead.dev/fleet/documents"
)

// patches returns the patches of k with whole lists. objects are the objects before them. A
// patch that cannot be applied ends the search: kustomize refuses it in the same way.
func (b *builder) patches(k kustomization, objects resmap.ResMap) ([]types.Patch, error) {
	var out []types.Patch
	applied := 0 // how many of out are applied to objects
	for i, p := range k.Patches {
		if p.Path != "" {
			p.Path, p.Patch = "", untrimmed(b.files[path.Join(k.dir, p.Path)])
		}
		f, err := documents.Parse([]byte(strings.TrimSpace(p.Patch)), documents.BuiltLimits())
		if err != nil {
			return nil, err
		}
		docs := objectsIn(f.Documents)
		if !keyedIn(docs) || p.Target != nil && len(docs) > 1 { // kustomize refuses the latter
			out = append(out, p)
			continue
		}
		for _, d := range docs {
			for ; applied < len(out); applied++ {
				if !apply(out[applied], objects) {
					return append(out, k.Patches[i:]...), nil
				}
			}
			split, err := wholePatch(p, d, objects)
			if err != nil {
				return nil, err
			}
			out = append(out, split...)
		}
	}
	return out, nil
}

// keyedIn reports whether one of the documents of a strategic merge patch has a keyed list.
// The kind of the objects that it changes is not known here.
func keyedIn(docs []*yaml.Node) bool {
	_, all := keyedLists()
	for _, d := range docs {
		if all.has(d) {
			return true
		}
	}
	return false
}

// apply applies p to objects as kustomize does, and reports whether it could.
func apply(p types.Patch, objects resmap.ResMap) bool {
	config, err := k8syaml.Marshal(p)
	if err != nil {
		return false
	}
	factory := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())
	t := builtins.NewPatchTransformerPlugin()
	return t.Config(resmap.NewPluginHelpers(nil, nil, factory, nil), config) == nil && t.Transform(objects) == nil
}

// wholePatch splits the document d of the strategic merge patch p: one patch has the whole
// lists of each object that it changes, the other all but the lists.
func wholePatch(p types.Patch, d *yaml.Node, objects resmap.ResMap) ([]types.Patch, error) {
	_, all := keyedLists()
	var lists, rest []*yaml.Node
	if targets := targetsOf(p, d, objects); len(targets) > 0 {
		if part := all.cut(d); part != nil {
			for _, t := range targets {
				own := kyaml.CopyYNode(part)
				former := ordersOf(t)
				if tree := treeOf(t); tree != nil {
					if err := tree.whole(own, t.YNode(), former, ""); err != nil {
						return nil, err
					}
				}
				own, err := named(own, t, former)
				if err != nil {
					return nil, err
				}
				lists = append(lists, own)
			}
		}
	}
	if p.Options != nil || len(lists) == 0 || !isEmpty(d) {
		rest = append(rest, d)
	}
	var out []types.Patch
	for _, q := range []struct {
		docs []*yaml.Node
		types.Patch
	}{{lists, types.Patch{}}, {rest, types.Patch{Target: p.Target, Options: p.Options}}} {
		if len(q.docs) == 0 {
			continue
		}
		text, err := documents.Marshal(q.docs)
		if err != nil {
			return nil, err
		}
		q.Patch.Patch = untrimmed(text)
		out = append(out, q.Patch)
	}
	return out, nil
}

// untrimmed returns text for a patch in a kustomization. kustomize trims such patches, and so
// the line break at the end of a last text, but not those in files: a comment keeps it.
func untrimmed(text []byte) string {
	if bytes.HasPrefix(text, []byte("[")) || !bytes.HasSuffix(text, []byte("\n")) {
		return string(text)
	}
	return string(text) + "# end\n"
}

// targetsOf returns the objects that the document d of the strategic merge patch p changes.
func targetsOf(p types.Patch, d *yaml.Node, objects resmap.ResMap) []*resource.Resource {
	if p.Target != nil {
		selected, err := objects.Select(*p.Target)
		if err != nil {
			return nil // kustomize refuses it
		}
		return selected
	}
	meta := documents.Child(d, "metadata")
	group, version := resid.ParseGroupVersion(documents.ChildText(d, "apiVersion"))
	gvk := resid.NewGvk(group, version, documents.ChildText(d, "kind"))
	one, err := objects.GetById(resid.NewResIdWithNamespace(gvk, documents.ChildText(meta, "name"), documents.ChildText(meta, "namespace")))
	if err != nil {
		return nil // kustomize refuses it
	}
	return []*resource.Resource{one}
}

// named adds to the patch n what makes it a patch of t, whose lists have former orders.
func named(n *yaml.Node, t *resource.Resource, former orders) (*yaml.Node, error) {
	text := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	}
	meta := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{text("name"), text(t.GetName())}}
	if ns := t.GetNamespace(); ns != "" {
		meta.Content = append(meta.Content, text("namespace"), text(ns))
	}
	if len(former) > 0 || len(ordersOf(t)) > 0 {
		note, err := former.annotation()
		if err != nil {
			return nil, err
		}
		meta.Content = append(meta.Content, text("annotations"),
			&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{text(orderAnnotation), text(note)}})
	}
	n.Content = append([]*yaml.Node{
		text("apiVersion"), text(t.GetApiVersion()), text("kind"), text(t.GetKind()), text("metadata"), meta,
	}, n.Content...)
	return n, nil
}

// isEmpty reports whether a patch only names an object.
func isEmpty(d *yaml.Node) bool {
	for i := 0; i+1 < len(d.Content); i += 2 {
		switch key, value := d.Content[i].Value, d.Content[i+1]; key {
		case "apiVersion", "kind":
		case "metadata":
			for j := 0; j+1 < len(value.Content); j += 2 {
				if name := value.Content[j].Value; name != "name" && name != "namespace" {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}
