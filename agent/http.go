package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"sync"
	"time"

	"fairlead.dev/agent/metrics"
	"fairlead.dev/fleet"
)

// readiness is what an agent still lacks to be ready.
type readiness struct {
	mu      sync.Mutex
	missing map[string]string // what, and why it is missing
}

func newReadiness(missing map[string]string) *readiness {
	return &readiness{missing: missing}
}

// set says why what is missing, or with an empty reason that it is there.
func (r *readiness) set(what, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason == "" {
		delete(r.missing, what)
		return
	}
	r.missing[what] = reason
}

// ServeHTTP answers 200 when nothing is missing, else 503 with what is.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	missing := maps.Clone(r.missing)
	r.mu.Unlock()
	if len(missing) == 0 {
		fmt.Fprintln(w, "ready")
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	for _, what := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(w, "not ready: %s: %s\n", what, fleet.PlainText(fleet.StableText(missing[what])))
	}
}

// Ready answers whether the agent is ready, and if not why.
func (a *Agent) Ready() http.Handler { return a.ready }

// Handler serves the agent's own pages. See Pages.
func (a *Agent) Handler(profiling bool) *http.ServeMux {
	return Pages(a.p.Metrics, a.ready, a.p.Watchdog, profiling, a.p.Log)
}

// Pages serves /metrics, /healthz and /readyz, and /debug/pprof where profiling
// is asked for.
func Pages(m *metrics.Metrics, ready http.Handler, health *Watchdog, profiling bool, log *slog.Logger) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", soon(m.Handler(log)))
	mux.Handle("GET /healthz", soon(health))
	mux.Handle("GET /readyz", soon(ready))
	if profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// soon bounds how long h may take to be asked and to answer: who reads slowly does not
// hold a connection.
func soon(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, until := http.NewResponseController(w), time.Now().Add(pageTimeout)
		_, _ = c.SetReadDeadline(until), c.SetWriteDeadline(until) // what cannot have one needs none
		h.ServeHTTP(w, r)
	})
}

const pageTimeout = 30 * time.Second

// Guarded serves h to whom allowed lets. What tells that the process lives and is ready
// is for everybody: a kubelet has nothing to show.
func Guarded(h http.Handler, allowed func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" && !allowed(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a client certificate or a bearer token is needed", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Serve answers requests on l with h until ctx ends, and then gives those under
// way a moment to finish.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 256 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			server.Close()
		}
	})
	err := server.Serve(l)
	if !stop() {
		<-done
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
