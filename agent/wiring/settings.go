// Package wiring puts the real parts together: what a command line names
// becomes a source, a status branch, a renderer, providers and stores. It is
// the only place that knows them all.
package wiring

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/health"
	"fairlead.dev/agent/metrics"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/pivot"
	"fairlead.dev/agent/pivot/install"
	"fairlead.dev/agent/tracing"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/all"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/render/sops"
	"fairlead.dev/render/worker"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/status"
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

	Credentials Credentials
	// StatusCredentials are those of the status branch. None: those of the source.
	StatusCredentials Credentials
	// Author is who commits to the status branch; zero is Fairlead.
	Author git.BranchOptions
	// SigningKey is a private key that commits to the status branch and the escrow
	// are signed with: a file, or a folder as a Secret with it is mounted. Empty, or
	// where Author signs: none.
	SigningKey string
	// TrustedKeys are files, and folders of files, with the public keys whose
	// signatures count: commits of the fleet that none of them signed are not
	// followed. None: any commit is.
	TrustedKeys []string
	// TrustMerges makes who signs a merge stand for all that it brings in.
	TrustMerges bool
	// RequestKeys are like TrustedKeys, of those who may ask for something on the
	// status branch, and of agents: who owns the fleet and what is decided on numbers
	// of machines is signed, too. SigningKey is one of them. None: whoever may push
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

	// Lease is what the replicas of the agent elect a leader by; zero for none.
	Lease Lease
	// ChartVersion is that of the chart that a home gets which fleet.yaml names.
	// Empty: an agent with these settings moves nothing by itself.
	ChartVersion string
	// StatusBranch is the name of the status branch that such an agent is told to
	// write; empty: fleet.yaml says it.
	StatusBranch string

	FleetID string // of a fleet whose fleet.yaml has no name; empty is made from the source

	Providers map[string]map[string]string // settings by provider name

	// RenderCommand is a program, with its arguments, that builds overlays: see
	// worker.Pool. None: they are built in this process, without limits.
	RenderCommand []string
	RenderLimits  worker.Limits // of each; zero: the defaults

	// Passes, if not nil, returns what makes the passes of an agent, in place of a
	// reconciler in this process.
	Passes func(may func(fleet.Key) error, changed func(fleet.Key)) agent.Reconciler

	// Watchdog is told of polls, renders and passes; nil: nobody is.
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
	_, err := os.Stat(filepath.Join(source, "objects"))
	_, err2 := os.Stat(filepath.Join(source, "HEAD"))
	return err != nil || err2 != nil
}

var scpLike = regexp.MustCompile(`^[^/@]+@[^/:]+:`)

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

// OpenSource returns the source.
func (s Settings) OpenSource() (sources.Source, error) {
	if s.Source == "" {
		return nil, errors.New("no source is given: name a repository or a folder with --source or FAIRLEAD_SOURCE")
	}
	if IsFolder(s.Source) {
		if s.Ref != "" {
			return nil, fmt.Errorf("the source %s is a folder: it has no ref %q", s.Source, s.Ref)
		}
		if len(s.TrustedKeys) > 0 {
			return nil, fmt.Errorf("the source %s is a folder: it has no commits that keys could have signed", s.Source)
		}
		return dir.New(dir.Options{Path: s.folder(), Log: s.Log})
	}
	if oci.IsURL(s.Source) {
		return s.registry()
	}
	return s.repository(s.Source)
}

func (s Settings) repository(url string) (*git.Repository, error) {
	verify, err := verifier(s.TrustedKeys)
	if err != nil {
		return nil, err
	}
	// Read again for each connection: a Secret that was rotated is used at once.
	return git.New(git.Options{URL: url, Ref: s.Ref, Path: s.Path, Refresh: s.Credentials.apply, Verify: verify, TrustMerges: s.TrustMerges, Log: s.Log})
}

// OpenBranch returns the status branch of that name. A folder has but one.
func (s Settings) OpenBranch(name string) (sources.Branch, error) {
	return s.openBranch(name, nil)
}

