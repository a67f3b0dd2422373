// Package bearer authenticates requests with tokens that live minutes.
package bearer

import (
	"context"
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

	mu     sync.Mutex
	source providers.Tokens
	token  providers.Token
	renew  time.Time // when another one is needed; zero: it is not known
}

// New returns a Transport that sends requests through next.
func New(next http.RoundTripper, source providers.Tokens, now func() time.Time) *Transport {
	return &Transport{next: next, source: source, now: now}
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

// get returns a token that is good, and another one than refused.
func (t *Transport) get(ctx context.Context, refused fleet.Secret) (fleet.Secret, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	same := string(t.token.Value.Reveal()) == string(refused.Reveal()) // another request may have replaced it
	if !t.token.Value.IsZero() && !same && (t.renew.IsZero() || now.Before(t.renew)) {
		return t.token.Value, nil
	}
	token, err := t.source(ctx, refused)
	if err != nil {
		return fleet.Secret{}, err
	}
	if token.Value.IsZero() {
		return fleet.Secret{}, fleet.Errorf(fleet.Unauthorized, "get a token for the API server", "its source returned none")
	}
	t.token, t.renew = token, time.Time{}
	if !token.NotAfter.IsZero() {
		t.renew = token.NotAfter.Add(-min(token.NotAfter.Sub(now)/5, latest))
	}
	return token.Value, nil
}
