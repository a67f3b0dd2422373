package kubeapi

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// portForwardProtocol is what kubectl and client-go speak inside SPDY.
const portForwardProtocol = "portforward.k8s.io"

const (
	etcdPort      = "2379"
	apiServerPort = "6443"
)

// servePortForward opens a tunnel to a pod. The etcd members and, with only their
// certificates, the API servers are the only pods that answer in it.
func (s *Server) servePortForward(w http.ResponseWriter, q request) error {
	raw, ok := s.read(q.kind, q.namespace, q.name)
	if !ok {
		return apierrors.NewNotFound(q.kind.resource(), q.name)
	}
	if !httpstream.IsUpgradeRequest(q.Request) || !strings.EqualFold(q.Header.Get("Upgrade"), spdy.HeaderSpdy31) {
		return status(http.StatusBadRequest, metav1.StatusReasonBadRequest, "unable to upgrade: SPDY/3.1 is served only")
	}
	if _, err := httpstream.Handshake(q.Request, w, []string{portForwardProtocol}); err != nil {
		return nil // Handshake answered
	}
	pod := decode(raw)
	f := &forwarder{
		server: s, pod: pod.GetName(), namespace: q.namespace, created: pod.GetCreationTimestamp().Time,
		waiting: make(map[string]httpstream.Stream),
	}
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, q.Request, f.accept)
	if conn == nil {
		return nil // UpgradeResponse answered
	}
	defer conn.Close()
	select {
	case <-conn.CloseChan():
	case <-q.Context().Done():
	}
	return nil
}

// A forwarder joins the pairs of streams of one tunnel: each connection has one
// for data and one for the error that ended it.
type forwarder struct {
	server         *Server
	namespace, pod string
	created        time.Time // the pod

	mu      sync.Mutex
	waiting map[string]httpstream.Stream // the first of a pair, by request id
}

func (f *forwarder) accept(stream httpstream.Stream, replySent <-chan struct{}) error {
	h := stream.Headers()
	id, typ := h.Get(corev1.PortForwardRequestIDHeader), h.Get(corev1.StreamType)
	if typ != corev1.StreamTypeData && typ != corev1.StreamTypeError {
		return fmt.Errorf("invalid stream type %q", typ)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	other, ok := f.waiting[id]
	if !ok {
		f.waiting[id] = stream
		return nil
	}
	delete(f.waiting, id)
	data, failure := stream, other
	if typ == corev1.StreamTypeError {
		data, failure = other, stream
	}
	go func() {
		<-replySent
		defer failure.Close()
		if err := f.connect(data, h.Get(corev1.PortHeader)); err != nil {
			_, _ = fmt.Fprintf(failure, "error forwarding port %s to pod %s: %v", h.Get(corev1.PortHeader), f.pod, err)
			_ = data.Reset()
		}
	}()
	return nil
}

func (f *forwarder) connect(data httpstream.Stream, port string) error {
	if strings.HasPrefix(f.pod, "kube-apiserver-") && f.namespace == metav1.NamespaceSystem && port == apiServerPort {
		return f.server.showCertificate(streamConn{data}, f.created)
	}
	node, ok := strings.CutPrefix(f.pod, "etcd-")
	if !ok || f.namespace != metav1.NamespaceSystem || port != etcdPort {
		return fmt.Errorf("connect: connection refused")
	}
	return f.server.serveEtcd(streamConn{data}, node)
}

// A streamConn is a stream that TLS can be spoken on.
type streamConn struct{ httpstream.Stream }

type streamAddr struct{}

func (streamAddr) Network() string { return "portforward" }
func (streamAddr) String() string  { return "portforward" }

// LocalAddr implements net.Conn.
func (streamConn) LocalAddr() net.Addr { return streamAddr{} }

// RemoteAddr implements net.Conn.
func (streamConn) RemoteAddr() net.Addr { return streamAddr{} }

// Streams have no deadlines: the tunnel ends them.

// SetDeadline implements net.Conn.
func (streamConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (streamConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (streamConn) SetWriteDeadline(time.Time) error { return nil }
