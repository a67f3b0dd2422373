package preview

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fleet"
)

// A difference is one field that two definitions have differently.
type difference struct {
	field    string // "rollout.stages[canary].soak"
	from, to string // empty: the field is not there, or its value is not for people
	opaque   bool   // the values are not for people
}

// String returns d on a line: "soak: 24h0m0s → 1h0m0s".
func (d difference) String() string {
	switch {
	case d.opaque:
		return d.field + " changes"
	case d.from == "":
		return d.field + ": add " + d.to
	case d.to == "":
		return d.field + ": remove " + d.from
	}
	return d.field + ": " + d.from + " → " + d.to
}

// A differ compares definitions field by field.
type differ struct {
	// skip reports that the field of that path is not compared.
	skip func(field string) bool
	// opaque reports that the field of that path is compared as a whole, and that its values are not
	// for people.
	opaque func(field string) bool
	out    []difference
}

// differences returns the fields in which a and b, of one type, differ.
func (d differ) differences(a, b any) []difference {
	d.compare("", reflect.ValueOf(a), reflect.ValueOf(b))
	return d.out
}

func (d *differ) compare(at string, a, b reflect.Value) {
	switch {
	case d.skip != nil && d.skip(at):
		return
	case d.opaque != nil && d.opaque(at):
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			d.out = append(d.out, difference{field: at, opaque: true})
		}
		return
	}
	if o, ok := a.Interface().(fleet.Object); ok {
		d.objects(at, o, b.Interface().(fleet.Object)) //nolint:forcetypeassert // both are of one type
		return
	}
	if _, words := spoken(a); words {
		d.leaf(at, a, b)
		return
	}
	switch a.Kind() {
	case reflect.Struct:
		d.fields(at, a, b)
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			d.leaf(at, a, b)
			return
		}
		d.compare(at, a.Elem(), b.Elem())
	case reflect.Map:
		d.maps(at, a, b)
	case reflect.Slice:
		d.lists(at, a, b)
	default:
		d.leaf(at, a, b)
	}
}

// objects compares objects of a provider by their kind, their name and what they ask for.
func (d *differ) objects(at string, a, b fleet.Object) {
	same := a.GVK == b.GVK && a.Namespace == b.Namespace && a.Name == b.Name && string(a.Spec) == string(b.Spec) &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) && reflect.DeepEqual(a.Secrets, b.Secrets) && slices.Equal(a.Stored, b.Stored)
	if !same {
		d.out = append(d.out, difference{field: at, opaque: true})
	}
}

func (d *differ) fields(at string, a, b reflect.Value) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name := lowerFirst(f.Name)
		if f.Anonymous {
			d.compare(at, a.Field(i), b.Field(i))
			continue
		}
		d.compare(joined(at, name), a.Field(i), b.Field(i))
	}
}

func (d *differ) maps(at string, a, b reflect.Value) {
	keys := make(map[string]reflect.Value)
	for _, m := range []reflect.Value{a, b} {
		for _, k := range m.MapKeys() {
			keys[text(k)] = k
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		was, is := a.MapIndex(keys[name]), b.MapIndex(keys[name])
		d.member(fmt.Sprintf("%s[%s]", at, name), was, is)
	}
}

// member compares what a list or a map has under one name; an invalid value is not there.
func (d *differ) member(at string, a, b reflect.Value) {
	if a.IsValid() && b.IsValid() {
		d.compare(at, a, b)
		return
	}
	switch {
	case d.skip != nil && d.skip(at):
	case d.opaque != nil && d.opaque(at) && a.IsValid():
		d.out = append(d.out, difference{field: at, from: "it"})
	case d.opaque != nil && d.opaque(at):
		d.out = append(d.out, difference{field: at, to: "it"})
	default:
		d.leaf(at, a, b)
	}
}

// lists compares lists by the names of their items, or else by the items themselves.
func (d *differ) lists(at string, a, b reflect.Value) {
	was, named := byIdentity(a)
	is, alsoNamed := byIdentity(b)
	if named && alsoNamed {
		all := maps.Clone(was)
		maps.Copy(all, is)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			d.member(fmt.Sprintf("%s[%s]", at, name), was[name], is[name])
		}
		if order(a) != order(b) && len(was) == len(is) && len(all) == len(was) {
			d.out = append(d.out, difference{field: at, from: order(a), to: order(b)})
		}
		return
	}
	before, after := items(a), items(b)
	n := len(d.out)
	for _, gone := range without(before, after) {
		d.out = append(d.out, difference{field: at, from: gone})
	}
	for _, added := range without(after, before) {
		d.out = append(d.out, difference{field: at, to: added})
	}
	if len(d.out) == n && !slices.Equal(before, after) {
		d.out = append(d.out, difference{field: at, from: strings.Join(before, ", "), to: strings.Join(after, ", ")})
	}
}

