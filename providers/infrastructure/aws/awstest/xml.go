package awstest

import (
	"bytes"
	"encoding/xml"
	"maps"
	"slices"
)

// A node is an element of an answer.
type node struct {
	name string
	text string
	kids []node
}

func el(name string, kids ...node) node { return node{name: name, kids: kids} }

func text(name, value string) node { return node{name: name, text: value} }

// texts returns an element for each of pairs, a name and a value, without those that are empty.
func texts(pairs ...string) []node {
	var out []node
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, text(pairs[i], pairs[i+1]))
		}
	}
	return out
}

// items returns a list of elements called item, or member.
func items(name, item string, all ...[]node) node {
	out := el(name)
	for _, kids := range all {
		out.kids = append(out.kids, el(item, kids...))
	}
	return out
}

// tagSet returns tags in the form of EC2.
func tagSet(tags map[string]string) node {
	out := el("tagSet")
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out.kids = append(out.kids, el("item", text("key", k), text("value", tags[k])))
	}
	return out
}

// tagList returns tags in the form of load balancers.
func tagList(tags map[string]string) node {
	out := el("Tags")
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out.kids = append(out.kids, el("member", text("Key", k), text("Value", tags[k])))
	}
	return out
}

func (n node) write(b *bytes.Buffer) {
	b.WriteByte('<')
	b.WriteString(n.name)
	b.WriteByte('>')
	_ = xml.EscapeText(b, []byte(n.text)) // a buffer takes everything
	for _, k := range n.kids {
		k.write(b)
	}
	b.WriteString("</")
	b.WriteString(n.name)
	b.WriteByte('>')
}
