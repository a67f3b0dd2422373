// Package certs gives the certificates that an agent serves with from files, and reads
// them again when they change.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Files are where a server's certificate and key are, and the CA certificates that sign the
// certificates of clients, all PEM. Without ClientCA clients need none.
type Files struct {
	Certificate, Key, ClientCA string
}

// Watched are files that are read again with the first connection after they changed.
// Where they cannot be read then, as in the middle of a change, what was read before
// stays. It is safe for concurrent use.
//
// certwatcher of controller-runtime and pemfile of gRPC do the same with a goroutine and
// an interval, and bring those libraries with them.
type Watched struct {
	files Files

	mu     sync.Mutex
	config *tls.Config
	state  [3]state
}

// state tells whether a file may have changed.
type state struct {
	at   time.Time
	size int64
	info os.FileInfo
}

func (s state) same(o state) bool {
	return s.size == o.size && s.at.Equal(o.at) && (s.info == nil) == (o.info == nil) && (s.info == nil || os.SameFile(s.info, o.info))
}

// Watch reads f. The error says which file cannot be used.
func Watch(f Files) (*Watched, error) {
	w := &Watched{files: f}
	w.state = w.look()
	var err error
	w.config, err = f.load()
	return w, err
}

// Server returns how to serve. If there are CA certificates, a client's certificate is
// verified if it shows one; whether it must is the caller's to set.
func (w *Watched) Server(must tls.ClientAuthType, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := w.current().Clone()
			c.NextProtos = protocols
			if c.ClientCAs != nil {
				c.ClientAuth = must
			}
			return c, nil
		},
	}
}

// Peer returns how to call a server that has the same certificate, such as another replica.
func (w *Watched) Peer() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The name in it is not the address of a replica. Who has its key is one.
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it
		VerifyConnection: func(s tls.ConnectionState) error {
			own := w.current().Certificates[0].Leaf
			if len(s.PeerCertificates) == 0 || !s.PeerCertificates[0].Equal(own) {
				return errors.New("the server has another certificate than this replica")
			}
			return nil
		},
	}
}

// current returns what the files hold, or held when they could be read.
func (w *Watched) current() *tls.Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.look()
	if now[0].same(w.state[0]) && now[1].same(w.state[1]) && now[2].same(w.state[2]) {
		return w.config
	}
	if c, err := w.files.load(); err == nil {
		w.config, w.state = c, now
	}
	return w.config
}

func (w *Watched) look() (out [3]state) {
	for i, file := range []string{w.files.Certificate, w.files.Key, w.files.ClientCA} {
		if info, err := os.Stat(file); err == nil {
			out[i] = state{info.ModTime(), info.Size(), info}
		}
	}
	return out
}

// load reads the files.
func (f Files) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificate and key: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if f.ClientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("cannot read the CA certificates of clients: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no CA certificate", f.ClientCA)
	}
	return c, nil
}
