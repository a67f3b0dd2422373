package autoscaler

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"fairlead.dev/agent/secrets/certs"
	"fairlead.dev/fleet"
)

// Scheme is that of the URI in a client certificate which names the cluster.
const Scheme = "fairlead"

// Files are where the server's certificate and key are, and the CA certificates that
// sign clients' certificates, all PEM. They are read again when they change, so
// that they are renewed without a restart.
type Files = certs.Files

// transport returns what connections are secured with. Files that cannot be read
// now are an error.
func transport(f Files) (credentials.TransportCredentials, error) {
	w, err := certs.Watch(f)
	if err != nil {
		return nil, fmt.Errorf("autoscalers cannot be served: %w", err)
	}
	return credentials.NewTLS(w.Server(tls.RequireAndVerifyClientCert, "h2")), nil
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
