package documents_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	k8syaml "sigs.k8s.io/yaml"

	"fairlead.dev/fleet/documents"
)

// readings are streams that Kubernetes and this package read alike.
func readings() []string {
	return []string{
		"a: yes\nb: no\ny: on\n", "a: &a yes\nb: *a\n", "? &a a\n: *a\n", "a: &a {x: 1.0, y: 0x10}\nb: {<<: *a, x: 2}\n",
		"x: &x {a: 1}\ny: &y {b: 2}\nz: {<<: [*x, *y], c: 3}\n", "a: &a |\n  l1\n  l2 # no\nb: *a\n", "a: &a 'it''s'\nb: [*a, \"\\t\\x01\\u2028\\U0001F600\"]\n",
		"a: &a 2024-01-01\nb: 2024-01-01T00:00:00Z\nc: *a\n", "a: &a\nb: *a\n", "- &a 017\n- *a\n- 0o17\n- 1_000\n- 1e3\n- -0b1\n- 12345678901234567890\n",
		"a: &a ~\nb: 'null'\nc: \"\"\nd: !!str 5\ne: !!int '5'\nf: *a\n", "a: &a b, c\nd: ['x', *a, e: f]\n", "a: &a >\n  folded\n  text\n\nb: *a",
		"a: !!binary &x aGVsbG8=\nb: *x\n", "a: &a !foo bar\nb: *a\n", "&a a: 1\nb: *a\n", "a: &a [é, ü, \u2028]\nb: *a\n",
		"a: &a 1\na: 2\n", "a: b && c *d\nb: 'x?y=1&z=2'\n", "a: &a {b: 1}\nc:\n- *a\n- *a\n", "? " + strings.Repeat("k", 2000) + "\n: &a 1\nb: *a\n", "# &\na: b\n", "{a: 1e999, b: &b 1e999}", "- &a .5\n- +1\n- *a", "a: &a =\nb: 'x'",
		"a: &a !\nb: *a\n", "é: &a ! 5\nb: [*a, ! yes, ! ]\n", "- &a\n  ! null\n- *a\n---\nx: ! &b 1\ny: *b\n",
	}
}

// same fails t where Kubernetes' parser and the package read text differently; what the
// package refuses is passed over.
func same(t *testing.T, text string) {
	t.Helper()
	for name, f := range map[string]struct {
		want func([]byte) ([]byte, error)
		got  func([]byte, documents.Limits) ([]byte, error)
	}{"lenient": {k8syaml.YAMLToJSON, documents.ToJSON}, "strict": {k8syaml.YAMLToJSONStrict, documents.ToJSONStrict}} {
		want, err := f.want([]byte(text))
		got, gotErr := f.got([]byte(text), documents.DefaultLimits())
		if _, refused := errors.AsType[*documents.Refusal](gotErr); refused {
			continue
		}
		if (err == nil) != (gotErr == nil) {
			t.Fatalf("%s: %q: got error %v, want %v", name, text, gotErr, err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: %q: -want, +got:\n%s", name, text, diff)
		}
	}
}

func TestReadsAsKubernetes(t *testing.T) {
	for _, text := range readings() {
		if _, err := documents.ToJSON([]byte(text), documents.DefaultLimits()); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		same(t, text)
	}
}

// Each limit holds by itself at the functions that read as Kubernetes does, whichever
// way they take.
func TestLimitsAsKubernetes(t *testing.T) {
	large := documents.Limits{Bytes: 1 << 20, Documents: 99, Nodes: 9999, Depth: 99, Expanded: 1 << 20}
	with := func(change func(*documents.Limits)) documents.Limits { l := large; change(&l); return l }
	long := strings.Repeat("x", 1000)
	cases := map[string]struct {
		limits documents.Limits
		in     string
		want   string
	}{
		"Bytes":     {with(func(l *documents.Limits) { l.Bytes = 3 }), "a: b", "the file has 4 bytes, more than the 3 that are read"},
		"Documents": {with(func(l *documents.Limits) { l.Documents = 2 }), "a\n---\nb\n---\nc", "more than 2 documents"},
		"Nodes":     {with(func(l *documents.Limits) { l.Nodes = 4 }), "[a, b, c, d]", "more than 4 keys"},
		"Aliases":   {with(func(l *documents.Limits) { l.Nodes = 9 }), "[&a [b, c], *a, *a, *a]", "more than 9 keys"},
		"Depth":     {with(func(l *documents.Limits) { l.Depth = 2 }), "[[a]]", "more than 2 levels"},
		"Blocks":    {with(func(l *documents.Limits) { l.Depth = 4 }), "a:\n b:\n  c:\n   d:\n    e: 1", "more than 4 levels"},
		"Dashes":    {with(func(l *documents.Limits) { l.Depth = 4 }), "- - - - - a", "more than 4 levels"},
		"LongAlias": {with(func(l *documents.Limits) { l.Expanded = 4000 }), "[&a " + long + ", *a, *a, *a, *a]", "more than 4000 bytes"},
		"LongKey":   {with(func(l *documents.Limits) { l.Expanded = 4000 }), "? &a " + long + "\n: {*a : {*a : {*a : {*a : 1}}}}", "more than 4000 bytes"},
		"Long":      {with(func(l *documents.Limits) { l.Expanded = 900 }), long, "more than 900 bytes"},
		"Circle":    {large, "&a [*a]", "the alias *a is within what it stands for"},
		"UTF-16":    {large, "\xff\xfea\x00", "UTF-16"},
		"Latin-1":   {large, "a: \xe9", "not UTF-8"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var v any
			_, errJSON := documents.ToJSON([]byte(tc.in), tc.limits)
			_, errStrict := documents.ToJSONStrict([]byte(tc.in), tc.limits)
			_, errSplit := documents.Split([]byte(tc.in), tc.limits)
			_, errNode := documents.Node([]byte(tc.in), tc.limits)
			for at, err := range map[string]error{
				"ToJSON": errJSON, "ToJSONStrict": errStrict, "Split": errSplit, "Node": errNode,
				"Unmarshal":       documents.Unmarshal([]byte(tc.in), &v, tc.limits),
				"UnmarshalStrict": documents.UnmarshalStrict([]byte(tc.in), &v, tc.limits),
			} {
				if _, refused := errors.AsType[*documents.Refusal](err); !refused || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: got %v, want a refusal with %q", at, err, tc.want)
				}
			}
		})
	}
}

