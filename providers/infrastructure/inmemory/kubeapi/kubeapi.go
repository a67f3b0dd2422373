// Package kubeapi is a Kubernetes API server for simulated clusters: thousands
// of them fit in one process, and kubectl and client-go cannot tell.
//
// It stores objects and serves the API. It runs no controllers, but for the
// few habits of a real cluster that removing a machine depends on: evictions
// honour disruption budgets, a kubelet that is alive ends its pods at once, and
// the pods of a deleted node or namespace go with it.
package kubeapi

import (
	"context"
	"log/slog"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// Etcd is the stacked etcd of the simulated cluster, which clients reach
// through a port-forward to the pods kube-system/etcd-<node>. It is safe for
// concurrent use.
type Etcd interface {
	// Members returns all members; one whose machine is dead is not Healthy,
	// and its endpoint refuses connections.
	Members() []fleet.Member
	// Remove takes out a member, or says why not.
	Remove(id uint64) error
	// MoveLeader makes the member to the leader, or says why not.
	MoveLeader(to uint64) error
}

// Options are what a server is made of.
type Options struct {
	CACert, CAKey         []byte // PEM: signs the serving certificate, and verifies clients
	EtcdCACert, EtcdCAKey []byte // PEM: the same inside the tunnel to etcd; not needed without Etcd
	CertSANs              []string
	Version               string           // "v1.34.1"
	Now                   func() time.Time // nil means time.Now
	Etcd                  Etcd             // nil: no member answers
	Log                   *slog.Logger     // nil means none
}

// A Server is the API server of one cluster. It is safe for concurrent use.
type Server struct{ o Options }

// New returns a server that holds the namespaces that every cluster has.
func New(o Options) (*Server, error) { return &Server{o: o}, nil }

// Serve answers TLS connections of l until ctx ends, and closes l then.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	<-ctx.Done()
	return l.Close()
}

// Upsert creates obj or replaces what has its name.
func (s *Server) Upsert(obj runtime.Object) error { return nil }

// Get returns an object.
func (s *Server) Get(gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, bool) {
	return nil, false
}

// Delete removes an object at once, finalizers or not. Nothing there is fine.
func (s *Server) Delete(gvk schema.GroupVersionKind, namespace, name string) {}

// SetAvailable false makes the server look like a load balancer without
// backends: connections are cut, and new ones closed without a word.
func (s *Server) SetAvailable(ok bool) {}

// OnChange calls f after every change, made in process or by a client. f may
// use the server. Functions are called one after the other, in order of the
// changes, and never before the change that they tell of can be read.
func (s *Server) OnChange(f func(gvk schema.GroupVersionKind, namespace, name string)) {}
