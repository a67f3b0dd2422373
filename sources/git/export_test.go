package git

import "context"

// Held returns the bytes that b keeps in memory.
func (b *Branch) Held() int64 { return b.clone.store.size() }

// Held returns the bytes that r keeps in memory.
func (r *Repository) Held() int64 { return r.clone.store.size() }

// ToldOfPart asks the server for refs, and reports whether it told of those alone that were
// asked for, and how many it told of.
func (r *Repository) ToldOfPart(ctx context.Context) (bool, int, error) {
	ar, err := r.remote.some(ctx)
	if err != nil {
		return false, 0, err
	}
	return ar.part, len(ar.References), nil
}
