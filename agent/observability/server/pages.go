package server

import (
	"net/http"
	"net/http/pprof"
	"time"
)

// pageTimeout bounds a request for one of the agent's own pages, but for profiles, which
// take as long as the request says.
const pageTimeout = 30 * time.Second

// Pages are the agent's own.
type Pages struct {
	Metrics   http.Handler // /metrics
	Health    http.Handler // /healthz
	Ready     http.Handler // /readyz
	Profiling bool         // serves /debug/pprof as well
}

// Handler serves the pages. More may be added to it.
func (p Pages) Handler() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", limit(p.Metrics))
	mux.Handle("GET /healthz", limit(p.Health))
	mux.Handle("GET /readyz", limit(p.Ready))
	if p.Profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// limit bounds how long a request to h may take to read and to answer, so that a client
// that reads slowly does not hold a connection.
func limit(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, until := http.NewResponseController(w), time.Now().Add(pageTimeout)
		_, _ = c.SetReadDeadline(until), c.SetWriteDeadline(until) // a writer without deadlines, such as a recorder, needs none
		h.ServeHTTP(w, r)
	})
}
