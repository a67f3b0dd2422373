package decode

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A bound is what the schema of a resource definition asks of the values of a field, beyond
// their type. The zero value asks for nothing.
type bound struct {
	required    bool     // of the mapping that the field is in
	least, most int      // characters of a text, entries of a list or mapping; 0: not bounded
	low, high   *int64   // of a number; nil: not bounded
	pattern     string   // name of a pattern that a text matches
	values      []string // that a text may have; nil: any
	keys        []string // of the entries of a list, in which no two have the same; "": the entry itself
	oneOf       []string // fields of a mapping, of which it has exactly one
}

// A section has the bounds of the fields of one Go type, by their path below it. "[]" stands
// for the entries of a list, "{}" for the values of a mapping. Types of structs that have a
// section of their own are not in those of others.
type section map[string]bound

// bounds are the sections of all types, by name of the type: with "@VERSION" where versions
// of a kind share a type and have other bounds.
type bounds struct {
	sections map[string]section
	required map[string]map[string][]string // section and path of a mapping to its fields
	patterns map[string]pattern
}

// knownBounds returns the bounds of upstream's definitions.
var knownBounds = sync.OnceValue(newBounds) //nolint:gochecknoglobals // made once, for all decoders

func newBounds() *bounds {
	b := &bounds{sections: boundsTable(), required: map[string]map[string][]string{}, patterns: patternsTable()}
	for name, s := range b.sections {
		needs := map[string][]string{}
		for _, path := range slices.Sorted(maps.Keys(s)) {
			if s[path].required {
				in, field := "", path
				if i := strings.LastIndexByte(path, '.'); i >= 0 {
					in, field = path[:i], path[i+1:]
				}
				needs[in] = append(needs[in], field)
			}
		}
		b.required[name] = needs
	}
	return b
}

// typeName returns the name of t in the table; empty: it has none.
func typeName(t reflect.Type) string {
	if t.Name() == "" {
		return ""
	}
	name := t.PkgPath() + "." + t.Name()
	for _, prefix := range []string{"sigs.k8s.io/cluster-api/api/", "fairlead.dev/providers/", "k8s.io/apimachinery/pkg/apis/"} {
		name = strings.ReplaceAll(name, prefix, "") // also of what a generic type is made with
	}
	return name
}

// of returns the name of the section of t in a version; empty: it has none.
func (b *bounds) of(t reflect.Type, version string) string {
	name := typeName(t)
	if name == "" {
		return ""
	}
	if at := name + "@" + version; b.sections[at] != nil {
		return at
	}
	if b.sections[name] != nil {
		return name
	}
	return ""
}

// A scope is a place in a section.
type scope struct{ section, path string }

func (s scope) below(suffix string) scope { return scope{s.section, s.path + suffix} }

func (s scope) field(name string) scope { return scope{s.section, join(s.path, name)} }

// outOfBounds returns what of an object of the kind k, which has the types of its fields, is
// out of the bounds of its definition. An empty text, list or mapping is as good as none where
// the field is not required: upstream refuses some of these, which ask for nothing.
func (b *bounds) outOfBounds(k *kind, version string, raw map[string]any) []flaw {
	t := deref(reflect.TypeOf(k.new(version)))
	name := b.of(t, version)
	if name == "" {
		return nil // its definition is not known
	}
	c := &boundsChecker{checker: checker{kind: k, version: version}, bounds: b}
	c.object(raw, t, scope{name, ""}, "", "")
	return c.flaws
}

// A boundsChecker collects what is out of bounds.
type boundsChecker struct {
	checker

	bounds *bounds
}

// object checks the fields of a mapping of the type t.
func (c *boundsChecker) object(m map[string]any, t reflect.Type, at scope, path, bare string) {
	if name := c.bounds.of(t, c.version); name != "" {
		at = scope{name, ""}
	}
	for _, name := range c.bounds.required[at.section][at.path] {
		if m[name] == nil && c.kind.refused[join(bare, name)] == "" {
			c.addf(join(path, name), "", "is required")
		}
	}
	for _, f := range fieldsOf(t) {
		v, at := m[f.name], at.field(f.name)
		if v == nil || c.kind.refused[join(bare, f.name)] != "" || isEmpty(v) && !c.bounds.sections[at.section][at.path].required {
			continue
		}
		c.value(v, f.typ, at, join(path, f.name), join(bare, f.name))
	}
}