func TestSplit(t *testing.T) {
	got, err := documents.Split([]byte("a: 1\n---\nb: 2\n---\n# none\n"), documents.DefaultLimits())
	if err != nil || len(got) != 3 || string(got[1]) != "b: 2\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// FuzzDoor: what the door lets through is read as Kubernetes reads it, and bounded.
func FuzzDoor(f *testing.F) {
	for _, text := range readings() {
		f.Add(text)
	}
	f.Add("a: &a \"" + strings.Repeat("x", 100) + "\"\nb: [" + strings.Repeat("*a,", 100) + "]")
	small := documents.Limits{Bytes: 4 << 10, Documents: 10, Nodes: 500, Depth: 20, Expanded: 2 << 10}
	f.Fuzz(func(t *testing.T, text string) {
		if out, err := documents.ToJSON([]byte(text), small); err == nil && len(out) > 7*small.Expanded+64*small.Nodes {
			t.Errorf("%q became %d bytes", text, len(out))
		}
		if p, err := documents.Parse([]byte(text), small); err == nil && len(p.Plain) > 12*small.Expanded+64*small.Nodes {
			t.Errorf("%q became %d bytes", text, len(p.Plain))
		}
		if !utf8.ValidString(text) || len(text) > small.Bytes {
			return
		}
		if _, err := documents.ToJSON([]byte(text), small); err == nil {
			same(t, text)
		}
	})
}

// TestErrorsAreOneLine: whatever a library says of several lines, people read one.
func TestErrorsAreOneLine(t *testing.T) {
	l := documents.Limits{Bytes: 1 << 20, Expanded: 1 << 20, Documents: 9, Nodes: 1000, Depth: 10}
	const twice = "a: 1\na: 2\n\"b\\e[1m\": 1\n\"b\\e[1m\": 2\n"
	var into struct{ A int }
	for name, err := range map[string]error{
		"UnmarshalStrict": documents.UnmarshalStrict([]byte(twice), &into, l),
		"Unmarshal":       documents.Unmarshal([]byte("a: [1,\n 2]\n"), &into, l),
		"Decode":          documents.Decode([]byte("x: 1\ny: 2\n"), &into, true, l),
		"ToJSONStrict":    second(documents.ToJSONStrict([]byte(twice), l)),
		"Objects":         second(documents.Objects([]byte("a: 1\n---\n- b\n- c\n"), l)),
	} {
		if err == nil || strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%s: %q", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
