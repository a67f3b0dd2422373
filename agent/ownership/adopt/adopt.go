package adopt

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/render"
	"fairlead.dev/sources/status"
)

// Credentials says where Secrets with credentials of providers are put.
type Credentials string

// The places for them.
const (
	InStore Credentials = "store" // into the secret store, as `fairlead secrets set` does
	InGit   Credentials = "git"   // into the folder, encrypted for the recipients
	Nowhere Credentials = "none"  // nowhere: people put them where they want them
)

// The annotations of a Cluster that was paused in the management cluster for an adoption.
const (
	adoptedBy    = "fairlead.dev/adopted-by"    // the fleet that adopts the cluster
	pausedBefore = "fairlead.dev/paused-before" // somebody else had paused the cluster before
)

// Options are what an Adoption works with. Status, Recipients and the durations are
// optional.
type Options struct {
	Management *Management
	Fleet      fleet.ID
	Folder     string         // the root folder of the fleet
	Kinds      []fleet.Kind   // kinds of the providers
	Decoder    render.Decoder // decodes manifests of the fleet, with Kinds

	// Load renders the fleet from the files in Folder.
	Load func(context.Context) (fleet.Fleet, error)
	// Look observes everything of a cluster. It uses the secrets in Secrets.
	Look           func(context.Context, *fleet.Cluster) (fleet.Observed, error)
	Infrastructure func(name string) (providers.Infrastructure, error)
	Secrets        *Overlay
	// Status reads the status branch. Nil: the branch is not known.
	Status func(context.Context) (status.Status, error)

	Classes     Classes
	Credentials Credentials
	Recipients  []string // age recipients of Secrets that go to Git

	// AcceptDrift lets the adoption go on although Fairlead would then change
	// infrastructure that differs from Git.
	AcceptDrift bool
	// DryRun checks everything and changes nothing.
	DryRun bool

	Timeout      time.Duration // how long to wait for controllers to pause and for tags to show; default 2 minutes
	PollInterval time.Duration // between two looks while waiting; default 1 s
	// PauseGrace is how long controllers that report no pause may go on with what they began
	// before it. Zero: they are trusted to be paused at once.
	PauseGrace time.Duration
	Now        func() time.Time
	// OnStep is called with each step of a cluster, before the step is done.
	OnStep func(k fleet.Key, step Step, text string)
}

// A Step is a part of an adoption.
type Step string

// The steps, in their order.
const (
	Check   Step = "check"
	Write   Step = "write"
	Secrets Step = "secrets"
	Pause   Step = "pause"
	Mark    Step = "mark"
	Plan    Step = "plan"
	Release Step = "release"
	Note    Step = "note"
)

// A Result says how the adoption of one cluster ended.
type Result struct {
	Cluster  fleet.Key
	Done     bool            // the cluster is Fairlead's; after Undo: it is Cluster API's again
	Problems []fleet.Problem // why the cluster cannot be adopted in its present form; nothing was changed for it
	Err      error           // what failed on the way; the same call goes on from there
}

// An Adoption takes over clusters of one management cluster.
type Adoption struct{ o Options }

// New returns an Adoption.
func New(o Options) *Adoption {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.PollInterval == 0 {
		o.PollInterval = time.Second
	}
	if o.OnStep == nil {
		o.OnStep = func(fleet.Key, Step, string) {}
	}
	return &Adoption{o}
}

// Run adopts clusters, one after the other. A cluster that cannot be adopted does not stop
// the others. Run ends early only with ctx.
func (a *Adoption) Run(ctx context.Context, clusters []fleet.Key) []Result {
	return each(ctx, clusters, a.adopt)
}

func each(ctx context.Context, clusters []fleet.Key, do func(context.Context, fleet.Key) ([]fleet.Problem, error)) []Result {
	out := make([]Result, 0, len(clusters))
	for _, k := range clusters {
		if ctx.Err() != nil {
			out = append(out, Result{Cluster: k, Err: ctx.Err()})
			continue
		}
		problems, err := do(ctx, k)
		out = append(out, Result{Cluster: k, Done: err == nil && len(problems) == 0, Problems: problems, Err: err})
	}
	return out
}

// A candidate is a cluster that passed the checks.
type candidate struct {
	*existing
	desired  *fleet.Cluster // the definition in Git, without spec.paused
	expected *fleet.Cluster // what the management cluster would give; nil where Git has no definition yet
	docs     []document
	machines []providers.AdoptedMachine
	adopter  providers.Adopter
	settle   time.Duration
	untagged []string // things that do not carry the ownership tags yet
	folder   string   // the overlay of the cluster in the fleet; empty where the fleet has none yet
	byPeople bool     // people wrote that overlay
	paused   bool     // the definition in Git is paused
}