func (d *differ) leaf(at string, a, b reflect.Value) {
	from, to := text(a), text(b)
	if a.IsValid() && b.IsValid() {
		if _, words := spoken(a); words && from == to || !words && reflect.DeepEqual(a.Interface(), b.Interface()) {
			return
		}
	}
	d.out = append(d.out, difference{field: at, from: from, to: to, opaque: from == to})
}

// byIdentity returns the items of a list by what identifies them, and whether each has a name of its
// own.
func byIdentity(list reflect.Value) (map[string]reflect.Value, bool) {
	out := make(map[string]reflect.Value, list.Len())
	if list.Type().Elem().Kind() != reflect.Struct {
		return nil, false
	}
	for i := range list.Len() {
		name := identity(list.Index(i))
		if _, twice := out[name]; name == "" || twice {
			return nil, false
		}
		out[name] = list.Index(i)
	}
	return out, true
}

// identity returns what identifies an item of a list; empty: nothing does.
func identity(item reflect.Value) string {
	for _, field := range []string{"Name", "Class", "Provider"} {
		if f := item.FieldByName(field); f.IsValid() {
			if ns := item.FieldByName("Namespace"); field == "Name" && ns.IsValid() && text(ns) != "" {
				return text(ns) + "/" + text(f)
			}
			return text(f)
		}
	}
	return ""
}

// order returns the names of a list in their order.
func order(list reflect.Value) string {
	var names []string
	for i := range list.Len() {
		names = append(names, identity(list.Index(i)))
	}
	return strings.Join(names, ", ")
}

func items(list reflect.Value) []string {
	if list.Type().Elem().Kind() == reflect.Uint8 {
		return []string{string(list.Bytes())}
	}
	var out []string
	for i := range list.Len() {
		out = append(out, text(list.Index(i)))
	}
	return out
}

// without returns those of list that other lacks.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// spoken returns the words for values that have some, and whether v is one of those. Other types
// are not asked: their words may leave out what counts.
func spoken(v reflect.Value) (string, bool) {
	switch is := v.Interface().(type) {
	case time.Time:
		return is.UTC().Format(time.RFC3339), true
	case time.Duration, fleet.Key, labels.Selector:
		return fmt.Sprint(is), true
	case fleet.Schedule:
		return fmt.Sprint(is), true
	case intstr.IntOrString:
		return is.String(), true
	}
	return "", false
}

// text returns a value for people.
func text(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	if s, words := spoken(v); words {
		return s
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return ""
		}
		return text(v.Elem())
	case reflect.Slice:
		return "[" + strings.Join(items(v), ", ") + "]"
	case reflect.Map:
		var parts []string
		for _, k := range v.MapKeys() {
			parts = append(parts, text(k)+": "+text(v.MapIndex(k)))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				parts = append(parts, lowerFirst(f.Name)+" "+text(v.Field(i)))
			}
		}
		return cmp.Or(strings.Join(parts, ", "), "{}")
	}
	return fmt.Sprint(v.Interface())
}

func joined(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// lowerFirst returns the name of a field of Go as files write it.
func lowerFirst(name string) string {
	for _, whole := range []string{"API", "URL"} {
		if rest, ok := strings.CutPrefix(name, whole); ok {
			return strings.ToLower(whole) + rest
		}
	}
	return strings.ToLower(name[:1]) + name[1:]
}
