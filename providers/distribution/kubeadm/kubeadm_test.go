package kubeadm_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/distribution/pki/pkitest"
)

var cluster = &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}

func certificate(t *testing.T, pemData []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(pemData)
	if block == nil {
		t.Fatal("no PEM block")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewSecrets(t *testing.T) {
	c := *cluster
	c.ControlPlane.Bootstrap = configured(bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: bootstrapv1.ClusterConfiguration{
		EncryptionAlgorithm: "ECDSA-P384", CACertificateValidityPeriodDays: 730,
	}})
	for reason, want := range map[string]struct {
		cluster *fleet.Cluster
		bits    int
		until   time.Time
	}{
		"default":  {cluster, 256, time.Date(2036, 10, 29, 12, 0, 0, 0, time.UTC)},
		"as asked": {&c, 384, time.Date(2028, 10, 31, 12, 0, 0, 0, time.UTC)},
	} {
		t.Run(reason, func(t *testing.T) {
			got, err := kubeadm.New(nil).NewSecrets(want.cluster, issued)
			if err != nil {
				t.Fatal(err)
			}
			subjects := map[fleet.SecretName]string{}
			for _, name := range []fleet.SecretName{"ca", "etcd", "proxy"} {
				cert := certificate(t, got[name][fleet.TLSCertKey].Reveal())
				subjects[name] = cert.Subject.String()
				if !cert.NotAfter.Equal(want.until) || !cert.NotBefore.Before(issued) {
					t.Errorf("%s: good from %s to %s, want until %s", name, cert.NotBefore, cert.NotAfter, want.until)
				}
				if k, ok := cert.PublicKey.(*ecdsa.PublicKey); !ok || k.Params().BitSize != want.bits {
					t.Errorf("%s: key is a %T, want ECDSA of %d bits", name, cert.PublicKey, want.bits)
				}
			}
			if d := cmp.Diff(map[fleet.SecretName]string{"ca": "CN=kubernetes", "etcd": "CN=etcd-ca", "proxy": "CN=front-proxy-ca"}, subjects); d != "" {
				t.Errorf("subjects (-want +got):\n%s", d)
			}
			if len(got) != 4 || !bytes.HasPrefix(got["sa"][fleet.TLSCertKey].Reveal(), []byte("-----BEGIN PUBLIC KEY-----")) {
				t.Errorf("%d authorities, service account %v", len(got), got["sa"])
			}
		})
	}
	edit(&c.ControlPlane.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) { s.ClusterConfiguration.EncryptionAlgorithm = "ROT13" })
	if _, err := kubeadm.New(nil).NewSecrets(&c, issued); fleet.KindOf(err) != "Invalid" || !strings.Contains(err.Error(), "ROT13") {
		t.Errorf("unknown algorithm: %v", err)
	}
}

