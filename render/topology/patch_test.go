package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	smallVariable = "  - name: size\n    schema: {openAPIV3Schema: {type: integer, minimum: 1, default: 1}}\n"
	smallPatch    = "      - {op: add, path: /spec/template/spec/size, valueFrom: {variable: size}}\n"
)

// A template that changes a variable changes it for itself.
func TestTemplatesShareNothing(t *testing.T) {
	for _, function := range []string{"set .a \"y\" 2", "merge .a .b", "mustMerge .a .b", "mergeOverwrite .a .b", "mustMergeOverwrite .a .b", "unset .a \"x\""} {
		t.Run(function, func(t *testing.T) {
			manifests := strings.NewReplacer(
				smallVariable, `  - {name: a, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, default: {x: 1}}}}
  - {name: b, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, default: {y: 2}}}}
`,
				smallPatch, fmt.Sprintf(`      - {op: add, path: /spec/template/spec/before, valueFrom: {template: '{{ toJson .a }}'}}
      - {op: add, path: /spec/template/spec/changed, valueFrom: {template: '{{ toJson (%s) }}'}}
      - {op: add, path: /spec/template/spec/after, valueFrom: {template: '{{ toJson .a }}'}}
`, function),
			).Replace(small)
			class, clusters := compiled(t, parsed(t, manifests))
			made, problems := class.Expand(clusters[0])
			if len(class.Problems)+len(problems) > 0 {
				t.Fatal(lines(class.Problems), lines(problems))
			}
			for _, o := range made.Objects {
				spec, _ := o.Raw["spec"].(map[string]any)
				template, _ := spec["template"].(map[string]any)
				inner, _ := template["spec"].(map[string]any)
				if inner["changed"] == nil {
					continue
				}
				if diff := cmp.Diff(inner["before"], inner["after"]); diff != "" {
					t.Errorf("another template sees the change: %s", diff)
				}
				if cmp.Equal(inner["changed"], inner["before"]) {
					t.Error("nothing was changed")
				}
				return
			}
			t.Fatal("no object was patched")
		})
	}
}

// A variable without a value switches a patch off, as in Cluster API; one that
// the class does not have is a mistake.
func TestEnabledIf(t *testing.T) {
	cases := map[string]struct {
		reason, enabledIf string
		want              []string
	}{
		"without value": {reason: "Cluster API takes it for false", enabledIf: "{{ .flag }}"},
		"trimmed":       {reason: "the same with other spaces", enabledIf: "{{- .flag -}}"},
		"unknown": {reason: "the name may be misspelt", enabledIf: "{{ .flga }}", want: []string{
			`ClusterClass.yaml: ClusterClass default/small: spec.patches[0].enabledIf: patch "size" fails for CloudMachineTemplate default/small: it prints a variable that has no value: "<no value>"`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := problemsOf(t, smallVariable, "  - {name: flag, schema: {openAPIV3Schema: {type: boolean}}}\n",
				`enabledIf: "true"`, `enabledIf: "`+tc.enabledIf+`"`, smallPatch, "      - {op: remove, path: /spec/template/spec/nothing}\n")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
