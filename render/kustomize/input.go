package kustomize

import (
	"cmp"
	"maps"
	"slices"

	"fairlead.dev/fleet"
)

// An Input is what the build of an overlay needs. It can be sent to another process.
type Input struct {
	Overlay string            // folder
	File    string            // its kustomization file
	Files   map[string][]byte // all files that may be read, by path in the tree
	Keyed   []string          // folders of kustomizations whose patches have keyed lists, sorted
	Quotes  []Quote           // sorted
	// Decrypted says that Files have values which are encrypted in the tree. Input does not set it.
	Decrypted bool
}

// A Quote says whether a text with variables, at a key, is quoted.
type Quote struct {
	Key, Text string
	Quoted    bool
}

// OverBudget is the error of a build that exceeded its budget. It may succeed another time.
type OverBudget struct{ Problem fleet.Problem }

// Error implements error.
func (e *OverBudget) Error() string { return e.Problem.String() }

// Input returns what the build of s needs.
func (s *Scan) Input() Input {
	in := Input{Overlay: s.Overlay, File: s.File, Files: s.files, Keyed: s.keyed}
	for _, id := range slices.SortedFunc(maps.Keys(s.quotes), func(x, y quoted) int {
		return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.text, y.text))
	}) {
		in.Quotes = append(in.Quotes, Quote{id.key, id.text, s.quotes[id]})
	}
	return in
}

// BuildInput does what Build does.
func (k *Kustomizer) BuildInput(in Input) ([]Object, *fleet.Problem) {
	s := &Scan{Overlay: in.Overlay, File: in.File, files: in.Files, keyed: in.Keyed, quotes: quotes{}}
	for _, q := range in.Quotes {
		s.quotes[quoted{q.Key, q.Text}] = q.Quoted
	}
	return k.Build(s)
}
