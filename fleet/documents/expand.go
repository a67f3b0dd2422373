package documents

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// bounded returns data with its aliases written out, for a parser that has no limits of
// its own. What can have none is returned unchanged, and where the bytes alone show it to
// be small it is not parsed for that.
func bounded(data []byte, l Limits) ([]byte, error) {
	if err := checkBytes(data, l); err != nil {
		return nil, err
	}
	// Of a byte that estimate counts come two nodes at most: a key and its value.
	nodes, deepest := estimate(data)
	anchored := mayHave(data, '&') && mayHave(data, '*')
	if !anchored && 2*nodes < l.Nodes && deepest+indented(data) <= l.Depth && len(data) <= l.Expanded {
		return data, nil
	}
	e := &expander{limits: l}
	if anchored {
		e.out = new(bytes.Buffer)
		e.texts = texts(data)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for n := 0; ; n++ {
		var doc yaml.Node
		err := decode(dec, &doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, syntax(err)
		}
		if n > 0 {
			e.write("\n---\n")
		}
		if doc.Kind == yaml.DocumentNode && len(doc.Content) > 0 {
			if err := e.node(doc.Content[0], 1); err != nil {
				return nil, err
			}
		}
	}
	if anchored {
		return e.out.Bytes(), nil
	}
	return data, nil
}

// Check returns why a file is not read within limits l. It parses only a file that may be beyond
// them. The error is always a *Refusal.
func Check(data []byte, l Limits) error {
	_, err := bounded(data, l)
	return err
}

// mayHave reports whether data may have an anchor (&) or an alias (*): the mark where a
// token can begin, before a character of a name. What is written out is only read by
// another parser, so this asks the bytes and not the one parser what it saw.
func mayHave(data []byte, mark byte) bool {
	name := func(c byte) bool {
		return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '-' || c >= 0x80
	}
	for i, c := range data {
		if c != mark || i+1 == len(data) || !name(data[i+1]) {
			continue
		}
		if i == 0 || data[i-1] >= 0x80 || data[i-1] == '-' || !name(data[i-1]) && !bytes.ContainsRune([]byte("./=&*"), rune(data[i-1])) {
			return true
		}
	}
	return false
}

// indented returns how deep block collections are nested at most: each begins further
// right than the one around it, but for a list that begins where its key does.
func indented(data []byte) int {
	most := 0
	for line := range bytes.Lines(data) {
		most = max(most, len(line)-len(bytes.TrimLeft(line, " \t-?:")))
	}
	return 2 * (most + 1)
}

// An expander counts the nodes of one stream with each alias written out, and writes
// them into out, in flow style, unless that is nil.
type expander struct {
	limits       Limits
	out          *bytes.Buffer
	texts        map[position]bool // where out is written
	nodes, bytes int
	expanding    []*yaml.Node // anchors that are being expanded
}

func (e *expander) write(s string) {
	if e.out != nil {
		e.out.WriteString(s)
	}
}

func (e *expander) node(n *yaml.Node, depth int) error {
	if e.nodes++; e.nodes > e.limits.Nodes {
		return tooMany(n.Line, e.limits)
	}
	if depth > e.limits.Depth {
		return tooDeep(n.Line, e.limits)
	}
	if n.Anchor != "" && n.Kind != yaml.ScalarNode {
		e.expanding = append(e.expanding, n)
		defer func() { e.expanding = e.expanding[:len(e.expanding)-1] }()
	}
	switch n.Kind {
	case yaml.AliasNode:
		if slices.Contains(e.expanding, n.Alias) {
			return &Refusal{Line: n.Line, Message: fmt.Sprintf("the alias *%s is within what it stands for", n.Value), Hint: "write the value out"}
		}
		return e.node(n.Alias, depth)
	case yaml.MappingNode:
		return e.collection(n, depth, "{", "}")
	case yaml.SequenceNode:
		return e.collection(n, depth, "[", "]")
	}
	if e.bytes += len(n.Value); e.bytes > e.limits.Expanded {
		return tooLong(n.Line, e.limits)
	}
	if e.out == nil {
		return nil
	}
	e.write(scalarText(n, e.texts[position{n.Line, n.Column}]))
	return nil
}

func (e *expander) collection(n *yaml.Node, depth int, begin, end string) error {
	e.write(begin)
	for i, c := range n.Content {
		mapping := n.Kind == yaml.MappingNode
		switch {
		case mapping && i%2 == 0:
			e.write("? ") // a key without this may have 1024 characters
		case mapping:
			e.write(" : ")
		}
		if err := e.node(c, depth+1); err != nil {
			return err
		}
		if !mapping || i%2 == 1 {
			e.write(", ")
		}
	}
	e.write(end)
	return nil
}

// A position is a line and a column, both from 1, as nodes have them.
type position struct{ line, column int }

// texts returns where a scalar begins that has the tag "!", by itself or behind an anchor:
// it is text whatever it looks like, and the parser drops the tag. What is within a
// comment or a text is among them, and nothing begins there. Source: YAML 1.2, 6.9.1,
// non-specific tags.
func texts(data []byte) map[position]bool {
	const blank = " \t\r\n"
	out := map[position]bool{}
	if !bytes.Contains(data, []byte("!")) {
		return out
	}
	at, before := position{1, 1}, ' '
	var anchor position // which the next token belongs to; zero where there is none
	within := false     // its name
	for i, r := range string(data) {
		begins := strings.ContainsRune(blank+"[{,", before)
		switch {
		case strings.ContainsRune(blank, r):
			within = false
		case within:
		case begins && r == '&':
			anchor, within = at, true
		case begins && r == '!' && (i+1 == len(data) || bytes.ContainsAny(data[i+1:i+2], blank+",]}")):
			out[cmp.Or(anchor, at)] = true
			anchor = position{}
		default:
			anchor = position{}
		}
		before = r
		if at.column++; r == '\n' {
			at = position{at.line + 1, 1}
		}
	}
	return out
}

// scalarText returns n so that each parser reads it as it would have where it was
// written: what may be more than plain text, anything else, and what has to be text,
// quoted.
func scalarText(n *yaml.Node, text bool) string {
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.Tag + " "
	}
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&quoted == 0 && tag == "" && !text {
		switch n.ShortTag() {
		case "!!null":
			return "null"
		case "!!bool", "!!int", "!!float", "!!merge":
			return n.Value
		}
		if slices.Contains(words, n.Value) {
			return n.Value
		}
	}
	return tag + strconv.QuoteToASCII(n.Value) // whose escapes YAML has, too
}

// words are booleans for YAML 1.1, which Kubernetes reads, and texts for 1.2.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var words = []string{
	"y", "Y", "yes", "Yes", "YES", "on", "On", "ON",
	"n", "N", "no", "No", "NO", "off", "Off", "OFF",
}
