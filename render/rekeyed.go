package render

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A Rekeyed renderer decrypts with the current age identities. When they change it renders
// everything again: more may be decrypted now.
type Rekeyed struct {
	read  func() ([]fleet.Secret, error)
	build func([]fleet.Secret) (*Builder, error)
	end   func()

	mu   sync.Mutex
	now  *Builder
	with []fleet.Secret
}

var _ Renderer = (*Rekeyed)(nil)

// NewRekeyed returns a renderer that reads identities with read, and makes Builders with
// build. It fails where identities cannot be read. Close calls end, if that is not nil.
func NewRekeyed(read func() ([]fleet.Secret, error), build func([]fleet.Secret) (*Builder, error), end func()) (*Rekeyed, error) {
	r := &Rekeyed{read: read, build: build, end: end}
	_, err := r.fresh()
	return r, err
}

// Close releases what is kept for another Render.
func (r *Rekeyed) Close() {
	if r.end != nil {
		r.end()
	}
}

// Render implements Renderer. An error of reading identities is of kind Unavailable: it may
// pass.
func (r *Rekeyed) Render(ctx context.Context, rev fleet.Revision, tree sources.Tree) (fleet.Fleet, error) {
	b, err := r.fresh()
	if err != nil {
		return fleet.Fleet{}, fleet.Errorf(fleet.Unavailable, "render "+rev.Short(), "%w", err)
	}
	return b.Render(ctx, rev, tree)
}

// Stale reports whether another Render of the same revision may have another result.
func (r *Rekeyed) Stale() bool {
	identities, err := r.read()
	r.mu.Lock()
	defer r.mu.Unlock()
	return err == nil && !sameSecrets(identities, r.with) || r.now != nil && r.now.Stale()
}

func (r *Rekeyed) fresh() (*Builder, error) {
	identities, err := r.read()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != nil && sameSecrets(identities, r.with) {
		return r.now, nil
	}
	b, err := r.build(identities)
	if err != nil {
		return nil, err
	}
	r.now, r.with = b, identities
	return b, nil
}

func sameSecrets(a, b []fleet.Secret) bool {
	return slices.EqualFunc(a, b, func(x, y fleet.Secret) bool { return bytes.Equal(x.Reveal(), y.Reveal()) })
}
