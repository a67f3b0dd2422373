package git

// Held returns the bytes that b keeps in memory.
func (b *Branch) Held() int64 { return b.clone.store.size() }

// Held returns the bytes that r keeps in memory.
func (r *Repository) Held() int64 { return r.clone.store.size() }
