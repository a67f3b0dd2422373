// Package substitute fills ${VARIABLES} into rendered objects.
//
//	${NAME}                the value; an error where there is none
//	${NAME:=text}          the text where there is no value or an empty one
//	${NAME:-text}          the same
//	${NAME=text} ${NAME-text}  the text where there is no value
//	${NAME%pattern} ${NAME%%pattern} ${NAME#pattern} ${NAME##pattern}
//	                       the value without the shortest or longest end or
//	                       beginning that matches; * and ? are wildcards
//	$$                     a dollar sign: $${NAME} stays ${NAME}, and $$$$ is $$
//
// A dollar sign before anything else stands for itself. Other expressions of
// the shell are refused.
//
// Values are filled into single scalars of parsed YAML, so that no value can
// add documents, keys or items beside the place where its name stands:
//
//   - a scalar that is exactly one expression and is not quoted becomes what
//     the value says: a number, a boolean, a text, or a list or mapping in
//     brackets; below metadata, and in the data of ConfigMaps and Secrets, it
//     is always a text, but for all of data, which takes a mapping of texts;
//   - a list takes the place of an item of a list that is such a scalar;
//   - every other scalar, and every key, stays a text.
//
// Values are not searched for expressions again; the texts of defaults are.
package substitute

import (
	"fmt"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

// Annotation controls substitution: "disabled" on an object leaves it unchanged; "true" on
// a ConfigMap makes its data values for the overlay.
const Annotation = "fairlead.dev/substitute"

// The values of Annotation.
const (
	Disabled = "disabled"
	Source   = "true"
)

// maxOutput bounds the bytes that one Substituter writes.
const maxOutput = 16 << 20

// A Substituter fills in the values of one overlay.
type Substituter struct {
	Values map[string]string
	// AllowUnset leaves expressions without a value in the text.
	AllowUnset bool
	// Used, if not nil, is called with the name of each variable in an expression.
	Used func(name string)
	// Filled, if not nil, is called with each field whose whole value comes from a
	// variable.
	Filled func(field, name string)
	// Doubled, if not nil, is called with the first field of an object in which $$ becomes
	// a dollar sign without escaping an expression or another $$. A lone dollar sign needs
	// no escape, so that a shell's $$ or a password is meant.
	Doubled func(field string)

	written int
}

// An Error says what is wrong with a field of an object.
type Error struct {
	Field   string // "spec.template.spec.replicas"
	Message string
	Hint    string
}

// Object fills in n, the root of an object, in place. An object with errors must not be
// used. An unset variable is reported once for an object.
func (s *Substituter) Object(n *yaml.Node) []Error {
	if annotation(n) == Disabled {
		return nil
	}
	w := &walk{Substituter: s, kind: text(documents.Child(n, "kind")), unset: map[string]bool{}}
	w.node(n, nil)
	if s.Doubled != nil && w.doubled != "" {
		s.Doubled(w.doubled)
	}
	return w.errs
}

// IsSource reports whether n is a ConfigMap with values. It returns them, or what is wrong
// with them.
func IsSource(n *yaml.Node) (map[string]string, []Error, bool) {
	if text(documents.Child(n, "kind")) != "ConfigMap" || annotation(n) != Source {
		return nil, nil, false
	}
	values := map[string]string{}
	var errs []Error
	data := documents.Child(n, "data")
	if data != nil && data.Kind != yaml.MappingNode && data.Tag != "!!null" {
		return nil, []Error{{"data", "it is not a mapping of names to values", "write NAME: value"}}, true
	}
	for i := 0; data != nil && i+1 < len(data.Content); i += 2 {
		name, value := data.Content[i].Value, data.Content[i+1]
		switch {
		case !IsName(name):
			errs = append(errs, Error{"data", fmt.Sprintf("%q cannot be the name of a variable", shorten(name)), "use letters, digits and underscores"})
		case value.Kind != yaml.ScalarNode:
			errs = append(errs, Error{"data." + name, "it is not a text", "put lists and mappings in quotes"})
		}
		values[name] = value.Value
	}
	return values, errs, true
}

// annotation returns the value of Annotation on the object n.
func annotation(n *yaml.Node) string {
	return text(documents.Child(documents.Child(documents.Child(n, "metadata"), "annotations"), Annotation))
}

func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// A walk goes through one object.
type walk struct {
	*Substituter
	kind  string
	unset map[string]bool
	errs  []Error

	doubled string // the first field with $$ that escapes nothing
}

func (w *walk) node(n *yaml.Node, path []string) {
	switch n.Kind {
	case yaml.ScalarNode:
		w.scalar(n, path)
	case yaml.SequenceNode:
		w.sequence(n, path)
	case yaml.MappingNode:
		w.mapping(n, path)
	}
}

// sequence fills in the items of n. A list takes the place of the item that names it.
func (w *walk) sequence(n *yaml.Node, path []string) {
	items := make([]*yaml.Node, 0, len(n.Content))
	for i, c := range n.Content {
		scalar := c.Kind == yaml.ScalarNode
		w.node(c, append(path, fmt.Sprintf("[%d]", i)))
		if scalar && c.Kind == yaml.SequenceNode {
			items = append(items, c.Content...)
			continue
		}
		items = append(items, c)
	}
	n.Content = items
}

func (w *walk) mapping(n *yaml.Node, path []string) {
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		below := append(path, "."+key.Value)
		if out, ok := w.expand(key.Value, below); ok {
			asText(key, out)
		}
		if seen[key.Value] {
			w.fail(below, "change one of the variables", "the key %q is there twice after substitution", key.Value)
		}
		seen[key.Value] = true
		w.node(value, below)
	}
}

