package autoscaler_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/inputs/autoscaler"
	"fairlead.dev/agent/inputs/autoscaler/externalgrpc"
	"fairlead.dev/fleet"
)

// authority signs certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func issue(t *testing.T, by *authority, uris ...string) (*authority, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	for _, text := range uris {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c.URIs = append(c.URIs, u)
	}
	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	} else {
		c.IsCA, c.ExtKeyUsage = true, nil
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{parsed, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	return a, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// cluster is a Fleet of one cluster.
type cluster struct {
	mu    sync.Mutex
	c     fleet.Scalable
	wrote []fleet.Scale
	err   error // of every answer
}

func (c *cluster) Scalable(k fleet.Key) (fleet.Scalable, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && k != c.c.Cluster.Key {
		return fleet.Scalable{}, fleet.Errorf(fleet.NotFound, "scale", "no cluster %s", k)
	}
	return c.c, c.err
}

func (c *cluster) Scale(_ context.Context, k fleet.Key, change func(fleet.Scalable) (fleet.Scale, error)) error {
	now, err := c.Scalable(k)
	if err != nil {
		return err
	}
	s, err := change(now)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = append(c.wrote, s)
	c.c.Cluster = c.c.Cluster.WithScales([]fleet.Scale{s})
	return nil
}

func worker(name string, phase fleet.MachinePhase, node string) fleet.MachineReport {
	return fleet.MachineReport{
		Machine: fleet.Machine{Name: fleet.MachineName(name), ProviderID: fleet.ProviderID("openstack:///" + name), Pool: "md-0", Role: fleet.RoleWorker, State: fleet.MachineRunning},
		Phase:   phase, Node: node,
	}
}

// registered is what a kubelet is told by the bootstrap configuration.
func registered(_ *fleet.Cluster, p fleet.Pool) (map[string]string, []corev1.Taint) {
	if p.Name != "md-0" {
		return nil, nil
	}
	return map[string]string{"rack": "r1"}, nil
}

// prod has a pool md-0 that is scaled and three machines of it, one that Git
// numbers, and a control plane.
func prod() *cluster {
	md0 := fleet.Pool{
		Name: "md-0", Role: fleet.RoleWorker, Strategy: fleet.OnDelete, Replicas: 4, FailureDomain: "az1", NodeLabels: map[string]string{"node-role.kubernetes.io/web": ""},
		Taints: []clusterv1.MachineTaint{{Key: "web", Effect: corev1.TaintEffectNoSchedule, Propagation: clusterv1.MachineTaintPropagationAlways}},
		Scaling: &fleet.Scaling{
			Min: 2, Max: 6, Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")},
			Labels: map[string]string{"disk": "ssd", "kubernetes.io/arch": "arm64"},
		},
	}
	away := worker("m3", fleet.MachinePhaseRunning, "n3")
	away.NodeID = "openstack://region/m3"
	failed := worker("m4", fleet.MachinePhaseFailed, "")
	failed.Machine.State, failed.Machine.Message = fleet.MachineFailed, "No valid host"
	other := worker("o1", fleet.MachinePhaseRunning, "on1")
	other.Machine.Pool = "md-1"
	master := worker("cp1", fleet.MachinePhaseRunning, "cpn1")
	master.Machine.Role, master.Machine.Pool = fleet.RoleControlPlane, "cp"
	return &cluster{c: fleet.Scalable{
		Cluster: &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Workers: []fleet.Pool{
			md0,
			{Name: "md-1", Role: fleet.RoleWorker, Replicas: 1},
			{Name: "md-2", Role: fleet.RoleWorker, Replicas: 1, Scaling: &fleet.Scaling{}},
		}},
		Machines: []fleet.MachineReport{
			worker("m1", fleet.MachinePhaseRunning, "n1"), worker("m2", fleet.MachinePhaseProvisioned, ""), away, failed,
			worker("m5", fleet.MachinePhaseDeleting, "n5"), other, master,
		},
	}}
}

// serve returns what connects a client with the certificate of uris to a server of f.
func serve(t *testing.T, f autoscaler.Fleet) func(by *authority, uris ...string) externalgrpc.CloudProviderClient {
	t.Helper()
	ca, _ := issue(t, nil)
	_, cert := issue(t, ca)
	dir := t.TempDir()
	files := autoscaler.Files{Certificate: filepath.Join(dir, "crt"), Key: filepath.Join(dir, "key"), ClientCA: filepath.Join(dir, "ca")}
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		files.Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}),
		files.Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		files.ClientCA:    ca.pem,
	} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := autoscaler.New(f, files, registered, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func(by *authority, uris ...string) externalgrpc.CloudProviderClient {
		if by == nil {
			by = ca
		}
		_, client := issue(t, by, uris...)
		roots := x509.NewCertPool()
		roots.AddCert(ca.cert)
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			ServerName: "127.0.0.1", RootCAs: roots, Certificates: []tls.Certificate{client},
		})))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return externalgrpc.NewCloudProviderClient(conn)
	}
}

func fails(t *testing.T, what string, err error, code codes.Code, text string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v; want %s with %q", what, err, code, text)
	}
}
