package documents

import (
	"regexp"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Templates for clusterctl, which fills in variables before it parses, have lists such as
//
//	cidrBlocks: [${POD_CIDRS}]
//
// which are no YAML: in brackets there are no braces in texts without quotes. Where a file
// cannot be parsed such lines are read as if the list stood in lines of its own.

// variableTag marks what was read so, from the text to the nodes.
const variableTag = "!fairlead-variable"

var (
	// A line that is one list in brackets, at a key or as an item.
	bracketed = regexp.MustCompile(`^( *(?:- +)*(?:[^\s"'#{}\[\]:,-][^"'#{}\[\]:,]*: +|- +))\[ *(.+?) *\]( *| +#.*)$`)
	// An item of it, and what follows.
	bracketedItem = regexp.MustCompile(`^((?:\$\{[^{}]*\}|[^\s"'#{}\[\],][^"'#{}\[\],$]*)+|"[^"\\]*"|'[^']*') *(?:, *|$)`)
	// What begins a text of several lines, whose lines are no list.
	blockText = regexp.MustCompile(`^( *(?:- +)*)([^\s#].*: +|- *)?[|>][-+0-9]* *(?:#.*)?$`)
)

// unbracketed returns text with the items of lists in brackets that have variables in
// quotes and marked, and how many those are. Texts of several lines are left alone.
func unbracketed(text string) (string, int) {
	var b strings.Builder
	n, within := 0, -1 // the column that a text of several lines is within
	for line := range strings.Lines(text) {
		content := strings.TrimRight(line, "\r\n")
		indent := len(content) - len(strings.TrimLeft(content, " "))
		if within >= 0 && (strings.TrimSpace(content) == "" || indent > within) {
			b.WriteString(line)
			continue
		}
		within = -1
		if m := blockText.FindStringSubmatch(content); m != nil {
			within = len(m[1])
			if !strings.HasSuffix(strings.TrimRight(m[2], " "), ":") {
				within = max(0, within-2) // it is an item itself
			}
		}
		if strings.Contains(content, "${") {
			if m := bracketed.FindStringSubmatch(content); m != nil {
				if items, marked := quoteItems(m[2]); marked > 0 {
					b.WriteString(m[1] + "[" + items + "]" + m[3] + line[len(content):])
					n += marked
					continue
				}
			}
		}
		b.WriteString(line)
	}
	return b.String(), n
}

// quoteItems returns items with those in quotes that have a variable and no quotes, and
// how many those are: none where it is not known what an item is.
func quoteItems(items string) (string, int) {
	var out []string
	n := 0
	for items != "" {
		m := bracketedItem.FindStringSubmatch(items)
		if m == nil {
			return "", 0
		}
		items = items[len(m[0]):]
		item := strings.TrimSpace(m[1])
		if strings.Contains(item, "${") && item[0] != '"' && item[0] != '\'' {
			item = variableTag + " '" + strings.ReplaceAll(item, "'", "''") + "'"
			n++
		}
		out = append(out, item)
	}
	return strings.Join(out, ", "), n
}

// unmark makes the marked texts below n ones without quotes, in lists without brackets,
// and returns how many there are. The document is not plain yet: it has at most as many nodes
// as its text has bytes.
func unmark(n *yaml.Node) int {
	found := 0
	if n.Kind == yaml.ScalarNode && n.Tag == variableTag {
		n.Tag, n.Style = "!!str", 0
		found++
	}
	if n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode {
		n.Style &^= yaml.FlowStyle
	}
	for _, c := range n.Content {
		found += unmark(c)
	}
	return found
}
