package documents

import (
	"slices"

	yaml "go.yaml.in/yaml/v3"
)

// Child returns the value of key in the mapping n; nil: n has none, or is no mapping.
func Child(n *yaml.Node, key string) *yaml.Node {
	if i := find(n, key); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

// ChildText returns the text of the value of key in the mapping n; empty: it has none.
func ChildText(n *yaml.Node, key string) string {
	if c := Child(n, key); c != nil {
		return c.Value
	}
	return ""
}

// Remove takes key out of the mapping n.
func Remove(n *yaml.Node, key string) {
	if i := find(n, key); i >= 0 {
		n.Content = slices.Delete(n.Content, i, i+2)
	}
}

// find returns where key is in the content of the mapping n; -1: it is not there.
func find(n *yaml.Node, key string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}
