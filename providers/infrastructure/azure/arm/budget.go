package arm

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/providers/driver/transport"
)

// ARM gives a principal and subscription a bucket of reads and one of writes, which it refills.
// Source: Azure documentation, "Understand how Azure Resource Manager throttles requests".
const (
	lowReads, lowWrites   = 25, 20 // of 250 and 200: requests are slowed down
	readPause, writePause = time.Second / 25, time.Second / 10
	remaining             = "X-Ms-Ratelimit-Remaining-Subscription-"
	shortestQuiet         = 30 * time.Second // a shorter wait is that of package transport
)

var errQuiet = errors.New("the API of Azure asks to wait")

// A budget slows requests down when ARM says that few are left, and sends none while ARM asks to wait for long.
type budget struct {
	base http.RoundTripper

	mu            sync.Mutex
	reads, writes bucket
}

// A bucket is that of one kind of requests.
type bucket struct {
	low   bool
	next  time.Time // when the next request may be sent while the bucket is low
	quiet time.Time // until when none may be
}

var _ http.RoundTripper = (*budget)(nil)

// RoundTrip implements http.RoundTripper.
func (b *budget) RoundTrip(q *http.Request) (*http.Response, error) {
	of, pause, low := &b.writes, writePause, lowWrites
	if q.Method == http.MethodGet {
		of, pause, low = &b.reads, readPause, lowReads
	}
	wait, quiet := b.turn(of, pause)
	if quiet > 0 {
		return nil, &transport.UnsentError{Err: fmt.Errorf("%w for %s more", errQuiet, quiet.Round(time.Second))}
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-q.Context().Done():
			return nil, &transport.UnsentError{Err: q.Context().Err()}
		}
	}
	res, err := b.base.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	b.learn(of, res, low)
	return res, nil
}

// turn returns how long a request waits, or for how long none may be sent.
func (b *budget) turn(of *bucket, pause time.Duration) (wait, quiet time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Before(of.quiet) {
		return 0, of.quiet.Sub(now)
	}
	if !of.low {
		return 0, 0
	}
	if of.next.Before(now) {
		of.next = now
	}
	of.next = of.next.Add(pause)
	return of.next.Sub(now), 0
}

// learn reads what ARM says of the bucket.
func (b *budget) learn(of *bucket, res *http.Response, low int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	least := -1 // ARM may name several budgets
	for name := range res.Header {
		if n, err := strconv.Atoi(res.Header.Get(name)); err == nil && strings.HasPrefix(name, remaining) && (least < 0 || n < least) {
			least = n
		}
	}
	if least >= 0 {
		of.low = least < low
	}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && res.StatusCode == http.StatusTooManyRequests {
		of.low = true
		if d := time.Duration(n) * time.Second; d > shortestQuiet {
			of.quiet = time.Now().Add(d)
		}
	}
}

// CloseIdleConnections closes those of the base.
func (b *budget) CloseIdleConnections() {
	if c, ok := b.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
