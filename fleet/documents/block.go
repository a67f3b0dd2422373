package documents

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v2"
)

// Most of what is read and written in a large fleet is YAML in block style whose texts are short and
// plain, such as the files of a status branch. This file reads and writes that part of YAML several
// times faster than a parser of all of it. What is not certainly in that part is left to the parser,
// whose results the tests compare with these.

// Write returns v, a JSON value, as YAML, as sigs.k8s.io/yaml does: keys are sorted, and a
// text that YAML 1.1 takes for something else is in quotes. Integers are of type int64.
func Write(v any) ([]byte, error) {
	w := blockWriter{plain: true}
	if m, ok := v.(map[string]any); ok && len(m) > 0 {
		w.mapping(m, 0, false)
	} else if l, ok := v.([]any); ok && len(l) > 0 {
		w.sequence(l, 0)
	} else {
		w.plain = false
	}
	if !w.plain {
		return yaml.Marshal(v)
	}
	return w.out, nil
}

// A blockWriter writes block style while that is plain.
type blockWriter struct {
	out   []byte
	plain bool
}

// longest is the length of a text with spaces, with its key and indent, that a line takes for certain.
const longest = 70

func (w *blockWriter) indent(n int) {
	for range n {
		w.out = append(w.out, ' ')
	}
}

// mapping writes m at column n. The column is there already for the first key where begun is true.
func (w *blockWriter) mapping(m map[string]any, n int, begun bool) {
	keys := make([]string, 0, len(m))
	for k := range m {
		if !isPlain(k) || len(k) > longest || strings.ContainsAny(k, ` ":?`) {
			w.plain = false
			return
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		order, ok := compareKeys(a, b)
		w.plain = w.plain && ok
		return order
	})
	for i, k := range keys {
		if !w.plain {
			return
		}
		if i > 0 || !begun {
			w.indent(n)
		}
		w.out = append(append(w.out, k...), ':')
		switch v := m[k].(type) {
		case map[string]any:
			if len(v) > 0 {
				w.out = append(w.out, '\n')
				w.mapping(v, n+2, false)
				continue
			}
		case []any:
			if len(v) > 0 {
				w.out = append(w.out, '\n')
				w.sequence(v, n)
				continue
			}
		}
		w.out = append(w.out, ' ')
		w.scalar(m[k], n+len(k))
	}
}

func (w *blockWriter) sequence(l []any, n int) {
	for _, v := range l {
		w.indent(n)
		w.out = append(w.out, "- "...)
		if m, ok := v.(map[string]any); ok && len(m) > 0 {
			w.mapping(m, n+2, true)
		} else if l, ok := v.([]any); ok && len(l) > 0 {
			w.plain = false
		} else {
			w.scalar(v, n)
		}
		if !w.plain {
			return
		}
	}
}

// scalar writes v, or an empty collection, behind column n, and ends the line.
func (w *blockWriter) scalar(v any, n int) {
	switch v := v.(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case int64:
		w.out = strconv.AppendInt(w.out, v, 10)
	case map[string]any:
		w.out = append(w.out, "{}"...)
	case []any:
		w.out = append(w.out, "[]"...)
	case string:
		switch {
		case n+len(v) > longest && strings.Contains(v, " "):
			w.plain = false
		case isPlain(v):
			w.out = append(w.out, v...)
		case v == "" || isTime(v) || isWord(v) && slices.Contains([]string{strings.ToLower(v), strings.ToUpper(v), strings.ToUpper(v[:1]) + strings.ToLower(v[1:])}, v):
			w.out = append(append(append(w.out, '"'), v...), '"')
		default:
			w.plain = false
		}
	default:
		w.plain = false
	}
	w.out = append(w.out, '\n')
}

// compareKeys compares keys as the parser's library sorts them, if that depends on no digits.
func compareKeys(a, b string) (order int, ok bool) {
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for i := range min(len(a), len(b)) {
		switch x, y := a[i], b[i]; {
		case x == y:
		case letter(x) == letter(y):
			return int(x) - int(y), letter(x) || !digit(x) && !digit(y)
		case letter(x):
			return 1, true
		default:
			return -1, true
		}
	}
	return len(a) - len(b), true
}

// isPlain reports whether s is certainly a text where it stands without quotes, in YAML 1.1 and 1.2.
func isPlain(s string) bool {
	if s == "" || isWord(s) {
		return false
	}
	numeric := s[0] >= '0' && s[0] <= '9'
	if c := s[0] | 0x20; !numeric && s[0] != '/' && (c < 'a' || c > 'z') {
		return false
	}
	text := !numeric // or it has what no number and no time has
	dots := 0        // of two or more and digits alone: an address
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~' || c == '_' && numeric:
			return false
		case c == ':' && (i+1 == len(s) || s[i+1] == ' '):
			return false
		case c == '#' && s[i-1] == ' ': // the first is none
			return false
		case c == '.':
			dots++
		case numeric && (c < '0' || c > '9'):
			switch c |= 0x20; {
			case c >= 'a' && c <= 'z':
				if i == 1 && s[0] == '0' {
					return false // 0x1f
				}
				text = text || c != 'e' && c != 't' && c != 'z'
			case c == '/':
				text = true
			default:
				dots = math.MinInt
			}
		}
	}
	return s[len(s)-1] != ' ' && (text || dots > 1)
}

