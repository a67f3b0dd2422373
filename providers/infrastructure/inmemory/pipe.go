package inmemory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

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
		client, server := newPipe(pipeAddr(address))
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

// newPipe returns the two ends of a connection. Unlike those of net.Pipe they
// buffer what is written, as sockets do: two ends that write at once do not wait
// for each other.
func newPipe(a pipeAddr) (*pipeEnd, *pipeEnd) {
	x, y := newStream(), newStream()
	return &pipeEnd{in: x, out: y, address: a}, &pipeEnd{in: y, out: x, address: a}
}

// A pipeEnd is one end of a connection.
type pipeEnd struct {
	in, out *stream
	address pipeAddr
}

var _ net.Conn = (*pipeEnd)(nil)

// Read implements net.Conn.
func (p *pipeEnd) Read(b []byte) (int, error) { return p.in.read(b) }

// Write implements net.Conn. It never waits.
func (p *pipeEnd) Write(b []byte) (int, error) { return p.out.write(b) }

// Close implements net.Conn. What was written before can still be read.
func (p *pipeEnd) Close() error {
	p.in.close(net.ErrClosed)
	p.out.close(io.EOF)
	return nil
}

// LocalAddr implements net.Conn.
func (p *pipeEnd) LocalAddr() net.Addr { return p.address }

// RemoteAddr implements net.Conn.
func (p *pipeEnd) RemoteAddr() net.Addr { return p.address }

// SetDeadline implements net.Conn.
func (p *pipeEnd) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn.
func (p *pipeEnd) SetReadDeadline(t time.Time) error { p.in.setDeadline(t); return nil }

// SetWriteDeadline implements net.Conn.
func (p *pipeEnd) SetWriteDeadline(time.Time) error { return nil }

// A stream is one direction of a connection.
type stream struct {
	mu       sync.Mutex
	changed  *sync.Cond
	data     []byte
	end      error // what a reader gets once data is used up
	deadline time.Time
	timer    *time.Timer
}

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case errors.Is(s.end, net.ErrClosed):
			return 0, s.end
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			return 0, os.ErrDeadlineExceeded
		case len(s.data) > 0:
			n := copy(b, s.data)
			s.data = s.data[n:]
			return n, nil
		case s.end != nil:
			return 0, s.end
		}
		s.changed.Wait()
	}
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		return 0, syscall.EPIPE
	}
	s.data = append(s.data, b...)
	s.changed.Broadcast()
	return len(b), nil
}

// close ends the stream with err. The reader's own close wins.
func (s *stream) close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end == nil || errors.Is(err, net.ErrClosed) {
		s.end = err
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.changed.Broadcast()
}

func (s *stream) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if !t.IsZero() {
		s.timer = time.AfterFunc(time.Until(t), s.changed.Broadcast)
	}
	s.changed.Broadcast()
}
