package decode

import (
	"reflect"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// changed returns v, a value of type t, with another value at path.
func changed(v any, t reflect.Type, path []string, m mutation) any {
	t = deref(t)
	if t.Kind() == reflect.Slice && !isLeaf(t) {
		if whole, ok := m.to.([]any); ok && len(path) == 0 {
			return whole
		}
		list, _ := v.([]any)
		at := 0
		if len(path) > 0 {
			if n, err := strconv.Atoi(path[0]); err == nil {
				at, path = n, path[1:]
			}
		}
		list = slices.Clone(list)
		for len(list) <= at {
			list = append(list, nil)
		}
		if list[at] == nil && len(path) > 0 {
			list[at] = map[string]any{}
		}
		list[at] = changed(list[at], t.Elem(), path, m)
		return list
	}
	if len(path) == 0 {
		if m.to != nil {
			return m.to
		}
		return another(v, t, m.choices(t))
	}
	object := map[string]any{}
	if o, ok := v.(map[string]any); ok {
		for key, value := range o {
			object[key] = value
		}
	}
	var inner reflect.Type
	if t.Kind() == reflect.Map {
		inner = t.Elem()
	} else {
		fields := fieldsOf(t)
		inner = fields[slices.IndexFunc(fields, func(f structField) bool { return f.name == path[0] })].typ
	}
	if m.remove && len(path) == 1 {
		delete(object, path[0])
		return object
	}
	object[path[0]] = changed(object[path[0]], inner, path[1:], m)
	return object
}

// seeded returns v, a value of type t, with those of seeds, by the names of
// fields, that are on the way to the field at path.
func seeded(v any, t reflect.Type, path []string, seeds map[string]string) any {
	t = deref(t)
	if t.Kind() == reflect.Slice && !isLeaf(t) {
		list, _ := v.([]any)
		at := 0
		if n, err := strconv.Atoi(path[0]); err == nil {
			at, path = n, path[1:]
		}
		if at < len(list) {
			list[at] = seeded(list[at], t.Elem(), path, seeds)
		}
		return list
	}
	if len(path) < 2 || t.Kind() != reflect.Struct || !slices.ContainsFunc(path[:len(path)-1], func(p string) bool { return seeds[p] != "" }) {
		return v
	}
	o, _ := v.(map[string]any)
	if o == nil {
		o = map[string]any{}
	}
	fields := fieldsOf(t)
	inner := fields[slices.IndexFunc(fields, func(f structField) bool { return f.name == path[0] })].typ
	if seed, ok := seeds[path[0]]; ok && o[path[0]] == nil {
		var value any
		if err := yaml.Unmarshal([]byte(seed), &value); err != nil {
			panic(err)
		}
		o[path[0]] = value
	}
	if value := seeded(o[path[0]], inner, path[1:], seeds); value != nil {
		o[path[0]] = value
	}
	return o
}

// another returns a value of type t that is not v, one of choices if there are any.
func another(v any, t reflect.Type, choices []string) any {
	for _, c := range choices {
		if c != "" && c != v {
			return c
		}
	}
	switch v := v.(type) {
	case bool:
		return !v
	case float64:
		return v + 1
	case string:
		return v + "x"
	case map[string]any:
		return map[string]any{"a/b": "x"}
	}
	switch t {
	case reflect.TypeFor[intstr.IntOrString]():
		return 1
	case reflect.TypeFor[metav1.Time]():
		return "2030-01-01T00:00:00Z"
	case reflect.TypeFor[metav1.Duration]():
		return "77s"
	case reflect.TypeFor[[]byte]():
		return "eA=="
	}
	switch t.Kind() {
	case reflect.Bool:
		return true
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32:
		return 77
	case reflect.Map:
		if t.Elem().Kind() == reflect.Bool {
			return map[string]any{"a": true}
		}
		return map[string]any{"a": "x"}
	}
	return "x"
}
