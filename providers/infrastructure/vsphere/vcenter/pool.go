package vcenter

import (
	"maps"
	"sync"
	"time"

	"fairlead.dev/fleet"
)

// How long a password that was refused is not tried again. vCenter Single Sign-On locks an
// account for five minutes after five failures within three.
// Source: vSphere Authentication, "Edit the vCenter Single Sign-On Lockout Policy".
const (
	firstRefusal = time.Minute // doubled with each further one
	lastRefusal  = 10 * time.Minute
)

// A gate keeps an account from being locked. It is shared by all credentials of it.
type gate struct {
	mu      sync.Mutex
	tried   map[string]error // digests that were refused since the last success, and how
	until   time.Time
	refusal time.Duration
}

func newGate() *gate { return &gate{tried: make(map[string]error)} }

// enter returns why digest must not be tried now. One that was never tried may be, at
// once: somebody corrected the password.
func (g *gate) enter(digest string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.tried[digest]; err != nil && time.Now().Before(g.until) {
		return err
	}
	return nil
}

// refused notes that vCenter refused digest, and returns err with what follows.
func (g *gate) refused(digest string, err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refusal = min(max(2*g.refusal, firstRefusal), lastRefusal)
	g.until = time.Now().Add(g.refusal)
	e := fleet.Errorf(fleet.Unauthorized, opOf(err), "%w (correct the password; so that the account is not locked, this one is tried again seldom)", causeOf(err))
	g.tried[digest] = e
	return e
}

// accepted notes that the account is well.
func (g *gate) accepted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.tried)
	g.refusal, g.until = 0, time.Time{}
}

// unusedFor is after how long a client that nobody asks for is closed: a Secret has
// another password, or the last cluster went.
const unusedFor = time.Hour

// A Pool has one client for each vCenter and credential, which all that have that
// credential share. A credential with another password is another client. It is safe for
// concurrent use.
type Pool struct {
	o Options

	mu      sync.Mutex
	clients map[string]*used // by digest
	gates   map[string]*gate // by account
	closing sync.WaitGroup
}

type used struct {
	*Client
	account string
	at      time.Time
}

// NewPool returns a pool without clients.
func NewPool(o Options) *Pool {
	return &Pool{o: o, clients: make(map[string]*used), gates: make(map[string]*gate)}
}

// Client returns the client of cred. It asks nothing of vCenter, and fails where cred can
// never be right.
func (p *Pool) Client(cred Credential) (*Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for digest, u := range p.clients {
		if now.Sub(u.at) > unusedFor {
			delete(p.clients, digest)
			p.closing.Go(u.Close)
		}
	}
	p.dropGates()
	digest := cred.Digest()
	if u := p.clients[digest]; u != nil {
		u.at = now
		return u.Client, nil
	}
	account := cred.account()
	if p.gates[account] == nil {
		p.gates[account] = newGate()
	}
	c, err := open(cred, p.o, p.gates[account])
	if err != nil {
		return nil, err
	}
	p.clients[digest] = &used{Client: c, account: account, at: now}
	return c, nil
}

// dropGates forgets the accounts that no client is of: none was shown for longer than one is
// refused. The caller holds mu.
func (p *Pool) dropGates() {
	held := make(map[string]bool, len(p.clients))
	for _, u := range p.clients {
		held[u.account] = true
	}
	maps.DeleteFunc(p.gates, func(account string, _ *gate) bool { return !held[account] })
}

// Close ends all sessions.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.clients {
		p.closing.Go(u.Close)
	}
	p.closing.Wait()
	clear(p.clients)
}