func (w *walk) scalar(n *yaml.Node, path []string) {
	whole := n.Style == 0 && isOne(n.Value) && !w.textOnly(path)
	out, ok := w.expand(n.Value, path)
	switch {
	case !ok:
	case whole && out != n.Value:
		if w.Filled != nil {
			w.Filled(field(path), nameStart.FindString(n.Value[2:]))
		}
		asValue(n, out)
		if n.Kind == yaml.MappingNode && w.isData(path) {
			textsIn(n)
		}
	default:
		asText(n, out)
	}
}

// textOnly reports whether Kubernetes expects a text at path.
func (w *walk) textOnly(path []string) bool {
	if len(path) == 0 {
		return false
	}
	if path[0] == ".metadata" {
		return true
	}
	return len(path) > 1 && w.isData(path[:1])
}

// isData reports whether path is the data of a ConfigMap or Secret.
func (w *walk) isData(path []string) bool {
	return len(path) == 1 && (path[0] == ".data" || path[0] == ".stringData") && (w.kind == "ConfigMap" || w.kind == "Secret")
}

// textsIn makes the values of a mapping texts.
func textsIn(n *yaml.Node) {
	for i := 1; i < len(n.Content); i += 2 {
		if v := n.Content[i]; v.Kind == yaml.ScalarNode && v.ShortTag() != "!!str" {
			asText(v, v.Value)
		}
	}
}

// expand returns text with its expressions filled in, and whether to write it.
func (w *walk) expand(text string, path []string) (string, bool) {
	if !strings.Contains(text, "$") {
		return "", false
	}
	e := expander{Substituter: w.Substituter}
	out, err := e.expand(text, 0)
	if e.doubled && w.doubled == "" {
		w.doubled = field(path)
	}
	if err != nil {
		w.fail(path, err.hint, "%s", err.message)
		return "", false
	}
	for _, name := range e.unset {
		if !w.unset[name] {
			w.unset[name] = true
			w.fail(path, fmt.Sprintf("set it in fleet.yaml under spec.substitute, in a .env file of the overlay, or give a default: ${%s:=value}", name),
				"the variable %s has no value", name)
		}
	}
	w.written += len(out)
	if w.written > maxOutput {
		w.fail(path, "use shorter values", "substitution makes more than %d bytes", maxOutput)
		return "", false
	}
	return out, out != text
}

func (w *walk) fail(path []string, hint, format string, args ...any) {
	w.errs = append(w.errs, Error{
		Field:   field(path),
		Message: fmt.Sprintf(format, args...),
		Hint:    hint,
	})
}

func field(path []string) string { return strings.TrimPrefix(strings.Join(path, ""), ".") }
