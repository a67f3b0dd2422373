package forge

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Limited is why a forge refuses requests for a while: there were too many.
type Limited struct {
	Until time.Time // by the clock of this computer
	why   error
}

func (l *Limited) Error() string { return "the forge limits requests: " + l.why.Error() }

func (l *Limited) Unwrap() error { return l.why }

const (
	// restUnnamed is how long a forge is left alone that names no time.
	restUnnamed = time.Minute
	// restMost bounds the time that a forge names. The limits of GitHub are by the hour.
	restMost = time.Hour
)

// restOf returns how long a forge wants no requests, if its answer says so.
// Source: GitHub, "Rate limits for the REST API"; GitLab, "Rate limits"; RFC 9110, Retry-After.
func restOf(code int, h http.Header, words string, now time.Time) (time.Duration, bool) {
	reset, named := resetOf(h, now)
	switch code {
	case http.StatusTooManyRequests:
	case http.StatusForbidden:
		spent := h.Get("X-RateLimit-Remaining") == "0" || h.Get("RateLimit-Remaining") == "0"
		if h.Get("Retry-After") == "" && !spent && !strings.Contains(strings.ToLower(words), "rate limit") {
			return 0, false
		}
	case http.StatusServiceUnavailable:
		if h.Get("Retry-After") == "" {
			return 0, false
		}
	default:
		return 0, false
	}
	if !named {
		reset = restUnnamed
	}
	return min(max(reset, time.Second), restMost), true
}

// resetOf returns the time until the limit of a header ends, by the clock of the forge.
func resetOf(h http.Header, now time.Time) (time.Duration, bool) {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		now = at
	}
	if text := h.Get("Retry-After"); text != "" {
		if n, err := strconv.Atoi(text); err == nil {
			return time.Duration(min(n, int(restMost/time.Second))) * time.Second, true
		}
		if at, err := http.ParseTime(text); err == nil {
			return at.Sub(now), true
		}
	}
	for _, limit := range []string{"X-RateLimit-", "RateLimit-"} {
		if left := h.Get(limit + "Remaining"); left != "" && left != "0" {
			continue // it is another limit
		}
		name := limit + "Reset"
		if n, err := strconv.ParseInt(h.Get(name), 10, 64); err == nil {
			return time.Unix(n, 0).Sub(now), true
		}
	}
	return 0, false
}