func (s Settings) openBranch(name string, observe func(git.Usage)) (sources.Branch, error) {
	if f, err := s.statusFolder(); f != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return f.Branch(), nil
	}
	if oci.IsURL(s.Source) {
		if s.StatusRepository == "" {
			return nil, s.errNoStatus()
		}
		// What is for the registry is for it alone.
		s.Credentials, s.TrustedKeys = Credentials{}, nil
	}
	url := s.StatusRepository
	if url == "" {
		url = s.Source
		if IsFolder(url) {
			f, err := dir.New(dir.Options{Path: s.folder(), Budget: statusBudget(worker.MemoryLimit()).Tree, Log: s.Log})
			if err != nil {
				return nil, err
			}
			return f.Branch(), nil
		}
	}
	r, err := s.ofStatus().repository(url)
	if err != nil {
		return nil, err
	}
	o, err := s.statusOptions(observe)
	if err != nil {
		return nil, err
	}
	return r.Branch(name, o)
}

// ofStatus returns s as it reaches the repository of the status.
func (s Settings) ofStatus() Settings {
	s.Ref, s.Path = "", ""
	if s.StatusCredentials != (Credentials{}) {
		s.Credentials = s.StatusCredentials
	}
	return s
}

// RenderOptions say how to render.
type RenderOptions struct {
	Values     map[string]string
	AllowUnset bool
	Observe    func(render.Stats)
	// Pinned gets pinned sources; nil: they are got anew, and waited for.
	Pinned render.Pinned
	// Sealed, if not nil, lets Secrets pass that cannot be decrypted, and is told
	// of them: see sops.Options.
	Sealed func(file, why string)
}

// NewRenderer returns the renderer, with the decoder of all built-in kinds.
func (s Settings) NewRenderer(o RenderOptions) (*render.Builder, error) {
	identities, err := s.identities()
	if err != nil {
		return nil, err
	}
	return s.renderer(o, identities)
}

// renderer returns a renderer that decrypts with identities.
func (s Settings) renderer(o RenderOptions, identities []fleet.Secret) (*render.Builder, error) {
	registry, err := all.Registry()
	if err != nil {
		return nil, err
	}
	id := s.FleetID
	if id == "" {
		if id, err = s.Identity(); err != nil {
			return nil, err
		}
	}
	decrypter, err := sops.New(sops.Options{Identities: identities, Sealed: o.Sealed, Program: s.SopsProgram})
	if err != nil {
		return nil, err
	}
	var workers render.Workers
	if len(s.RenderCommand) > 0 {
		workers = worker.NewPool(s.RenderCommand, s.RenderLimits)
	}
	if o.Pinned == nil {
		if err := s.checkedFolders(); err != nil {
			return nil, err
		}
		o.Pinned = s.newPins(0, nil)
	}
	return render.New(render.Options{
		Workers: workers, Pinned: o.Pinned,
		Decoder: decode.New(fleet.ID(id), registry.Kinds()), FleetID: fleet.ID(id), Decrypter: decrypter,
		Values: o.Values, AllowUnset: o.AllowUnset, Observe: o.Observe, Log: s.Log,
	}), nil
}

// Render returns the fleet at the newest revision of the source.
func (s Settings) Render(ctx context.Context, o RenderOptions) (fleet.Fleet, error) {
	source, err := s.OpenSource()
	if err != nil {
		return fleet.Fleet{}, err
	}
	rev, err := source.Resolve(ctx)
	if err != nil {
		return fleet.Fleet{}, err
	}
	tree, err := source.Fetch(ctx, rev)
	if err != nil {
		return fleet.Fleet{}, err
	}
	r, err := s.NewRenderer(o)
	if err != nil {
		return fleet.Fleet{}, err
	}
	return r.Render(ctx, rev, tree)
}

// ReadStatus returns what the status branch called name says, and of what counts for
// nothing by RequestKeys, why.
func (s Settings) ReadStatus(ctx context.Context, name string) (status.Status, error) {
	b, err := s.OpenBranch(name)
	if err != nil {
		return status.Status{}, err
	}
	verify, err := s.Verifier()
	if err != nil {
		return status.Status{}, err
	}
	_, tree, err := b.Read(ctx)
	if err != nil {
		return status.Status{}, err
	}
	return status.Trusted(tree, verify)
}

