package health

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"fairlead.dev/fleet"
)

// Readiness knows what an agent still lacks to be ready. It is safe for concurrent use.
type Readiness struct {
	mu      sync.Mutex
	missing map[string]string // a condition, and why it is not met
}

// NewReadiness returns a Readiness that lacks each of these conditions, with the reason.
func NewReadiness(missing map[string]string) *Readiness {
	return &Readiness{missing: maps.Clone(missing)}
}

// Set says why a condition is not met; with an empty reason, that it is met.
func (r *Readiness) Set(condition, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason == "" {
		delete(r.missing, condition)
		return
	}
	r.missing[condition] = reason
}

// ServeHTTP answers 200 where nothing is missing, else 503 with what is.
func (r *Readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	missing := maps.Clone(r.missing)
	r.mu.Unlock()
	if len(missing) == 0 {
		fmt.Fprintln(w, "ready")
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	for _, condition := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(w, "not ready: %s: %s\n", condition, fleet.PlainText(fleet.StableText(missing[condition])))
	}
}
