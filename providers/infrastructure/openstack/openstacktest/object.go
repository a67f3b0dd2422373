package openstacktest

import (
	"maps"
	"slices"
	"strconv"
)

// An Object is what an API shows of one thing, decoded from JSON, but
// that numbers may be int as well.
type Object map[string]any

// String returns the text called key, "" where there is none.
func (o Object) String(key string) string { s, _ := o[key].(string); return s }

// ID returns the id.
func (o Object) ID() string { return o.String("id") }

// Int returns the number called key, 0 where there is none.
func (o Object) Int(key string) int {
	switch v := o[key].(type) {
	case int:
		return v
	case float64:
		return int(v)
	case string:
		n, _ := strconv.Atoi(v)
		return n
	}
	return 0
}

// Bool returns whether the value called key is true.
func (o Object) Bool(key string) bool { b, _ := o[key].(bool); return b }

// Strings returns the texts of the list called key.
func (o Object) Strings(key string) []string {
	switch v := o[key].(type) {
	case []string:
		return v
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// Object returns the object called key, nil where there is none.
func (o Object) Object(key string) Object { return asObject(o[key]) }

// Objects returns the objects of the list called key. They are the list's own:
// what changes them changes o.
func (o Object) Objects(key string) []Object {
	switch v := o[key].(type) {
	case []Object:
		return v
	case []any:
		var out []Object
		for _, e := range v {
			if x := asObject(e); x != nil {
				out = append(out, x)
			}
		}
		return out
	}
	return nil
}

func asObject(v any) Object {
	switch v := v.(type) {
	case Object:
		return v
	case map[string]any:
		return v
	}
	return nil
}

// has reports whether key is set to something else than null.
func (o Object) has(key string) bool { return o[key] != nil }

// clone returns a copy of o that shares nothing with it.
func (o Object) clone() Object {
	out := make(Object, len(o))
	for k, v := range o {
		out[k] = cloneValue(v)
	}
	return out
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case Object:
		return v.clone()
	case map[string]any:
		return Object(v).clone()
	case map[string]string:
		return maps.Clone(v)
	case []Object:
		out := make([]Object, len(v))
		for i, e := range v {
			out[i] = e.clone()
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneValue(e)
		}
		return out
	case []string:
		return append([]string{}, v...)
	}
	return v
}

// without returns a copy of o that lacks keys.
func (o Object) without(keys ...string) Object {
	out := maps.Clone(o)
	maps.DeleteFunc(out, func(k string, _ any) bool { return slices.Contains(keys, k) })
	return out
}
