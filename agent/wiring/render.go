package wiring

import (
	"context"
	"log/slog"

	"fairlead.dev/agent/inputs/revisions"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/buildcache"
	"fairlead.dev/render/decode"
	"fairlead.dev/render/sops"
	"fairlead.dev/render/worker"
)

// RenderOptions say how to render.
type RenderOptions struct {
	Values     map[string]string
	AllowUnset bool
	Observe    func(render.Stats)
	// Pinned gets pinned sources; nil: they are got again, and waited for.
	Pinned render.Pinned
	// Sealed, if not nil, lets Secrets pass that cannot be decrypted, and is called
	// with them: see sops.Options.
	Sealed func(file, why string)
	// Redact replaces all decrypted values by REDACTED: see sops.Options.
	Redact bool
}

// NewRenderer returns the renderer, with the decoder of all kinds that are built in.
func (s Settings) NewRenderer(o RenderOptions) (*render.Builder, error) {
	identities, err := s.identities()
	if err != nil {
		return nil, err
	}
	return s.renderer(o, identities)
}

// renderer returns a renderer that decrypts with identities.
func (s Settings) renderer(o RenderOptions, identities []fleet.Secret) (*render.Builder, error) {
	registry, err := s.Built.Registry()
	if err != nil {
		return nil, err
	}
	id := s.FleetID
	if id == "" {
		if id, err = s.Identity(); err != nil {
			return nil, err
		}
	}
	decrypter, err := sops.New(sops.Options{Identities: identities, Sealed: o.Sealed, Program: s.SopsProgram, Redact: o.Redact})
	if err != nil {
		return nil, err
	}
	var workers render.Workers
	if len(s.RenderCommand) > 0 {
		workers = worker.NewPool(s.RenderCommand, s.RenderLimits)
		if workers, err = s.keepBuilt(workers); err != nil {
			return nil, err
		}
	}
	if o.Pinned == nil {
		if err := s.checkedFolders(); err != nil {
			return nil, err
		}
		o.Pinned = s.newPins(0, nil)
	}
	return render.New(render.Options{
		Workers: workers, Pinned: o.Pinned,
		Decoder: decode.New(fleet.ID(id), registry.Kinds()).WithDraft(s.Built.draft()), FleetID: fleet.ID(id), Decrypter: decrypter,
		Values: o.Values, AllowUnset: o.AllowUnset, Observe: o.Observe, Log: s.Log,
	}), nil
}

// keepBuilt returns workers that keep what next builds, where they may and can.
func (s Settings) keepBuilt(next render.Workers) (render.Workers, error) {
	if s.RenderCache == "" {
		return next, nil
	}
	log := s.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	workers, err := buildcache.New(s.RenderCache, s.RenderCommand[0], next, log)
	if err != nil && !s.RenderCacheAsked {
		log.Debug(err.Error())
		return next, nil
	}
	return workers, err
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

var _ revisions.Renderer = (*render.Rekeyed)(nil)

// rekeyedRenderer returns the renderer of an agent. Identities that cannot be
// read are an error.
func (s Settings) rekeyedRenderer(o RenderOptions) (*render.Rekeyed, error) {
	build := func(identities []fleet.Secret) (*render.Builder, error) { return s.renderer(o, identities) }
	var end func()
	if c, ok := o.Pinned.(interface{ Close() }); ok {
		end = c.Close
	}
	return render.NewRekeyed(s.identities, build, end)
}
