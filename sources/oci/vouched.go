package oci

import (
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// maxSignaturesKept bounds the signatures that are remembered, one of each artifact.
const maxSignaturesKept = 64

// A proof is what was signed, and its signature.
type proof struct{ payload, signature []byte }

// remember keeps the signature that counted for the artifact of that digest.
func (r *Repository) remember(digest string, s proof) {
	if len(r.signatures) >= maxSignaturesKept {
		vouched, ok := r.signatures[r.vouched]
		clear(r.signatures)
		if ok {
			r.signatures[r.vouched] = vouched
		}
	}
	r.signatures[digest] = s
}

var _ sources.Voucher = (*Repository)(nil)

// Vouched implements sources.Voucher. Keys of artifacts do not expire.
func (r *Repository) Vouched(rev fleet.Revision) (until time.Time, err error) {
	r.mu.Lock()
	s, ok := r.signatures[rev.Digest]
	r.vouched = rev.Digest
	r.mu.Unlock()
	if r.options.Verify == nil || !ok {
		return time.Time{}, nil
	}
	switch _, err = r.options.Verify(s.payload, s.signature); {
	case err == nil:
		return time.Time{}, nil
	case fleet.KindOf(err) == fleet.Unknown:
		return time.Time{}, untrusted("%w", err)
	}
	return time.Time{}, fleet.Errorf(fleet.KindOf(err), "verify "+rev.Short(), "%w", err)
}
