package git

import (
	"context"
	"time"
)

// Held returns the bytes that b keeps in memory.
func (b *Branch) Held() int64 { return b.clone.store.size() }

// Held returns the bytes that r keeps in memory.
func (r *Repository) Held() int64 { return r.clone.store.size() }

// Forget has r start with an empty store, as a large one does with a fetch.
func (r *Repository) Forget() { r.clone.forget() }

// ToldOfPart asks the server for refs. It reports whether the server listed only the refs
// that were asked for, and how many.
func (r *Repository) ToldOfPart(ctx context.Context) (bool, int, error) {
	ar, err := r.remote.askWanted(ctx)
	if err != nil {
		return false, 0, err
	}
	return ar.part, len(ar.References), nil
}

func (r *Repository) installation() *installation {
	return r.remote.remote.(*rotating).now.(*httpRemote).auth.(*installation)
}

// RenewToken makes the token of an app due for renewal, and still valid.
func (r *Repository) RenewToken() { r.installation().renew = time.Time{} }

// API returns the URL that r gets tokens from.
func (r *Repository) API() string { return r.installation().api }
