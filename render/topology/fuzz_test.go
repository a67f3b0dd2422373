package topology

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"
)

// FuzzTemplate: a template of a class prints a value, always the same, or an error of one line.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		"node-{{ .name }}", "{{ .list | join \",\" }}", "{{ range $i, $v := .list }}\n- {{ $v }}{{ end }}", "{{ .nothing }}", "a: 1\na: 2", "a: &a [1]\nb: *a",
		"{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}", "{{ printf \"%*d\" 1000000 1 }}", "{{ (semver \"v1.34.1\").Minor }}", "{{ dict \"a\" .map | toYaml }}",
		"{{ $m := dict }}{{ $_ := set $m \"a\" $m }}{{ toJson $m }}", "{{ index .list 7 }}", "{{ div 1 0 }}", "{{ substr 3 1 .name }}", "{{ trunc -9 .name }}", "{{ slice .list 5 }}", "{{ first list }}",
		"{{ regexFind \"(\" .name }}", "{{ b64dec \"%\" }}", "{{ fromJson \"{\" }}", "{{ until -1 }}", "{{ chunk 0 .list }}", "{{ repeat -1 .name }}", "{{ get .map nil }}", "{{ nospace .count }}",
		"{{ initial 1 }}", "{{ dig \"a\" \"b\" .map }}", "{{ mergeOverwrite .map .map }}", "{{ deepCopy . | toYaml }}", "{{ float64 \"x\" }}", "{{ ceil .flag }}", "{{ seq 1 2 3 4 }}", "{{ tuple . | last }}",
	} {
		f.Add(text, `{"name": "eu", "count": 3, "flag": true, "list": ["a", "b"], "map": {"z": "1", "a": {"b": 2}}}`)
	}
	f.Fuzz(func(t *testing.T, text, data string) {
		var values map[string]any
		if json.Unmarshal([]byte(data), &values) != nil {
			return
		}
		got, err := evaluate(text, values)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if !json.Valid([]byte(got)) {
			t.Fatalf("%q prints %q", text, got)
		}
		// A template may change the values that it has.
		values = nil
		if err := json.Unmarshal([]byte(data), &values); err != nil {
			t.Fatal(err)
		}
		if again, err := evaluate(text, values); err != nil || again != got {
			t.Fatalf("%q prints %q, then %q: %v", text, got, again, err)
		}
	})
}

// FuzzPatches: JSON patches give what the library gives for all of them at once, or an error
// that names the one that fails.
func FuzzPatches(f *testing.F) {
	const doc = `{"spec": {"template": {"spec": {"a": [1, 2], "b": {"c/d": null, "e~f": "x"}}}}}`
	for _, ops := range []string{
		`[{"op": "add", "path": "/spec/template/spec/a/-", "value": 3}]`, `[{"op": "remove", "path": "/spec/template/spec/b/c~1d"}, {"op": "replace", "path": "/spec/template/spec/b/e~0f", "value": null}]`,
		`[{"op": "add", "path": "/spec/template/spec/a/0", "value": {}}, {"op": "add", "path": "/spec/template/spec/a/0/x", "value": 1}]`, `[{"op": "remove", "path": "/spec"}]`,
		`[{"op": "add", "path": "", "value": []}]`, `[{"op": "replace", "path": "/spec/template/spec/a/7", "value": 1}]`, `[{"op": "add", "path": "/spec/template/spec/a/-1", "value": 1e999}]`,
		`[{"op": "test", "path": "/spec", "value": {}}]`, `[{"op": "add", "path": "/spec/x~2", "value": "\ud800"}]`, `[{"op": "add", "path": "spec", "value": 1}]`, `[{"op": "remove", "path": "/spec/template/spec/a/-"}]`,
	} {
		f.Add(doc, ops)
	}
	f.Fuzz(func(t *testing.T, doc, text string) {
		var list []struct {
			Op, Path string
			Value    json.RawMessage
		}
		var object map[string]any
		if json.Unmarshal([]byte(text), &list) != nil || json.Unmarshal([]byte(doc), &object) != nil || object == nil {
			return
		}
		var ops []operation
		for _, o := range list {
			if o.Op != "add" && o.Op != "remove" && o.Op != "replace" {
				return // a class with it is refused
			}
			op := operation{op: o.Op, path: o.Path, value: o.Value}
			if op.value == nil && op.op != "remove" {
				op.value = json.RawMessage("null")
			}
			ops = append(ops, op)
		}
		all, err := applied([]byte(doc), ops)
		each, eachErr := []byte(doc), error(nil)
		for i := range ops {
			if each, eachErr = applied(each, ops[i:i+1]); eachErr != nil {
				break
			}
		}
		if (err == nil) != (eachErr == nil) {
			t.Fatalf("all at once %v, one by one %v", err, eachErr)
		}
		if err != nil {
			if s := patchError(err); s == "" || strings.Contains(s, "\n") {
				t.Fatalf("%q", s)
			}
			return
		}
		// The library's own comparison panics where a key is there twice.
		if got, want := contentOf(t, each), contentOf(t, all); !reflect.DeepEqual(got, want) {
			t.Fatalf("all at once %s, one by one %s", all, each)
		}
	})
}

// contentOf returns what the JSON of data says, with its numbers as they are written.
func contentOf(t *testing.T, data []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzVariable: the schema of a variable is compiled, or problems say why not. What a schema
// accepts with its defaults it accepts again, unchanged.
func FuzzVariable(f *testing.F) {
	for _, schema := range []string{
		"type: integer\nminimum: 1\ndefault: 1", "type: object\nproperties: {a: {type: string, default: x}}\nrequired: [a]", "type: array\nitems: {type: string, pattern: '('}",
		"type: array\nitems: {type: object, properties: {a: {type: integer, default: 3}}}\ndefault: [{}]", "type: object\nadditionalProperties: {type: string, format: ipv4}",
		"type: object\nx-kubernetes-preserve-unknown-fields: true\ndefault: {a: {b: [1.5]}}", "x-kubernetes-int-or-string: true", "type: string\nenum: [a, b]\ndefault: c", "allOf: [{not: {type: string}}]",
		"type: integer\nx-kubernetes-validations: [{rule: 'self > 1', messageExpression: '\"x\" + string(self)'}]", "type: number\nmaximum: 1\nexclusiveMaximum: true", "type: string\nminLength: -1\nmaxLength: 0",
		"type: object\nproperties: {a: {}}", "type: x", "type: string\ndefault: null", "type: array\nuniqueItems: true\nitems: {type: array, items: {type: boolean}}",
	} {
		for _, value := range []string{"1", "{a: b}", "[x]", "null", "[{}]", "1e400"} {
			f.Add(schema, value)
		}
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		raw, err := yaml.YAMLToJSONStrict([]byte(schema))
		in, valueErr := yaml.YAMLToJSONStrict([]byte(value))
		def := clusterv1.ClusterClassVariable{Name: "v"}
		if err != nil || valueErr != nil || json.Unmarshal(raw, &def.Schema.OpenAPIV3Schema) != nil {
			return
		}
		v, errs := newVariable(&def, field.NewPath("spec", "variables").Index(0))
		if len(errs) > 0 || v == nil {
			if len(errs) == 0 || errs.ToAggregate().Error() == "" {
				t.Fatal("refused without a word")
			}
			return
		}
		out, errs, _ := v.check(in, rulesCost)
		if len(errs) > 0 {
			return
		}
		again, errs, _ := v.check(out, rulesCost)
		if len(errs) > 0 || !bytes.Equal(out, again) {
			t.Fatalf("%s, taken for %s, is %s later: %v", out, in, again, errs)
		}
	})
}
