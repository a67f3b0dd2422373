package autoscaler

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"fairlead.dev/fleet"
)

// Scheme is that of the URI in a client certificate which names the cluster.
const Scheme = "fairlead"

// Files are where the server's certificate and key are, and the authorities that
// sign clients' certificates, all PEM. They are read with each connection, so
// that they are renewed without a restart.
type Files struct {
	Certificate, Key, ClientCA string
}

// config reads the files.
func (f Files) config() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificate and key of the autoscaler's server: %w", err)
	}
	pem, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authorities of autoscalers: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate of an authority", f.ClientCA)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
	}, nil
}

// transport returns what connections are secured with. Files that cannot be read
// now are an error.
func (f Files) transport() (credentials.TransportCredentials, error) {
	if _, err := f.config(); err != nil {
		return nil, err
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return f.config()
		},
	}), nil
}

// caller returns the cluster that the client's certificate names.
func caller(ctx context.Context) (fleet.Key, error) {
	p, _ := peer.FromContext(ctx)
	if p == nil {
		return fleet.Key{}, status.Error(codes.Unauthenticated, "there is no client certificate")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return fleet.Key{}, status.Error(codes.Unauthenticated, "there is no client certificate")
	}
	var keys []fleet.Key
	for _, u := range info.State.VerifiedChains[0][0].URIs {
		if u.Scheme != Scheme {
			continue
		}
		k, err := fleet.ParseKey(u.Host + "/" + strings.TrimPrefix(u.Path, "/"))
		if err != nil {
			return fleet.Key{}, status.Errorf(codes.PermissionDenied, "the URI %s of the client certificate names no cluster: %v", u, err)
		}
		keys = append(keys, k)
	}
	if len(keys) != 1 {
		return fleet.Key{}, status.Errorf(codes.PermissionDenied, "the client certificate must name one cluster, by a URI %s://NAMESPACE/NAME; it has %d", Scheme, len(keys))
	}
	return keys[0], nil
}