// The kubeconfig opens a connection to an API server whose certificate is from
// the same authority, as the administrator.
func TestKubeconfigConnects(t *testing.T) {
	ca := pkitest.Authority(t, "kubernetes", 1)
	caCert := certificate(t, ca[fleet.TLSCertKey].Reveal())
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject)
	}))
	clients := x509.NewCertPool()
	clients.AddCert(caCert)
	now := func() time.Time { return issued }
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{serverCertificate(t, ca)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, Time: now,
	}
	server.StartTLS()
	defer server.Close()
	address := server.Listener.Addr().(*net.TCPAddr)
	endpoint := fleet.Endpoint{Host: address.IP.String(), Port: int32(address.Port)}

	d, err := kubeadm.New(nil).NewKubeconfig(cluster, endpoint, map[fleet.SecretName]fleet.SecretData{fleet.ClusterCA: ca}, issued)
	if err != nil {
		t.Fatal(err)
	}
	again, err := kubeadm.New(nil).NewKubeconfig(cluster, endpoint, map[fleet.SecretName]fleet.SecretData{fleet.ClusterCA: ca}, issued)
	if err != nil || !bytes.Equal(d["value"].Reveal(), again["value"].Reveal()) {
		t.Errorf("the same request gives another kubeconfig (%v)", err)
	}
	var k struct {
		APIVersion     string
		Kind           string
		CurrentContext string `json:"current-context"`
		Clusters       []struct {
			Name    string
			Cluster struct {
				Server string
				CA     string `json:"certificate-authority-data"`
			}
		}
		Contexts []struct {
			Name    string
			Context struct{ Cluster, User string }
		}
		Users []struct {
			Name string
			User struct {
				Cert string `json:"client-certificate-data"`
				Key  string `json:"client-key-data"`
			}
		}
	}
	if err := yaml.UnmarshalStrict(d["value"].Reveal(), &k); err != nil {
		t.Fatal(err)
	}
	names := []string{k.APIVersion, k.Kind, k.CurrentContext, k.Clusters[0].Name, k.Contexts[0].Name, k.Contexts[0].Context.Cluster, k.Contexts[0].Context.User, k.Users[0].Name}
	if d := cmp.Diff([]string{"v1", "Config", "eu-1-admin@eu-1", "eu-1", "eu-1-admin@eu-1", "eu-1", "eu-1-admin", "eu-1-admin"}, names); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	decode := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	pair, err := tls.X509KeyPair(decode(k.Users[0].User.Cert), decode(k.Users[0].User.Key))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(decode(k.Clusters[0].Cluster.CA)) {
		t.Fatal("no authority in the kubeconfig")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, Time: now}}}
	resp, err := client.Get(k.Clusters[0].Cluster.Server)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil || body.String() != "CN=kubernetes-admin,O=system:masters" {
		t.Errorf("the server sees %q, %v", body.String(), err)
	}
	state, err := kubeadm.New(nil).InspectKubeconfig(d)
	want := fleet.KubeconfigState{Exists: true, Endpoint: endpoint, NotBefore: issued.Add(-5 * time.Minute), NotAfter: issued.AddDate(1, 0, 0), Trust: fleet.TrustMark(decode(k.Clusters[0].Cluster.CA))}
	if d := cmp.Diff(want, state); err != nil || d != "" {
		t.Errorf("inspected (-want +got):\n%s%v", d, err)
	}
}

func serverCertificate(t *testing.T, ca fleet.SecretData) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(ca[fleet.TLSCertKey].Reveal(), ca[fleet.TLSKeyKey].Reveal())
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(9), Subject: pkix.Name{CommonName: "kube-apiserver"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: issued.Add(-time.Hour), NotAfter: issued.Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(nil, template, pair.Leaf, pair.Leaf.PublicKey, pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: pair.PrivateKey}
}

func TestKubeconfigEndpoints(t *testing.T) {
	ca := pkitest.Authority(t, "kubernetes", 1)
	for _, e := range []fleet.Endpoint{{Host: "192.0.2.1", Port: 6443}, {Host: "api.example.com", Port: 443}, {Host: "2001:db8::1", Port: 6443}} {
		d, err := kubeadm.New(nil).NewKubeconfig(cluster, e, map[fleet.SecretName]fleet.SecretData{fleet.ClusterCA: ca}, issued)
		if err != nil {
			t.Fatal(err)
		}
		if state, err := kubeadm.New(nil).InspectKubeconfig(d); err != nil || state.Endpoint != e {
			t.Errorf("%v came back as %v (%v)", e, state.Endpoint, err)
		}
	}
	if _, err := kubeadm.New(nil).NewKubeconfig(cluster, fleet.Endpoint{}, map[fleet.SecretName]fleet.SecretData{fleet.ClusterCA: ca}, issued); fleet.KindOf(err) != "Unknown" {
		t.Errorf("without an endpoint: %v", err)
	}
}

func TestInspectKubeconfig(t *testing.T) {
	if state, err := kubeadm.New(nil).InspectKubeconfig(nil); err != nil || state.Exists {
		t.Errorf("nothing: %v, %v; want that it does not exist", state, err)
	}
	for reason, content := range map[string]string{
		"no YAML":        "very private: [",
		"no context":     "current-context: a",
		"no cluster":     "current-context: a\ncontexts: [{name: a, context: {cluster: b, user: c}}]",
		"no user":        "current-context: a\ncontexts: [{name: a, context: {cluster: b, user: c}}]\nclusters: [{name: b, cluster: {server: 'https://x'}}]",
		"no URL":         "current-context: a\ncontexts: [{name: a, context: {cluster: b, user: c}}]\nclusters: [{name: b, cluster: {server: 'very private'}}]\nusers: [{name: c}]",
		"no certificate": "current-context: a\ncontexts: [{name: a, context: {cluster: b, user: c}}]\nclusters: [{name: b, cluster: {server: 'https://x'}}]\nusers: [{name: c}]",
	} {
		state, err := kubeadm.New(nil).InspectKubeconfig(fleet.SecretData{"value": fleet.NewSecret([]byte(content))})
		if err == nil || state.Exists || strings.Contains(err.Error(), "private") {
			t.Errorf("%s: %v, %v", reason, state, err)
		}
	}
}

