// Package kubeapi is a Kubernetes API server for simulated clusters: thousands
// of them fit in one process, and kubectl and client-go cannot tell.
//
// It stores objects and serves the API in JSON, also of kinds that a
// CustomResourceDefinition in it defines, in the version that these are stored in
// and without their schema. It runs no controllers, but for
// the few habits of a real cluster that removing a machine depends on:
// evictions honour disruption budgets, a kubelet that is alive ends its pods at
// once, and the pods of a deleted node or namespace go with it.
//
// A client with a certificate of the cluster's CA may do everything. The
// pages of a list are read one after the other, not from one snapshot.
package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// MoveLeader makes the member the leader, or says why not.
	MoveLeader(to uint64) error
}

// Options are what a server is made of.
type Options struct {
	CACert, CAKey         []byte // PEM: signs the serving certificate, and verifies clients
	ClientCACert          []byte // PEM: verifies clients in the place of CACert; empty: it does not
	EtcdCACert, EtcdCAKey []byte // PEM: the same inside the tunnel to etcd; not needed without Etcd
	CertSANs              []string
	Tokens                func(token string) bool // accepts a request without certificate by its bearer token; nil: none
	Version               string                  // "v1.34.1"
	Now                   func() time.Time        // nil means time.Now
	Etcd                  Etcd                    // nil: no member answers
	Supervisor            http.Handler            // of K3s: what the port of the API server serves beside; nil: nothing
	NodeWritten           func()                  // called after a client wrote or deleted a Node; nil: no call
	Log                   *slog.Logger            // nil means none
}

// A Server is the API server of one cluster. It is safe for concurrent use.
type Server struct {
	o       Options
	catalog *catalog
	defined definitions
	store   store
	gate    gate
	clients verifier

	release    atomic.Pointer[string]
	starting   atomic.Bool
	supervisor gate

	serving func() (*tls.Config, error) // made at the first connection

	trustMu     sync.Mutex
	etcdServing func() (*tls.Config, error)
}

// New returns a server that holds the namespaces that every cluster has.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if _, err := tls.X509KeyPair(o.CACert, o.CAKey); err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "make the API server", "cluster CA: %w", err)
	}
	s := &Server{o: o, catalog: shared()}
	s.SetVersion(o.Version)
	s.serving = sync.OnceValues(func() (*tls.Config, error) { return s.newServing(o.CACert, o.CAKey) })
	s.etcdServing = sync.OnceValues(func() (*tls.Config, error) { return s.newEtcdServing(o.EtcdCACert, o.EtcdCAKey) })
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		ns := &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		}
		if err := s.Upsert(ns); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// SetVersion has the server be of that version from now on.
func (s *Server) SetVersion(version string) { s.release.Store(&version) }

// Trust has cert and key, in PEM, in the place of CACert and CAKey from now on, on
// connections that are open, too. The first certificate signs, and clients of any
// of them are let in.
func (s *Server) Trust(cert, key []byte) {
	s.trustMu.Lock()
	defer s.trustMu.Unlock()
	if bytes.Equal(cert, s.o.CACert) {
		return
	}
	s.o.CACert, s.o.CAKey = cert, key
	s.serving = sync.OnceValues(func() (*tls.Config, error) { return s.newServing(cert, key) })
	s.clients.trust(cert)
}

// TrustEtcd has cert and key, in PEM, in the place of EtcdCACert and EtcdCAKey from
// now on. The first certificate signs, and clients of any of them are let in.
func (s *Server) TrustEtcd(cert, key []byte) {
	s.trustMu.Lock()
	defer s.trustMu.Unlock()
	if bytes.Equal(cert, s.o.EtcdCACert) {
		return
	}
	s.o.EtcdCACert, s.o.EtcdCAKey = cert, key
	s.etcdServing = sync.OnceValues(func() (*tls.Config, error) { return s.newEtcdServing(cert, key) })
}

// Serve answers TLS connections of l until ctx ends, and closes l then.
func (s *Server) Serve(ctx context.Context, l net.Listener) error { return s.serve(ctx, l, &s.gate, s) }

// Upsert creates obj or replaces what has its name, status included. Where obj
// carries a resourceVersion that is not the current one, nothing changes and
// the error is a conflict, as apierrors.IsConflict knows it.
func (s *Server) Upsert(obj runtime.Object) error {
	u, k, err := s.toUnstructured(obj)
	if err != nil {
		return fleet.Errorf(fleet.Invalid, "store an object", "%w", err)
	}
	w := write{kind: k, namespace: u.GetNamespace(), name: u.GetName(), inProcess: true}
	_, err = s.write(w, func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return u, nil })
	return err
}

func (s *Server) toUnstructured(obj runtime.Object) (*unstructured.Unstructured, *kind, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		gvks, _, err := s.catalog.scheme.ObjectKinds(obj)
		if err != nil {
			return nil, nil, err
		}
		gvk = gvks[0]
	}
	k := s.kind(gvk)
	if k == nil {
		return nil, nil, runtime.NewNotRegisteredErrForKind("kubeapi", gvk)
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy(), k, nil // the caller's stays unchanged
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, nil, err
	}
	return &unstructured.Unstructured{Object: content}, k, nil
}

// Get returns a copy of an object.
func (s *Server) Get(gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, bool) {
	k := s.kind(gvk)
	if k == nil {
		return nil, false
	}
	raw, ok := s.read(k, namespace, name)
	if !ok {
		return nil, false
	}
	return decode(raw), true
}

// Raw returns the JSON of a stored object, which is not to be changed.
func (s *Server) Raw(gvk schema.GroupVersionKind, namespace, name string) ([]byte, bool) {
	k, ok := s.catalog.byGVK[gvk]
	if !ok {
		return nil, false
	}
	return s.read(k, namespace, name)
}

// Names returns the names of the objects of a kind, sorted. An empty namespace means all.
func (s *Server) Names(gvk schema.GroupVersionKind, namespace string) []string {
	k := s.kind(gvk)
	if k == nil {
		return nil
	}
	items, _ := s.items(k, namespace)
	out := make([]string, len(items))
	for i := range items {
		out[i] = items[i].key.name
	}
	return out
}

// Delete removes an object at once, finalizers or not. Nothing there is fine.
func (s *Server) Delete(gvk schema.GroupVersionKind, namespace, name string) {
	if k := s.kind(gvk); k != nil {
		s.remove(k, namespace, name)
	}
}

// SetAvailable false makes the server look like a load balancer without
// backends: connections are cut, and new ones closed without a word.
func (s *Server) SetAvailable(ok bool) { s.gate.set(ok) }