// value checks v, of the type t.
func (c *boundsChecker) value(v any, t reflect.Type, at scope, path, bare string) {
	t = deref(t)
	if b, ok := c.bounds.sections[at.section][at.path]; ok {
		c.bound(v, &b, path)
	}
	if isLeaf(t) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if t.Kind() == reflect.Struct {
			c.object(v, t, at, path, bare)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.value(v[key], t.Elem(), at.below("{}"), join(path, key), bare+".*")
		}
	case []any:
		for i, e := range v {
			c.value(e, t.Elem(), at.below("[]"), path+"["+strconv.Itoa(i)+"]", bare)
		}
	}
}

// bound checks v against b.
func (c *boundsChecker) bound(v any, b *bound, path string) {
	switch v := v.(type) {
	case string:
		c.length(b, utf8.RuneCountInString(v), "character", path)
		c.text(v, b, path)
	case int64:
		switch {
		case b.low != nil && v < *b.low:
			c.addf(path, "", "must be at least %d, is %d", *b.low, v)
		case b.high != nil && v > *b.high:
			c.addf(path, "", "must be at most %d, is %d", *b.high, v)
		}
	case []any:
		c.length(b, len(v), "entry", path)
		if len(b.keys) > 0 {
			c.unique(v, b.keys, path)
		}
	case map[string]any:
		c.length(b, len(v), "field", path)
		c.oneOf(v, b.oneOf, path)
	}
}

// length checks how many things a value has.
func (c *boundsChecker) length(b *bound, n int, thing, path string) {
	switch {
	case n < b.least && n == 0:
		c.addf(path, "", "must not be empty")
	case n < b.least:
		c.addf(path, "", "must have at least %s, has %d", plural(b.least, thing), n)
	case b.most > 0 && n > b.most:
		c.addf(path, "", "must have at most %s, has %d", plural(b.most, thing), n)
	}
}

func plural(n int, thing string) string {
	if n != 1 {
		thing = strings.TrimSuffix(thing+"s", "ys")
		if strings.HasSuffix(thing, "entr") {
			thing += "ies"
		}
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// text checks the values and the pattern of a text.
func (c *boundsChecker) text(s string, b *bound, path string) {
	if b.values != nil && !slices.Contains(b.values, s) {
		c.addf(path, "use one of: "+strings.Join(quote(b.values), ", "), "%q is not a value of this field", s)
		return
	}
	if b.pattern == "" || s == "" && b.least > 0 {
		return
	}
	if p := c.bounds.patterns[b.pattern]; !p.is.MatchString(s) {
		c.addf(path, "", "must be %s, is %q", p.must, shorten(s))
	}
}

// unique checks that no two entries of a list have the same keys.
func (c *boundsChecker) unique(list []any, keys []string, path string) {
	seen := make(map[string]bool, len(list))
	for i, e := range list {
		var id strings.Builder
		for _, key := range keys {
			part := e
			if m, ok := e.(map[string]any); ok && key != "" {
				part = m[key]
			}
			id.Write(marshal(part))
		}
		if seen[id.String()] {
			at := path + "[" + strconv.Itoa(i) + "]"
			if keys[0] != "" {
				c.addf(at, "keep one of them", "has the same %s as another entry", strings.Join(keys, " and "))
			} else {
				c.addf(at, "keep one of them", "is the same as another entry")
			}
		}
		seen[id.String()] = true
	}
}

// oneOf checks that a mapping has exactly one of the fields.
func (c *boundsChecker) oneOf(m map[string]any, fields []string, path string) {
	if len(fields) == 0 {
		return
	}
	n := 0
	for _, f := range fields {
		if m[f] != nil {
			n++
		}
	}
	if n != 1 {
		c.addf(path, "", "must have exactly one of %s, has %d", strings.Join(fields, " and "), n)
	}
}