func TestToken(t *testing.T) {
	ca, other := pkitest.Authority(t, "kubernetes", 1), pkitest.Authority(t, "kubernetes", 2)
	tok := func(c *fleet.Cluster, ca fleet.SecretData, m fleet.MachineName) string {
		got, err := kubeadm.Token(c, ca, m)
		if err != nil {
			t.Fatal(err)
		}
		return got.ID + "." + string(got.Secret.Reveal())
	}
	first := tok(cluster, ca, "eu-1-x7k")
	if first != "vizw5d.cmgn96fxwlihzoje" {
		t.Errorf("the token of a machine that is on its way changed: %s", first)
	}
	seen := map[string]string{first: "the first"}
	for reason, s := range map[string]string{
		"another machine":   tok(cluster, ca, "eu-1-x7l"),
		"another cluster":   tok(&fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-2"}}, ca, "eu-1-x7k"),
		"another authority": tok(cluster, other, "eu-1-x7k"),
	} {
		if seen[s] != "" {
			t.Errorf("%s has the token of %s", reason, seen[s])
		}
		seen[s] = reason
	}
	counts := map[rune]int{}
	form := regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)
	for i := range 2000 {
		s := tok(cluster, ca, fleet.MachineName(fmt.Sprint("m-", i)))
		if !form.MatchString(s) {
			t.Fatalf("token %q", s)
		}
		for _, r := range strings.ReplaceAll(s, ".", "") {
			counts[r]++
		}
	}
	// 44,000 characters, 36 kinds: 1,222 of each, give or take 35. A bias from
	// a plain remainder would give the first four of the alphabet 153 more each.
	for r, n := range counts {
		if n < 1222-145 || n > 1222+145 {
			t.Errorf("%d times %c", n, r)
		}
	}
	if first4 := counts['a'] + counts['b'] + counts['c'] + counts['d']; len(counts) != 36 || first4 > 4*1222+280 {
		t.Errorf("%d kinds of character, %d of the first four", len(counts), first4)
	}
	if _, err := kubeadm.Token(cluster, nil, "m"); fleet.KindOf(err) != "Unknown" {
		t.Errorf("without an authority: %v", err)
	}
}

func TestCACertHash(t *testing.T) {
	// As openssl x509 -pubkey | openssl pkey -pubin -outform der | sha256sum has it.
	const want = "sha256:5cd252fb0ce8932436faf8ccd1040981b89ee4ad6b9fe9e2a2b7e71aacb27cd3"
	if got := kubeadm.CACertHash(certificate(t, pkitest.Authority(t, "kubernetes", 1)[fleet.TLSCertKey].Reveal())); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What is written into a running cluster is what kubeadm init gets.
func TestClusterConfigurationIsThatOfInit(t *testing.T) {
	for _, version := range []string{"v1.30.4", "v1.35.0"} {
		in := input(t, fleet.JoinInit, version, everything(version == "v1.35.0"))
		in.Cluster.ControlPlane = in.Pool
		data, err := kubeadm.ClusterConfiguration(in.Cluster, in.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(boot(t, in).file("/run/kubeadm/kubeadm.yaml"), "---\n")
		if d := cmp.Diff(first, string(data)); d != "" {
			t.Errorf("%s (-init +cluster):\n%s", version, d)
		}
	}
	in := input(t, fleet.JoinInit, "v1.30.4", everything(true))
	in.Cluster.ControlPlane = in.Pool
	_, err := kubeadm.ClusterConfiguration(in.Cluster, in.Endpoint)
	if fleet.KindOf(err) != "Invalid" || !strings.Contains(err.Error(), "prod/eu-1") || !strings.Contains(err.Error(), "1.31") {
		t.Errorf("what 1.30 cannot express: %v", err)
	}
	in.Cluster.ControlPlane.Version = "latest"
	if _, err := kubeadm.ClusterConfiguration(in.Cluster, in.Endpoint); fleet.KindOf(err) != "Invalid" {
		t.Errorf("a version that is none: %v", err)
	}
}
