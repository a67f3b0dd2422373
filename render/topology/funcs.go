package topology

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// known lists the functions of Sprig that templates have. It lacks functions of Cluster API
// whose result differs each time or depends on the computer: clocks, time zones, random
// values, keys and certificates, salted hashes.
const known = `
abbrev abbrevboth trunc trim upper lower title untitle substr repeat trimall trimAll trimSuffix trimPrefix nospace
initials swapcase snakecase camelcase kebabcase wrap wrapWith contains hasPrefix hasSuffix quote squote cat indent
nindent replace plural sha1sum sha256sum sha512sum adler32sum toString atoi int64 int float64 seq toDecimal split
splitList splitn toStrings until untilStep add1 add sub div mod mul add1f addf subf divf mulf biggest max min maxf minf
ceil floor round join sortAlpha default empty coalesce all any compact mustCompact fromJson toJson toPrettyJson
toRawJson mustFromJson mustToJson mustToPrettyJson mustToRawJson ternary deepCopy mustDeepCopy typeOf typeIs
typeIsLike kindOf kindIs deepEqual base dir clean ext isAbs b64enc b64dec b32enc b32dec tuple list dict get set unset
hasKey pluck pick omit merge mergeOverwrite mustMerge mustMergeOverwrite append push mustAppend mustPush
prepend mustPrepend first mustFirst rest mustRest last mustLast initial mustInitial reverse mustReverse uniq mustUniq
without mustWithout has mustHas slice mustSlice concat dig chunk mustChunk semver semverCompare fail regexMatch
mustRegexMatch regexFindAll mustRegexFindAll regexFind mustRegexFind regexReplaceAll mustRegexReplaceAll
regexReplaceAllLiteral mustRegexReplaceAllLiteral regexSplit mustRegexSplit regexQuoteMeta urlParse urlJoin
`

// functions returns the functions of templates. Each spends from the budget that left
// points to when it is called.
func functions(left **budget) template.FuncMap {
	all := sprig.HermeticTxtFuncMap()
	out := template.FuncMap{
		// The order of a map is different each time.
		"keys":   func(ms ...map[string]any) []string { return sortedKeys(ms) },
		"values": func(m map[string]any) []any { return sortedValues(m) },
		// Go's functions, so that they are bounded like the others.
		"print": fmt.Sprint, "println": fmt.Sprintln, "printf": printf,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	}
	for name := range strings.FieldsSeq(known) {
		out[name] = all[name]
	}
	for name, f := range out {
		out[name] = bounded(name, f, left)
	}
	// Slots that Go counts iterations with, see steps.
	out[stepName] = func(n int) (string, error) { return "", (*left).spend(n) }
	return out
}

// verbs matches the verbs of a format, and %%.
var verbs = regexp.MustCompile(`%[^%\pL]*[%\pL]`)

// printf is fmt.Sprintf without addresses, which differ each time.
func printf(format string, args ...any) (string, error) {
	for _, verb := range verbs.FindAllString(format, -1) {
		if strings.HasSuffix(verb, "p") {
			return "", errors.New("%p prints an address, which is another one each time")
		}
	}
	for _, a := range args {
		if v := reflect.ValueOf(a); v.Kind() != reflect.Pointer && pointer(v) {
			return "", errors.New("a version in a list may print as an address; use toStrings first")
		}
	}
	return fmt.Sprintf(format, args...), nil
}

// pointer reports whether there is a pointer in v.
func pointer(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return true
	case reflect.Interface:
		return pointer(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if pointer(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if pointer(it.Value()) {
				return true
			}
		}
	}
	return false
}

func sortedKeys(ms []map[string]any) []string {
	var out []string
	for _, m := range ms {
		out = append(out, slices.Sorted(maps.Keys(m))...)
	}
	return out
}

func sortedValues(m map[string]any) []any {
	out := make([]any, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[key])
	}
	return out
}

