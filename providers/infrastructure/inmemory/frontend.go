package inmemory

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// A frontend is a load balancer: it holds an address from the beginning, closes
// connections while nothing is behind it, and hands them to what is.
type frontend struct {
	net.Listener
	mu      sync.Mutex
	backend *backend
}

func newFrontend(l net.Listener) *frontend { return &frontend{Listener: l} }

// run accepts connections until the listener is closed.
func (f *frontend) run() {
	for {
		conn, err := f.Accept()
		if err != nil {
			f.set(nil)
			return
		}
		f.mu.Lock()
		b := f.backend
		f.mu.Unlock()
		if b == nil || !b.take(conn) {
			_ = conn.Close() // as a balancer without backends does
		}
	}
}

// set puts b behind the frontend; nil takes away what is.
func (f *frontend) set(b *backend) {
	f.mu.Lock()
	old := f.backend
	f.backend = b
	f.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
}

// A backend is the listener of a server behind a frontend. Closing it leaves
// the frontend's address alone.
type backend struct {
	address net.Addr
	conns   chan net.Conn
	done    chan struct{}
	close   func()
}

func newBackend(a net.Addr) *backend {
	b := &backend{address: a, conns: make(chan net.Conn), done: make(chan struct{})}
	b.close = sync.OnceFunc(func() { close(b.done) })
	return b
}

func (b *backend) take(c net.Conn) bool {
	select {
	case b.conns <- c:
		return true
	case <-b.done:
		return false
	}
}

// Accept implements net.Listener.
func (b *backend) Accept() (net.Conn, error) {
	select {
	case c := <-b.conns:
		return c, nil
	case <-b.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (b *backend) Close() error { b.close(); return nil }

// Addr implements net.Listener.
func (b *backend) Addr() net.Addr { return b.address }

// A PipeNetwork is a network of addresses in memory, for clouds that are to
// work without sockets, as in a testing/synctest bubble.
type PipeNetwork struct {
	mu        sync.Mutex
	listeners map[string]*backend
}

// NewPipeNetwork returns an empty network.
func NewPipeNetwork() *PipeNetwork { return &PipeNetwork{listeners: make(map[string]*backend)} }

// Listen opens address, as CloudOptions.Listen does.
func (p *PipeNetwork) Listen(address string) (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.listeners[address]; ok {
		return nil, fmt.Errorf("listen %s: %w", address, syscall.EADDRINUSE)
	}
	b := newBackend(pipeAddr(address))
	b.close = sync.OnceFunc(func() {
		close(b.done)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.listeners, address)
	})
	p.listeners[address] = b
	return b, nil
}

// DialContext connects to address, as net.Dialer does.
func (p *PipeNetwork) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	p.mu.Lock()
	b, ok := p.listeners[address]
	p.mu.Unlock()
	if ok {
		client, server := net.Pipe()
		select {
		case b.conns <- server:
			return client, nil
		case <-b.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("dial %s: %w", address, syscall.ECONNREFUSED)
}

type pipeAddr string

func (a pipeAddr) Network() string { return "pipe" }
func (a pipeAddr) String() string  { return string(a) }
