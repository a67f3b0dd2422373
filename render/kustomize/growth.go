package kustomize

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"fairlead.dev/fleet/documents"
)

// A kustomization can make objects grow without bound: by a long prefix on many objects, or
// a field that is copied into itself, again and again. These rules bound the result of a
// build by a small multiple of its input, and name the field: the limits of render/worker
// only end a build.
const (
	maxName    = 253 // of a Kubernetes object
	maxImage   = 1024
	maxTargets = 500 // fields that replacements write to
	// maxFeedback is how many replacements may write into their common source: each may
	// double it.
	maxFeedback = 4
)

// growth refuses invalid names, and fields with unpredictable results.
func (v *visit) growth() error {
	k := v.k
	if len(k.Vars) > 0 {
		return v.at("vars").refuse("use replacements", "vars are not supported")
	}
	for field, value := range map[string]string{"namePrefix": k.NamePrefix, "nameSuffix": k.NameSuffix, "namespace": k.Namespace} {
		if len(value) > maxName {
			return v.at("%s", field).refuse("use a shorter one", "it has more than %d characters", maxName)
		}
	}
	for i, image := range k.Images {
		if len(image.Name)+len(image.NewName)+len(image.NewTag)+len(image.Digest)+len(image.TagSuffix) > maxImage {
			return v.at("images[%d]", i).refuse("use a shorter one", "it has more than %d characters", maxImage)
		}
	}
	return nil
}

// directives refuses an instruction in a strategic merge patch that kustomize does not know. It
// would stay in the item of a list, or end the build with an error that names no place.
func directives(n *yaml.Node, at place) error {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.MappingNode {
		if d := documents.Child(n, directive); d != nil && !slices.Contains([]string{"delete", "merge", "replace"}, d.Value) {
			return at.refuse("use delete, merge or replace", "%q is not a value of %s", d.Value, directive)
		}
	}
	for _, below := range n.Content {
		if err := directives(below, at); err != nil {
			return err
		}
	}
	return nil
}

// jsonPatch notes what the documents of a patch change, if they are a JSON patch. It refuses
// the operation copy, which can double an object.
func (v *visit) jsonPatch(docs []*yaml.Node, at place) error {
	for _, d := range docs {
		if d.Kind != yaml.SequenceNode {
			continue
		}
		for _, op := range d.Content {
			v.targets.changed(documents.ChildText(op, "path"))
			if c := documents.Child(op, "op"); c != nil && c.Value == "copy" {
				return at.refuse("use a replacement, or add the value", "the operation copy is not supported")
			}
		}
	}
	return nil
}

// A feedback tracks what replacements read and write.
type feedback struct {
	replacements []types.Replacement
	sources      []string
	targets      []target
}

type target struct {
	place
	path      string
	delimited bool
	source    string // path of the field that is read
}

func (f *feedback) add(r types.Replacement, at place) {
	f.replacements = append(f.replacements, r)
	source := ""
	if r.Source != nil {
		source = cmp.Or(r.Source.FieldPath, "metadata.name")
		f.sources = append(f.sources, source)
	}
	for _, t := range r.Targets {
		for _, path := range t.FieldPaths {
			f.targets = append(f.targets, target{at, path, t.Options != nil && t.Options.Delimiter != "", source})
		}
	}
}

// lossy returns, for the path of each field that a replacement writes, the reason why its
// text may be read as a number or a boolean: kustomize drops the quotes of what it copies.
func (f *feedback) lossy() map[string]string {
	out := map[string]string{}
	for _, t := range f.targets {
		out[WithoutItems(t.path)] = strings.TrimSpace(fmt.Sprintf("%s in %s", t.field, t.file)) + " drops the quotes of " + t.source + ": use a variable instead of the replacement"
	}
	return out
}

// items matches the parts of a path that choose items of a list, in the path of a problem or
// of a replacement.
var items = regexp.MustCompile(`\.?\[[^\]]*\]|\.(\d+|\*|-)`)

// WithoutItems returns the path of a field without the parts that choose items of lists.
func WithoutItems(path string) string { return items.ReplaceAllString(path, "") }

