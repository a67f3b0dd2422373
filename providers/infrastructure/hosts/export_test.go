package hosts

// Forget makes the next look at each host a new one.
func (p *Provider) Forget() {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	clear(p.cache.looks)
}