// bounded returns f with a limit on the growth of its arguments. It panics beyond that, and
// text/template turns the panic into an error.
func bounded(name string, f any, left **budget) any {
	fn := reflect.ValueOf(f)
	grows := growth[name]
	return reflect.MakeFunc(fn.Type(), func(args []reflect.Value) []reflect.Value {
		n := 0
		for _, a := range args {
			n += weight(a, maxValue)
		}
		if grows != nil {
			g := grows(args)
			if !(g <= maxGrowth) {
				panic(fmt.Errorf("it would make more than %d bytes", maxGrowth))
			}
			n += int(g)
		}
		must((*left).spend(1000 + n))
		call := fn.Call
		if fn.Type().IsVariadic() {
			call = fn.CallSlice
		}
		out := call(args)
		w := weight(out[0], maxValue)
		must((*left).spend(w))
		if w > maxValue {
			panic(fmt.Errorf("its result has more than %d bytes", maxValue))
		}
		return out
	}).Interface()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// growth estimates the work of functions, in bytes, whose work or result is more than a
// small multiple of their arguments. An estimate is a float, since products may exceed an
// int.
var growth = map[string]func(args []reflect.Value) float64{ //nolint:gochecknoglobals // a constant that Go cannot write as one
	"repeat":    func(a []reflect.Value) float64 { return number(a[0]) * size(a[1]) },
	"until":     numbersGrowth,
	"untilStep": numbersGrowth,
	"seq":       func(a []reflect.Value) float64 { return numbersGrowth(elements(a[0])) },
	"indent":    func(a []reflect.Value) float64 { return number(a[0]) * (1 + lines(a[1])) },
	"nindent":   func(a []reflect.Value) float64 { return number(a[0]) * (1 + lines(a[1])) },
	"wrapWith":  func(a []reflect.Value) float64 { return (1 + size(a[2])) * size(a[1]) },
	"join":      func(a []reflect.Value) float64 { return float64(weight(a[1], maxValue)) / 16 * size(a[0]) },
	"replace": func(a []reflect.Value) float64 {
		return float64(1+strings.Count(text(a[2]), text(a[0]))) * size(a[1])
	},
	"printf": printfGrowth,

	"toPrettyJson":     prettyGrowth,
	"mustToPrettyJson": prettyGrowth,

	"uniq":        func(a []reflect.Value) float64 { return square(a[0], a[0]) },
	"mustUniq":    func(a []reflect.Value) float64 { return square(a[0], a[0]) },
	"without":     func(a []reflect.Value) float64 { return square(a[0], a[1]) },
	"mustWithout": func(a []reflect.Value) float64 { return square(a[0], a[1]) },

	"regexMatch": matchGrowth, "mustRegexMatch": matchGrowth,
	"regexFind": matchGrowth, "mustRegexFind": matchGrowth,
	"regexFindAll": matchGrowth, "mustRegexFindAll": matchGrowth,
	"regexSplit": matchGrowth, "mustRegexSplit": matchGrowth,
	"regexReplaceAll": replaceGrowth, "mustRegexReplaceAll": replaceGrowth,
	"regexReplaceAllLiteral": replaceGrowth, "mustRegexReplaceAllLiteral": replaceGrowth,
}

// value goes through interfaces to what they hold.
func value(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// number returns an argument as a function that casts it would, never negative.
func number(v reflect.Value) float64 {
	switch v = value(v); {
	case v.CanInt():
		return max(0, float64(v.Int()))
	case v.CanUint():
		return float64(v.Uint())
	case v.CanFloat():
		return max(0, v.Float())
	case v.Kind() == reflect.String:
		f, err := strconv.ParseFloat(v.String(), 64)
		if i, ierr := strconv.ParseInt(v.String(), 0, 64); ierr == nil {
			f, err = float64(i), nil
		}
		if err != nil {
			return 0
		}
		return max(0, f)
	}
	return 0
}

func text(v reflect.Value) string {
	if v = value(v); v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}

func size(v reflect.Value) float64  { return float64(len(text(v))) }
func lines(v reflect.Value) float64 { return float64(strings.Count(text(v), "\n")) }

func elements(v reflect.Value) []reflect.Value {
	out := make([]reflect.Value, v.Len())
	for i := range out {
		out[i] = v.Index(i)
	}
	return out
}

// numbersGrowth assumes that a list of numbers has all up to the largest bound.
func numbersGrowth(a []reflect.Value) float64 {
	sum := 0.0
	for _, v := range a {
		if v = value(v); v.CanInt() {
			sum += math.Abs(float64(v.Int()))
		}
	}
	return 24 * sum
}

func prettyGrowth(a []reflect.Value) float64 {
	const limit = 1000
	w := float64(weight(a[0], maxValue))
	return 6*w + w/16*2*float64(depth(a[0], limit))
}

// square is the work of comparing each element of one list with each of another.
func square(x, y reflect.Value) float64 {
	return float64(weight(x, maxValue)) / 16 * float64(weight(y, maxValue))
}

var digits = regexp.MustCompile(`[0-9]+`)

// printfGrowth assumes that each verb prints the largest argument with all bytes escaped,
// as wide as the largest number in the format.
func printfGrowth(a []reflect.Value) float64 {
	format := text(a[0])
	width := 0.0
	for _, d := range digits.FindAllString(format, -1) {
		n, err := strconv.ParseFloat(d, 64)
		if err == nil {
			width = max(width, n)
		}
	}
	if strings.Contains(format, "*") {
		width = 1e6 // what package fmt allows
	}
	largest := 0
	for i := range a[1].Len() {
		largest = max(largest, weight(a[1].Index(i), maxValue))
	}
	return float64(len(format)) + float64(strings.Count(format, "%"))*(min(width, 1e6)+10*float64(largest))
}

// matchGrowth is the work of a matcher that is linear in both arguments. A counted
// repetition stands for a long expression.
func matchGrowth(a []reflect.Value) float64 {
	expression := size(a[0])
	if strings.Contains(text(a[0]), "{") {
		expression *= 100
	}
	return expression * (1 + size(a[1])) / 16
}

func replaceGrowth(a []reflect.Value) float64 {
	return matchGrowth(a) + (1+size(a[1]))*size(a[2]) + float64(strings.Count(text(a[2]), "$"))*size(a[1])
}
