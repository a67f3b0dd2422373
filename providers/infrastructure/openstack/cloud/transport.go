package cloud

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Call is one request that was made of a cloud, for metrics and tests.
type Call struct {
	Service string // "compute", "network", …; "identity" for Keystone
	Method  string
	Path    string
	Status  int // 0 where there was no answer
	Took    time.Duration
}

// The bounds of waiting for a cloud that asks for patience.
const (
	busyAttempts = 4
	busyWait     = time.Second // where the cloud does not say how long; doubled each time
	mostWait     = 30 * time.Second
)

// transport keeps to the rate of a project, waits where the cloud asks for it,
// and counts.
type transport struct {
	base    http.RoundTripper
	rate    *rate.Limiter
	observe func(Call)

	mu       sync.Mutex
	services map[string]string // by endpoint
}

func (t *transport) name(endpoint, service string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.services[endpoint] = service
}

func (t *transport) service(url string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	best, out := "", "identity"
	for endpoint, service := range t.services {
		if strings.HasPrefix(url, endpoint) && len(endpoint) > len(best) {
			best, out = endpoint, service
		}
	}
	return out
}

// RoundTrip implements http.RoundTripper. Too many requests (429) were not
// carried out and are repeated; an unavailable service (503) is asked again only
// for what changes nothing.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	wait := busyWait
	for attempt := 1; ; attempt++ {
		if err := t.rate.Wait(ctx); err != nil {
			closeBody(r)
			return nil, &unsentError{err}
		}
		resp, err := t.once(r)
		if err != nil || !busy(r, resp) || attempt == busyAttempts || (r.Body != nil && r.GetBody == nil) {
			return resp, err
		}
		pause := retryAfter(resp, wait)
		if pause > mostWait {
			return resp, nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
		_ = resp.Body.Close()
		if err := sleep(ctx, pause); err != nil {
			return nil, &unsentError{err}
		}
		wait *= 2
		if r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, &unsentError{err}
			}
			r = r.Clone(ctx)
			r.Body = body
		}
	}
}

func (t *transport) once(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		closeBody(r)
		return nil, &unsentError{err}
	}
	began := time.Now()
	resp, err := t.base.RoundTrip(r)
	if t.observe != nil {
		c := Call{Service: t.service(r.URL.String()), Method: r.Method, Path: r.URL.Path, Took: time.Since(began)}
		if resp != nil {
			c.Status = resp.StatusCode
		}
		t.observe(c)
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
