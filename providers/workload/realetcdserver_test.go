package workload_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/workload"
	"fairlead.dev/test/lab/kube/binaries"
)

// A realEtcd is a cluster of etcd members, each of which has a pod.
type realEtcd struct {
	*workload.Client
	t       *testing.T
	binary  string
	ca      authority
	access  providers.Access
	members map[string]*realMember // by node
}

func newRealEtcd(t *testing.T) *realEtcd {
	binary, err := binaries.Path("etcd")
	if err != nil {
		t.Skip(err)
	}
	r := &realEtcd{
		Client: workload.New(workload.Options{}), t: t, binary: binary, ca: newAuthority(t, "etcd-ca"), members: map[string]*realMember{},
	}
	kubernetes := newAuthority(t, "kubernetes")
	serving, err := tls.X509KeyPair(kubernetes.issue(t, "kube-apiserver"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(r)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{serving}}
	server.StartTLS()
	t.Cleanup(func() { r.Close(); server.CloseClientConnections(); server.Close() })
	r.access = providers.Access{
		Cluster:    key,
		Kubeconfig: kubernetes.kubeconfig(t, server.URL, kubernetes.certPEM, time.Now().Add(time.Hour)),
		Secrets:    map[fleet.SecretName]fleet.SecretData{"etcd": {"tls.crt": fleet.NewSecret(r.ca.certPEM), "tls.key": fleet.NewSecret(r.ca.keyPEM)}},
	}
	return r
}

// ServeHTTP lists the etcd pods, and forwards to them.
func (r *realEtcd) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	name, forward := strings.CutSuffix(q.URL.Path, "/portforward")
	if !forward {
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		for _, name := range slices.Sorted(maps.Keys(r.members)) {
			list.Items = append(list.Items, *pod("kube-system", "etcd-"+name, name, nil))
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
		return
	}
	m := r.members[strings.TrimPrefix(name, "/api/v1/namespaces/kube-system/pods/etcd-")]
	if _, err := httpstream.Handshake(q, w, []string{"portforward.k8s.io"}); err != nil || m == nil {
		return
	}
	streams := make(chan httpstream.Stream, 2)
	tunnel := spdy.NewResponseUpgrader().UpgradeResponse(w, q, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if tunnel == nil {
		return
	}
	defer tunnel.Close()
	failure, data := <-streams, <-streams
	c, err := net.Dial("tcp", m.client)
	if err != nil {
		_, _ = io.WriteString(failure, err.Error())
		_ = failure.Close()
		_ = data.Reset()
		return
	}
	_ = failure.Close()
	go func() { _, _ = io.Copy(c, data); _ = c.Close() }()
	_, _ = io.Copy(data, c)
}

// add makes the place of a member.
func (r *realEtcd) add(name string) *realMember {
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
	r.members[name] = &realMember{client: free(), peer: free(), dir: r.t.TempDir()}
	return r.members[name]
}

// run starts a member as kubeadm does. One that is there starts anew, with its
// data.
func (r *realEtcd) run(name, state string, initial []string) {
	m := r.members[name]
	if m.process != nil {
		r.stop(m)
	}
	cert, key := r.ca.issue(r.t, name, "localhost")
	for file, content := range map[string][]byte{"ca.crt": r.ca.certPEM, "tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(m.dir, file), content, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	args := []string{
		"--name=" + name, "--data-dir=data", "--initial-cluster-state=" + state, "--initial-cluster=" + strings.Join(initial, ","),
		"--listen-client-urls=https://" + m.client, "--advertise-client-urls=https://" + m.client,
		"--listen-peer-urls=https://" + m.peer, "--initial-advertise-peer-urls=https://" + m.peer,
		"--client-cert-auth", "--trusted-ca-file=ca.crt", "--cert-file=tls.crt", "--key-file=tls.key",
		"--peer-client-cert-auth", "--peer-trusted-ca-file=ca.crt", "--peer-cert-file=tls.crt", "--peer-key-file=tls.key",
		"--log-level=fatal", "--unsafe-no-fsync",
	}
	m.process = exec.Command(r.binary, args...)
	m.process.Dir, m.process.Stderr = m.dir, os.Stderr
	if err := m.process.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { r.stop(m) })
}

func (r *realEtcd) stop(m *realMember) {
	_ = m.process.Process.Kill()
	_ = m.process.Wait()
}

// look describes the members, but for who leads.
func (r *realEtcd) look() []string {
	etcd, err := inside.New(r.Client).Members(r.t.Context(), r.access)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	leaders := 0
	for _, m := range etcd.Members {
		text := m.Name
		if m.Healthy {
			text += " healthy"
		}
		if m.Learner {
			text += " learner"
		}
		if m.Leader {
			leaders++
		}
		out = append(out, text)
	}
	if leaders != 1 {
		out = append(out, fmt.Sprintf("%d leaders", leaders))
	}
	return out
}

func (r *realEtcd) await(what string, want ...string) {
	r.t.Helper()
	var got []string
	eventually(r.t, what, func() bool {
		last := r.look()
		if strings.Join(last, ",") != strings.Join(got, ",") {
			r.t.Logf("members: %q", last)
		}
		got = last
		return strings.Join(got, ",") == strings.Join(want, ",")
	})
}

func (r *realEtcd) leader() string {
	r.t.Helper()
	etcd, err := inside.New(r.Client).Members(r.t.Context(), r.access)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, m := range etcd.Members {
		if m.Leader {
			return m.Name
		}
	}
	r.t.Fatal("nobody leads")
	return ""
}

// remove removes the member of a node. etcd refuses for some seconds after a
// member came: the others must have been in touch that long.
func (r *realEtcd) remove(name string) (id uint64) {
	r.t.Helper()
	etcd, err := inside.New(r.Client).Members(r.t.Context(), r.access)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, m := range etcd.Members {
		if m.Name == name {
			id = m.ID
		}
	}
	eventually(r.t, "removal of "+name, func() bool {
		err := inside.New(r.Client).RemoveMember(r.t.Context(), r.access, id)
		if err != nil {
			r.t.Logf("remove %s: %s: %v", name, fleet.KindOf(err), err)
		}
		return err == nil
	})
	return id
}

// post calls etcd itself until it agrees.
func (r *realEtcd) post(node, path string, in any) {
	r.t.Helper()
	pair, err := tls.X509KeyPair(r.ca.issue(r.t, "administrator"))
	if err != nil {
		r.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.ca.certPEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}}
	defer transport.CloseIdleConnections()
	body, err := json.Marshal(in)
	if err != nil {
		r.t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	eventually(r.t, path, func() bool {
		resp, err := client.Post("https://"+r.members[node].client+path, "application/json", bytes.NewReader(body))
		if err != nil {
			r.t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// issue returns a certificate for names, and its key, in PEM.
func (a authority) issue(t testing.TB, names ...string) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, IPAddresses: []net.IP{{127, 0, 0, 1}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, k.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), encodeKey(t, k)
}
