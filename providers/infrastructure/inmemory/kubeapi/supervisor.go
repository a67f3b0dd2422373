package kubeapi

import (
	"context"
	"net"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// supervised reports whether a path is one of a supervisor's of K3s and RKE2, not of
// Kubernetes' API.
// Source: k3s, pkg/server/handlers/router.go and pkg/etcd.
func supervised(path string) bool {
	return path == "/cacerts" || path == "/ping" || strings.HasPrefix(path, "/db/") || strings.HasPrefix(path, "/v1-")
}

// serveSupervisor answers what is for the supervisor, or for the API server while there
// is none behind the port.
func (s *Server) serveSupervisor(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case s.o.Supervisor != nil && supervised(r.URL.Path):
		s.o.Supervisor.ServeHTTP(w, r)
	case s.starting.Load():
		fail(w, status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "apiserver not ready"))
	default:
		return false
	}
	return true
}

// ServeSupervisor answers what is for h on TLS connections of l, with a certificate like
// that of the API server, until ctx ends, and closes l then.
func (s *Server) ServeSupervisor(ctx context.Context, l net.Listener, h http.Handler) error {
	return s.serve(ctx, l, &s.supervisor, h)
}

// SetStarting true has the port of the API server be served by what has no API server
// yet: its requests get that answer.
func (s *Server) SetStarting(yes bool) { s.starting.Store(yes) }

// SetSupervised false makes the port of ServeSupervisor look like a load balancer without
// backends, as SetAvailable does with the API server's.
func (s *Server) SetSupervised(ok bool) { s.supervisor.set(ok) }

// wrote tells who wants to know of Nodes that a client wrote or deleted.
func (s *Server) wrote(q request) {
	if s.o.NodeWritten != nil && q.kind.Kind == "Node" && q.Method != http.MethodGet {
		s.o.NodeWritten()
	}
}
