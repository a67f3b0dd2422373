package kustomize

import (
	"bytes"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	k8syaml "sigs.k8s.io/yaml"

	"fairlead.dev/render/documents"
)

// What a kustomization does to objects can make them grow without bound: a long
// prefix on many objects, a copy of a field into itself, repeated. The rules
// here keep the result of a build within a small multiple of what was read.
const (
	maxName    = 253 // of a Kubernetes object
	maxImage   = 1024
	maxTargets = 500 // fields that replacements write to
	// maxFeedback is how many replacements may write into what one of them
	// reads from: each may double it.
	maxFeedback = 4
)

// growth refuses names that cannot be names, and fields whose results cannot be
// foretold.
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

// jsonPatch refuses the operation of a JSON patch that can double an object.
func jsonPatch(text []byte, l documents.Limits, at place) error {
	f, err := documents.Parse(text, l)
	if err != nil {
		return refusalOf(at, at.file, err)
	}
	for _, d := range f.Documents {
		if d.Kind != yaml.SequenceNode {
			continue
		}
		for _, op := range d.Content {
			if c := child(op, "op"); c != nil && c.Value == "copy" {
				return at.refuse("use a replacement, or add the value", "the operation copy is not supported")
			}
		}
	}
	return nil
}

// A feedback follows what replacements read and write.
type feedback struct {
	sources []string
	targets []target
}

type target struct {
	place
	path      string
	delimited bool
}

func (f *feedback) add(r types.Replacement, at place) {
	if r.Source != nil {
		path := r.Source.FieldPath
		if path == "" {
			path = "metadata.name"
		}
		f.sources = append(f.sources, path)
	}
	for _, t := range r.Targets {
		for _, path := range t.FieldPaths {
			f.targets = append(f.targets, target{at, path, t.Options != nil && t.Options.Delimiter != ""})
		}
	}
}

// check refuses replacements that write too much, or into what they read.
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

// below reports whether a field path leads into another. Segments that select
// items match every segment.
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
		if err := k8syaml.Unmarshal(data, &one); err == nil {
			return []types.Replacement{one}, nil
		}
	}
	var list []types.Replacement
	return list, k8syaml.Unmarshal(data, &list)
}
