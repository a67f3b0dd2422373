package oci

import (
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// maxMade bounds the artifacts whose times are kept.
const maxMade = 64

// made keeps when artifacts were made whose signature counted. It is safe for concurrent use,
// also during a fetch.
type made struct {
	mu       sync.Mutex
	at       map[string]time.Time // by digest
	followed string               // the digest that was asked for last: its time is not dropped
}

// keep keeps that the artifact of that digest was made at that time.
func (m *made) keep(digest string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.at) >= maxMade {
		followed, ok := m.at[m.followed]
		clear(m.at)
		if ok {
			m.at[m.followed] = followed
		}
	}
	if m.at == nil {
		m.at = make(map[string]time.Time)
	}
	m.at[digest] = at
}

// of returns when the artifact of that digest was made; zero: not known.
func (m *made) of(digest string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at[digest]
}

var _ sources.Dated = (*Repository)(nil)

// Made implements sources.Dated.
func (r *Repository) Made(rev fleet.Revision) time.Time {
	r.made.mu.Lock()
	r.made.followed = rev.Digest
	r.made.mu.Unlock()
	return r.made.of(rev.Digest)
}

// Remember implements sources.Dated.
func (r *Repository) Remember(rev fleet.Revision, at time.Time) {
	if r.made.of(rev.Digest).IsZero() {
		r.made.keep(rev.Digest, at)
	}
}
