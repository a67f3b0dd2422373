// Package kustomize builds one overlay at a time, safely. A scan first reads everything
// that the build could read, within budgets, and refuses what is not allowed. Then
// kustomize builds from the scanned files alone. No other package imports kustomize.
//
// Nothing is fetched and nothing is executed. A kustomization may use files and
// folders anywhere in the tree, also above its own folder, but not outside it.
package kustomize

import (
	"io/fs"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// FileNames are the names that a kustomization file may have.
func FileNames() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// Limits bound one overlay: what it includes, directly and indirectly, counted each time
// that it is included.
type Limits struct {
	File     documents.Limits
	Depth    int   // of kustomizations that include each other
	Includes int   // of files and folders
	Objects  int   // in resources
	Bytes    int64 // of files
	Tries    int   // of patches on objects
}

// DefaultLimits allow some hundred clusters in one overlay.
func DefaultLimits() Limits {
	return Limits{File: documents.DefaultLimits(), Depth: 20, Includes: 1000, Objects: 2000, Bytes: 16 << 20, Tries: 10_000}
}

// A Scan is everything that the build of an overlay may read.
type Scan struct {
	Overlay string // folder
	File    string // its kustomization file
	// Component says that the folder is a Component and no overlay. Files then only says
	// which file it is.
	Component bool
	// Reads are the paths that the result depends on, including those that do not exist,
	// sorted.
	Reads []string
	// Includes are the folders of the kustomizations that this one includes,
	// sorted.
	Includes []string
	// Mentions are the folders that a refused kustomization names, and may include, sorted.
	Mentions []string
	// Warnings are the patches whose target selects no object, in the kustomizations that
	// have them.
	Warnings []fleet.Problem
	// Lossy has, by the path of a field WithoutItems, why a replacement may have dropped the
	// quotes of its text.
	Lossy map[string]string
	// Copied are the fields that replacements read, such as data.NAME.
	Copied []string

	files  map[string][]byte // for the build, by path in the tree
	keyed  []string          // folders of kustomizations whose patches have keyed lists, sorted
	quotes quotes
}

// An Object is one object of a build.
type Object struct {
	File string // its file in the tree, as far as known
	Node *yaml.Node
	// Former is Node with lists in the order that earlier versions gave them, or nil if it
	// is the same.
	Former *yaml.Node
}

// A Kustomizer scans and builds. It is safe for concurrent use.
type Kustomizer struct {
	limits  Limits
	builtin configuration
}

// New returns a Kustomizer.
func New(l Limits) *Kustomizer {
	return &Kustomizer{limits: l, builtin: builtin().marshal()}
}

// Scan reads the kustomization in the folder overlay of tree, and everything that it includes. If
// something is refused, it returns the problem, and the Scan has what was read before, so that a
// change of it is noticed. Every kustomization may use the folders apart, which may use only files
// of their own folder.
func (k *Kustomizer) Scan(tree fs.FS, overlay string, apart ...string) (*Scan, *fleet.Problem) {
	s := newScanner(tree, overlay, k.limits, k.builtin)
	s.apart = apart
	problem := s.run()
	scan := s.result()
	if problem == nil {
		scan.Warnings = s.targets.warnings(overlay)
	}
	return scan, problem
}
