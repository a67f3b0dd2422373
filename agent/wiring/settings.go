package wiring

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/agent/observability/health"
	"fairlead.dev/agent/observability/tracing"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/ownership/pivot/install"
	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/render/worker"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/oci"
)

// Settings name the parts. Source is required.
type Settings struct {
	Source string // URL of a repository, Git's or a registry's (oci://), or a folder
	Ref    string // of a repository: branch, tag or commit; of a registry: tag or digest; empty is its default
	Path   string // folder of the fleet in Source; empty is all of it

	// PlainHTTP has a registry spoken to without TLS.
	PlainHTTP bool

	// StatusRepository is where the status branch is: a Git repository, or a folder, in
	// whose .fairlead it is then. Empty is the source, which cannot be a registry.
	StatusRepository string
	StatusInterval   time.Duration // that reports are gathered; 0 is the writer's default

	Credentials credentials.Files
	// StatusCredentials are those of the status branch. None: those of the source.
	StatusCredentials credentials.Files
	// Author is who commits to the status branch; zero is Fairlead.
	Author git.BranchOptions
	// SigningKey is a private key that commits to the status branch and the escrow
	// are signed with: a file, or a folder as a Secret with it is mounted. Empty, or
	// where Author signs: none.
	SigningKey string
	// TrustedKeys are files, and folders of files, with the public keys whose
	// signatures count: commits of the fleet that no such key signed are not
	// followed. None: any commit is.
	TrustedKeys []string
	// TrustMerges makes who signs a merge stand for all that it brings in.
	TrustMerges bool
	// RequestKeys are like TrustedKeys, of those who may ask for something on the
	// status branch, and of agents: who owns the fleet and what is decided on numbers
	// of machines is signed, too. SigningKey is one of them. None: anyone with push access
	// there may do so.
	RequestKeys []string
	// AllowedSources say which sources fleet.yaml may pin, and with what credentials they
	// are asked. None: no source.
	AllowedSources []AllowedSource
	// SourceFolders are folders of this computer that stand for pinned sources, by name.
	SourceFolders map[string]string
	// Secrets is the secret store: a folder, "kubernetes", or
	// "kubernetes:KUBECONFIG". Empty is a folder for the source in the user's
	// state folder.
	Secrets string
	// AgeIdentityFiles hold age identities that decrypt files of the fleet,
	// beside those of the secret store.
	AgeIdentityFiles []string
	// SopsProgram is run for files that are for others than age: see sops.Options.
	SopsProgram string

	// NotificationCredentials is a folder with a folder for each target of notifications:
	// see notify.Folder. Empty: no one is notified.
	NotificationCredentials string

	// Lease is what the replicas of the agent elect a leader by; zero for none.
	Lease Lease
	// ChartVersion is that of the chart that a home gets which fleet.yaml names.
	// Empty: an agent with these settings moves nothing by itself.
	ChartVersion string
	// StatusBranch is the name of the status branch that such an agent is configured to
	// write; empty: fleet.yaml says it.
	StatusBranch string

	// Forge says where pull requests are, for a fleet that has them planned.
	Forge Forge

	FleetID string // of a fleet whose fleet.yaml has no name; empty is made from the source

	// Built is what the program was built with.
	Built     Built
	Providers map[string]map[string]string // settings by provider name

	// RenderCommand is a program, with its arguments, that builds overlays: see
	// worker.Pool. None: they are built in this process, without limits.
	RenderCommand []string
	RenderLimits  worker.Limits // of each; zero: the defaults
	RenderCache   string        // folder for what they built: see buildcache.New; empty: nothing is kept
	// RenderCacheAsked says that people named RenderCache: it is an error if nothing can be kept there.
	RenderCacheAsked bool

	// Reports is called with each new report of an agent; nil: no call.
	Reports func(reports.Change)
	// Committed is called after each commit of an agent's status; it must not wait. Nil: no call.
	Committed func()

	// Watchdog is notified of polls, renders and passes; nil: there is none.
	Watchdog *health.Watchdog

	Log    *slog.Logger
	Tracer *tracing.Tracer // nil: nothing is traced

	openHome func(install.Options) (pivot.Home, error) // nil: install.Open
}

// IsFolder reports whether source is a folder to read as it lies there, rather
// than a repository.
func IsFolder(source string) bool {
	if strings.Contains(source, "://") || scpLike.MatchString(source) {
		return false
	}
	if _, err := os.Stat(source); err != nil && hostLike.MatchString(source) {
		return false
	}
	_, err := os.Stat(filepath.Join(source, "objects"))
	_, err2 := os.Stat(filepath.Join(source, "HEAD"))
	return err != nil || err2 != nil
}

// scpLike matches USER@HOST:PATH, and hostLike HOST:PATH. One letter before a colon is a drive of
// Windows.
var (
	scpLike  = regexp.MustCompile(`^[^/@]+@[^/:]+:`)
	hostLike = regexp.MustCompile(`^[^/\\:]{2,}:[^\\]`)
)

// Identity names the source in file names and tags: its last element and a hash
// of its one spelling.
func (s Settings) Identity() (string, error) {
	spelling := ""
	if IsFolder(s.Source) {
		abs, err := filepath.Abs(s.folder())
		if err != nil {
			return "", err
		}
		spelling = "folder:" + abs
	} else {
		normalise := git.NormaliseURL
		if oci.IsURL(s.Source) {
			normalise = oci.NormaliseURL
		}
		var err error
		if spelling, err = normalise(s.Source); err != nil {
			return "", err
		}
		if p := path.Clean(s.Path); p != "." {
			spelling += "//" + p
		}
	}
	sum := sha256.Sum256([]byte(spelling))
	name := strings.Trim(unfit.ReplaceAllString(strings.ToLower(path.Base(spelling)), "-"), "-")
	return strings.Trim(name[:min(len(name), 40)]+"-"+hex.EncodeToString(sum[:4]), "-"), nil
}

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// folder returns the folder of the fleet, of a source that is one.
func (s Settings) folder() string { return filepath.Join(s.Source, filepath.FromSlash(s.Path)) }
