package documents

import (
	"reflect"
	"slices"
	"strings"
)

// Nearest returns the name among names that is most likely meant by got. It returns "" if no
// name is close.
func Nearest(got string, names []string) string {
	best, bestDistance := "", len(got)/3+1
	for _, name := range names {
		if strings.EqualFold(name, got) {
			return name
		}
		if d := distance(strings.ToLower(got), strings.ToLower(name)); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// NearestField returns the JSON field that is most likely meant by got, among those of the
// struct t and of the structs in it, at any depth. It returns "" if no name is close, and if
// got is a field of another of these structs.
func NearestField(got string, t reflect.Type) string {
	names := fieldNames(t, map[reflect.Type]bool{})
	if slices.Contains(names, got) {
		return ""
	}
	return Nearest(got, names)
}

// fieldNames returns the names of all JSON fields below t, without the structs that were seen.
func fieldNames(t reflect.Type, seen map[reflect.Type]bool) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return fieldNames(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[t] {
		return nil
	}
	seen[t] = true
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
		names = append(names, fieldNames(f.Type, seen)...)
	}
	return names
}

// distance is the Levenshtein distance of a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
