package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"fairlead.dev/providers/infrastructure/inmemory"
)

// cloudFlag has this program serve an in-memory cloud.
const cloudFlag = "serve-cloud"

// cloudCommand returns what serves an in-memory cloud at address: the program to measure, unless it may not open as many files
// as that many clusters take.
func cloudCommand(program, address string, clusters int) ([]string, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil, err
	}
	const ofCluster, others = 2, 1000
	if uint64(ofCluster*clusters+others) <= limit.Max {
		return []string{program, "inmemory", "--listen", address, "--log-level", "warn"}, nil
	}
	self, err := os.Executable()
	return []string{self, "-" + cloudFlag, address}, err
}

// serveCloud serves an in-memory cloud at address, as `fairlead inmemory` does, with one socket for the API servers of all
// clusters: each takes one open file less.
func serveCloud(ctx context.Context, address string) error {
	network := &loopback{open: make(map[string]*listener), sockets: make(map[string]net.Listener)}
	cloud := inmemory.NewCloud(inmemory.CloudOptions{
		Log:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Listen: network.listen,
	})
	defer cloud.Close()
	h := &http.Server{Addr: address, Handler: inmemory.Handler(cloud), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = h.Close() // what it serves ends with this process
	}()
	if err := h.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A loopback is this computer's loopback network, whose addresses share a socket for each port.
type loopback struct {
	mu      sync.Mutex
	open    map[string]*listener    // by address
	sockets map[string]net.Listener // by port
}

// listen opens an address.
func (n *loopback) listen(address string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open[address] != nil {
		return nil, fmt.Errorf("listen %s: %w", address, syscall.EADDRINUSE)
	}
	if n.sockets[port] == nil {
		l, err := net.Listen("tcp4", ":"+port)
		if err != nil {
			return nil, err
		}
		n.sockets[port] = l
		go n.accept(l)
	}
	one := &listener{address: at, arrived: make(chan net.Conn), closed: make(chan struct{})}
	one.close = sync.OnceFunc(func() {
		close(one.closed)
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.open, address)
	})
	n.open[address] = one
	return one, nil
}

// accept hands connections to the listener of the address that they came to. What comes from elsewhere is closed.
func (n *loopback) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "benchfleet:", err)
			return
		}
		n.mu.Lock()
		one := n.open[conn.LocalAddr().String()]
		n.mu.Unlock()
		if one == nil {
			_ = conn.Close()
			continue
		}
		go one.take(conn)
	}
}

// A listener is a net.Listener of one address.
type listener struct {
	address net.Addr
	arrived chan net.Conn
	closed  chan struct{}
	close   func()
}

func (l *listener) take(conn net.Conn) {
	select {
	case l.arrived <- conn:
	case <-l.closed:
		_ = conn.Close()
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.arrived:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error { l.close(); return nil }

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.address }
