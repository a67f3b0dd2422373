package kubeapi

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"fairlead.dev/fleet"
)

func (s *Server) serve(ctx context.Context, l net.Listener, g *gate, h http.Handler) error {
	hs := &http.Server{
		Handler: h,
		TLSConfig: &tls.Config{
			// Of the first connection only: most simulated clusters wait long for it.
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
				s.trustMu.Lock()
				serving := s.serving
				s.trustMu.Unlock()
				return serving()
			},
		},
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = hs.Close() })
	defer stop()
	err := hs.ServeTLS(&gatedListener{Listener: l, gate: g}, "", "")
	g.cut()
	if ctx.Err() != nil {
		return nil
	}
	return fleet.Errorf(fleet.Unavailable, "serve the Kubernetes API", "%w", err)
}

// newServing returns the TLS configuration of the API server. Clients without a
// certificate, or with a wrong one, get that answer in a Status and not by TLS.
func (s *Server) newServing(caCert, caKey []byte) (*tls.Config, error) {
	ca, err := newAuthority(caCert, caKey)
	if err != nil {
		return nil, err
	}
	cert, err := ca.issue("kube-apiserver", s.o.CertSANs, s.o.Now())
	if err != nil {
		return nil, err
	}
	clients := s.o.ClientCACert
	if len(clients) == 0 {
		clients = caCert
	}
	s.clients.trust(clients)
	return &tls.Config{
		Certificates: []tls.Certificate{cert},
		ClientAuth:   tls.RequestClientCert,
		NextProtos:   []string{"h2", "http/1.1"},
		Time:         s.o.Now,
		MinVersion:   tls.VersionTLS12,
	}, nil
}

// showCertificate serves TLS on c with the certificate that kubeadm made for the
// API server of a machine at the time made, and closes c.
func (s *Server) showCertificate(c net.Conn, made time.Time) error {
	defer func() { _ = c.Close() }()
	s.trustMu.Lock()
	caCert, caKey := s.o.CACert, s.o.CAKey
	s.trustMu.Unlock()
	ca, err := newAuthority(caCert, caKey)
	if err != nil {
		return err
	}
	cert, err := ca.issue("kube-apiserver", s.o.CertSANs, made)
	if err != nil {
		return err
	}
	_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}).Handshake() // the client hangs up after its look
	return nil
}

// A verifier decides who is a client of the cluster. It remembers certificates,
// since checking a signature costs more than answering most requests.
type verifier struct {
	mu    sync.Mutex
	roots *x509.CertPool
	known map[[sha256.Size]byte]time.Time // when the certificate expires
}

// knownLimit bounds the memory of a verifier.
const knownLimit = 64

// trust has v take certificates of any of these CAs, PEM, and of no others.
func (v *verifier) trust(authorities []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.roots, v.known = x509.NewCertPool(), nil
	v.roots.AppendCertsFromPEM(authorities)
}

func (v *verifier) verify(state *tls.ConnectionState, now time.Time) error {
	if state == nil || len(state.PeerCertificates) == 0 {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	leaf := state.PeerCertificates[0]
	sum := sha256.Sum256(leaf.Raw)
	v.mu.Lock()
	defer v.mu.Unlock()
	if expires, ok := v.known[sum]; ok && now.Before(expires) {
		return nil
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: v.roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	if v.known == nil || len(v.known) >= knownLimit {
		v.known = make(map[[sha256.Size]byte]time.Time, 1)
	}
	v.known[sum] = leaf.NotAfter
	return nil
}

// An authority signs serving certificates.
type authority struct {
	cert *x509.Certificate
	key  any
}

func newAuthority(certPEM, keyPEM []byte) (authority, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	return authority{cert, pair.PrivateKey}, err
}

// issue returns a serving certificate for sans, good for a year from now.
func (a authority) issue(name string, sans []string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, san := range sans {
		if ip := net.ParseIP(san); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
			continue
		}
		t.DNSNames = append(t.DNSNames, san)
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// A gate lets connections through, or cuts them.
type gate struct {
	mu     sync.Mutex
	closed bool
	conns  map[*gatedConn]struct{}
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	g.closed = !open
	g.mu.Unlock()
	if !open {
		g.cut()
	}
}

func (g *gate) cut() {
	g.mu.Lock()
	conns := g.conns
	g.conns = nil
	g.mu.Unlock()
	for c := range conns {
		_ = c.Conn.Close()
	}
}

func (g *gate) enter(c net.Conn) (*gatedConn, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, false
	}
	gc := &gatedConn{Conn: c, gate: g}
	if g.conns == nil {
		g.conns = make(map[*gatedConn]struct{}, 1)
	}
	g.conns[gc] = struct{}{}
	return gc, true
}

type gatedListener struct {
	net.Listener
	gate *gate
}

// Accept implements net.Listener.
func (l *gatedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if gc, ok := l.gate.enter(c); ok {
			return gc, nil
		}
		_ = c.Close()
	}
}

type gatedConn struct {
	net.Conn
	gate *gate
}

// Close implements net.Conn.
func (c *gatedConn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}
