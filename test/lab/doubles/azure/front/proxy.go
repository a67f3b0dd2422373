// Package front has a double of Azure answer at the names of Azure, which are fixed in the provider: by a certificate for
// them, and by a proxy that leads them to the double.
package front

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A Proxy is a proxy for HTTPS. It leads Names to a double, and other names to where they are.
type Proxy struct {
	server *http.Server
	conns  chan net.Conn
	ended  chan struct{}
}

var _ http.Handler = (*Proxy)(nil)

// NewProxy returns a proxy that leads to a double, with a certificate, until it is closed.
func NewProxy(double http.Handler, c tls.Certificate) *Proxy {
	p := &Proxy{
		server: &http.Server{Handler: double, ReadHeaderTimeout: time.Minute},
		conns:  make(chan net.Conn), ended: make(chan struct{}),
	}
	l := tls.NewListener(p, &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12})
	go func() { _ = p.server.Serve(l) }() // it ends with Close
	return p
}

// Accept, Close and Addr make it the net.Listener of the double.
func (p *Proxy) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

// Close ends the connections to the double.
func (p *Proxy) Close() error {
	select {
	case <-p.ended:
		return nil
	default:
		close(p.ended)
		return p.server.Close()
	}
}

// Addr implements net.Listener.
func (p *Proxy) Addr() net.Addr { return &net.TCPAddr{} }

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.Method != http.MethodConnect {
		http.Error(w, "it is a proxy for HTTPS alone", http.StatusMethodNotAllowed)
		return
	}
	host, _, err := net.SplitHostPort(q.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var to net.Conn
	if !slices.Contains(Names(), host) {
		if to, err = new(net.Dialer).DialContext(q.Context(), "tcp", q.Host); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer to.Close()
	}
	from, _, err := http.NewResponseController(w).Hijack() // before the answer: the server would read what follows that
	if err != nil {
		return // who asked is gone
	}
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = from.Close()
		return
	}
	if to == nil {
		select {
		case p.conns <- from: // the server closes it
		case <-p.ended:
			_ = from.Close()
		}
		return
	}
	defer from.Close()
	p.join(from, to)
}

// join copies between connections until one ends, or the proxy does.
func (p *Proxy) join(a, b net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-p.ended:
		case <-ctx.Done():
		}
		_, _ = a.Close(), b.Close()
	}()
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		if _, err := io.Copy(to, from); !errors.Is(err, net.ErrClosed) {
			cancel()
		}
	}
	both.Go(func() { pass(a, b) })
	both.Go(func() { pass(b, a) })
	both.Wait()
}
