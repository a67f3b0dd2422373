package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// maxTokenFile bounds a file of tokens, in bytes.
const maxTokenFile = 64 << 10

// Access says who may read more than the probes. The zero Access lets everybody.
type Access struct {
	// Certificates lets clients that showed a certificate which the TLS configuration
	// verified.
	Certificates bool
	// TokenFile holds bearer tokens, one a line. It is read with each request, so that a
	// changed file counts at once.
	TokenFile string
}

// Protect returns h for clients that show what a asks for. The probes are for everybody:
// a kubelet has nothing to show. An error says why TokenFile cannot be used.
func (a Access) Protect(h http.Handler) (http.Handler, error) {
	if a == (Access{}) {
		return h, nil
	}
	if a.TokenFile != "" {
		if _, err := readTokens(a.TokenFile); err != nil {
			return nil, err
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" && !a.allows(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a client certificate or a bearer token is needed", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}), nil
}

// allows reports whether r shows what a asks for.
func (a Access) allows(r *http.Request) bool {
	if a.Certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if a.TokenFile == "" || !bearer {
		return false
	}
	all, err := readTokens(a.TokenFile)
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

// readTokens returns the tokens in file, at least one.
func readTokens(file string) ([][]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for line := range bytes.Lines(content) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no token", file)
	}
	return out, nil
}
