package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
)

// errCA is of a Secret.
var errCA = errors.New("ca.crt has no certificate in PEM")

// Trusting returns a base with connections of its own, to servers that it knows by ca, CA certificates in PEM: the
// ca.crt of a Secret. Empty: those of the system.
func Trusting(ca string) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's own
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca == "" {
		return t, nil
	}
	t.TLSClientConfig.RootCAs = x509.NewCertPool()
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(ca)) {
		return nil, errCA
	}
	return t, nil
}
