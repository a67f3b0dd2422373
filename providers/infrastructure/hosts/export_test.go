package hosts

// Forget makes the next look at each host a new one.
func (p *Provider) Forget() {
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	clear(p.shelf.looks)
}
