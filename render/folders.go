package render

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fleet"
)

// FolderManifest is an item of spec.folders of ConfigFile: what the overlays at and below a
// folder may define.
type FolderManifest struct {
	Path string `json:"path"`
	// Namespaces are the namespaces that clusters may be in; "*" is any.
	Namespaces []string `json:"namespaces"`
	// Identities are the names that an identityRef may have; absent is any.
	Identities []string `json:"identities,omitempty"`
}

// anyNamespace stands for all namespaces.
const anyNamespace = "*"

// folderRules are checked FolderManifests, the longest path first; nil allows all.
type folderRules []FolderManifest

// checkedFolders validates list.
func checkedFolders(list []FolderManifest, fail func(field, message, hint string)) folderRules {
	seen := map[string]bool{}
	for i, f := range list {
		at := fmt.Sprintf("spec.folders[%d]", i)
		if !fs.ValidPath(f.Path) {
			fail(at+".path", fmt.Sprintf("%q is no path in the repository", f.Path), "write it from the root and without a slash at its end, such as clusters/prod")
		}
		if seen[f.Path] {
			fail(at+".path", fmt.Sprintf("%q is there twice", f.Path), "keep one item for each folder")
		}
		seen[f.Path] = true
		if len(f.Namespaces) == 0 {
			fail(at+".namespaces", "no namespace is allowed", "name those that the folder may define clusters in, or \"*\" for any")
		}
		for j, n := range f.Namespaces {
			if texts := validation.IsDNS1123Label(n); n != anyNamespace && len(texts) > 0 {
				fail(fmt.Sprintf("%s.namespaces[%d]", at, j), texts[0], "name a namespace, or \"*\" for any")
			}
		}
		for j, n := range f.Identities {
			if texts := validation.IsDNS1123Subdomain(n); len(texts) > 0 {
				fail(fmt.Sprintf("%s.identities[%d]", at, j), texts[0], "write the name of an identityRef")
			}
		}
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(x, y FolderManifest) int { return len(y.Path) - len(x.Path) })
	return out
}

// of returns the rule for an overlay: the one of its nearest parent folder.
func (r folderRules) of(overlay string) (FolderManifest, bool) {
	for _, f := range r {
		if f.Path == "." || f.Path == overlay || strings.HasPrefix(overlay, f.Path+"/") {
			return f, true
		}
	}
	return FolderManifest{}, false
}

// refuse returns the problems with defining c in overlay o, if that is not allowed.
func (r folderRules) refuse(o *overlay, c fleet.Cluster) []fleet.Problem {
	if len(r) == 0 {
		return nil
	}
	problem := fleet.Problem{Overlay: o.dir, Cluster: c.Key, File: o.file, Object: "Cluster " + c.Key.String(), Field: "metadata.namespace"}
	f, ok := r.of(o.dir)
	switch {
	case !ok:
		problem.Message = "the folder is in none of spec.folders of fleet.yaml and may define no cluster"
		problem.Hint = "move it into one of them, or add the folder there"
		return []fleet.Problem{problem}
	case !slices.Contains(f.Namespaces, c.Key.Namespace) && !slices.Contains(f.Namespaces, anyNamespace):
		problem.Message = fmt.Sprintf("what is in %s may define clusters of %s only, as fleet.yaml says", f.Path, strings.Join(f.Namespaces, ", "))
		problem.Hint = "use one of these namespaces, or allow this one in spec.folders"
		return []fleet.Problem{problem}
	case f.Identities == nil:
		return nil
	}
	var out []fleet.Problem
	for _, object := range infrastructureOf(&c) {
		for _, used := range identitiesIn(object.Spec) {
			if slices.Contains(f.Identities, used.name) {
				continue
			}
			name := object.Name
			if object.Namespace != "" {
				name = object.Namespace + "/" + name
			}
			out = append(out, fleet.Problem{
				Overlay: o.dir, Cluster: c.Key, File: object.File, Object: object.GVK.Kind + " " + name, Field: used.field,
				Message: fmt.Sprintf("what is in %s may not use the identity %q, as fleet.yaml says", f.Path, used.name),
				Hint:    "use one that spec.folders allows, or allow this one there",
			})
		}
	}
	return out
}

// infrastructureOf returns the objects of c that its providers use.
func infrastructureOf(c *fleet.Cluster) []fleet.Object {
	out := append([]fleet.Object{c.Infrastructure}, c.Companions...)
	for _, g := range c.Guests {
		out = append(append(out, g.Infrastructure), g.Companions...)
	}
	for _, p := range c.Pools() {
		out = append(out, p.Infrastructure)
	}
	return out
}

// A usedIdentity is the name in an identityRef.
type usedIdentity struct{ field, name string }

// identitiesIn returns the identities that a spec names, at any depth, sorted by field. All
// providers call that reference identityRef.
func identitiesIn(spec json.RawMessage) []usedIdentity {
	var v any
	if len(spec) == 0 || json.Unmarshal(spec, &v) != nil {
		return nil
	}
	var out []usedIdentity
	var walk func(v any, path string)
	walk = func(v any, path string) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if ref, ok := v[key].(map[string]any); ok && key == "identityRef" {
					if name, _ := ref["name"].(string); name != "" {
						out = append(out, usedIdentity{path + "." + key + ".name", name})
					}
				}
				walk(v[key], path+"."+key)
			}
		case []any:
			for i, e := range v {
				walk(e, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	walk(v, "spec")
	return out
}
