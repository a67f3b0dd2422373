package git

// Held returns the bytes that b keeps in memory.
func (b *Branch) Held() int64 { return b.clone.store.size() }
