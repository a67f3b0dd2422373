package decode

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
)

// A flaw is a problem with a field of an object.
type flaw struct {
	field, message, hint string
}

// A checker compares a document with the Go type that it is decoded to, and collects all
// problems. The JSON decoder would stop at the first error, without a path.
type checker struct {
	kind    *kind
	version string
	flaws   []flaw
}

func (c *checker) addf(path, hint, format string, args ...any) {
	c.flaws = append(c.flaws, flaw{path, fmt.Sprintf(format, args...), hint})
}

// check checks v, at path, against t. bare is path without indices, as in the tables of
// fields.
func (c *checker) check(v any, t reflect.Type, path, bare string) {
	t = deref(t)
	if v == nil {
		return
	}
	choice := c.kind.union && !strings.HasSuffix(bare, ".metadata") // controllers write an empty metadata
	if reason, ok := c.kind.refused[bare]; ok && (choice || !isEmpty(v)) {
		c.addf(path, "", "is not supported: %s", reason)
		return
	}
	if isLeaf(t) {
		c.leaf(v, t, path, bare)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		m, ok := v.(map[string]any)
		if !ok {
			c.mismatch(v, path, "a mapping")
			return
		}
		c.object(m, t, path, bare)
	case reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			c.mismatch(v, path, "a mapping")
			return
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			c.check(m[k], t.Elem(), join(path, k), bare+".*")
		}
	case reflect.Slice:
		l, ok := v.([]any)
		if !ok {
			c.mismatch(v, path, "a list")
			return
		}
		for i, e := range l {
			c.check(e, t.Elem(), path+"["+strconv.Itoa(i)+"]", bare)
		}
	}
}

// object checks the fields of a mapping that is decoded to a struct.
func (c *checker) object(m map[string]any, t reflect.Type, path, bare string) {
	fields := fieldsOf(t)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		i := slices.IndexFunc(fields, func(f structField) bool { return f.name == key })
		if i < 0 {
			c.addf(join(path, key), c.unknownHint(key, join(bare, key), fields), "unknown field")
			continue
		}
		c.check(m[key], fields[i].typ, join(path, key), join(bare, key))
	}
}

// unknownHint suggests the field that the unknown field key was meant to be.
func (c *checker) unknownHint(key, bare string, fields []structField) string {
	if name := nearest(key, fields); name != "" {
		return fmt.Sprintf("did you mean %q?", name)
	}
	for _, v := range c.kind.versions {
		if v != c.version && hasField(reflect.TypeOf(c.kind.new(v)), bare) {
			return fmt.Sprintf("it is a field of %s, not of %s", v, c.version)
		}
	}
	return ""
}

// leaf checks a value without fields.
func (c *checker) leaf(v any, t reflect.Type, path, bare string) {
	if reflect.PointerTo(t).Implements(unmarshaler) {
		c.parsed(v, t, path)
		return
	}
	switch t.Kind() {
	case reflect.String:
		s, ok := v.(string)
		if !ok {
			c.mismatch(v, path, "a string")
			return
		}
		if allowed := c.kind.allowed(t, bare); len(allowed) > 0 && !slices.Contains(allowed, s) {
			c.addf(path, "use one of: "+strings.Join(quote(allowed), ", "), "%q is not a value of this field", s)
		}
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			c.mismatch(v, path, "true or false")
		}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, ok := v.(int64)
		switch {
		case !ok:
			c.mismatch(v, path, "a whole number")
		case n < 0 && (c.kind.nonNegative || t.Kind() >= reflect.Uint):
			c.addf(path, "", "must not be negative, is %d", n)
		case t.Kind() == reflect.Int32 && (n > math.MaxInt32 || n < math.MinInt32):
			c.addf(path, "", "%d is too large", n)
		}
	default: // bytes, floats: what the decoder says is good enough
		c.parsed(v, t, path)
	}
}

// parsed checks a value of a type with its own parser.
func (c *checker) parsed(v any, t reflect.Type, path string) {
	want := map[reflect.Type]string{
		reflect.TypeFor[metav1.Duration]():    `a duration such as "10m30s"`,
		reflect.TypeFor[metav1.Time]():        `a time such as "2026-01-31T08:00:00Z"`,
		reflect.TypeFor[intstr.IntOrString](): `a whole number or a string such as "30%"`,
		reflect.TypeFor[[]byte]():             "a string in base64",
	}[t]
	if want == "" {
		want = "a value that " + t.Name() + " can be read from"
	}
	b, err := json.Marshal(v)
	if err == nil {
		p := reflect.New(t)
		err = json.Unmarshal(b, p.Interface())
		if d, ok := p.Interface().(*metav1.Duration); ok && err == nil && d.Duration < 0 && c.kind.nonNegative {
			c.addf(path, "", "must not be negative, is %s", d.Duration)
		}
		if n, ok := p.Interface().(*intstr.IntOrString); ok && err == nil && c.kind.nonNegative {
			c.percentage(*n, path)
		}
	}
	if err != nil {
		c.mismatch(v, path, want)
	}
}

// percentage checks a number or percentage.
func (c *checker) percentage(n intstr.IntOrString, path string) {
	if _, err := strconv.ParseUint(n.StrVal, 10, 31); err == nil && slices.Contains([]fleet.KindRole{fleet.ControlPlaneKind, fleet.ControlPlaneTemplateKind}, c.kind.role) {
		return // Cluster API takes "1" as 1 there
	}
	if i, err := intstr.GetScaledValueFromIntOrPercent(&n, 100, true); err != nil {
		c.addf(path, "", "must be a whole number or a percentage such as \"30%%\", is %q", n.String())
	} else if i < 0 {
		c.addf(path, "", "must not be negative, is %s", n.String())
	}
}

// mismatch adds the problem that v is not as wanted, with the reason in YAML.
func (c *checker) mismatch(v any, path, want string) {
	got, hint := c.describe(v)
	if want != "a string" && want[0] != '"' {
		hint = ""
		if s, ok := v.(string); ok && looksScalar(s) {
			hint = "leave out the quotes"
		}
	}
	c.addf(path, hint, "must be %s, is %s", want, got)
}

// describe describes v for a message. It never shows content of a Secret.
func (c *checker) describe(v any) (got, hint string) {
	switch v := v.(type) {
	case string:
		if c.kind.secret {
			return "another string", ""
		}
		return fmt.Sprintf("the string %q", shorten(v)), ""
	case bool:
		return fmt.Sprintf("the boolean %t", v), "YAML reads it as a boolean: " + render.QuoteIt
	case int64, float64:
		if c.kind.secret {
			return "a number", render.QuoteIt
		}
		return fmt.Sprintf("the number %v", v), "YAML reads it as a number: " + render.QuoteIt
	case []any:
		return "a list", ""
	case map[string]any:
		return "a mapping", ""
	}
	return "something else", ""
}

// looksScalar reports whether s without quotes would be a number or a boolean.
func looksScalar(s string) bool {
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return true
	}
	return s == "true" || s == "false"
}

// isEmpty reports whether v is empty, which is allowed for a field that is refused.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, e := range v {
			if !isEmpty(e) {
				return false
			}
		}
		return true
	}
	return false
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func quote(ss []string) []string {
	out := make([]string, len(ss))
	for i, s := range ss {
		out[i] = strconv.Quote(s)
	}
	return out
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
