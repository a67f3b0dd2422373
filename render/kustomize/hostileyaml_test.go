package kustomize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	k8syaml "sigs.k8s.io/yaml"

	"fairlead.dev/fleet/documents"
	"fairlead.dev/render/kustomize"
)

// hostileYAML are manifests that YAML parsers read in different ways, or should not read.
// refused is part of the problem; empty: the objects are those of kubectl kustomize.
func hostileYAML() map[string]struct{ manifest, refused string } {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	deep := func(levels int) string {
		return head + "data: " + strings.Repeat("{a: ", levels) + "b" + strings.Repeat("}", levels) + "\n"
	}
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return map[string]struct{ manifest, refused string }{
		"Alias":               {manifest: head + "data: &d {a: b}\nother: *d\n"},
		"AliasOfScalar":       {manifest: head + "data: {a: &x yes, b: *x, c: &y 'no', d: *y, e: &z 0640, f: *z}\n"},
		"AliasAsKey":          {manifest: head + "data: {a: &x b, *x : c}\n"},
		"AliasOfOther":        {head + "data: &d {a: b}\n---\n" + strings.Replace(head, "name: a", "name: b", 1) + "data: *d\n", "line 9: the alias *d is for an anchor of another document"},
		"Bomb":                {head + bomb, "line 4: the content has more than 50000 keys"},
		"Circle":              {head + "data: &d {a: *d}\n", "line 4: the alias *d is within what it stands for"},
		"MergeKey":            {manifest: head + "base: &b {x: 1, y: 2}\ndata: {<<: *b, y: 3}\n"},
		"MergeKeyLast":        {manifest: head + "base: &b {x: 1, y: 2}\ndata: {y: 3, <<: *b}\n"},
		"MergeKeys":           {manifest: head + "b: &b {x: 1, y: 2}\nc: &c {y: 5, z: 6}\ndata: {<<: [*b, *c], w: 0}\n"},
		"MergeKeyQuoted":      {manifest: head + "data: {'<<': a}\n"},
		"MergeText":           {head + "data: {<<: a}\n", "line 4: a merge key << has a value that is not a mapping"},
		"DuplicateKey":        {head + "data:\n  a: b\n  a: c\n", `line 6: the key "a" is there twice, first in line 5`},
		"DuplicateQuoted":     {head + "data: {a: b, 'a': c}\n", `line 4: the key "a" is there twice`},
		"DuplicateKind":       {head + "kind: Secret\n", `line 4: the key "kind" is there twice`},
		"NoKind":              {"apiVersion: v1\nmetadata: {name: a}\n", "an object has no kind"},
		"NoName":              {"apiVersion: v1\nkind: ConfigMap\n", "an object has no metadata"},
		"NoKindInSecond":      {head + "---\nmetadata: {name: b}\n", "line 5: an object has no apiVersion"},
		"KindNull":            {"apiVersion: v1\nkind: null\nmetadata: {name: a}\n", "line 1: an object has no kind"},
		"KindNumber":          {manifest: "apiVersion: v1\nkind: 5\nmetadata: {name: a}\n"},
		"NameNumber":          {manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 1.30}\n"},
		"NameYes":             {manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yes}\n"},
		"TabIndents":          {head + "data:\n\ta: b\n", "line 5: a tab indents the line"},
		"TabInText":           {manifest: head + "data:\n  a: |\n    x\ty\n    \tz\n  b: c\t\n  d: 'e\tf'\n"},
		"BOM":                 {manifest: "\xef\xbb\xbf" + head},
		"BOMInMiddle":         {manifest: head + "data: {a: '\ufeff'}\n"},
		"CRLF":                {manifest: strings.ReplaceAll(head+"data:\n  a: |\n    x\n    y\n  b: 'c\n\n    d'\n", "\n", "\r\n")},
		"CR":                  {manifest: strings.ReplaceAll(head+"data:\n  a: |\n    x\n    y\n", "\n", "\r")},
		"UTF16":               {"\xff\xfea\x00:\x00", "the file is UTF-16 or binary"},
		"UTF16Big":            {"\xfe\xff\x00a\x00:", "the file is UTF-16 or binary"},
		"Latin1":              {head + "data: {a: \xe9}\n", "the file is not UTF-8"},
		"NUL":                 {head + "data: {a: \"\x00\"}\n", "the file is UTF-16 or binary"},
		"Control":             {head + "data: {a: \"\x01\"}\n", "the file is not valid YAML: control characters are not allowed"},
		"Escapes":             {manifest: head + `data: {a: "\x01\e\0\u2028\_", b: '\n', c: "\U0001F600"}` + "\n"},
		"LineSeparators":      {manifest: head + "data: {a: 'x\u0085y\u2028z', b: x\u00a0y}\n"},
		"Deep":                {manifest: deep(90)},
		"TooDeep":             {deep(101), "line 4: the content is nested more than 100 levels deep"},
		"MuchTooDeep":         {deep(20_000), "nested"},
		"DeepDashes":          {head + "data: " + strings.Repeat("- ", 5000) + "a\n", "m.yaml"},
		"Integers":            {manifest: head + "data: [9007199254740993, 9223372036854775807, -9223372036854775808, 18446744073709551615, 0x7fffffffffffffff, 0b11, +1, -0, 1_000]\n"},
		"IntegerTooLarge":     {manifest: head + "data: [18446744073709551616, 123456789012345678901234567890]\n"},
		"Octal":               {manifest: head + "data: [0640, 0o640, 08, 00, '0640', -017, 0_7]\n"},
		"Sexagesimal":         {manifest: head + "data: [1:30, 190:20:30, 1:30.5, '1:30']\n"},
		"Floats":              {manifest: head + "data: [1.0, 1.30, 1e3, 1.5e+3, .5, 5., 1e-7, 123456789.123456789]\n"},
		"FloatTooLarge":       {head + "data: [1e400]\n", "line 4: 1e400 is not a number that JSON can hold"},
		"Infinity":            {head + "data: [-.inf]\n", "line 4: -.inf is not a number that JSON can hold"},
		"NaN":                 {head + "data: [.NaN]\n", "line 4: .NaN is not a number that JSON can hold"},
		"Booleans":            {manifest: head + "data: [yes, No, ON, off, y, n, Y, True, FALSE, 'yes', \"off\", tRUE]\n"},
		"BooleanKeys":         {manifest: head + "data: {yes: a, 'no': b, on: c, y: e}\n"},
		"OctalKey":            {head + "data: {0640: a}\n", "line 4: the key 0640 is not a text"},
		"HexadecimalKey":      {head + "data: {0x10: a}\n", "line 4: the key 0x10 is not a text"},
		"FloatKey":            {head + "data: {1.50: a}\n", "line 4: the key 1.50 is not a text"},
		"NullKey":             {head + "data: {~: a}\n", "line 4: the key ~ is not a text"},
		"Timestamps":          {manifest: head + "data: {a: '2024-01-01', b: 2024-01-01T00:00:00Z, c: 2024-01-01 00:00:00 +1}\n"},
		"Nulls":               {manifest: head + "data: {a: , b: null, c: ~, d: Null, e: '', f: 'null', g: NULL}\n"},
		"NullsInLists":        {manifest: head + "data: [null, ~, a, {b: null}, [null], '']\n"},
		"NullOfNothing":       {manifest: head + "data:\n"},
		"MetadataNull":        {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n", "an object has no metadata"},
		"LabelsNull":          {manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: null, annotations: }\n"},
		"SeparatorInText":     {manifest: head + "data:\n  a: |\n    x\n    ---\n    y\n    ...\n  b: \"--- z\"\n  c: >-\n    ---\n    w\n"},
		"SeparatorInColumn0":  {head + "data:\n  a: |\nx\n---\ny: z\n", "m.yaml"},
		"SeparatorWithText":   {manifest: "--- # first\n" + head + "--- # second\n" + strings.Replace(head, "name: a", "name: b", 1) + "...\n# end\n"},
		"DocumentInline":      {manifest: "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"},
		"EmptyDocuments":      {manifest: "---\n---\n# nothing\n---\n" + head + "---\n~\n---\n"},
		"ErrorInSecond":       {head + "---\na: b: c\n---\n" + strings.Replace(head, "name: a", "name: b", 1), "line 5"},
		"Directive":           {"%YAML 1.1\n---\n" + head, "line 1: did not find expected <document start>"},
		"DirectiveNew":        {"%YAML 1.2\n---\n" + head, "found incompatible YAML document"},
		"DirectiveTag":        {"%TAG ! tag:example.com,2026:\n---\n" + head + "data: {a: !x y}\n", "line 6: the tag tag:example.com,2026:x is not supported"},
		"ComplexKey":          {head + "data: {? [a] : b}\n", "line 4: a key is a list or a mapping"},
		"Set":                 {head + "data: !!set {a, b}\n", "line 4: the tag !!set is not supported"},
		"Binary":              {head + "data: {a: !!binary aGk=}\n", "line 4: the tag !!binary is not supported"},
		"Tag":                 {head + "data: {a: !vault x}\n", "line 4: the tag !vault is not supported"},
		"TaggedText":          {manifest: head + "data: {a: !!str 5, b: !!str yes, c: !!str , d: ! 7}\n"},
		"TaggedNumber":        {manifest: head + "data: {a: !!int 5, b: !!float 5, c: !!bool true}\n"},
		"Folded":              {manifest: head + "data:\n  a: >+\n    x\n      y\n    z\n\n\n  b: |2-\n      q\n  c: plain\n    text\n"},
		"Long":                {manifest: head + "data: {a: " + strings.Repeat("word ", 2000) + "end, b: '" + strings.Repeat("x", 5000) + "'}\n"},
		"Comments":            {manifest: head + "data: # one\n  a: b # two\n  # three\n  c: 'd # no'\n"},
		"JSON":                {manifest: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "\u0041\n", "b": 1e2, "c": "yes"}}`},
		"List":                {manifest: "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(head), "\n", "\n  ") + "\n"},
		"ListWithNull":        {"apiVersion: v1\nkind: List\nitems: [null]\n", "m.yaml"},
		"ListNotObjects":      {"apiVersion: v1\nkind: List\nitems: [a]\n", "m.yaml"},
		"Scalar":              {"just text\n", "m.yaml"},
		"Sequence":            {"- a\n- b\n", "m.yaml"},
		"EqualsAndDirectives": {manifest: head + "data: {a: =, b: '%x', c: '@d', d: '`e', e: x:y, f: 'a: b', g: -, h: '?'}\n"},
	}
}

