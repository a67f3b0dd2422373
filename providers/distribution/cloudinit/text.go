package cloudinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

// A Text is a string as YAML holds it here: never plain, so that no reader of
// YAML 1.1 takes "on", "0640" or "=" for something else, and in a style that
// leaves Jinja expressions unchanged wherever there is one.
type Text string

// MarshalYAML implements yaml.Marshaler.
func (t Text) MarshalYAML() (any, error) {
	if !utf8.ValidString(string(t)) {
		return nil, errors.New("there is text that is not UTF-8")
	}
	if OpensComment(string(t)) {
		return nil, errComment
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(t), Style: style(string(t))}, nil
}

// Texts returns in as texts.
func Texts(in []string) []Text {
	out := make([]Text, 0, len(in))
	for _, s := range in {
		out = append(out, Text(s))
	}
	return out
}

// style returns how s is written. Single quotes double a quote inside, double
// quotes put a backslash before some characters; a block does neither, but
// cannot hold everything.
func style(s string) yaml.Style {
	switch {
	case strings.Contains(s, "\n") && isBlock(s):
		return yaml.LiteralStyle
	case !isPrintable(s):
		return yaml.DoubleQuotedStyle
	case !strings.ContainsAny(s, "'\t"):
		return yaml.SingleQuotedStyle
	case HasJinja(s) && strings.ContainsAny(s, "\"\\\t") && isBlock(s):
		return yaml.LiteralStyle
	case strings.ContainsAny(s, `"\`) && !strings.Contains(s, "\t"):
		return yaml.SingleQuotedStyle
	}
	return yaml.DoubleQuotedStyle
}

// jinjaEats matches what makes Jinja take the space before or the line's end
// after a text: cloud-init renders with trim_blocks.
var jinjaEats = regexp.MustCompile(`^\{[{%#]-|([%#]|-\})\}\n*$`)

// isBlock reports whether a literal block can hold s: it does not begin with
// space, no line ends with space, nothing in it needs an escape, and Jinja eats
// nothing around it.
func isBlock(s string) bool {
	if s == "" || strings.ContainsAny(s[:1], " \t\n") || jinjaEats.MatchString(s) {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasSuffix(line, " ") || !isPrintable(line) {
			return false
		}
	}
	return true
}

// isPrintable reports whether s is one line of characters that are written
// without an escape. Those above U+FFFF never are.
func isPrintable(s string) bool {
	for _, r := range s {
		if r != '\t' && !unicode.IsPrint(r) || r > 0xffff {
			return false
		}
	}
	return true
}

// HasJinja reports whether cloud-init evaluates something in s.
func HasJinja(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "{%")
}

var (
	errComment = errors.New("{# begins a Jinja comment that nothing ends, and cloud-init renders all of this with Jinja: " +
		"write {% raw %}…{% endraw %} around it")
	jinjaRaw     = regexp.MustCompile(`(?s)\{%[-+]?\s*raw\s*-?%\}.*?\{%[-+]?\s*endraw\s*-?%\}`)
	jinjaRawOpen = regexp.MustCompile(`\{%[-+]?\s*raw\s*-?%\}`)
)

// OpensComment reports whether a Jinja comment begins in s, as in ${#list[@]},
// and does not end: it would take all that follows with it.
func OpensComment(s string) bool {
	s = jinjaRaw.ReplaceAllLiteralString(s, "")
	for {
		_, comment, found := strings.Cut(s, "{#")
		if !found {
			return false
		}
		if _, s, found = strings.Cut(comment, "#}"); !found {
			return true
		}
	}
}

// unclosed returns the delimiter of the first Jinja expression or statement, or the block of
// raw text, that begins in s and does not end; empty: each ends.
func unclosed(s string) string {
	s = jinjaRaw.ReplaceAllLiteralString(s, "")
	if open := jinjaRawOpen.FindString(s); open != "" {
		return open
	}
	for {
		i := strings.Index(s, "{")
		if i < 0 || i+1 == len(s) {
			return ""
		}
		open := s[i : i+2]
		end, ok := map[string]string{"{{": "}}", "{%": "%}", "{#": "#}"}[open]
		if !ok {
			s = s[i+1:]
			continue
		}
		var found bool
		if _, s, found = strings.Cut(s[i+2:], end); !found {
			return open
		}
	}
}

// BreaksJinja reports whether writing s as YAML changes a Jinja expression in
// it: no block can hold s, and the expression has a character that quotes escape.
func BreaksJinja(s string) bool {
	escaped := "'"
	switch style(s) {
	case yaml.LiteralStyle:
		return false
	case yaml.DoubleQuotedStyle:
		escaped = "\"\\\n\r\t"
		if strings.HasPrefix(s, "\ufeff") {
			return HasJinja(s) // all that follows a byte order mark is escaped
		}
	}
	for {
		i := strings.IndexAny(s, "{")
		if i < 0 {
			return false
		}
		s = s[i+1:]
		if s == "" || !strings.ContainsAny(s[:1], "{%") {
			continue
		}
		expr := s
		if end := strings.IndexAny(s, "}"); end >= 0 {
			expr = s[:end]
		}
		if strings.ContainsAny(expr, escaped) {
			return true
		}
	}
}

// EncodeYAML writes v, with the usual indent of two.
func EncodeYAML(w io.Writer, v any) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return err
	}
	return e.Close()
}

// EncodeJSONAsYAML writes v, a value with JSON tags, as a YAML document whose
// strings are texts.
func EncodeJSONAsYAML(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n, err := documents.Node(escapeJSON(data), documents.BuiltLimits())
	if err != nil {
		return err
	}
	restyle(n)
	return EncodeYAML(w, n)
}

// escapeJSON escapes the characters that JSON permits unescaped and YAML does not.
func escapeJSON(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for _, r := range string(data) {
		if r >= 0x7f && r <= 0xffff && !unicode.IsPrint(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// restyle turns a tree that was read from JSON into one in block style, with
// strings as texts. Keys stay plain where that is clear.
func restyle(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Style = style(n.Value)
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			child.Style = 0
			continue
		}
		restyle(child)
	}
	if (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
}

// CheckJinja refuses text that would reach cloud-init as broken Jinja.
func CheckJinja(s string) error {
	if OpensComment(s) {
		return errComment
	}
	if open := unclosed(s); open != "" {
		return fmt.Errorf("%s begins something of Jinja that nothing ends, and cloud-init renders all of this with Jinja: "+
			"end it, or write {%% raw %%}…{%% endraw %%} around it", open)
	}
	if !BreaksJinja(s) {
		return nil
	}
	return errors.New("a Jinja expression has quotes or a backslash, and the text around it has a space at the end of a line, " +
		"a carriage return, an emoji, a Jinja statement at its end or the like: cloud-init cannot read both (use single quotes in the expression, or change the text)")
}
