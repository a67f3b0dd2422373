package kube

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A Server is a Kubernetes API as one test sees it.
type Server struct {
	Config     *rest.Config // of a user who may do everything
	Kubeconfig string       // file with the same

	t      testing.TB
	server *server
	own    bool
	client kubernetes.Interface
}

// An Option changes what Start gives.
type Option func(*options)

type options struct {
	own   bool
	flags []string
}

// Own asks for a server that no other test uses, which can be stopped. It gets
// flags in addition to those that every kube-apiserver here has.
func Own(flags ...string) Option {
	return func(o *options) { o.own, o.flags = true, flags }
}

// startTimeout bounds the start of a server on a machine that does much else.
const startTimeout = 3 * time.Minute

// Start returns a server that is ready. It skips the test where the binaries are
// not built, and fails it where the server does not start.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	programs, err := find()
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	var s *server
	if o.own {
		s, err = newServer(ctx, programs, o.flags...)
	} else {
		s, err = shared(ctx, programs)
	}
	if err != nil {
		t.Fatal(err)
	}
	if o.own {
		t.Cleanup(s.close)
	}
	k := &Server{t: t, server: s, own: o.own}
	k.Config = k.User("admin", administrators)
	k.Kubeconfig = k.WriteKubeconfig(k.Config)
	k.client = kubernetes.NewForConfigOrDie(k.Config)
	return k
}

// one is the server that the tests of this process share. It ends with the
// process.
//
//nolint:gochecknoglobals // its owner is the process: no test is the last one
var one struct {
	sync.Mutex
	*server
	err error
}

func shared(ctx context.Context, p programs) (*server, error) {
	one.Lock()
	defer one.Unlock()
	if one.server == nil && one.err == nil {
		one.server, one.err = newServer(ctx, p)
	}
	return one.server, one.err
}

// User returns how the user of that name and groups connects, by a certificate.
// There is nothing else to a user; what it may do, RBAC says.
func (k *Server) User(name string, groups ...string) *rest.Config {
	k.t.Helper()
	c, err := k.server.user(name, groups...)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

// WriteKubeconfig writes c to a file that lives as long as the test.
func (k *Server) WriteKubeconfig(c *rest.Config) string {
	k.t.Helper()
	path := filepath.Join(k.t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(path, c); err != nil {
		k.t.Fatal(err)
	}
	return path
}

// Namespace creates a namespace with a new name, with what the controllers of a
// cluster put into each: the service account default, without which admission
// refuses pods that name none, and the config map kube-root-ca.crt.
func (k *Server) Namespace() string {
	k.t.Helper()
	ns, err := k.client.CoreV1().Namespaces().Create(k.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	k.Prepare(ns.Name)
	return ns.Name
}

// Prepare gives a namespace that something else created what Namespace gives.
func (k *Server) Prepare(namespace string) {
	k.t.Helper()
	core := k.client.CoreV1()
	_, err := core.ServiceAccounts(namespace).Create(k.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		k.t.Fatal(err)
	}
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(k.server.ca.pem)}}
	_, err = core.ConfigMaps(namespace).Create(k.t.Context(), ca, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		k.t.Fatal(err)
	}
}

// Down kills the API server. What it stored stays. Only the test's own server
// can be stopped.
func (k *Server) Down() {
	k.t.Helper()
	k.mustOwn()
	k.server.api.stop()
}

// Up starts the API server again, at the same address, and waits until it is
// ready.
func (k *Server) Up() {
	k.t.Helper()
	k.mustOwn()
	ctx, cancel := context.WithTimeout(k.t.Context(), startTimeout)
	defer cancel()
	if err := k.server.startAPI(ctx); err != nil {
		k.t.Fatal(err)
	}
}

func (k *Server) mustOwn() {
	k.t.Helper()
	if !k.own {
		k.t.Fatal("other tests use this server, too: start one with kube.Own()")
	}
}

// Log returns what the API server has logged so far.
func (k *Server) Log() string {
	data, err := os.ReadFile(k.server.log("kube-apiserver"))
	if err != nil {
		k.t.Error(err)
	}
	return string(data)
}
