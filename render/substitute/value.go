package substitute

import (
	"math"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

// asText makes n a text, whatever it looks like.
func asText(n *yaml.Node, text string) {
	n.Value, n.Tag = text, "!!str"
	if n.Style&(yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		n.Style = yaml.DoubleQuotedStyle
	}
}

// asValue makes n what text says: a number, a boolean, null, a quoted text, or
// a list or mapping in brackets. Everything else is a text.
func asValue(n *yaml.Node, text string) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		n.Value, n.Tag = "", "!!null"
		return
	}
	v := parse(trimmed)
	if v == nil {
		asText(n, text)
		return
	}
	n.Kind, n.Tag, n.Value, n.Style, n.Content = v.Kind, v.Tag, v.Value, v.Style, v.Content
}

// parse returns the value of text, or nil where it is just text.
func parse(text string) *yaml.Node {
	var v *yaml.Node
	if strings.ContainsAny(text[:1], `[{"'`) {
		f, err := documents.Parse([]byte(text), documents.DefaultLimits())
		if err != nil || len(f.Documents) != 1 {
			return nil
		}
		v = f.Documents[0]
		if v.Kind == yaml.ScalarNode && v.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
			return nil
		}
		if v.Kind != yaml.ScalarNode && v.Style&yaml.FlowStyle == 0 {
			return nil
		}
		return v
	}
	if strings.ContainsAny(text, "\n:#&*!|>@`%") {
		return nil
	}
	v = &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	switch v.Tag = v.ShortTag(); v.Tag {
	case "!!int", "!!bool", "!!null":
		return v
	case "!!float":
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return v
		}
	}
	return nil
}