// Each of these manifests gives the objects of kubectl kustomize, as kubectl reads them, or a
// problem with its file.
func TestHostileYAML(t *testing.T) {
	for name, tc := range hostileYAML() {
		for layout, kustomization := range layouts() {
			t.Run(name+"/"+layout, func(t *testing.T) {
				tree := fstest.MapFS{"o/kustomization.yaml": {Data: []byte(kustomization)}, "o/m.yaml": {Data: []byte(tc.manifest)}}
				got, problem := builtJSON(tree)
				if tc.refused != "" {
					if problem == nil || !strings.Contains(problem.Error(), tc.refused) || !strings.Contains(problem.Error(), "m.yaml") {
						t.Errorf("got %v, want a problem with %q", problem, tc.refused)
					}
					return
				}
				want, err := kubectlKustomize(tree)
				if err != nil || problem != nil {
					t.Fatalf("got %v, kubectl kustomize %v", problem, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-kubectl kustomize, +got:\n%s", diff)
				}
			})
		}
	}
}

// What kubectl kustomize refuses or changes is a text here, whatever patches the object has.
func TestKeysAndDatesAreTexts(t *testing.T) {
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {1: a, 1.5: b, true: c, 2024-01-02: d, e: 2024-01-02}\n"
	const want = `{"apiVersion":"v1","data":{"1":"a","1.5":"b","2024-01-02":"d","e":"2024-01-02","true":"c"},"kind":"ConfigMap","metadata":{"name":"a"}`
	for layout, kustomization := range layouts() {
		got, problem := builtJSON(fstest.MapFS{"o/kustomization.yaml": {Data: []byte(kustomization)}, "o/m.yaml": {Data: []byte(manifest)}})
		if problem != nil || len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: got %s, %v, want %s", layout, got, problem, want)
		}
	}
}

