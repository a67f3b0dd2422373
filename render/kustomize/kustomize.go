// Package kustomize builds one overlay at a time, safely: first a scan reads
// everything that the build could read, under budgets, and refuses what may not
// be there; then kustomize builds from the scanned files and nothing else. It
// is the only importer of kustomize.
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

// Limits bound one overlay: what it includes, directly and through others, and
// counted as often as it is included.
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

// A Scan is what the build of an overlay may read.
type Scan struct {
	Overlay string // folder
	File    string // its kustomization file
	// Component says that the folder is a part for other kustomizations and no
	// overlay; Files then says only which file it is.
	Component bool
	// Reads are the paths that the result depends on, also those that were
	// looked for and are not there, sorted.
	Reads []string
	// Includes are the folders of the kustomizations that this one includes,
	// sorted.
	Includes []string
	// Mentions are the folders that a kustomization which is refused names, and
	// may include, sorted.
	Mentions []string

	files  map[string][]byte // for the build, by path in the tree
	quotes quotes
}

// An Object is one object of a build.
type Object struct {
	File string // in the tree, best known
	Node *yaml.Node
}

// A Kustomizer scans and builds. It is safe for concurrent use.
type Kustomizer struct {
	limits  Limits
	builtin configuration
}

// New returns a Kustomizer.
//
// kustomize keeps one OpenAPI schema for the whole process. The first call of
// New teaches it the merge keys of Cluster API's lists; afterwards nobody may
// change it, and the scan sees to it that no overlay does.
func New(l Limits) *Kustomizer {
	teachSchema()
	return &Kustomizer{limits: l, builtin: builtin().marshal()}
}

// Scan reads the kustomization in the folder overlay of tree and everything it
// includes. What is refused is the problem; the Scan then holds what was read
// until there, so that it is known when to look again. What is in one of the folders
// apart may be used from everywhere, and uses nothing but what is in the same one.
func (k *Kustomizer) Scan(tree fs.FS, overlay string, apart ...string) (*Scan, *fleet.Problem) {
	s := newScanner(tree, overlay, k.limits, k.builtin)
	s.apart = apart
	problem := s.run()
	return s.result(), problem
}
