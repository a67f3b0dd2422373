package bearer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload/bearer"
)

// server accepts the tokens that it gave, for a minute each, unless it revoked them.
type server struct {
	now    time.Time
	given  int
	ends   map[string]time.Time
	asked  []string // tokens that were refused when another one was asked for
	bodies []string
	fails  error
}

func (s *server) token(_ context.Context, refused fleet.Secret) (providers.Token, error) {
	if s.fails != nil {
		return providers.Token{}, s.fails
	}
	s.given++
	name := fmt.Sprintf("t%d", s.given)
	s.asked = append(s.asked, string(refused.Reveal()))
	s.ends[name] = s.now.Add(time.Minute)
	return providers.Token{Value: fleet.NewSecret([]byte(name)), NotAfter: s.ends[name]}, nil
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusUnauthorized
	if s.now.Before(s.ends[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]) {
		status = http.StatusOK
	}
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, string(b))
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func newServer() (*server, *bearer.Transport) {
	s := &server{now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), ends: make(map[string]time.Time)}
	return s, bearer.New(s, s.token, func() time.Time { return s.now })
}

func send(t *testing.T, rt http.RoundTripper, body io.Reader) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.example.com", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if r.Header.Get("Authorization") != "" {
		t.Error("the caller's request was changed")
	}
	return resp.StatusCode
}

// TestTokenIsRenewed: a token is asked for once, and again before it ends.
func TestTokenIsRenewed(t *testing.T) {
	t.Parallel()
	s, rt := newServer()
	for _, tc := range []struct {
		after time.Duration
		given int
	}{{0, 1}, {10 * time.Second, 1}, {30 * time.Second, 1}, {9 * time.Second, 2}, {time.Hour, 3}} {
		s.now = s.now.Add(tc.after)
		if status := send(t, rt, nil); status != http.StatusOK || s.given != tc.given {
			t.Errorf("after %s: status %d with %d tokens, want 200 with %d", tc.after, status, s.given, tc.given)
		}
	}
	if got := strings.Join(s.asked, ","); got != ",," {
		t.Errorf("tokens were refused: %q", got)
	}
}

// TestRefusedToken: after a 401 another token is asked for, once, and the request is sent again with its body.
func TestRefusedToken(t *testing.T) {
	t.Parallel()
	s, rt := newServer()
	send(t, rt, nil)
	delete(s.ends, "t1")
	if status := send(t, rt, strings.NewReader("body")); status != http.StatusOK || s.given != 2 {
		t.Errorf("status %d with %d tokens, want 200 with the second one", status, s.given)
	}
	if got := strings.Join(s.bodies, ","); got != "body,body" {
		t.Errorf("bodies %q, want the same twice", got)
	}
	if s.asked[1] != "t1" {
		t.Errorf("the refused token is told as %q", s.asked[1])
	}
	delete(s.ends, "t2")
	if status := send(t, rt, io.MultiReader(strings.NewReader("once"))); status != http.StatusUnauthorized || len(s.bodies) != 3 {
		t.Errorf("a body that cannot be read again: status %d, bodies %q", status, s.bodies)
	}
	s.ends = map[string]time.Time{}
	refuse := bearer.New(s, func(context.Context, fleet.Secret) (providers.Token, error) {
		s.given++
		return providers.Token{Value: fleet.NewSecret([]byte("never good"))}, nil
	}, func() time.Time { return s.now })
	before := s.given
	if status := send(t, refuse, nil); status != http.StatusUnauthorized || s.given != before+2 {
		t.Errorf("a source without a good token: status %d after %d tokens, want 401 after 2", status, s.given-before)
	}
}

// TestNoToken: an error of the source is that of the request, and has no token in it.
func TestNoToken(t *testing.T) {
	t.Parallel()
	s, rt := newServer()
	s.fails = fleet.Errorf(fleet.Unavailable, "get a token", "the token service does not answer")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := rt.RoundTrip(r); !errors.Is(err, s.fails) {
		_ = resp.Body.Close()
		t.Errorf("error %v", err)
	}
	empty := bearer.New(s, func(context.Context, fleet.Secret) (providers.Token, error) { return providers.Token{}, nil }, time.Now)
	if _, err := empty.RoundTrip(r); fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("no token: %v", err)
	}
	s.fails = nil
	rt.Use(func(context.Context, fleet.Secret) (providers.Token, error) {
		s.ends["other"] = s.now.Add(time.Minute)
		return providers.Token{Value: fleet.NewSecret([]byte("other"))}, nil
	})
	if status := send(t, rt, nil); status != http.StatusOK || s.given != 0 {
		t.Errorf("another source: status %d, %d tokens of the first", status, s.given)
	}
}

// A body tells when it is closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

// TestSourceHangs: a source that gives no answer holds up requests for half a minute, and not those whose token is good.
func TestSourceHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{now: time.Now(), ends: map[string]time.Time{}}
		rt := bearer.New(s, func(ctx context.Context, _ fleet.Secret) (providers.Token, error) {
			<-ctx.Done()
			return providers.Token{}, ctx.Err()
		}, time.Now)
		began := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				sent := &body{Reader: strings.NewReader("body")}
				r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, "https://api.example.com", sent)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := rt.RoundTrip(r)
				if err == nil {
					_ = resp.Body.Close()
				}
				if fleet.KindOf(err) != fleet.Unavailable || !strings.Contains(err.Error(), "30s") || !sent.closed {
					t.Errorf("error %v, body closed %t", err, sent.closed)
				}
			})
		}
		time.Sleep(time.Second)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(short, http.MethodGet, "https://api.example.com", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 2*time.Second {
			t.Errorf("a request that ends while it waits for its turn ended after %s, with %v", took, err)
		}
		wg.Wait()
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("requests waited %s, want 30s", took)
		}
	})
}

// closing answers 401 to the first request. It fails the test if another one is sent before that answer is closed.
type closing struct {
	t     *testing.T
	first *body
}

// RoundTrip implements http.RoundTripper.
func (c *closing) RoundTrip(*http.Request) (*http.Response, error) {
	if c.first != nil {
		if !c.first.closed {
			c.t.Error("the request is repeated before the answer to the first one is closed")
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}
	c.first = &body{Reader: strings.NewReader(strings.Repeat("no ", 4096))}
	return &http.Response{StatusCode: http.StatusUnauthorized, Body: c.first}, nil
}

// TestAnswerIsClosed: the answer 401 is closed before the request is sent again.
func TestAnswerIsClosed(t *testing.T) {
	t.Parallel()
	given := 0
	rt := bearer.New(&closing{t: t}, func(context.Context, fleet.Secret) (providers.Token, error) {
		given++
		return providers.Token{Value: fleet.NewSecret([]byte(fmt.Sprint(given)))}, nil
	}, time.Now)
	if status := send(t, rt, nil); status != http.StatusOK || given != 2 {
		t.Errorf("status %d after %d tokens", status, given)
	}
}
