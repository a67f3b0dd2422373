package kustomize

import (
	"path"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

// quotes knows which texts with variables are quoted, so that they stay texts: a JSON patch
// removes all quotes of an object that it changes. A text is identified together with its
// key. It is false where the same text is there without quotes as well.
type quotes map[quoted]bool

type quoted struct{ key, text string }

// learn reads the documents of a file or of an inline patch.
func (q quotes) learn(docs []*yaml.Node) {
	for _, d := range docs {
		if d.Kind != yaml.SequenceNode {
			q.node(d, "")
			continue
		}
		for _, op := range d.Content { // operations of a JSON patch
			if op.Kind != yaml.MappingNode || len(op.Content) == 0 || op.Content[0].Style != 0 {
				continue // in JSON every text has quotes
			}
			if value := documents.Child(op, "value"); value != nil {
				key := documents.ChildText(op, "path")
				for strings.Trim(path.Base(key), "-0123456789") == "" && strings.Contains(key, "/") {
					key = path.Dir(key) // an item of a list
				}
				q.node(value, path.Base(key))
			}
		}
	}
}

func (q quotes) node(n *yaml.Node, key string) {
	scalars(n, key, func(n *yaml.Node, id quoted) {
		before, known := q[id]
		q[id] = n.Style != 0 && (before || !known)
	})
}

// restore adds the quotes again.
func (q quotes) restore(n *yaml.Node, key string) {
	scalars(n, key, func(n *yaml.Node, id quoted) {
		if n.Style == 0 && q[id] {
			n.Style = yaml.DoubleQuotedStyle
		}
	})
}

// scalars calls found for the texts with variables at and below n.
func scalars(n *yaml.Node, key string, found func(*yaml.Node, quoted)) {
	switch n.Kind {
	case yaml.ScalarNode:
		if strings.Contains(n.Value, "${") {
			found(n, quoted{key, n.Value})
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			scalars(c, key, found)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			scalars(n.Content[i+1], n.Content[i].Value, found)
		}
	}
}
