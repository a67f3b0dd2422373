package render

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/render/kustomize"
	"fairlead.dev/sources"
)

// Limits of what is read to find lines in one revision: problems in larger files, and in files after
// that total, have no line.
const (
	mostPlacedFile = 1 << 20
	mostPlaced     = 16 << 20
)

// A spot is a place to find in a file.
type spot struct{ digest, object, field string }

// A locator finds the lines of problems in the files of a tree, before kustomize, variables and
// decryption.
type locator struct {
	tree   sources.Tree
	known  map[spot]int // of an earlier revision
	found  map[spot]int
	digest string // of file, which was read last: one at a time is held in memory
	file   writtenFile
	left   int // bytes to read
}

// A writtenFile is a file of YAML.
type writtenFile struct {
	documents []*yaml.Node
	bad       int // the line that keeps it from being read
}

// findLines notes the lines of problems in the files of tree, and returns what it found. Of what
// is known, from an earlier revision, it reads no file again.
func findLines(tree sources.Tree, known map[spot]int, problems ...[]fleet.Problem) map[spot]int {
	l := &locator{tree: tree, known: known, found: map[spot]int{}, left: mostPlaced}
	var all []*fleet.Problem
	for _, list := range problems {
		for i := range list {
			if list[i].Line == 0 {
				all = append(all, &list[i])
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *fleet.Problem) int { return strings.Compare(a.File, b.File) })
	for _, p := range all {
		p.Line = l.line(*p)
		p.Message = strings.TrimPrefix(p.Message, fmt.Sprintf("line %d: ", p.Line)) // its place has the line
	}
	return l.found
}

// line returns the line of p; 0: none can be told.
func (l *locator) line(p fleet.Problem) int {
	switch path.Ext(p.File) {
	case ".yaml", ".yml", ".json":
	default:
		if path.Base(p.File) != "Kustomization" {
			return 0
		}
	}
	digest, err := l.tree.Digest(p.File)
	if err != nil {
		return 0
	}
	at := spot{digest, p.Object, p.Field}
	n, ok := l.known[at]
	if !ok {
		n = l.read(p.File, digest).line(p)
	}
	if l.left > 0 {
		l.found[at] = n
	}
	return n
}

// read reads a file, unless it was the last one.
func (l *locator) read(name, digest string) writtenFile {
	if digest == l.digest {
		return l.file
	}
	l.digest, l.file = digest, writtenFile{}
	limits := documents.DefaultLimits()
	limits.Bytes = min(mostPlacedFile, l.left)
	if data, err := kustomize.ReadFile(l.tree, name, limits); err == nil {
		l.left -= len(data)
		l.file = written(data, limits)
	}
	return l.file
}

func written(data []byte, limits documents.Limits) writtenFile {
	f, err := documents.Parse(data, limits)
	if r, ok := errors.AsType[*documents.Refusal](err); ok {
		return writtenFile{bad: r.Line}
	}
	if err != nil {
		return writtenFile{}
	}
	var out writtenFile
	for _, n := range f.Documents {
		if items := documents.Child(n, "items"); items != nil && documents.ChildText(n, "kind") == "List" {
			out.documents = append(out.documents, items.Content...)
			continue
		}
		out.documents = append(out.documents, n)
	}
	return out
}

// line returns the line of p in f; 0: none can be told.
func (f writtenFile) line(p fleet.Problem) int {
	if f.bad > 0 || p.Object == "" && p.Field == "" {
		return f.bad
	}
	if n := f.object(p.Object); n != nil {
		return documents.Line(n, p.Field)
	}
	return 0
}

// object returns the document of the object that a problem names as "Kind namespace/name":
// the one with its name, the only one whose name may become it, or the only one of its kind.
// What kustomize and variables make of a name is not known here.
func (f writtenFile) object(title string) *yaml.Node {
	kind, name, _ := strings.Cut(title, " ")
	name = name[strings.LastIndex(name, "/")+1:]
	of := f.documents
	if kind != "" {
		of = slices.DeleteFunc(slices.Clone(of), func(n *yaml.Node) bool { return documents.ChildText(n, "kind") != kind })
	}
	named := func(is func(written string) bool) *yaml.Node {
		var found *yaml.Node
		for _, n := range of {
			if !is(documents.ChildText(documents.Child(n, "metadata"), "name")) {
				continue
			}
			if found != nil {
				return nil
			}
			found = n
		}
		return found
	}
	if n := named(func(written string) bool { return written == name }); n != nil {
		return n
	}
	if n := named(func(written string) bool { return mayBecome(written, name) }); n != nil {
		return n
	}
	if len(of) == 1 {
		return of[0]
	}
	return nil
}

// mayBecome reports whether written, a name with variables in a file, may become name, which may
// have a prefix and a suffix.
func mayBecome(written, name string) bool {
	parts := regexp.MustCompile(`\$\{[^}]*\}`).Split(written, -1)
	for _, p := range parts {
		_, after, ok := strings.Cut(name, p)
		if !ok {
			return false
		}
		name = after
	}
	return strings.Join(parts, "") != ""
}
