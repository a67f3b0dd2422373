package git

import (
	"time"

	"github.com/go-git/go-git/v5/plumbing"

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
	if !ok && r.vouched == h {
		raw, ok = r.vouchedBy, true
		if raw.kind == plumbing.TagObject {
			r.clone.store.put(raw.kind, raw.data)
		}
	}
	if !ok {
		return time.Time{}, nil
	}
	r.vouched, r.vouchedBy = h, raw
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
