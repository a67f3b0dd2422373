package documents_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet/documents"
)

// Lists in brackets with variables, as templates for clusterctl have them, are read as
// lists in lines are; what stands in a text stays as it is.
func TestVariablesInBrackets(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"One":         {"a: [${X}]", "a:\n  - ${X}\n"},
		"Below":       {"pods:\n  cidrBlocks: [${POD_CIDRS}]   \nb: {c: d}\n", "pods:\n  cidrBlocks:\n    - ${POD_CIDRS}\nb:\n  c: d\n"},
		"Default":     {`a: [${X:="192.168.0.0/16"}]`, "a:\n  - ${X:=\"192.168.0.0/16\"}\n"},
		"Several":     {`a: [${X}, b, "${Y}", ${Z}/24, 'c']`, "a:\n  - ${X}\n  - b\n  - \"${Y}\"\n  - ${Z}/24\n  - 'c'\n"},
		"Item":        {"a:\n- [${X}]\n", "a:\n  - - ${X}\n"},
		"BesideText":  {"s: |\n  x=[${X}]\n  a: [${X}]\n\n  b: [${X}]\na: [${X}]\n", "s: |\n  x=[${X}]\n  a: [${X}]\n\n  b: [${X}]\na:\n  - ${X}\n"},
		"ItemsOfText": {"- s: |\n    a: [${X}]\n  a: [${X}]\n- |\n  b: [${X}]\n", "- s: |\n    a: [${X}]\n  a:\n    - ${X}\n- |\n  b: [${X}]\n"},
		"Quote":       {"a: [${X:='b'}]", "a:\n  - ${X:='b'}\n"},
	} {
		f, err := documents.Parse([]byte(tc.in), documents.DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, string(f.Plain)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
	for name, in := range map[string]string{
		"InQuotes":  "a: [${X}]\nb: \"one\n  c: [${Y}]\n  two\"\n",
		"Mapping":   "a: {b: ${X}}",
		"Marked":    "a: [!fairlead-variable '${X}', ${Y}]",
		"MarkAlone": "a: !fairlead-variable '${X}'",
		"Nested":    "a: [[${X}]]",
	} {
		if f, err := documents.Parse([]byte(in), documents.DefaultLimits()); err == nil {
			t.Errorf("%s is read as %s", name, f.Plain)
		}
	}
}
