package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"time"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

// NewCA makes a self-signed authority that is good from a little before now for
// days. Randomness is the system's.
func NewCA(commonName string, alg bootstrapv1.EncryptionAlgorithmType, days int, now time.Time) (fleet.SecretData, error) {
	return newCA(commonName, alg, days, now, false)
}

// NewSuccessor is NewCA for an authority that takes the place of another, which
// it can Cross.
func NewSuccessor(commonName string, alg bootstrapv1.EncryptionAlgorithmType, days int, now time.Time) (fleet.SecretData, error) {
	return newCA(commonName, alg, days, now, true)
}

const authorityUsage = x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign

func newCA(commonName string, alg bootstrapv1.EncryptionAlgorithmType, days int, now time.Time, successor bool) (fleet.SecretData, error) {
	key, err := newKey(alg)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		DNSNames:              []string{commonName},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.AddDate(0, 0, days),
		KeyUsage:              authorityUsage,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        !successor,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return fleet.SecretData{
		fleet.TLSCertKey: fleet.NewSecret(encode("CERTIFICATE", der)),
		fleet.TLSKeyKey:  fleet.NewSecret(private),
	}, nil
}

// Cross returns other's certificate as ca signs it, in PEM form: with it, clients that trust
// ca alone trust what other has signed. ca must allow CAs below
// it, as those of NewSuccessor do.
func (ca *CA) Cross(other *x509.Certificate) ([]byte, error) {
	notAfter := other.NotAfter
	if notAfter.After(ca.Certificate.NotAfter) {
		notAfter = ca.Certificate.NotAfter
	}
	template := &x509.Certificate{
		RawSubject: other.RawSubject, SubjectKeyId: other.SubjectKeyId,
		NotBefore: other.NotBefore, NotAfter: notAfter,
		KeyUsage: authorityUsage, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Certificate, other.PublicKey, ca.key)
	if err != nil {
		return nil, err
	}
	return encode("CERTIFICATE", der), nil
}

// NewKeyPair makes the key pair that signs service account tokens: the public
// key under tls.crt, the private key under tls.key, as Cluster API keeps them.
func NewKeyPair(alg bootstrapv1.EncryptionAlgorithmType) (fleet.SecretData, error) {
	key, err := newKey(alg)
	if err != nil {
		return nil, err
	}
	private, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	return fleet.SecretData{
		fleet.TLSCertKey: fleet.NewSecret(encode("PUBLIC KEY", public)),
		fleet.TLSKeyKey:  fleet.NewSecret(private),
	}, nil
}

// newKey makes a private key; ECDSA-P256 where alg is empty.
func newKey(alg bootstrapv1.EncryptionAlgorithmType) (crypto.Signer, error) {
	switch alg {
	case "", bootstrapv1.EncryptionAlgorithmECDSAP256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case bootstrapv1.EncryptionAlgorithmECDSAP384:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case bootstrapv1.EncryptionAlgorithmRSA2048:
		return rsa.GenerateKey(rand.Reader, 2048)
	case bootstrapv1.EncryptionAlgorithmRSA3072:
		return rsa.GenerateKey(rand.Reader, 3072)
	case bootstrapv1.EncryptionAlgorithmRSA4096:
		return rsa.GenerateKey(rand.Reader, 4096)
	}
	return nil, fmt.Errorf("there is no encryption algorithm %q", alg)
}

// encodeKey writes key in the form that kubeadm itself writes.
func encodeKey(key crypto.Signer) ([]byte, error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(k)), nil
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(k)
		if err != nil {
			return nil, err
		}
		return encode("EC PRIVATE KEY", der), nil
	}
	return nil, fmt.Errorf("a %T cannot be written", key)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
