package wiring

import (
	"context"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
	forges "fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/pullrequests"
	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/reconcile"
	"fairlead.dev/render"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
)

// A Forge says where the pull requests of the source are.
type Forge struct {
	Kind string // one of those of agent/plans/forge; empty: by the host of the source
	URL  string // as people visit it; empty: the host of the source
	// Credentials are a folder as in Credentials.Dir; empty: those of the source.
	Credentials string
}

// OpenForge returns the forge of the source.
func (s Settings) OpenForge() (forges.Forge, error) {
	given := s.Credentials
	if s.Forge.Credentials != "" {
		given = credentials.Files{Dir: s.Forge.Credentials}
	}
	return forges.New(forges.Options{
		Kind: s.Forge.Kind, Repository: s.Source, Root: s.Forge.URL,
		API: func(base string) (forges.API, error) {
			url := s.Source
			if s.Forge.Credentials != "" {
				url = base
			}
			return git.NewAPI(base, git.Options{URL: url, Refresh: given.Git, Log: s.Log})
		},
	})
}

// pullRequests returns what plans pull requests of source; nil where source has none.
func (s Settings) pullRequests(source sources.Source, w *Runtime, m *metrics.Metrics) func(agent.PullRequestParts) (*pullrequests.PullRequests, error) {
	repository, ok := source.(*git.Repository)
	if !ok {
		return nil
	}
	return func(p agent.PullRequestParts) (*pullrequests.PullRequests, error) {
		f, err := s.OpenForge()
		switch {
		case err != nil && p.Refs && s.Forge == (Forge{}):
			f = nil // no setting says that there is one
		case err != nil:
			return nil, err
		}
		renderer, err := s.sealedRenderer(RenderOptions{})
		if err != nil {
			return nil, err
		}
		return pullrequests.New(pullrequests.Parts{
			Forge: f, Source: merging{repository, repository.Merges()}, Renderer: renderer, Fleet: p.Fleet, Looker: mergeLooker{w.Looker(), w.absent(), w},
			Plans: p.Plans, Approvals: p.Approvals, Requests: p.Requests, Unreviewed: p.Unreviewed, Beside: p.Beside, Limited: p.Limited, Recorded: p.Recorded, Apart: s.StatusRepository != "", Owner: p.Owner, Interval: p.Interval,
			Polled: m.ForgePolled, Done: m.Planned, Log: s.Log,
		}), nil
	}
}

// sealedRenderer returns a renderer that decrypts nothing: Secrets have no values.
func (s Settings) sealedRenderer(o RenderOptions) (*render.Builder, error) {
	s.SopsProgram, o.Sealed = "", func(string, string) {}
	return s.renderer(o, nil)
}

type merging struct {
	*git.Repository
	sources.Merger
}

var _ pullrequests.Source = merging{}

var _ pullrequests.Renderer = (*render.Builder)(nil)

// A mergeLooker observes existing clusters, and treats new ones as empty.
type mergeLooker struct {
	is, absent *reconcile.Looker
	runtime    *Runtime
}

var _ pullrequests.Looker = mergeLooker{}

// Look implements pullrequests.Looker.
func (f mergeLooker) Look(ctx context.Context, now, next *fleet.Cluster) (fleet.Observed, error) {
	if now != nil {
		return f.is.Look(ctx, now)
	}
	if next.Hosted != nil {
		return fleet.Observed{}, fleet.Errorf(fleet.Invalid, "foresee "+next.Key.String(), "its control plane is kept by somebody else, who is not asked before the merge")
	}
	return f.absent.Look(ctx, next)
}

// As implements pullrequests.Looker.
func (f mergeLooker) As(next *fleet.Cluster, seen fleet.Observed) fleet.Observed {
	if d, err := f.runtime.built.distributions(f.runtime.Workload).Of(next); err == nil {
		seen.Distribution = providers.Facts(d, next, &seen)
	}
	return seen
}

// absent returns what looks at clusters of which nothing is there: it makes no requests.
func (w *Runtime) absent() *reconcile.Looker {
	return reconcile.NewLooker(reconcile.LookerOptions{
		Infrastructure: func(string) (providers.Observer, error) { return emptyWorld{}, nil },
		Workload:       w.Workload, Distributions: w.built.distributions(w.Workload), Limits: w.built.limits(), Secrets: emptyWorld{}, Now: time.Now,
	})
}

// emptyWorld has no infrastructure and no secrets.
type emptyWorld struct{}

// Observe implements providers.Observer.
func (emptyWorld) Observe(context.Context, *fleet.Cluster) (fleet.Infrastructure, error) {
	return fleet.Infrastructure{}, nil
}

// Get implements exec.SecretReader.
func (emptyWorld) Get(_ context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	return fleet.SecretData{}, fleet.Errorf(fleet.NotFound, "read a secret", "%s has no %s yet", c, name)
}
