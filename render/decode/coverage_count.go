package decode

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A fieldCount says how many fields of spec a kind has in its newest version: those that hold a
// value, with all below a field that is refused or has no effect.
type fieldCount struct {
	kind                      string
	honoured, unused, refused int
}

func (c fieldCount) total() int { return c.honoured + c.unused + c.refused }

// permille returns the part of the fields that is honoured, in tenths of a percent.
func (c fieldCount) permille() int { return 1000 * c.honoured / max(1, c.total()) }

// counts returns those of the kinds of Cluster API itself, and their sum.
func (d *Decoder) counts() ([]fieldCount, fieldCount) {
	var out []fieldCount
	sum := fieldCount{kind: "all"}
	for _, gk := range slices.Sorted(maps.Keys(d.kinds)) {
		k := d.kinds[gk]
		if !k.ofClusterAPI() {
			continue
		}
		c := fieldCount{kind: k.name}
		version := k.versions[0]
		for _, r := range k.coverage(version) {
			if !strings.HasPrefix(r.path, "spec") {
				continue
			}
			switch n := k.leaves(version, r.path); {
			case r.status == "refused":
				c.refused += n
			case r.status == "no effect":
				c.unused += n
			case n == 1:
				c.honoured++ // a row with a note may stand above rows of its own
			}
		}
		out = append(out, c)
	}
	for _, c := range out {
		sum.honoured, sum.unused, sum.refused = sum.honoured+c.honoured, sum.unused+c.unused, sum.refused+c.refused
	}
	return out, sum
}

// ofClusterAPI reports whether k is of the project Cluster API itself, without its providers for
// development.
func (k *kind) ofClusterAPI() bool {
	return k.provider == "" && (k.distribution == "" || k.distribution == kubeadm) &&
		strings.HasSuffix("."+k.group, ".cluster.x-k8s.io") && slices.Contains(k.versions, "v1beta2")
}

// leaves returns how many fields hold a value at path and below.
func (k *kind) leaves(version, path string) int {
	t := deref(reflect.TypeOf(k.new(version)))
	for name := range strings.SplitSeq(path, ".") {
		fields := fieldsOf(elem(t))
		t = fields[slices.IndexFunc(fields, func(f structField) bool { return f.name == name })].typ
	}
	return leavesOf(t, nil)
}

func leavesOf(t reflect.Type, within []reflect.Type) int {
	t = elem(t)
	if t.Kind() != reflect.Struct || isLeaf(t) || slices.Contains(within, t) {
		return 1
	}
	n := 0
	for _, f := range fieldsOf(t) {
		n += leavesOf(f.typ, append(slices.Clip(within), t))
	}
	return max(1, n)
}

// countsTable writes the counts in Markdown.
func (d *Decoder) countsTable(b *strings.Builder) {
	kinds, sum := d.counts()
	fmt.Fprintf(b, "Of the fields of `spec` in the newest version of Cluster API's own kinds %d.%d %% are honoured. What is below a field that is\n"+
		"refused or has no effect counts field by field.\n\n"+
		"| kind | fields | honoured | no effect | refused |\n|---|---|---|---|---|\n", sum.permille()/10, sum.permille()%10)
	for _, c := range append(kinds, sum) {
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", c.kind, c.total(), c.honoured, c.unused, c.refused)
	}
	b.WriteString("\n")
}
