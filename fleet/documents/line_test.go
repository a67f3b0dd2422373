package documents_test

import (
	"testing"

	"fairlead.dev/fleet/documents"
)

func TestLine(t *testing.T) {
	f, err := documents.Parse([]byte(`apiVersion: v1
kind: Pool
metadata:
  annotations:
    example.com/a.b: x
    example.com/a: {c: y}
spec: # the rest
  list:
  - name: first
    value: 1
  - {name: second, value: 2}
  base: &base
    deep: 1
  copy: *base
  text: |
    one
    two
  after: 3
`), documents.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"": 1, "kind": 2, "metadata.annotations.example.com/a.b": 5, "metadata.annotations.example.com/a.c": 6, "metadata.annotations[example.com/a.b]": 5,
		"spec": 7, "spec.none": 7, "spec.list": 8, "spec.list[0].value": 10, "spec.list[1].value": 11, "spec.list[second]": 11, "spec.list[7].value": 8, "spec.list[none]": 8,
		"spec.copy.deep": 13, "spec.after": 18, "spec.text.more": 15, "none.at.all": 1, "spec.list[": 8, "[0]": 1, "..": 1, "speck": 1,
	} {
		if got := documents.Line(f.Documents[0], path); got != want {
			t.Errorf("%q is on line %d, want %d", path, got, want)
		}
	}
}
