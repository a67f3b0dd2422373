package kubeadm_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/distribution/pki/pkitest"
)

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
	want := fleet.KubeconfigState{Exists: true, Endpoint: endpoint, NotBefore: issued.Add(-5 * time.Minute), NotAfter: issued.AddDate(1, 0, 0), Trust: fleet.TrustChecksum(decode(k.Clusters[0].Cluster.CA))}
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