func readStatus(ctx context.Context, b sources.Branch) (status.Status, error) {
	_, tree, err := b.Read(ctx)
	if err != nil {
		return status.Status{}, err
	}
	return status.Read(tree)
}

// NewAgent returns an agent of the real parts, working on w.
func NewAgent(s Settings, o agent.Options, w *World, m *metrics.Metrics) (*agent.Agent, error) {
	source, err := s.OpenSource()
	if err != nil {
		return nil, err
	}
	renderer, err := s.rekeyedRenderer(RenderOptions{Pinned: s.newPins(pinPatience, m.Pinned), Observe: func(st render.Stats) {
		m.Overlays(st.Built, st.Overlays-st.Built)
	}})
	if err != nil {
		return nil, err
	}
	passes := w.Passes
	if s.Passes != nil {
		passes = s.Passes
	}
	return agent.New(o, agent.Parts{
		Source: source, Renderer: renderer,
		Ledger:         s.ledgers(source, o.Guard, m),
		Reconciler:     passes,
		Looker:         func() ownership.Looker { return w.Looker() },
		Infrastructure: w.Infrastructure,
		Escrow:         s.escrow(w, o.Guard),
		Mover:          s.mover(source, w.Secrets),
		Gate:           w.Gate,
		Place:          s.place(w.Secrets),
		Inhabits:       inhabits(w.Secrets),
		Metrics:        m, Watchdog: s.Watchdog, Tracer: s.Tracer, Log: s.Log,
	}), nil
}

// ledgers returns what opens status branches beside source. Nothing is written
// there without asking guard.
func (s Settings) ledgers(source sources.Source, guard func() error, m *metrics.Metrics) func(name string) (agent.Ledger, error) {
	observe := func(u git.Usage) { m.StatusBranch(u.Content, u.Most, u.Pushed) }
	open := func(name string) (sources.Branch, error) { return s.openBranch(name, observe) }
	if r, ok := source.(*git.Repository); ok && s.StatusRepository == "" && s.StatusCredentials == (Credentials{}) {
		// One connection, so that a poll of both branches is one request.
		open = func(name string) (sources.Branch, error) {
			o, err := s.statusOptions(observe)
			if err != nil {
				return nil, err
			}
			return r.Branch(name, o)
		}
	}
	return func(name string) (agent.Ledger, error) {
		b, err := open(name)
		if err != nil {
			return agent.Ledger{}, err
		}
		keys, err := s.StatusKeys()
		if err != nil {
			return agent.Ledger{}, err
		}
		return s.ledger(status.Guarded(b, guard), keys, m), nil
	}
}

// ledger returns the status branch, by keys.
func (s Settings) ledger(branch sources.Branch, keys StatusKeys, m *metrics.Metrics) agent.Ledger {
	b := status.Watch(branch)
	arbiter, requests, scales := status.NewArbiter(b), status.NewRequests(b), status.NewScales(b)
	arbiter.Sign, arbiter.Verify = keys.Sign, keys.Verify
	requests.Verify, requests.Owner = keys.Verify, arbiter.In
	scales.Verify, scales.Owner = keys.Verify, arbiter.In
	if keys.Verify != nil {
		scales.Sign = keys.Sign
	}
	return agent.Ledger{
		Arbiter:     arbiter,
		Read:        func(ctx context.Context) (status.Status, error) { return readStatus(ctx, b) },
		ReadCluster: status.NewReader(b).ReadCluster,
		Requests:    requests,
		Wrote:       b.Wrote,
		Scales:      scales,
		Signed:      keys.Verify != nil,
		Writer: func(owner fleet.Owner) sources.StatusWriter {
			return status.NewWriter(b, status.Options{
				Owner: owner, OwnerIn: arbiter.In, Interval: s.StatusInterval, Gap: min(s.StatusInterval, time.Second), Log: s.Log,
				Observer: status.Observer{
					Commit: func(files int, took, lag time.Duration) {
						m.Pushed(took, lag)
						s.Tracer.Done(context.Background(), "push", took, nil, "files", strconv.Itoa(files))
					},
					Race: func(error) { m.PushRace() },
					Error: func(err error) {
						m.SetPushError(err)
						if err != nil {
							s.Tracer.Done(context.Background(), "push", 0, err)
						}
					},
				},
			})
		},
	}
}
