package decode

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"fairlead.dev/fleet/documents"
)

// A structField is one field of a type as JSON sees it.
type structField struct {
	name string
	typ  reflect.Type
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]() //nolint:gochecknoglobals // a constant that Go cannot write as one

// isLeaf reports whether values of t are read as a whole: scalars, bytes and
// types that parse themselves.
func isLeaf(t reflect.Type) bool {
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return true
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return false
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	}
	return true
}

// knownFields holds what fieldsOf found, by type.
var knownFields sync.Map //nolint:gochecknoglobals // types never change

// fieldsOf returns the JSON fields of the struct type t in the order of the
// source, embedded structs included. They are shared: no caller changes them.
func fieldsOf(t reflect.Type) []structField {
	if known, ok := knownFields.Load(t); ok {
		return known.([]structField)
	}
	fields := findFields(t)
	knownFields.Store(t, fields)
	return fields
}

func findFields(t reflect.Type) []structField {
	var out []structField
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" && f.Anonymous {
			out = append(out, fieldsOf(deref(f.Type))...)
			continue
		}
		if name == "" {
			name = f.Name
		}
		out = append(out, structField{name, f.Type})
	}
	return out
}

// deref returns what pointers lead to.
func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// elem goes through pointers and lists to what they hold.
func elem(t reflect.Type) reflect.Type {
	for {
		t = deref(t)
		if t.Kind() != reflect.Slice || isLeaf(t) {
			return t
		}
		t = t.Elem()
	}
}

// hasField reports whether path, without indices, names a field below t.
func hasField(t reflect.Type, path string) bool {
	name, rest, more := strings.Cut(path, ".")
	t = elem(t)
	if t.Kind() != reflect.Struct || isLeaf(t) {
		return false
	}
	for _, f := range fieldsOf(t) {
		if f.name == name {
			return !more || hasField(f.typ, rest)
		}
	}
	return false
}

// nearest returns the name among fields that somebody who wrote got most
// likely meant, or "".
func nearest(got string, fields []structField) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return documents.Nearest(got, names)
}
