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
		"NumberKeys":  {reason: "numbers and dates that are written in one way are texts", in: "{-1: a, 1.5: b, 2024-01-01: c, false: d}", want: `{"-1":"a","1.5":"b","2024-01-01":"c","false":"d"}`},
		"OctalKey":    {reason: "some parsers read another text", in: "{a: b,\n0640: c}", err: "line 2: the key 0640 is not a text", hint: "quote it"},
		"TrueKey":     {reason: "some parsers read another text", in: "{True: a}", err: "line 1: the key True is not a text", hint: "quote it"},
		"NullKey":     {reason: "nothing is no key", in: "~: a", err: "line 1: the key ~ is not a text", hint: "quote it"},
		"EmptyKey":    {reason: "nothing is no key", in: "? \n: a", err: "line 1: the key null is not a text", hint: "quote it"},
		"Elsewhere":   {reason: "an anchor is for its own document", in: "a: &a b\n---\nc: *a\n", err: "line 3: the alias *a is for an anchor of another document", hint: "write the value out"},
		"SameDoc":     {reason: "a merge key may come before the alias of its anchor", in: "---\n{<<: &a {b: 1}, c: *a}", want: `{"b":1,"c":{"b":1}}`},
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

// What is written is read alike by parsers of YAML 1.1, as those of Kubernetes.
func TestMarshalForKubernetes(t *testing.T) {
	const in = "{y: yes, on: 'off', a: [n, No, OFF, true, 2024-01-01, 1.30, 0640, '0640', ~, Yes], ON: {off: y}}"
	f, err := documents.Parse([]byte(in), documents.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	want, err := documents.JSON(f.Documents[0])
	if err != nil {
		t.Fatal(err)
	}
	text, err := documents.Marshal(f.Documents)
	if err != nil {
		t.Fatal(err)
	}
	got, err := documents.ToJSONStrict(text, documents.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), strings.Replace(string(got), "1.3,", "1.30,", 1)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
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
