package kustomize

import (
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// The targets of an overlay are the selectors of its patches, with the objects that they may select.
// These are the objects before the build. If the build changes names, namespaces or kinds, any value
// matches: there is no warning for a patch that changes something.
type targets struct {
	selected []selected
	ids      map[string][]resid.ResId // of the objects in files
	used     map[string]bool          // files that are resources
	made     []resid.ResId            // of generated objects

	names, namespaces, kinds bool // that change
}

// A selected is the target of a patch.
type selected struct {
	place
	types.Selector
}

func newTargets() targets {
	return targets{ids: map[string][]resid.ResId{}, used: map[string]bool{}}
}

// learn notes the objects in the documents of a file.
func (t *targets) learn(file string, docs []*yaml.Node) {
	for _, d := range objectsIn(docs) {
		meta := documents.Child(d, "metadata")
		group, version := resid.ParseGroupVersion(documents.ChildText(d, "apiVersion"))
		t.ids[file] = append(t.ids[file], resid.NewResIdWithNamespace(
			resid.Gvk{Group: group, Version: version, Kind: documents.ChildText(d, "kind")},
			documents.ChildText(meta, "name"), documents.ChildText(meta, "namespace")))
	}
}

// generated notes an object that a generator makes.
func (t *targets) generated(kind string, args types.GeneratorArgs) {
	t.made = append(t.made, resid.NewResIdWithNamespace(resid.Gvk{Version: "v1", Kind: kind}, args.Name, args.Namespace))
}

// kustomization notes what k changes.
func (t *targets) kustomization(k *types.Kustomization) {
	t.names = t.names || k.NamePrefix != "" || k.NameSuffix != "" || len(k.Transformers) > 0
	t.namespaces = t.namespaces || k.Namespace != "" || len(k.Transformers) > 0
	for _, p := range k.Patches {
		if p.Options != nil {
			t.names, t.kinds = t.names || p.Options.AllowNameChange, t.kinds || p.Options.AllowKindChange
		}
	}
}

// changed notes the field of a JSON patch or replacement, by its path with slashes or dots.
func (t *targets) changed(path string) {
	first, rest, _ := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "."), ".")
	switch first {
	case "", "kind", "apiVersion":
		t.kinds = true
	case "metadata":
		t.names = t.names || rest == "" || rest == "name"
		t.namespaces = t.namespaces || rest == "" || rest == "namespace"
	}
}

// warnings returns a warning for each target that selects no object of the overlay.
func (t *targets) warnings(overlay string) []fleet.Problem {
	if t.kinds || len(t.selected) == 0 {
		return nil
	}
	all := t.made
	for file := range t.used {
		all = append(all, t.ids[file]...)
	}
	var out []fleet.Problem
	for _, s := range t.selected {
		r, err := types.NewSelectorRegex(&s.Selector)
		if err != nil {
			continue // kustomize refuses it
		}
		var called []string // objects with the kind of the target
		match := false
		for _, id := range all {
			if !r.MatchGvk(id.Gvk) {
				continue
			}
			called = append(called, id.Name)
			match = match || (t.names || r.MatchName(id.Name)) && (t.namespaces || r.MatchNamespace(id.EffectiveNamespace()))
		}
		if match {
			continue
		}
		p := fleet.Problem{
			Overlay: overlay, File: s.file, Field: s.field,
			Message: "the target matches no object, so the patch changes nothing",
			Hint:    "check its group, version and kind: the overlay has no such object",
		}
		if len(called) > 0 {
			p.Hint = "check its name and namespace: " + calledBefore(called)
		}
		out = append(out, p)
	}
	return out
}

// calledBefore says how objects are called while kustomize builds.
func calledBefore(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	const most = 3
	list := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if strings.Contains(list, "${") {
		return "until variables are filled in, the objects of its kind are called " + list + "; the name is a regular expression, such as .*-md-0"
	}
	return "the objects of its kind are called " + list
}
