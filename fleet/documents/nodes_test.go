package documents_test

import (
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

func TestChild(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("kind: Secret\nlist: [kind, x]\nkind2: y\n"), &doc); err != nil {
		t.Fatal(err)
	}
	n := doc.Content[0]
	for key, want := range map[string]string{"kind": "Secret", "kind2": "y", "Secret": "", "gone": ""} {
		if got := documents.ChildText(n, key); got != want {
			t.Errorf("the value of %s is %q, want %q", key, got, want)
		}
	}
	if c := documents.Child(documents.Child(n, "list"), "kind"); c != nil {
		t.Errorf("a list has %q for a key", c.Value)
	}
	if documents.Child(nil, "kind") != nil {
		t.Error("nothing has a key")
	}
	documents.Remove(n, "kind")
	documents.Remove(n, "gone")
	if documents.Child(n, "kind") != nil || documents.ChildText(n, "kind2") != "y" || len(n.Content) != 4 {
		t.Errorf("what is left is %d nodes", len(n.Content))
	}
}
