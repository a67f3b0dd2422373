package exec_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	stores "fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/distribution/pki"
	"fairlead.dev/providers/driver/cloudconfig"
	"fairlead.dev/reconcile/exec"
	"fairlead.dev/test/lab/kube/binaries"
	"fairlead.dev/test/run/ports"
	"fairlead.dev/test/run/waits"
)

// withExternalEtcd is a cluster whose etcd is elsewhere, at url.
func withExternalEtcd(url string) *fleet.Cluster {
	c := &fleet.Cluster{
		Key: fleet.Key{Namespace: "prod", Name: "eu"}, Fleet: "f",
		ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Version: "v1.35.4"},
		Network:      clusterv1.ClusterNetwork{Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12"}}},
	}
	c.ControlPlane.Bootstrap.Spec = []byte(`{"clusterConfiguration":{"encryptionAlgorithm":"ECDSA-P256","etcd":{"external":{"endpoints":["` + url + `"],
"caFile":"/etc/etcd/ca.crt","certFile":"/etc/etcd/client.crt","keyFile":"/etc/etcd/client.key"}}}}`)
	return c
}

// given returns what people gave store, which one fleet uses.
func given(store stores.Store) exec.Given {
	return func(ctx context.Context, _ fleet.ID, k fleet.Key) (fleet.SecretData, error) {
		return store.GetSecret(ctx, k)
	}
}

// TestNeeded: a secret that people give is in Git, or they gave it to the agent, or it was
// stored for the cluster; one that is made is never what people gave.
func TestNeeded(t *testing.T) {
	ctx, c := t.Context(), withExternalEtcd("https://etcd:2379")
	store := stores.NewMemory()
	of := func(name fleet.SecretName, people bool) string {
		d, err := exec.Needed(ctx, store, given(store), c, fleet.SecretNeed{Name: name, Given: people})
		if fleet.KindOf(err) == fleet.NotFound {
			return "none"
		} else if err != nil {
			t.Fatal(err)
		}
		return string(d[fleet.TLSCertKey].Reveal())
	}
	expect := func(when, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	expect("nowhere", of(fleet.EtcdClient, true), "none")
	if _, err := store.Create(ctx, c.Key, fleet.EtcdClient, pair("stored")); err != nil {
		t.Fatal(err)
	}
	expect("stored", of(fleet.EtcdClient, true), "stored")
	for _, name := range []fleet.SecretName{fleet.EtcdClient, fleet.ClusterCA} {
		if err := store.SetSecret(ctx, c.SecretKey(name), pair("given")); err != nil {
			t.Fatal(err)
		}
	}
	expect("given", of(fleet.EtcdClient, true), "given")
	expect("an authority that is made", of(fleet.ClusterCA, false), "none")
	c.Secrets = map[string]fleet.SecretData{"eu-apiserver-etcd-client": pair("git")}
	expect("in Git", of(fleet.EtcdClient, true), "git")
}

// TestRealExternalEtcd: with what people gave a folder of secrets, API servers reach an etcd
// that lets in nobody else.
func TestRealExternalEtcd(t *testing.T) {
	binary, err := binaries.Path("etcd")
	if err != nil {
		t.Skip(err)
	}
	now := time.Now()
	d, err := pki.NewCA("etcd-ca", "ECDSA-P256", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := pki.Load(d)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := ca.NewClient(pki.Client{CommonName: "api", Organization: "prod"}, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	url := runEtcd(t, binary, d)
	store, err := stores.OpenFile(t.Context(), t.TempDir(), stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c := withExternalEtcd(url)
	for name, data := range map[fleet.SecretName]fleet.SecretData{
		fleet.EtcdCA:     {fleet.TLSCertKey: d[fleet.TLSCertKey]},
		fleet.EtcdClient: {fleet.TLSCertKey: fleet.NewSecret(cert), fleet.TLSKeyKey: fleet.NewSecret(key)},
	} {
		if err := store.SetSecret(t.Context(), c.SecretKey(name), data); err != nil {
			t.Fatal(err)
		}
	}
	m, e := &maker{}, exec.Executor{Now: time.Now, Log: slog.New(slog.DiscardHandler), Parallel: 1}
	w := exec.Environment{
		Cluster: c, Infrastructure: m, Distribution: kubeadm.Distribution{}, Secrets: store, Given: given(store),
		Endpoint: fleet.Endpoint{Host: "10.0.0.1", Port: 6443}, Memory: &ledger{ended: map[fleet.MachineName]error{}}, Seen: time.Now(),
	}
	for _, a := range []fleet.Action{{Kind: fleet.EnsureCertificates}, {Kind: fleet.CreateMachine, Pool: "cp", Machine: "cp-0", Join: fleet.JoinInit}} {
		a.Cluster = c.Key
		if out := e.Run(t.Context(), w, []fleet.Action{a}); out[0].Err != nil {
			t.Fatal(out[0].Err)
		}
	}
	files := make(map[string]string)
	for _, f := range cloudconfig.Files(m.r.UserData.Content.Reveal()) {
		files[f.Path] = f.Content
	}
	client, err := tls.X509KeyPair([]byte(files["/etc/etcd/client.crt"]), []byte(files["/etc/etcd/client.key"]))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(files["/etc/etcd/ca.crt"]))
	if body := ask(t, url, &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{client}}); !bytes.Contains(body, []byte(`"health":"true"`)) {
		t.Errorf("etcd says %s", body)
	}
}

// runEtcd runs one that lets in clients of the authority d, until the test ends.
func runEtcd(t *testing.T, binary string, d fleet.SecretData) (url string) {
	t.Helper()
	dir := t.TempDir()
	both, err := tls.X509KeyPair(d[fleet.TLSCertKey].Reveal(), d[fleet.TLSKeyKey].Reveal())
	if err != nil {
		t.Fatal(err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "etcd"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, both.Leaf, private.Public(), both.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"ca.crt": d[fleet.TLSCertKey].Reveal(), "tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url, peer := "https://"+freeAddress(t), "http://"+freeAddress(t)
	p := osexec.Command(binary, "--name=one", "--data-dir=data", "--initial-cluster=one="+peer, "--initial-advertise-peer-urls="+peer, "--listen-peer-urls="+peer,
		"--listen-client-urls="+url, "--advertise-client-urls="+url, "--client-cert-auth", "--trusted-ca-file=ca.crt", "--cert-file=tls.crt", "--key-file=tls.key",
		"--log-level=fatal", "--unsafe-no-fsync")
	p.Dir = dir
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return url
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// ask returns what etcd at url says of its health, once it answers.
func ask(t *testing.T, url string, config *tls.Config) []byte {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	var last error
	for end := time.Now().Add(waits.Limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		r, err := client.Get(url + "/health")
		if last = err; err != nil {
			continue
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err == nil && r.StatusCode == http.StatusOK {
			return body
		}
	}
	t.Fatalf("etcd does not answer: %v", last)
	return nil
}
