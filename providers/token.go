package providers

import (
	"context"
	"time"

	"fairlead.dev/fleet"
)

// A TokenSource is a HostedControlPlane whose API servers accept tokens that live minutes. The kubeconfig that
// it provides has no credential, except perhaps a program for people, which Fairlead does not run. A token is
// in no store, status, log or error.
type TokenSource interface {
	// Token returns a token for the API server of c. refused is one that the API server did not accept; zero:
	// none. It is not returned again. It returns when ctx ends.
	Token(ctx context.Context, c *fleet.Cluster, refused fleet.Secret) (Token, error)
}

// A Token is a bearer token.
type Token struct {
	Value    fleet.Secret
	NotAfter time.Time // zero: not known; it is used until an API server refuses it
}

// Tokens returns tokens for the API server of one cluster, as TokenSource.Token does.
type Tokens func(ctx context.Context, refused fleet.Secret) (Token, error)

// TokensOf returns the tokens of the control plane of c; nil: its kubeconfig has a credential.
func TokensOf(plane HostedControlPlane, c *fleet.Cluster) Tokens {
	source, ok := plane.(TokenSource)
	if !ok {
		return nil
	}
	return func(ctx context.Context, refused fleet.Secret) (Token, error) { return source.Token(ctx, c, refused) }
}
