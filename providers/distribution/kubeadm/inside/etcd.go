package inside

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

const (
	etcdPort = 2379
	// etcdIdle is how long a tunnel is kept for the next call: a control plane
	// that rolls is looked at every few seconds.
	etcdIdle = 30 * time.Second
	// etcdCertLife is short: a certificate is made in a millisecond.
	etcdCertLife = 24 * time.Hour
	maxAnswer    = 4 << 20
)

// An etcdClient speaks etcd's JSON API, which its gRPC gateway serves beside
// gRPC, to the members of one cluster, each through a tunnel to its pod.
type etcdClient struct {
	ca        [sha256.Size]byte // digest of the authority
	http      *http.Client
	transport *http.Transport
}

// etcdClient returns the cluster's etcd client, made with a's etcd authority.
func (k *kept) etcdClient(n *workload.Conn, a providers.Access) (*etcdClient, error) {
	ca := a.Secrets[fleet.EtcdCA]
	cert, key := ca[fleet.TLSCertKey].Reveal(), ca[fleet.TLSKeyKey].Reveal()
	digest := sha256.Sum256(append(bytes.Clone(cert), key...))
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.etcd != nil && k.etcd.ca == digest {
		return k.etcd, nil
	}
	issuer, err := newIssuer(cert, key, n.Now)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "reach etcd of cluster "+a.Cluster.String(), "etcd CA: %w", err)
	}
	if k.etcd != nil {
		k.etcd.close()
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			node, _, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			return n.DialPod(ctx, "etcd-"+node, etcdPort)
		},
		TLSClientConfig: &tls.Config{
			RootCAs:    issuer.pool(),
			MinVersion: tls.VersionTLS12,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return issuer.certificate()
			},
		},
		IdleConnTimeout:     etcdIdle,
		MaxIdleConnsPerHost: 1,
	}
	k.etcd = &etcdClient{ca: digest, transport: transport, http: &http.Client{Transport: transport}}
	return k.etcd, nil
}

func (e *etcdClient) close() { e.transport.CloseIdleConnections() }

// post calls path at the member of a node. 64-bit numbers are strings in JSON.
func (e *etcdClient) post(ctx context.Context, node, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	url := fmt.Sprintf("https://%s:%d%s", node, etcdPort, path)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		refused := &etcdError{Status: resp.StatusCode}
		if json.Unmarshal(raw, refused) != nil {
			refused.Message = strings.TrimSpace(string(raw))
		}
		return refused
	}
	return json.Unmarshal(raw, out)
}

// An issuer makes client certificates out of an authority, and keeps the last.
type issuer struct {
	ca  *x509.Certificate // that signs: the first of those that are trusted
	all []*x509.Certificate
	key any
	now func() time.Time

	mu   sync.Mutex
	last *tls.Certificate
	half time.Time // when half of its life is over
}

func newIssuer(certPEM, keyPEM []byte, now func() time.Time) (*issuer, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	all := make([]*x509.Certificate, len(pair.Certificate))
	for i, der := range pair.Certificate {
		if all[i], err = x509.ParseCertificate(der); err != nil {
			return nil, err
		}
	}
	return &issuer{ca: all[0], all: all, key: pair.PrivateKey, now: now}, nil
}

func (i *issuer) pool() *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range i.all {
		p.AddCert(c)
	}
	return p
}

func (i *issuer) certificate() (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	if i.last != nil && now.Before(i.half) {
		return i.last, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "fairlead", Organization: []string{"system:masters"}},
		NotBefore:    now.Add(-5 * time.Minute), // clocks differ
		NotAfter:     now.Add(etcdCertLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, i.ca, key.Public(), i.key)
	if err != nil {
		return nil, err
	}
	i.last = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	i.half = now.Add(etcdCertLife / 2)
	return i.last, nil
}
