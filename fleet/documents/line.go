package documents

import (
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Line returns the line of the field of n that path names as problems do, such as
// spec.pools[0].name or spec.pools[md-0].name. Where n has only a beginning of it, it is the
// line of that; of an empty path, that of n.
func Line(n *yaml.Node, path string) int {
	line := n.Line
	for path != "" {
		key, value, rest := step(aliased(n), strings.TrimPrefix(path, "."))
		if value == nil {
			break
		}
		n, line, path = value, key.Line, rest
	}
	return line
}

func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// step returns what the beginning of path names in n, with its key, and the rest of path;
// nil: n has no such thing.
func step(n *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	if inside, after, ok := strings.Cut(strings.TrimPrefix(path, "["), "]"); ok && path[0] == '[' {
		value = item(n, inside)
		return value, value, after
	}
	if n.Kind != yaml.MappingNode {
		return nil, nil, ""
	}
	longest := -1 // keys have dots in them, as those of annotations
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		after, ok := strings.CutPrefix(path, k.Value)
		if ok && (after == "" || after[0] == '.' || after[0] == '[') && len(k.Value) > longest {
			longest, key, value, rest = len(k.Value), k, n.Content[i+1], after
		}
	}
	return key, value, rest
}

// item returns the item of n with an index or a name; of a mapping, the value of a key.
func item(n *yaml.Node, name string) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		return Child(n, name)
	}
	if n.Kind != yaml.SequenceNode {
		return nil
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.Content) {
		return n.Content[i]
	}
	for _, c := range n.Content {
		if ChildText(aliased(c), "name") == name {
			return c
		}
	}
	return nil
}
