package transport

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/time/rate"
)

// Options of a Transport. Zero values mean the defaults.
type Options struct {
	Base      http.RoundTripper // what requests go through; default http.DefaultTransport
	PerSecond float64           // requests begun in a second; twice as many may come at once; default no bound
	Sent      func(Call)        // told of each request when its answer is there, from any goroutine
}

// A Call is one request that was made.
type Call struct {
	Method string
	URL    *url.URL
	Status int // 0 where there was no answer
	Took   time.Duration
}

// The bounds of waiting for a server that asks for patience.
const (
	busyAttempts = 4
	busyWait     = time.Second // where the server does not say how long; doubled each time
	longestWait  = 30 * time.Second
)

// A Transport is an http.RoundTripper. Too many requests (429) were not carried out and
// are repeated; an unavailable service (503) is asked again only for what changes
// nothing.
type Transport struct {
	base http.RoundTripper
	rate *rate.Limiter
	sent func(Call)
}

var _ http.RoundTripper = (*Transport)(nil)

// New returns a Transport.
func New(o Options) *Transport {
	t := &Transport{base: o.Base, sent: o.Sent, rate: rate.NewLimiter(rate.Inf, 1)}
	if t.base == nil {
		t.base = http.DefaultTransport
	}
	if o.PerSecond > 0 {
		t.rate = rate.NewLimiter(rate.Limit(o.PerSecond), int(2*o.PerSecond)+1)
	}
	return t
}

// CloseIdleConnections closes them, as http.Client's method of that name expects.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	wait := busyWait
	for attempt := 1; ; attempt++ {
		if err := t.rate.Wait(ctx); err != nil {
			closeBody(r)
			return nil, &UnsentError{err}
		}
		resp, err := t.once(r)
		if err != nil || !busy(r, resp) || attempt == busyAttempts || (r.Body != nil && r.GetBody == nil) {
			return resp, err
		}
		pause := retryAfter(resp, wait)
		if pause > longestWait {
			return resp, nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
		_ = resp.Body.Close()
		if err := sleep(ctx, pause); err != nil {
			return nil, &UnsentError{err}
		}
		wait *= 2
		if r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, &UnsentError{err}
			}
			r = r.Clone(ctx)
			r.Body = body
		}
	}
}

func (t *Transport) once(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		closeBody(r)
		return nil, &UnsentError{err}
	}
	began := time.Now()
	resp, err := t.base.RoundTrip(r)
	if t.sent != nil {
		c := Call{Method: r.Method, URL: r.URL, Took: time.Since(began)}
		if resp != nil {
			c.Status = resp.StatusCode
		}
		t.sent(c)
	}
	return resp, err
}

func busy(r *http.Request, resp *http.Response) bool {
	return resp.StatusCode == http.StatusTooManyRequests ||
		resp.StatusCode == http.StatusServiceUnavailable && r.Method == http.MethodGet
}

// retryAfter reads the header of that name: seconds or a date.
// Source: RFC 9110, section 10.2.3.
func retryAfter(resp *http.Response, otherwise time.Duration) time.Duration {
	h := resp.Header.Get("Retry-After")
	if n, err := strconv.Atoi(h); err == nil && n >= 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(h); err == nil {
		return max(0, time.Until(at))
	}
	return otherwise
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}
