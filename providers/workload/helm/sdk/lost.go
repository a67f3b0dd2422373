package sdk

import (
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"fairlead.dev/fleet"
)

// An answers is a transport that notes whether a request that changes something was sent and
// got no answer: it may have been carried out.
type answers struct {
	http.RoundTripper
	lost *atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return a.RoundTripper.RoundTrip(r)
	}
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	out, err := a.RoundTripper.RoundTrip(r.WithContext(traced))
	if err != nil && sent.Load() {
		a.lost.Store(true)
	}
	return out, err
}

// kindOfTry returns the kind of err, with which a change of a release ended.
func kindOfTry(err error, lost bool) fleet.ErrorKind {
	k := kindOf(err)
	if k == fleet.Unavailable && lost {
		return fleet.Unanswered
	}
	return k
}
