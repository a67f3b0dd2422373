package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// A gateway is the one connection to a bastion. Every host behind it shares that:
// an SSH server takes few connections at a time that have not logged in yet.
// Source: sshd_config(5), MaxStartups.
type gateway struct {
	busy   chan struct{} // holds one token while no connection is being made
	client *ssh.Client   // nil: there is none
	mu     sync.Mutex
	uses   map[*ssh.Client]int // tunnels through each client that is open
}

// gateway returns that of the bastion e.
func (d *Dialer) gateway(e *Endpoint) *gateway {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := e.id()
	g, ok := d.gateways[id]
	if !ok {
		g = &gateway{busy: make(chan struct{}, 1), uses: make(map[*ssh.Client]int)}
		g.busy <- struct{}{}
		d.gateways[id] = g
	}
	return g
}

// open returns the connection to the bastion e, which is held until done.
func (g *gateway) open(ctx context.Context, d *Dialer, e *Endpoint) (*ssh.Client, error) {
	select {
	case <-g.busy:
		defer func() { g.busy <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	g.mu.Lock()
	client := g.client
	if client != nil {
		g.uses[client]++
	}
	g.mu.Unlock()
	if client != nil {
		return client, nil
	}
	client, err := d.connect(ctx, e)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.client = client
	g.uses[client]++
	return client, nil
}

// done gives client back. One that is dead is not taken any more, and it is closed
// when its last tunnel is.
func (g *gateway) done(client *ssh.Client, dead bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uses[client]--
	last := g.uses[client] == 0
	if last {
		delete(g.uses, client)
	}
	if g.client == client && (dead || last) {
		g.client = nil
	}
	if !dead && !last {
		return nil
	}
	return client.Close()
}

// through connects to e from its bastion.
func (d *Dialer) through(ctx context.Context, e *Endpoint) (net.Conn, error) {
	g := d.gateway(e.Via)
	for again := false; ; again = true {
		bastion, err := g.open(ctx, d, e.Via)
		if err != nil {
			return nil, classify(e.Via, err)
		}
		conn, err := bastion.DialContext(ctx, "tcp", e.hostPort())
		if err == nil {
			return &tunnel{Conn: conn, close: sync.OnceValue(func() error { return g.done(bastion, false) })}, nil
		}
		_, refused := errors.AsType[*ssh.OpenChannelError](err) // the bastion is well, and says no
		dead := !refused && !alive(bastion)
		_ = g.done(bastion, dead)
		if !dead || again || ctx.Err() != nil {
			return nil, fmt.Errorf("from %s: %w", e.Via, err)
		}
	}
}

// alive asks the other side of client whether it is there.
func alive(client *ssh.Client) bool {
	answer := make(chan error, 1)
	go func() {
		_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
		answer <- err
	}()
	select {
	case err := <-answer:
		return err == nil
	case <-time.After(2 * time.Second):
		return false
	}
}

// A tunnel is a connection through a bastion.
type tunnel struct {
	net.Conn
	close func() error // gives the bastion's connection back
}

// Close implements net.Conn.
func (t *tunnel) Close() error { return errors.Join(t.Conn.Close(), t.close()) }
