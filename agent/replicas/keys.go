package replicas

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// seedKey is the key in the Secret that all replicas share. What it holds makes
// the authority that replicas know each other by: who can read it could read the
// secrets of clusters as well.
const seedKey = "seed"

// Seed returns the content of the Secret <agent>-replicas, which the first
// replica makes.
func Seed(ctx context.Context, api corev1client.SecretInterface, agent string) ([]byte, error) {
	name := agent + "-replicas"
	seed := make([]byte, ed25519.SeedSize)
	if _, err := rand.Read(seed); err != nil {
		return nil, err
	}
	s, err := api.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s, err = api.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: Labels(agent)}, Data: map[string][]byte{seedKey: seed},
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			s, err = api.Get(ctx, name, metav1.GetOptions{})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot share the secret of the replicas: %w", err)
	}
	if len(s.Data[seedKey]) != ed25519.SeedSize {
		return nil, fmt.Errorf("the Secret %s has no %s of %d bytes: delete it, and restart the replicas", name, seedKey, ed25519.SeedSize)
	}
	return s.Data[seedKey], nil
}

// serverName is the one DNS name in all certificates: any replica may be the server.
const serverName = "replica.fairlead.dev"

// life is how long the certificate of a replica is good for, which is made when
// it starts.
const certificateLife = 10 * 365 * 24 * time.Hour

// TLS returns what both ends of a connection between replicas use. Only who
// knows seed can make a certificate that the other side takes.
func TLS(seed []byte) (*tls.Config, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, errors.New("the secret of the replicas is not of the right length")
	}
	sum := sha256.Sum256(append([]byte("fairlead replicas authority\x00"), seed...))
	authority := ed25519.NewKeyFromSeed(sum[:])
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fairlead replicas"},
		NotBefore: time.Unix(0, 0), NotAfter: now.Add(2 * certificateLife),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	pool := x509.NewCertPool()
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, authority.Public(), authority)
	if err != nil {
		return nil, err
	}
	if ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	pool.AddCert(ca)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: serverName}, DNSNames: []string{serverName},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, ca, public, authority)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: serverName,
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf}, PrivateKey: private}},
		RootCAs:      pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
