package documents_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet/documents"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string // JSON of the documents, one a line
		err    string
		hint   string
	}{
		"Words":       {reason: "words are texts", in: "y: n\nyes: no\non: off", want: `{"on":"off","y":"n","yes":"no"}`},
		"Scalars":     {reason: "scalars have the types of YAML 1.2", in: "[1, 1.30, true, null, ~, '1', 0x10, 2024-01-01]", want: `[1,1.30,true,null,null,"1",16,"2024-01-01"]`},
		"Keys":        {reason: "keys are texts", in: "{1: a, true: b}", want: `{"1":"a","true":"b"}`},
		"Empty":       {reason: "empty documents are none", in: "---\n---\na: 1\n---\n# comment\n", want: `{"a":1}`},
		"Merge":       {reason: "own keys win over merged ones, earlier merges over later ones", in: "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz: {<<: [*x, *y], a: 0}", want: `{"x":{"a":1,"b":1},"y":{"b":2,"c":2},"z":{"a":0,"b":1,"c":2}}`},
		"AliasCopies": {reason: "what aliases stand for is written out", in: "a: &a [1]\nb: *a", want: `{"a":[1],"b":[1]}`},
		"MergeText":   {reason: "only mappings can be merged", in: "<<: a", err: "line 1: a merge key << has a value that is not a mapping", hint: "merge mappings only"},
		"MergeSelf":   {reason: "a mapping cannot be merged into itself", in: "a: &a\n  <<: *a", err: "line 2: the alias *a is within what it stands for", hint: "write the value out"},
		"Infinity":    {reason: "infinity is no JSON", in: "a: .inf", err: "line 1: .inf is not a number that JSON can hold", hint: "quote it if it is text"},
		"Binary":      {reason: "tags are refused", in: "a: !!binary aGk=", err: "line 1: the tag !!binary is not supported", hint: "use plain YAML"},
		"Tab":         {reason: "the parser's own words do not name a tab", in: "a:\n  b: c\n\td: e\n", err: "line 3: a tab indents the line", hint: "YAML is indented with spaces: replace the tab"},
		"Lone":        {reason: "a template that is filled in before it is parsed gets a hint", in: "a: b\n${MORE}\nc: d", err: "line 2: the file is not valid YAML: could not find expected ':'", hint: "a ${VARIABLE} cannot stand for whole lines: write out what it stands for"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := documents.Parse([]byte(tc.in), documents.DefaultLimits())
			if tc.err != "" {
				r, ok := errors.AsType[*documents.Refusal](err)
				if !ok || r.Error() != tc.err || r.Hint != tc.hint {
					t.Fatalf("%s: got %v (%+v), want %q (%s)", tc.reason, err, r, tc.err, tc.hint)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			var got []string
			for _, d := range f.Documents {
				j, err := documents.JSON(d)
				if err != nil {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				got = append(got, string(j))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			again, err := documents.Parse(f.Plain, documents.DefaultLimits())
			if err != nil || strings.ContainsAny(string(f.Plain), "&*<") || len(again.Documents) != len(f.Documents) {
				t.Errorf("%s: not plain: %v\n%s", tc.reason, err, f.Plain)
			}
		})
	}
}

// Each limit holds by itself.
func TestParseLimits(t *testing.T) {
	cases := map[string]struct {
		limits documents.Limits
		in     string
	}{
		"Bytes":     {documents.Limits{Bytes: 3, Documents: 9, Nodes: 9, Depth: 9, Expanded: 99}, "a: b"},
		"Documents": {documents.Limits{Bytes: 99, Documents: 2, Nodes: 9, Depth: 9, Expanded: 99}, "a\n---\nb\n---\nc"},
		"Nodes":     {documents.Limits{Bytes: 99, Documents: 9, Nodes: 4, Depth: 9, Expanded: 99}, "[a, b, c, d]"},
		"Aliases":   {documents.Limits{Bytes: 99, Documents: 9, Nodes: 9, Depth: 9, Expanded: 99}, "[&a [b, c], *a, *a]"},
		"LongAlias": {documents.Limits{Bytes: 99, Documents: 9, Nodes: 9, Depth: 9, Expanded: 9}, "[&a aaaa, *a, *a]"},
		"LongKey":   {documents.Limits{Bytes: 99, Documents: 9, Nodes: 99, Depth: 9, Expanded: 9}, "{&a aaaa: b, c: {*a : d, e: {*a : f}}}"},
		"Depth":     {documents.Limits{Bytes: 99, Documents: 9, Nodes: 9, Depth: 2, Expanded: 99}, "[[a]]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := documents.Parse([]byte(tc.in), tc.limits); err == nil {
				t.Error("got no error")
			}
		})
	}
}