func (a *Adoption) adopt(ctx context.Context, k fleet.Key) ([]fleet.Problem, error) {
	f, err := a.read(ctx, k)
	if err != nil {
		return nil, err
	}
	c, done, err := a.check(ctx, f)
	if there, e := a.find(ctx, k); len(f.problems) > 0 && f.started && e == nil && (there == nil || there.Paused) {
		f.addProblem(f.cluster, "spec.paused", "give it back with --undo, and begin again", "is paused for an adoption that was begun, and no one manages it")
	}
	if err != nil || len(f.problems) > 0 || done {
		return f.problems, err
	}
	if f.started {
		a.o.OnStep(k, Note, "its adoption was begun and not finished: it goes on")
	}
	for _, n := range f.notes {
		a.o.OnStep(k, Note, n)
	}
	for _, step := range []func(context.Context, *candidate) error{
		a.write, a.store, a.pause, a.pauseHosts, a.adoptSecrets, a.mark, a.plan, a.release,
	} {
		if err := step(ctx, c); err != nil {
			if c.started && !a.o.DryRun {
				err = fmt.Errorf("%w; %s stays paused in the management cluster, and no one manages it: run the command again, or undo it with --undo", err, k)
			}
			return nil, err
		}
	}
	return nil, nil
}

// write puts the manifests into the fleet. They are paused.
func (a *Adoption) write(ctx context.Context, c *candidate) error {
	if c.folder != "" {
		return nil
	}
	if len(c.classes) > 0 && !a.o.DryRun {
		if err := a.writeClass(ctx, c); err != nil {
			return err
		}
	}
	folder := overlayOf(c.key)
	a.o.OnStep(c.key, Write, fmt.Sprintf("its manifests into %s, with spec.paused", folder))
	if a.o.DryRun {
		return nil
	}
	files, err := a.files(c.docs, true)
	if err != nil {
		return err
	}
	if err := put(filepath.Join(a.o.Folder, folder), files); err != nil {
		return fmt.Errorf("cannot write %s: %w (where the folder is there already, and no cluster in it, remove it)", folder, err)
	}
	c.folder = folder
	return nil
}

// writeClass puts the class into the fleet, unless an earlier adoption did.
func (a *Adoption) writeClass(ctx context.Context, c *candidate) error {
	folder := libraryOf(c.class)
	at := filepath.Join(a.o.Folder, folder)
	if there, err := exists(at); err != nil || there {
		return err // the check has compared what it makes
	}
	a.o.OnStep(c.key, Write, fmt.Sprintf("its ClusterClass %s into %s", c.class, folder))
	files, err := a.files(c.classLayout(), false)
	if err != nil {
		return err
	}
	return put(at, files)
}

// release takes the pause out of the manifests: with the next push the cluster is
// Fairlead's.
func (a *Adoption) release(ctx context.Context, c *candidate) error {
	if a.o.DryRun {
		a.o.OnStep(c.key, Release, "the manifests are held no longer: commit and push them, and Fairlead keeps the cluster")
		return nil
	}
	now, err := a.o.Management.get(ctx, groupKind("Cluster"), a.o.Kinds, c.key)
	if err != nil {
		return err
	}
	if !paused(now) || now.GetAnnotations()[adoptedBy] != string(a.o.Fleet) {
		return fleet.Errorf(fleet.Conflict, "release "+c.key.String(), "somebody undid its pause in the management cluster (suspend what applies its manifests there, and run this again)")
	}
	if c.byPeople {
		a.o.OnStep(c.key, Release, "take spec.paused out of its Cluster in "+c.folder+", commit and push, and Fairlead keeps the cluster")
		return nil
	}
	a.o.OnStep(c.key, Release, fmt.Sprintf("%s is held no longer: commit and push it, and Fairlead keeps the cluster", c.folder))
	return setPaused(filepath.Join(a.o.Folder, c.folder, clusterFile), false)
}

// find returns the definition of cluster k in the fleet's folder, or nil.
func (a *Adoption) find(ctx context.Context, k fleet.Key) (*fleet.Cluster, error) {
	all, err := a.o.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read the fleet in %s: %w", a.o.Folder, err)
	}
	for i := range all.Clusters {
		if all.Clusters[i].Key == k {
			return &all.Clusters[i], nil
		}
	}
	var errs []error
	for _, p := range all.Problems {
		if p.Cluster == k || p.Cluster == (fleet.Key{}) && (p.Overlay == "" || path.Clean(p.Overlay) == overlayOf(k)) {
			errs = append(errs, errors.New(p.String()))
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("cannot read %s in the fleet: %w", k, errors.Join(errs...))
	}
	return nil, nil //nolint:nilnil // it is not there
}
