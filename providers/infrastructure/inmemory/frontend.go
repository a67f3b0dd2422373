package inmemory

import (
	"net"
	"sync"
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
