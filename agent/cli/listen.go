package cli

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/agent"
	"fairlead.dev/agent/certs"
)

// maxTokenFile bounds a file of tokens, in bytes.
const maxTokenFile = 64 << 10

// listenFlags say how the agent's own pages are served, and to whom.
type listenFlags struct {
	files certs.Files
	token string
}

func (f *listenFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.files.Certificate, "listen-tls-cert", "", "file with the certificate to serve --listen with, PEM; without one it is plain HTTP")
	fs.StringVar(&f.files.Key, "listen-tls-key", "", "file with its key, PEM")
	fs.StringVar(&f.files.ClientCA, "listen-client-ca", "", "file with authorities, PEM: who shows a certificate of theirs may read metrics, and others may not; probes are for everybody")
	fs.StringVar(&f.token, "listen-token-file", "", "file with bearer tokens, one a line: who has one may read metrics, and others may not; probes are for everybody")
}

// check says what is wrong with the flags, where the pages are served at address.
func (f *listenFlags) check(address string) error {
	switch {
	case (f.files.Certificate == "") != (f.files.Key == ""):
		return &usageError{errors.New("--listen-tls-cert and --listen-tls-key go together")}
	case f.files != (certs.Files{}) && address == "", f.token != "" && address == "":
		return &usageError{errors.New("--listen is empty: there is nothing to serve with a certificate or a token")}
	case f.files.ClientCA != "" && f.files.Certificate == "":
		return &usageError{errors.New("--listen-client-ca needs --listen-tls-cert and --listen-tls-key: certificates are shown over TLS")}
	case f.token != "" && f.files.Certificate == "" && !loopback(address):
		return &usageError{errors.New("--listen-token-file needs --listen-tls-cert and --listen-tls-key: over plain HTTP a token is there for all to hear")}
	}
	return nil
}

// guarded returns h for those alone who show what is asked for, and how to serve it; nil
// is without TLS.
func (f *listenFlags) guarded(h http.Handler) (http.Handler, *tls.Config, error) {
	var config *tls.Config
	if f.files.Certificate != "" {
		w, err := certs.Watch(f.files)
		if err != nil {
			return nil, nil, fmt.Errorf("--listen-tls-…: %w", err)
		}
		config = w.Server(tls.VerifyClientCertIfGiven, "h2", "http/1.1")
	}
	if f.token != "" {
		if _, err := tokens(f.token); err != nil {
			return nil, nil, err
		}
	}
	if f.token == "" && f.files.ClientCA == "" {
		return h, config, nil
	}
	return agent.Guarded(h, f.allowed), config, nil
}

// allowed reports whether r comes from who may read metrics.
func (f *listenFlags) allowed(r *http.Request) bool {
	if f.files.ClientCA != "" && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if f.token == "" || !bearer {
		return false
	}
	all, err := tokens(f.token)
	if err != nil {
		return false
	}
	ok, sum := 0, sha256.Sum256([]byte(strings.TrimSpace(given)))
	for _, token := range all {
		want := sha256.Sum256(token)
		ok |= subtle.ConstantTimeCompare(sum[:], want[:])
	}
	return ok == 1
}

// tokens returns those in file, at least one. It is read with each request: a changed one
// counts at once.
func tokens(file string) ([][]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--listen-token-file: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return nil, fmt.Errorf("--listen-token-file: %w", err)
	}
	var out [][]byte
	for line := range bytes.Lines(content) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("--listen-token-file: %s holds no token", file)
	}
	return out, nil
}

// secured returns l with TLS, or as it is, and the scheme of its URLs.
func secured(l net.Listener, config *tls.Config) (net.Listener, string) {
	if config == nil {
		return l, "http://"
	}
	return tls.NewListener(l, config), "https://"
}
