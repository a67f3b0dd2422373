package inmemory

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
)

// administrator returns a client with a certificate of the cluster's authority.
func (p testPKI) administrator(t testing.TB, dial *PipeNetwork) *http.Client {
	t.Helper()
	ca, err := tls.X509KeyPair([]byte(p["ca.crt"]), []byte(p["ca.key"]))
	if err != nil {
		t.Fatal(err)
	}
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca.Leaf, k.Public(), ca.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(p["ca.crt"]))
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: k}},
	}}
	if dial != nil {
		transport.DialContext = dial.DialContext
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func nodes(c *http.Client, e fleet.Endpoint) ([]string, error) {
	resp, err := c.Get("https://" + address(e.Host, e.Port) + "/api/v1/nodes")
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", resp.Status)
	}
	var list corev1.NodeList
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, err
	}
	var names []string
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	return names, nil
}

// TestAPIServes: the address answers with the cluster's own authority from the
// first control plane on, and only while one is alive.
func TestAPIServes(t *testing.T) {
	for name, network := range map[string]*PipeNetwork{"on loopback": nil, "without sockets": NewPipeNetwork()} {
		t.Run(name, func(t *testing.T) {
			o := CloudOptions{Listen: func(a string) (net.Listener, error) { return net.Listen("tcp", a) }}
			if network != nil {
				o.Listen = network.Listen
			}
			l := newLab(t, o)
			client := l.pki.administrator(t, network)
			if got, err := nodes(client, l.network.Endpoint); err == nil {
				t.Errorf("nodes before there is a cluster = %q, want an error", got)
			}
			v := l.bootInit("cp-0")
			awaitAvailable(t, l, true)
			if got, err := nodes(client, l.network.Endpoint); err != nil || len(got) != 1 || got[0] != "cp-0" {
				t.Errorf("nodes = %q, %v, want cp-0", got, err)
			}
			if err := l.StopVM(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
			if got, err := nodes(client, l.network.Endpoint); err == nil {
				t.Errorf("nodes while the only machine has no power = %q, want an error", got)
			}
			if err := l.StartVM(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
			awaitAvailable(t, l, true)
			if got, err := nodes(client, l.network.Endpoint); err != nil || len(got) != 1 {
				t.Errorf("nodes when it is back = %q, %v, want cp-0", got, err)
			}
			if _, err := nodes(newTestPKI(t).administrator(t, network), l.network.Endpoint); err == nil {
				t.Error("a client of another authority is let in")
			}
		})
	}
}

// awaitAvailable waits until the API of the lab's cluster does or does not answer.
func awaitAvailable(t testing.TB, l *lab, want bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for l.available() != want {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// BenchmarkCreate makes 2,000 machines: 200 clusters of one control plane and
// nine workers, each of which reads its bootstrap data and becomes a Node.
func BenchmarkCreate(b *testing.B) {
	pki := newTestPKI(b)
	for b.Loop() {
		network := NewPipeNetwork()
		c := NewCloud(CloudOptions{Listen: network.Listen})
		for i := range 200 {
			tags := map[string]string{fleet.TagFleet: "f", fleet.TagCluster: fmt.Sprintf("prod/c-%d", i)}
			n, err := c.CreateNetwork(b.Context(), NetworkSpec{Tags: tags})
			if err != nil {
				b.Fatal(err)
			}
			l := &lab{Cloud: c, t: b, pki: pki, network: n}
			create := func(name string, data []byte) {
				_, err := c.CreateVM(b.Context(), VMSpec{Name: name, Network: n.ID, Tags: tags, Version: "v1.34.1", UserData: data})
				if err != nil {
					b.Fatal(err)
				}
			}
			create("cp-0", pki.initConfig(n.Endpoint).bytes())
			l.token(nil)
			join := pki.joinConfig(n.Endpoint, false).bytes()
			for w := range 9 {
				create(fmt.Sprintf("w-%d", w), join)
			}
		}
		ready := 0
		for range 3 { // whatever is due by now is done
			c.wake()
		}
		for _, v := range c.vms {
			if v.nodeReady {
				ready++
			}
		}
		if ready != 2000 {
			b.Fatalf("%d of 2000 machines have a Node that is ready", ready)
		}
		c.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/2000, "µs/machine")
}
