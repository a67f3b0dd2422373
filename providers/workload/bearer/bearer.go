// Package bearer authenticates requests with tokens that live minutes.
package bearer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// A Transport sends requests with a token. It asks for another one before the token ends, and once after
// the other side answered 401. It is safe for concurrent use.
type Transport struct {
	next http.RoundTripper
	now  func() time.Time
	turn chan struct{} // held by the request that asks for a token

	mu     sync.Mutex
	source providers.Tokens
	token  providers.Token
	renew  time.Time // when another one is needed; zero: it is not known
}

// New returns a Transport that sends requests through next.
func New(next http.RoundTripper, source providers.Tokens, now func() time.Time) *Transport {
	return &Transport{next: next, source: source, now: now, turn: make(chan struct{}, 1)}
}

// Use has tokens come from source from now on. The one that is in use stays until it ends.
func (t *Transport) Use(source providers.Tokens) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.source = source
}

// RoundTrip implements http.RoundTripper. A request that was refused with 401 was not carried out: it is sent a
// second time, unless its body cannot be read again.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := t.get(r.Context(), fleet.Secret{})
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as a RoundTripper has to, whatever happens
		}
		return nil, err
	}
	resp, err := t.next.RoundTrip(with(r, token))
	if err != nil || resp.StatusCode != http.StatusUnauthorized || r.Body != nil && r.GetBody == nil {
		return resp, err
	}
	_, _ = io.CopyN(io.Discard, resp.Body, mostDiscarded) // so that the connection can be used again
	_ = resp.Body.Close()
	if token, err = t.get(r.Context(), token); err != nil {
		return nil, err
	}
	again := with(r, token)
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.next.RoundTrip(again)
}

const mostDiscarded = 4 << 10

// with returns r with a token.
func with(r *http.Request, token fleet.Secret) *http.Request {
	out := r.Clone(r.Context())
	out.Header.Set("Authorization", "Bearer "+string(token.Reveal()))
	return out
}

// latest bounds how long before its end a token is replaced: a fifth of its life, but not longer than this.
const latest = 2 * time.Minute

// patience bounds how long a request waits for a token. A source that hangs holds up no request for longer.
const patience = 30 * time.Second

const getToken = "get a token for the API server"

// get returns a token that is good, and another one than refused.
func (t *Transport) get(ctx context.Context, refused fleet.Secret) (fleet.Secret, error) {
	if token, ok := t.good(refused); ok {
		return token, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("its source gave none within %s", patience))
	defer cancel()
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return fleet.Secret{}, fleet.Errorf(fleet.Unavailable, getToken, "%w", context.Cause(ctx))
	}
	if token, ok := t.good(refused); ok { // another request may have asked for it
		return token, nil
	}
	return t.ask(ctx, refused)
}

// good returns the token in use, unless it is refused or has to be replaced.
func (t *Transport) good(refused fleet.Secret) (fleet.Secret, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := string(t.token.Value.Reveal()) == string(refused.Reveal())
	return t.token.Value, !t.token.Value.IsZero() && !same && (t.renew.IsZero() || t.now().Before(t.renew))
}

// ask replaces the token in use.
func (t *Transport) ask(ctx context.Context, refused fleet.Secret) (fleet.Secret, error) {
	t.mu.Lock()
	source := t.source
	t.mu.Unlock()
	token, err := source(ctx, refused)
	switch {
	case err != nil && ctx.Err() != nil:
		return fleet.Secret{}, fleet.Errorf(fleet.Unavailable, getToken, "%w", context.Cause(ctx))
	case err != nil:
		return fleet.Secret{}, err
	case token.Value.IsZero():
		return fleet.Secret{}, fleet.Errorf(fleet.Unauthorized, getToken, "its source returned none")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token, t.renew = token, time.Time{}
	if !token.NotAfter.IsZero() {
		t.renew = token.NotAfter.Add(-min(token.NotAfter.Sub(t.now())/5, latest))
	}
	return token.Value, nil
}
