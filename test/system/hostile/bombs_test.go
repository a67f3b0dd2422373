package hostile

import (
	"fmt"
	"strings"
)

// A bomb is a small YAML file with a huge content.
type bomb struct {
	name    string
	text    string
	want    string // part of the problem
	literal bool   // it can be a block literal in another file
	outside bool   // that other file is refused because of it
}

// bombs are tried at each place that reads YAML.
func bombs() []bomb {
	long := strings.Repeat("x", 100_000)
	var aliases, pairs strings.Builder
	aliases.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&aliases, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	for i := range 1000 {
		fmt.Fprintf(&pairs, "k%d: 1, ", i)
	}
	const bytes, nodes, levels = "bytes, with aliases expanded", "keys, values and items", "levels deep"
	return []bomb{
		{"a long text and 40,000 aliases", "a: &a \"" + long + "\"\nb: [" + strings.Repeat("*a,", 40_000) + "]\n", bytes, true, false},
		{"a long key and 10,000 aliases", "? &a \"" + long + "\"\n: 1\nb: [" + strings.Repeat("{*a : 1},", 10_000) + "]\n", bytes, true, false},
		{"aliases of aliases", aliases.String(), nodes, true, false},
		{"a mapping that is merged 1,000 times", "a: &a {" + pairs.String() + "}\nb: [" + strings.Repeat("{<<: *a},", 1000) + "]\n", nodes, true, false},
		{"an alias within its anchor", "a: &a [*a]\n", "the alias *a is within what it stands for", true, false},
		{"9,000 brackets", "a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n", levels, true, true},
		{"9,000 dashes", "a:\n- " + strings.Repeat("- ", 9000) + "x\n", levels, true, false},
		{"600,000 empty lists", "a: [" + strings.Repeat("[],", 600_000) + "]\n", nodes, true, true},
		{"UTF-16", "\xff\xfea\x00:\x00 \x001\x00", "UTF-16 or binary", false, false},
		{"Latin-1", "a: caf\xe9\n", "not UTF-8", false, false},
	}
}

// indented returns text as the lines of a block literal.
func indented(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}
