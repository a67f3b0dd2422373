package workload_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/infrastructure/inmemory/kubeapi"
	"fairlead.dev/providers/workload"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

var key = fleet.Key{Namespace: "prod", Name: "eu-1"}

// An authority is a throw-away certificate authority.
type authority struct {
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	certPEM []byte
	keyPEM  []byte
}

func newAuthority(t testing.TB, name string) authority {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{key: k, keyPEM: encodeKey(t, k)}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	a.certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func encodeKey(t testing.TB, k *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// kubeconfig returns one for server that trusts trusted, with a client
// certificate of a that is good until notAfter.
func (a authority) kubeconfig(t testing.TB, server string, trusted []byte, notAfter time.Time) fleet.Secret {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: notAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.cert, k.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	return fleet.NewSecret(fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {client-certificate-data: %s, client-key-data: %s}}]
`, server, b64(trusted), b64(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), b64(encodeKey(t, k))))
}

// A cluster is a simulated cluster and a client of it.
type cluster struct {
	*kubeapi.Server
	*workload.Client
	kubeadm *inside.Client
	ca      authority
	url     string
	access  providers.Access
	etcd    *etcd
}

func start(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{ca: newAuthority(t, "kubernetes"), etcd: &etcd{}}
	etcdCA := newAuthority(t, "etcd-ca")
	var err error
	c.Server, err = kubeapi.New(kubeapi.Options{
		CACert: c.ca.certPEM, CAKey: c.ca.keyPEM, EtcdCACert: etcdCA.certPEM, EtcdCAKey: etcdCA.keyPEM,
		CertSANs: []string{"127.0.0.1"}, Version: "v1.34.1", Etcd: c.etcd,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx, l) }()
	c.Client = workload.New(workload.Options{})
	c.kubeadm = inside.New(c.Client)
	t.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	c.url = "https://" + l.Addr().String()
	c.access = providers.Access{
		Cluster:    key,
		Kubeconfig: c.ca.kubeconfig(t, c.url, c.ca.certPEM, time.Now().Add(time.Hour)),
		Secrets: map[fleet.SecretName]fleet.SecretData{"etcd": {
			"tls.crt": fleet.NewSecret(etcdCA.certPEM), "tls.key": fleet.NewSecret(etcdCA.keyPEM),
		}},
	}
	return c
}

// look observes the cluster and what kubeadm keeps in it.
func (c *cluster) look(ctx context.Context) (fleet.Workload, error) {
	w, err := c.Observe(ctx, c.access)
	if err == nil {
		err = c.kubeadm.Observe(ctx, c.access, &w)
	}
	return w, err
}

func (c *cluster) put(t testing.TB, objects ...runtime.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Upsert(o); err != nil {
			t.Fatal(err)
		}
	}
}

// get reads the API type of an object, which must be there.
func get[T any](t testing.TB, c *cluster, kind, namespace, name string) T {
	t.Helper()
	u, ok := c.Get(schema.GroupVersionKind{Version: "v1", Kind: kind}, namespace, name)
	if !ok {
		t.Fatalf("there is no %s %s/%s", kind, namespace, name)
	}
	var out T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (c *cluster) has(kind, namespace, name string) bool {
	_, ok := c.Get(schema.GroupVersionKind{Version: "v1", Kind: kind}, namespace, name)
	return ok
}

func node(name string, ready corev1.ConditionStatus, labels map[string]string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: "inmemory://" + name},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.34.1"},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
		},
	}
}

// pod returns a ready pod that change alters.
func pod(namespace, name, node string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	if change != nil {
		change(p)
	}
	return p
}

// controlPlane returns a control-plane node with its static pods.
func controlPlane(name string) []runtime.Object {
	out := []runtime.Object{node(name, corev1.ConditionTrue, map[string]string{"node-role.kubernetes.io/control-plane": ""})}
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} {
		out = append(out, pod("kube-system", component+"-"+name, name, func(p *corev1.Pod) {
			p.Labels["tier"], p.Labels["component"] = "control-plane", component
			p.Annotations["kubernetes.io/config.mirror"] = "x"
		}))
	}
	return out
}

// etcd is a membership in memory.
type etcd struct {
	mu      sync.Mutex
	members []fleet.Member
	moves   []uint64
	refuse  error // of every removal
}

// Members implements kubeapi.Etcd.
func (e *etcd) Members() []fleet.Member {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.members)
}

// Remove implements kubeapi.Etcd.
func (e *etcd) Remove(id uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse != nil {
		return e.refuse
	}
	e.members = slices.DeleteFunc(e.members, func(m fleet.Member) bool { return m.ID == id })
	return nil
}

// MoveLeader implements kubeapi.Etcd.
func (e *etcd) MoveLeader(to uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.ContainsFunc(e.members, func(m fleet.Member) bool { return m.ID == to && m.Healthy }) {
		return errors.New("etcdserver: bad leader transferee")
	}
	for i := range e.members {
		e.members[i].Leader = e.members[i].ID == to
	}
	e.moves = append(e.moves, to)
	return nil
}

// eventually waits until f holds.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}