// isWord reports whether YAML 1.1 or 1.2 takes s for a boolean or for null, or may do so.
func isWord(s string) bool {
	if len(s) > 5 {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}

// isTime reports whether s is a time as Kubernetes writes it, which YAML 1.1 takes for a time as well.
func isTime(s string) bool {
	if !aTime.MatchString(s) {
		return false
	}
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

var aTime = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$`)

// blockJSON returns data as JSON, if it is certainly a single document in plain block style whose keys are sorted.
func blockJSON(data []byte) ([]byte, bool) {
	r := blockReader{rest: data, out: make([]byte, 0, len(data)+len(data)/4), plain: true}
	r.next()
	r.block(r.column)
	return r.out, r.plain && r.line == nil
}

// A blockReader reads block style while that is plain.
type blockReader struct {
	rest   []byte
	line   []byte // the present line from column on; nil: there is none
	column int
	out    []byte
	plain  bool
}

// next goes to the next line.
func (r *blockReader) next() {
	if len(r.rest) == 0 {
		r.line = nil
		return
	}
	line := r.rest
	if i := bytes.IndexByte(r.rest, '\n'); i >= 0 {
		line, r.rest = r.rest[:i], r.rest[i+1:]
	} else {
		r.rest = nil
	}
	r.line = bytes.TrimLeft(line, " ")
	r.column = len(line) - len(r.line)
	if len(r.line) == 0 {
		r.plain = false
	}
}

// at reports whether the present line begins at column n.
func (r *blockReader) at(n int) bool { return r.plain && r.line != nil && r.column == n }

// block reads the collection that begins here, at column n. A line that belongs to none, as where a text goes
// on, stays.
func (r *blockReader) block(n int) {
	switch {
	case !r.at(n):
		r.plain = false
	case bytes.HasPrefix(r.line, []byte("- ")):
		r.sequence(n)
	default:
		r.mapping(n)
	}
}

func (r *blockReader) mapping(n int) {
	r.out = append(r.out, '{')
	var last []byte
	for first := true; r.at(n) && !bytes.HasPrefix(r.line, []byte("- ")); first = false {
		key, value, ok := bytes.Cut(r.line, []byte(":"))
		if !ok || !isPlain(string(key)) || len(key) > 1000 || bytes.ContainsAny(key, ` "?`) || !first && bytes.Compare(last, key) >= 0 {
			r.plain = false
			return
		}
		if !first {
			r.out = append(r.out, ',')
		}
		r.text(key)
		r.out = append(r.out, ':')
		last = key
		if len(value) > 0 {
			if value[0] != ' ' {
				r.plain = false
				return
			}
			r.scalar(value[1:])
			continue
		}
		r.next()
		switch {
		case r.line != nil && r.column > n:
			r.block(r.column)
		case r.at(n) && bytes.HasPrefix(r.line, []byte("- ")):
			r.sequence(n)
		default:
			r.plain = false // null
			return
		}
	}
	r.out = append(r.out, '}')
}

func (r *blockReader) sequence(n int) {
	r.out = append(r.out, '[')
	for first := true; r.at(n) && bytes.HasPrefix(r.line, []byte("- ")); first = false {
		if !first {
			r.out = append(r.out, ',')
		}
		item := r.line[2:]
		if key, after, ok := bytes.Cut(item, []byte(":")); ok && isPlain(string(key)) && (len(after) == 0 || after[0] == ' ') {
			r.line, r.column = item, n+2
			r.mapping(n + 2)
			continue
		}
		r.scalar(item)
	}
	r.out = append(r.out, ']')
}

// scalar reads s, which ends its line, and goes to the next line.
func (r *blockReader) scalar(s []byte) {
	switch text := string(s); {
	case text == "true", text == "false", text == "null", text == "{}", text == "[]", isInteger(text):
		r.out = append(r.out, s...)
	case len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' && isQuoted(s[1:len(s)-1]):
		r.text(s[1 : len(s)-1])
	case isPlain(text):
		r.text(s)
	default:
		r.plain = false
	}
	r.next()
}

// text writes s, which is printable ASCII, as encoding/json does.
func (r *blockReader) text(s []byte) {
	r.out = append(r.out, '"')
	for _, c := range s {
		switch c {
		case '"', '\\':
			r.out = append(r.out, '\\', c)
		case '<', '>', '&':
			r.out = append(append(r.out, `\u00`...), "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			r.out = append(r.out, c)
		}
	}
	r.out = append(r.out, '"')
}

// isQuoted reports whether s stands for itself in double quotes.
func isQuoted(s []byte) bool {
	for _, c := range s {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// isInteger reports whether s is an integer in all versions of YAML, and in JSON.
func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 18 || digits[0] == '0' && s != "0" {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

// unmarshalBlock reads data into into, if it is in plain block style and is what into takes.
func unmarshalBlock(data []byte, into any, strict bool) bool {
	text, ok := blockJSON(data)
	if !ok {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if strict {
		d.DisallowUnknownFields()
	}
	return d.Decode(into) == nil
}
