package documents

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// coreTags are the tags that a plain document may have; all but !!binary are
// what a parser resolves to by itself.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var coreTags = []string{"", "!", "!!null", "!!bool", "!!str", "!!int", "!!float", "!!timestamp", "!!map", "!!seq", "!!merge"}

// A parser makes the documents of one file plain. It counts over all of them.
type parser struct {
	limits    Limits
	nodes     int
	bytes     int
	rewritten bool
	root      *yaml.Node   // of the document
	expanding []*yaml.Node // anchors that are being expanded
}

// document returns the plain root of doc, or nil where doc is empty.
func (p *parser) document(doc *yaml.Node) (*yaml.Node, error) {
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, nil
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	p.root = root
	return p.node(root, 1)
}

// node returns n without aliases, merge keys, anchors and tags below it.
func (p *parser) node(n *yaml.Node, depth int) (*yaml.Node, error) {
	p.nodes++
	if p.nodes > p.limits.Nodes {
		return nil, tooMany(n.Line, p.limits)
	}
	if depth > p.limits.Depth {
		return nil, tooDeep(n.Line, p.limits)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return p.alias(n, depth)
	case yaml.ScalarNode:
		return p.scalar(n)
	}
	if !slices.Contains(coreTags, n.ShortTag()) {
		return nil, tagged(n)
	}
	if n.Anchor != "" {
		p.expanding = append(p.expanding, n)
		defer func() { p.expanding = p.expanding[:len(p.expanding)-1] }()
	}
	out := *n
	out.Anchor = ""
	p.rewritten = p.rewritten || n.Anchor != ""
	out.Content = make([]*yaml.Node, 0, len(n.Content))
	if n.Kind == yaml.MappingNode {
		return p.mapping(n, &out, depth)
	}
	for _, c := range n.Content {
		v, err := p.node(c, depth+1)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, v)
	}
	return &out, nil
}

// alias returns a copy of what n stands for.
func (p *parser) alias(n *yaml.Node, depth int) (*yaml.Node, error) {
	if slices.Contains(p.expanding, n.Alias) {
		return nil, &Refusal{Line: n.Line, Message: fmt.Sprintf("the alias *%s is within what it stands for", n.Value), Hint: "write the value out"}
	}
	if n.Alias.Line < p.root.Line { // the parser knows anchors of earlier documents
		return nil, &Refusal{Line: n.Line, Message: fmt.Sprintf("the alias *%s is for an anchor of another document", n.Value), Hint: "write the value out"}
	}
	p.rewritten = true
	p.expanding = append(p.expanding, n.Alias)
	out, err := p.node(n.Alias, depth)
	p.expanding = p.expanding[:len(p.expanding)-1]
	return out, err
}

func (p *parser) scalar(n *yaml.Node) (*yaml.Node, error) {
	if p.bytes += len(n.Value); p.bytes > p.limits.Expanded {
		return nil, tooLong(n.Line, p.limits)
	}
	if !slices.Contains(coreTags, n.ShortTag()) {
		return nil, tagged(n)
	}
	if unquoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0; unquoted {
		// The parser takes a number that is out of range for a text.
		f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		special := err == nil && n.ShortTag() == "!!float" && (math.IsInf(f, 0) || math.IsNaN(f))
		if special || errors.Is(err, strconv.ErrRange) || n.ShortTag() == "!!float" && err != nil {
			return nil, &Refusal{Line: n.Line, Message: fmt.Sprintf("%s is not a number that JSON can hold", n.Value), Hint: "quote it if it is text"}
		}
	}
	out := *n
	out.Anchor = ""
	p.rewritten = p.rewritten || n.Anchor != ""
	if n.ShortTag() == "!!timestamp" {
		// A date is a text of JSON. kustomize adds a time to it in some objects.
		p.rewritten = true
		out.Tag, out.Style = "!!str", yaml.DoubleQuotedStyle
	}
	return &out, nil
}

// mapping fills out with the plain pairs of n. Keys of the mapping itself win
// over those of a merge key, and an earlier merge wins over a later one, as the
// YAML merge key type says (https://yaml.org/type/merge.html).
func (p *parser) mapping(n, out *yaml.Node, depth int) (*yaml.Node, error) {
	seen := make(map[string]int, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, &Refusal{Line: key.Line, Message: "a key is a list or a mapping", Hint: "keys are text"}
		}
		if key.Tag == "!!merge" {
			merges = append(merges, n.Content[i+1])
			continue
		}
		if line, ok := seen[key.Value]; ok {
			return nil, &Refusal{Line: key.Line, Message: fmt.Sprintf("the key %q is there twice, first in line %d", key.Value, line), Hint: "keep one of them"}
		}
		seen[key.Value] = key.Line
		k, err := p.node(key, depth+1)
		if err != nil {
			return nil, err
		}
		if k.ShortTag() != "!!str" {
			if k.ShortTag() == "!!null" || !sameAsText(k) {
				return nil, &Refusal{Line: key.Line, Message: fmt.Sprintf("the key %s is not a text", cmp.Or(k.Value, "null")), Hint: "quote it"}
			}
			p.rewritten = true
			k.Tag, k.Style = "!!str", yaml.DoubleQuotedStyle
		}
		v, err := p.node(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, k, v)
	}
	for _, m := range merges {
		p.rewritten = true
		if err := p.merge(m, out, seen, depth); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// merge adds the pairs of m, a mapping or a list of mappings, whose keys are
// not seen yet.
func (p *parser) merge(m, out *yaml.Node, seen map[string]int, depth int) error {
	v, err := p.node(m, depth+1)
	if err != nil {
		return err
	}
	parts := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		parts = v.Content
	}
	for _, part := range parts {
		if part.Kind != yaml.MappingNode {
			return &Refusal{Line: m.Line, Message: "a merge key << has a value that is not a mapping", Hint: "merge mappings only"}
		}
		for i := 0; i+1 < len(part.Content); i += 2 {
			k := part.Content[i]
			if _, ok := seen[k.Value]; ok {
				continue
			}
			seen[k.Value] = k.Line
			out.Content = append(out.Content, k, part.Content[i+1])
		}
	}
	return nil
}

// sameAsText reports whether all parsers make the same text of the key k: not 0x10, 1.50 or True.
func sameAsText(k *yaml.Node) bool {
	var v any
	return k.Decode(&v) == nil && fmt.Sprint(v) == k.Value
}

func tagged(n *yaml.Node) *Refusal {
	return &Refusal{Line: n.Line, Message: fmt.Sprintf("the tag %s is not supported", n.ShortTag()), Hint: "use plain YAML"}
}