// layouts are kustomizations with and without patches of the manifest.
func layouts() map[string]string {
	return map[string]string{
		"Resource":       "resources: [m.yaml]\n",
		"StrategicMerge": "resources: [m.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, more: x}'}]\n",
		"JSONPatch":      "resources: [m.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"add\", \"path\": \"/more\", \"value\": \"x\"}]'}]\n",
	}
}

// builtJSON returns the objects of the overlay o as Kubernetes reads their YAML.
func builtJSON(tree fstest.MapFS) ([]string, error) {
	k := kustomize.New(kustomize.DefaultLimits())
	s, problem := k.Scan(tree, "o")
	var objects []kustomize.Object
	if problem == nil {
		objects, problem = k.Build(s)
	}
	if problem != nil {
		return nil, errors.New(problem.String())
	}
	var out []string
	for _, o := range objects {
		text, err := documents.Marshal([]*yaml.Node{o.Node})
		if err != nil {
			return nil, err
		}
		data, err := documents.ToJSONStrict(text, documents.BuiltLimits())
		if err != nil {
			return nil, err
		}
		out = append(out, string(data))
	}
	return out, nil
}

// kubectlKustomize returns the objects of the overlay o as kubectl reads what kubectl kustomize
// writes.
func kubectlKustomize(tree fstest.MapFS) ([]string, error) {
	files := filesys.MakeFsInMemory()
	for name, f := range tree {
		if err := files.WriteFile("/"+name, f.Data); err != nil {
			return nil, err
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/o")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		data, err := k8syaml.YAMLToJSON(text)
		if err != nil {
			return nil, err
		}
		out = append(out, string(data))
	}
	return out, nil
}
