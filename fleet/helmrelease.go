package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A ReleaseStrategy says what becomes of a release of Helm once it is installed.
type ReleaseStrategy string

// The strategies of a HelmChartProxy.
const (
	Continuous  ReleaseStrategy = "Continuous"  // it is as Git says, and goes when Git no longer names it
	InstallOnce ReleaseStrategy = "InstallOnce" // it is installed, and never touched again
)

// A ReleaseRef names a release of Helm in a workload cluster.
type ReleaseRef struct{ Namespace, Name string }

// String returns "namespace/name".
func (r ReleaseRef) String() string { return r.Namespace + "/" + r.Name }

// Compare orders references by namespace, then by name.
func (r ReleaseRef) Compare(o ReleaseRef) int {
	return cmp.Or(cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Name, o.Name))
}

// A Release is what a HelmChartProxy that selects a cluster has installed there.
type Release struct {
	ReleaseRef
	Proxy    string // name of the HelmChartProxy
	Strategy ReleaseStrategy
	Prune    bool `json:",omitempty"` // it goes when Git no longer names it
	Paused   bool `json:",omitempty"`
	Chart    Chart
	Values   Secret `json:"-"` // JSON of a mapping: equal values, equal bytes
	Options  ReleaseOptions
	Access   ChartAccess
	Digest   string // over all that makes it what it is, and how it is to be changed
}

// A Chart is one version of a chart in a repository.
type Chart struct {
	Repository string // URL, "https://…" or "oci://…"
	Name       string
	Version    string // a semantic version, not a range
}

// String returns "name version".
func (c Chart) String() string { return c.Name + " " + c.Version }

// ReleaseOptions say how Helm installs, upgrades and removes a release.
type ReleaseOptions struct {
	Timeout         time.Duration `json:",omitempty"` // of each hook, and of Wait
	MaxHistory      int           `json:",omitempty"` // revisions that are kept
	CreateNamespace bool          `json:",omitempty"`
	Wait            bool          `json:",omitempty"` // until what was applied is ready
	WaitForJobs     bool          `json:",omitempty"` // and its Jobs are done
	Atomic          bool          `json:",omitempty"` // what failed is undone
	CleanupOnFail   bool          `json:",omitempty"` // of an upgrade that failed, what is new goes
	SkipCRDs        bool          `json:",omitempty"`
	DisableHooks    bool          `json:",omitempty"`
	Replace         bool          `json:",omitempty"` // objects are replaced, not patched
	TakeOwnership   bool          `json:",omitempty"` // of the release and of objects that are somebody else's
	KeepHistory     bool          `json:",omitempty"` // when it is removed

	DisableOpenAPIValidation bool `json:",omitempty"`
}

// ChartAccess is what a repository asks for.
type ChartAccess struct {
	Credentials Secret `json:"-"`          // the JSON of a config.json of Docker; empty: none
	CA          Secret `json:"-"`          // PEM, trusted beside those of the system
	Insecure    bool   `json:",omitempty"` // its certificate is not verified
}

// Release returns the one called ref.
func (c *Cluster) Release(ref ReleaseRef) (Release, bool) {
	i := slices.IndexFunc(c.Releases, func(r Release) bool { return r.ReleaseRef == ref })
	if i < 0 {
		return Release{}, false
	}
	return c.Releases[i], true
}

// The states of a release in which it is not being changed, in Helm's words.
const (
	ReleaseDeployed     = "deployed"
	ReleaseFailed       = "failed"
	ReleaseUninstalled  = "uninstalled" // nothing of it is left but its history
	ReleaseUninstalling = "uninstalling"
)

// A ReleaseState is what a cluster has of a release that carries a label of
// Fairlead: its newest revision.
type ReleaseState struct {
	ReleaseRef
	Proxy    string // name of the HelmChartProxy
	Revision int
	Status   string // in Helm's words
	Digest   string // of the Release that it was made from
	Ours     bool   // Fairlead made this revision
	Strategy ReleaseStrategy
	Prune    bool      // it goes when Git no longer names it
	Deployed bool      // this revision is deployed, or an older one is
	Changed  time.Time // when Helm last wrote it down; zero: not known
}

// Pending reports whether the release is being changed, or somebody who changed
// it was cut off.
func (s *ReleaseState) Pending() bool { return strings.HasPrefix(s.Status, "pending-") }

// A ReleaseTry is what an agent itself knows of its last change of a release,
// until that succeeds. It is lost with the agent: then the change is tried again.
type ReleaseTry struct {
	ReleaseRef
	Digest  string    // that was to be installed; empty: the release was to be removed
	Running bool      // it has not ended yet
	Since   time.Time // when that digest was tried first
	Tried   time.Time // when the last try ended
	Failure ErrorKind `json:",omitempty"` // of it; empty: none ended yet
	Message string    // the words of Helm or of the repository
}
