package decode

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fairlead.dev/fleet/documents"
)

// An Explanation has the fields of a kind, or of a part of it, with what Fairlead does with them.
type Explanation struct {
	Kind       string           `json:"kind"`
	APIVersion string           `json:"apiVersion"`
	Field      string           `json:"field,omitempty"` // empty: the whole object
	Fields     []ExplainedField `json:"fields"`
}

// An ExplainedField is one field. One that is refused or has no effect stands for all below it.
type ExplainedField struct {
	Path    string `json:"path"`
	Support string `json:"support"` // honoured, refused or no effect
	Note    string `json:"note,omitempty"`
}

// Explain returns what Coverage has of KIND or KIND.FIELD, such as MachineDeployment.spec.replicas:
// the field, those below it, and those above it that stand for it. The case of KIND does not
// matter. The version has no group; empty: the newest.
func (d *Decoder) Explain(what, version string) (Explanation, error) {
	name, path, _ := strings.Cut(what, ".")
	k, err := d.kindNamed(name)
	if err != nil {
		return Explanation{}, err
	}
	if version == "" {
		version = k.versions[0]
	}
	if !slices.Contains(k.versions, version) {
		return Explanation{}, fmt.Errorf("invalid version %q of %s: must be one of %s", version, k.name, strings.Join(k.versions, ", "))
	}
	has := func(k *kind) bool { return hasField(reflect.TypeOf(k.new(version)), path) }
	if path != "" && !slices.ContainsFunc(k.each(), has) {
		last := path[strings.LastIndexByte(path, '.')+1:]
		return Explanation{}, fmt.Errorf("unknown field %q of %s %s%s", path, k.name, version, didYouMean(documents.NearestField(last, reflect.TypeOf(k.new(version)))))
	}
	out := Explanation{Kind: k.name, APIVersion: version, Field: path}
	if k.group != "" {
		out.APIVersion = k.group + "/" + version
	}
	for _, r := range k.coverage(version) {
		if path == "" || within(r.path, path) || within(path, r.path) {
			out.Fields = append(out.Fields, ExplainedField{r.path, r.status, r.note})
		}
	}
	return out, nil
}

// Kinds returns the names of all kinds that Explain knows, sorted.
func (d *Decoder) Kinds() []string {
	var names []string
	for _, k := range d.kinds {
		names = append(names, k.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// kindNamed returns the kind with the given name.
func (d *Decoder) kindNamed(name string) (*kind, error) {
	for _, gk := range slices.Sorted(maps.Keys(d.kinds)) {
		if strings.EqualFold(d.kinds[gk].name, name) {
			return d.kinds[gk], nil
		}
	}
	refused := unsupported()
	for _, gk := range slices.Sorted(maps.Keys(refused)) {
		if known, _, _ := strings.Cut(gk, "."); strings.EqualFold(known, name) {
			return nil, fmt.Errorf("%s is not supported: %s", known, refused[gk])
		}
	}
	return nil, fmt.Errorf("unknown kind %q%s", name, didYouMean(documents.Nearest(name, d.Kinds())))
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return " (did you mean " + name + "?)"
}
