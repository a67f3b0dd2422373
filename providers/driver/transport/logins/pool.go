package logins

import (
	"sync"
	"time"
)

// unusedFor is how long a client is kept after its last use: a Secret has another
// password, or the last cluster went.
const unusedFor = time.Hour

// How long a password that was refused is not tried again. vCenter Single Sign-On locks an account for
// five minutes after five failures within three.
// Source: vSphere Authentication, "Edit the vCenter Single Sign-On Lockout Policy".
const (
	firstRefusal = time.Minute // doubled with each further one
	lastRefusal  = 10 * time.Minute
)

// A Pool has one client C for each credential K. A credential with another password is another one.
// It is safe for concurrent use.
type Pool[K comparable, C interface{ Close() }] struct {
	gone    func(account string)
	mu      sync.Mutex
	logins  map[K]*login[C]
	gates   map[string]*Gate // by account
	closing sync.WaitGroup
}

type login[C any] struct {
	client  C
	account string
	used    time.Time // last
}

// New returns a pool without clients. Gone is called when the last client of an account was closed,
// because it was not used; nil: it is not called.
func New[K comparable, C interface{ Close() }](gone func(account string)) *Pool[K, C] {
	return &Pool[K, C]{gone: gone, logins: make(map[K]*login[C]), gates: make(map[string]*Gate)}
}

// Client returns the client of key, which open makes if there is none. All clients of account have
// one gate. Open must not wait for the service.
func (p *Pool[K, C]) Client(key K, account string, open func(gate *Gate) (C, error)) (C, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	l := p.logins[key]
	if l != nil {
		l.used = now
	}
	p.closeUnused(now)
	if l != nil {
		return l.client, nil
	}
	gate := p.gates[account]
	if gate == nil {
		gate = NewGate(firstRefusal, lastRefusal)
	}
	c, err := open(gate)
	if err != nil {
		return c, err
	}
	p.gates[account], p.logins[key] = gate, &login[C]{c, account, now}
	return c, nil
}

// closeUnused closes clients that were not used for long, and forgets accounts without a client: they
// were not used for longer than one is refused. The caller holds mu.
func (p *Pool[K, C]) closeUnused(now time.Time) {
	held := make(map[string]bool, len(p.logins))
	for key, l := range p.logins {
		if now.Sub(l.used) > unusedFor {
			p.closing.Go(l.client.Close)
			delete(p.logins, key)
			continue
		}
		held[l.account] = true
	}
	for account := range p.gates {
		if held[account] {
			continue
		}
		delete(p.gates, account)
		if p.gone != nil {
			p.gone(account)
		}
	}
}

// Sizes returns the numbers of clients, and of accounts that they are of.
func (p *Pool[K, C]) Sizes() (clients, accounts int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.logins), len(p.gates)
}

// Close closes all clients, and waits for it.
func (p *Pool[K, C]) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.logins {
		p.closing.Go(l.client.Close)
	}
	p.closing.Wait()
	clear(p.logins)
}
