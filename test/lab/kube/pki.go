package kube

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"time"
)

// An authority signs the certificates of one server and of its users.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

const validity = 24 * time.Hour

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	c := certificate(pkix.Name{CommonName: "kubernetes"})
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	a := &authority{cert: c, key: key}
	a.pem, err = a.sign(c, key.Public())
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(a.pem)
	a.cert, err = x509.ParseCertificate(block.Bytes)
	return a, err
}

// issue returns the certificate and key of a user, as PEM.
func (a *authority) issue(name string, groups []string) (cert, key []byte, err error) {
	c := certificate(pkix.Name{CommonName: name, Organization: groups})
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.pair(c)
}

// issueServing returns the certificate and key of the API server, as PEM.
func (a *authority) issueServing() (cert, key []byte, err error) {
	c := certificate(pkix.Name{CommonName: "kube-apiserver"})
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	c.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	return a.pair(c)
}

func (a *authority) pair(c *x509.Certificate) (cert, key []byte, err error) {
	if key, err = newKey(); err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(key)
	private, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	cert, err = a.sign(c, private.Public())
	return cert, key, err
}

func (a *authority) sign(c *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, public, a.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// certificate returns a template; a serial number of nil becomes a random one.
func certificate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject: subject, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// newKey returns a new private key, as PEM.
func newKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
