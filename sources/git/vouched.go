package git

import (
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

var _ sources.Voucher = (*Repository)(nil)

// Vouched implements sources.Voucher.
func (r *Repository) Vouched(rev fleet.Revision) (until time.Time, err error) {
	if r.verify == nil || !isHash(rev.Hash()) {
		return time.Time{}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := hashOf(rev.Digest)
	raw, ok := r.clone.store.get(r.tip(h))
	if !ok {
		return time.Time{}, nil
	}
	_, signature := signedTag(raw.data)
	if _, tagged := r.tags[h]; tagged {
		err = r.verifiedTag(r.tags[h], h)
	} else {
		err = r.verifiedCommit(h, raw.data)
		_, signature, _ = signed(raw.data) // else err says what is wrong with it
	}
	if err != nil || r.until == nil {
		return time.Time{}, err
	}
	return r.until(signature)
}