// check refuses replacements that write too much, or write into their sources.
func (f *feedback) check() error {
	if len(f.targets) > maxTargets {
		return f.targets[maxTargets].refuse("use patches", "replacements write to more than %d fields", maxTargets)
	}
	n := 0
	for _, t := range f.targets {
		for _, s := range f.sources {
			if t.path == s && t.delimited || below(t.path, s) {
				n++
				break
			}
		}
		if n > maxFeedback {
			return t.refuse("read from fields that are not written to", "more than %d replacements write into a field that one of them reads", maxFeedback)
		}
	}
	return nil
}

// copies refuses replacements that copy too many bytes: the size of a source, into each
// field of each possible target.
func (f *feedback) copies(s *scanner) error {
	if len(f.targets) == 0 {
		return nil
	}
	kinds, all := map[string]int{}, 0
	sizes := make([]int64, len(f.replacements)) // sizes of the sources
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		if _, ok := s.parsed[file]; !ok { // the possible size of a generated object
			for i, r := range f.replacements {
				if src := r.Source; src != nil && slices.Contains([]string{"", "ConfigMap", "Secret"}, src.Kind) {
					sizes[i] = max(sizes[i], int64(len(s.files[file])))
				}
			}
			continue
		}
		parsed, err := documents.Parse(s.files[file], s.limits.File)
		if err != nil {
			return refusalOf(place{file: file}, file, err)
		}
		for _, d := range objectsIn(parsed.Documents) {
			kind := documents.ChildText(d, "kind")
			kinds[kind]++
			all++
			for i, r := range f.replacements {
				if src := r.Source; src != nil && (src.Kind == "" || src.Kind == kind) {
					sizes[i] = max(sizes[i], sizeAt(d, src.FieldPath))
				}
			}
		}
	}
	// With more objects than the files have, some are generated or included more than once,
	// and may be of any kind.
	objectsBuilt := s.weights[s.overlay].objects
	var total int64
	for i, r := range f.replacements {
		for _, t := range r.Targets {
			objects := objectsBuilt
			if t.Select != nil && t.Select.Kind != "" && objectsBuilt <= all {
				objects = kinds[t.Select.Kind]
			}
			total += sizes[i] * int64(objects) * int64(len(t.FieldPaths))
		}
	}
	if total > s.limits.Bytes {
		return f.targets[0].refuse("select fewer objects, or a smaller source", "replacements may copy %d bytes, more than %d", total, s.limits.Bytes)
	}
	return nil
}

// objectsIn returns the objects in documents, including those in lists.
func objectsIn(docs []*yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for _, d := range docs {
		if d.Kind != yaml.MappingNode {
			continue
		}
		if items := documents.Child(d, "items"); items != nil && items.Kind == yaml.SequenceNode {
			out = append(out, objectsIn(items.Content)...)
			continue
		}
		out = append(out, d)
	}
	return out
}

// sizeAt returns the maximal size of a field, in bytes. A path that is not plain, or does
// not exist yet, may stand for the whole object.
func sizeAt(d *yaml.Node, path string) int64 {
	if path == "" {
		path = "metadata.name"
	}
	n := d
	for _, name := range strings.Split(path, ".") {
		if n.Kind != yaml.MappingNode {
			return size(d)
		}
		if n = documents.Child(n, name); n == nil {
			return size(d)
		}
	}
	return size(n)
}

func size(n *yaml.Node) int64 {
	total := int64(len(n.Value))
	for _, c := range n.Content {
		total += size(c)
	}
	return total
}

// below reports whether a field path is inside another one. A segment that selects items
// matches every segment.
func below(path, parent string) bool {
	p, q := strings.Split(path, "."), strings.Split(parent, ".")
	if len(p) <= len(q) {
		return false
	}
	for i := range q {
		if q[i] != p[i] && !strings.ContainsAny(q[i]+p[i], `*[\`) {
			return false
		}
	}
	return true
}

// parseReplacements reads a file with a replacement or a list of them.
func parseReplacements(data []byte) ([]types.Replacement, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("-")) {
		var one types.Replacement
		if err := documents.Unmarshal(data, &one, documents.BuiltLimits()); err == nil {
			return []types.Replacement{one}, nil
		}
	}
	var list []types.Replacement
	return list, documents.Unmarshal(data, &list, documents.BuiltLimits())
}
