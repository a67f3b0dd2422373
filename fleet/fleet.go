package fleet

import (
	"strconv"
	"strings"
)

// A Fleet is everything that one revision asks for.
type Fleet struct {
	ID       ID
	Revision Revision
	Config   Config
	Clusters []Cluster // sorted by key, keys are unique
	Problems []Problem // sorted; a cluster with a problem is not in Clusters
	Warnings []Problem // sorted; they hold nothing back
	Parts    []Part    // sorted by folder
	// Late are the overlays that have problems for want of something that cannot be got
	// now, such as a pinned source: another render of the same revision may have none.
	// Sorted.
	Unavailable []string
}

// A Part is a folder that would be an overlay, did others not include it.
type Part struct {
	Folder   string
	File     string // its kustomization file
	Clusters []Key  // what it would be by itself, sorted; they are not in Fleet.Clusters on its account
	By       []Includer
}

// An Includer is an overlay that includes a Part, itself or through others.
type Includer struct {
	Folder string
	File   string // its kustomization file
}

// DefaultStatusBranch is the status branch of a fleet whose fleet.yaml names none.
const DefaultStatusBranch = "fairlead/status"

// Config is the content of fleet.yaml, with defaults filled in.
type Config struct {
	StatusBranch string // default: DefaultStatusBranch
	// StatusHistory is how much of the history of the status branch stays; zero: all.
	StatusHistory HistoryBound
	Prune         Prune
	Drift         DriftPolicy // of clusters that have none of their own; empty: correct
	Escrow        Escrow
	Home          Home
	Sources       []PinnedSource       // sorted by name
	Notifications []NotificationTarget // sorted by name
	PullRequests  PullRequests
	Waves         Waves
}

// SourcesFolder is the folder of a fleet that has a folder for each pinned source.
const SourcesFolder = "sources"

// A PinnedSource is content from elsewhere that a fleet has beside its own, at one commit
// or digest.
type PinnedSource struct {
	Name   string // its content is in the folder of that name in SourcesFolder
	URL    string // of a repository of Git, or of a registry (oci://)
	Commit string // in full; of Git
	Digest string // sha256:…, of an artifact in a registry
	Tag    string // that Commit may be found by; empty: none
	Path   string // the folder of it that is taken; empty: all
}

// Folder returns where the content is in the fleet.
func (s PinnedSource) Folder() string { return SourcesFolder + "/" + s.Name }

// Pin returns the commit or the digest.
func (s PinnedSource) Pin() string {
	if s.Digest != "" {
		return s.Digest
	}
	return s.Commit
}

// Escrow says who can decrypt the copy of all secrets, and where it is kept. Without
// recipients none is kept.
type Escrow struct {
	Recipients []string // age recipients, sorted: public keys
	Branch     string   // of the status repository, or of Repository; empty where it is a folder
	Repository string   // URL; empty is the status repository
	Folder     string   // absolute path on the agent's machine
}

// Prune says what happens to a cluster that vanishes from Git. By default it
// becomes an orphan that is not deleted.
type Prune struct {
	Enabled bool
	Limit   int // clusters that one revision may delete; 0 means none
}

// A Problem is one thing that is wrong with the content of a fleet, with its
// place. Fields that do not apply are empty.
type Problem struct {
	Overlay string // folder of the kustomization, "clusters/prod/eu-1"
	Cluster Key    // the cluster that it keeps from being applied
	File    string // "clusters/prod/eu-1/cluster.yaml"
	Line    int    // of File, from 1; 0: of the whole file, or it is not known
	Object  string // "KubeadmControlPlane prod/eu-1-cp"
	Field   string // "spec.rollout.strategy"
	Message string // what is wrong
	Hint    string // what to do
}

// WithoutLine returns p without its place in the file: to compare the problems of
// revisions, between which lines move.
func (p Problem) WithoutLine() Problem {
	p.Line = 0
	return p
}

// Place returns where the problem is, as FILE:LINE where the line is known: its file, or
// else its overlay.
func (p Problem) Place() string {
	switch {
	case p.File == "":
		return p.Overlay
	case p.Line > 0:
		return p.File + ":" + strconv.Itoa(p.Line)
	}
	return p.File
}

// String returns the problem on one line: place, what is wrong, what to do.
func (p Problem) String() string {
	var parts []string
	for _, s := range []string{p.Place(), p.Object, p.Field, p.Message} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	s := strings.Join(parts, ": ")
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return strings.ReplaceAll(s, "\n", " ")
}
