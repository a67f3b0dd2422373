package wiring

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"fairlead.dev/agent"
	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/sources"
)

// A rekeyed renderer decrypts with the age identities that are there when it
// renders. Where they have changed it renders everything anew: what could not be
// decrypted before may be now.
type rekeyed struct {
	read func() ([]fleet.Secret, error)
	make func([]fleet.Secret) (*render.Builder, error)
	end  func()

	mu   sync.Mutex
	now  *render.Builder
	with []fleet.Secret
}

var _ agent.StaleRenderer = (*rekeyed)(nil)

// rekeyedRenderer returns the renderer of an agent. Identities that cannot be
// read are an error.
func (s Settings) rekeyedRenderer(o RenderOptions) (*rekeyed, error) {
	r := &rekeyed{read: s.identities, end: func() {}, make: func(identities []fleet.Secret) (*render.Builder, error) { return s.renderer(o, identities) }}
	if k, ok := o.Pinned.(interface{ Close() }); ok {
		r.end = k.Close
	}
	_, err := r.fresh()
	return r, err
}

// Close ends what is under way for another Render.
func (r *rekeyed) Close() { r.end() }

// Render implements render.Renderer. Where identities cannot be read the error
// is of kind Unavailable: it may be tried again.
func (r *rekeyed) Render(ctx context.Context, rev fleet.Revision, tree sources.Tree) (fleet.Fleet, error) {
	b, err := r.fresh()
	if err != nil {
		return fleet.Fleet{}, fleet.Errorf(fleet.Unavailable, "render "+rev.Short(), "%w", err)
	}
	return b.Render(ctx, rev, tree)
}

// Stale implements agent.StaleRenderer. Who cannot read the identities cannot
// decrypt with others.
func (r *rekeyed) Stale() bool {
	identities, err := r.read()
	r.mu.Lock()
	defer r.mu.Unlock()
	return err == nil && !sameSecrets(identities, r.with) || r.now != nil && r.now.Stale()
}

func (r *rekeyed) fresh() (*render.Builder, error) {
	identities, err := r.read()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != nil && sameSecrets(identities, r.with) {
		return r.now, nil
	}
	b, err := r.make(identities)
	if err != nil {
		return nil, err
	}
	r.now, r.with = b, identities
	return b, nil
}

func sameSecrets(a, b []fleet.Secret) bool {
	return slices.EqualFunc(a, b, func(x, y fleet.Secret) bool { return bytes.Equal(x.Reveal(), y.Reveal()) })
}
