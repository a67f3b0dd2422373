// Package pki makes what a Kubernetes cluster trusts: CA certificates,
// the service account key pair, and client certificates.
//
// CAs and key pairs are random. Everything else is derived from a
// CA's private key: equal arguments give equal results, so that what is
// asked for twice is the same thing twice. A person with that key can make
// anything in the cluster anyway; deriving from it gives nothing away.
package pki

import (
	"bytes"
	"crypto"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// skew is how far the clock of a machine may be behind the issuer's.
const skew = 5 * time.Minute

// A CA is an authority that can sign.
type CA struct {
	Certificate *x509.Certificate // the one that signs: the first of the bundle
	Bundle      []byte            // PEM of all certificates that are trusted
	key         crypto.Signer
	der         []byte // of key, as stored
}

// String names the authority. It keeps fmt from its key.
func (ca *CA) String() string { return "certificate authority " + ca.Certificate.Subject.String() }

// GoString is String.
func (ca *CA) GoString() string { return ca.String() }

// Load reads an authority. Errors never hold its content.
func Load(d fleet.SecretData) (*CA, error) {
	bundle := d[fleet.TLSCertKey].Reveal()
	certs, err := Certificates(bundle)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(d[fleet.TLSKeyKey].Reveal())
	if block == nil {
		return nil, fmt.Errorf("%s: no PEM block", fleet.TLSKeyKey)
	}
	key, err := parseKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	pub, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !pub.Equal(certs[0].PublicKey) {
		return nil, fmt.Errorf("%s is not the key of the first certificate in %s", fleet.TLSKeyKey, fleet.TLSCertKey)
	}
	if !certs[0].IsCA {
		return nil, fmt.Errorf("the first certificate in %s is not a certificate authority", fleet.TLSCertKey)
	}
	return &CA{Certificate: certs[0], Bundle: bytes.Clone(bundle), key: key, der: block.Bytes}, nil
}

// Certificates reads a PEM bundle of at least one certificate.
func Certificates(bundle []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for {
		var block *pem.Block
		block, bundle = pem.Decode(bundle)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d cannot be read: %w", fleet.TLSCertKey, len(certs)+1, err)
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, fmt.Errorf("%s: no certificate in PEM form", fleet.TLSCertKey)
	}
	return certs, nil
}

// Hash returns the hash by which kubeadm pins an authority: "sha256:" and the
// hexadecimal SHA-256 of the SubjectPublicKeyInfo, as in RFC 7469.
func Hash(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Derive returns n bytes that only a holder of the authority's key can know.
// Different labels and parts give independent bytes.
func (ca *CA) Derive(n int, label string, parts ...string) ([]byte, error) {
	// Every part is followed by a zero byte, which no part holds, so that
	// no two lists of parts give the same info.
	var info strings.Builder
	for _, s := range append([]string{"fairlead.dev/pki", label}, parts...) {
		if strings.ContainsRune(s, 0) {
			return nil, errors.New("a name holds a zero byte")
		}
		info.WriteString(s)
		info.WriteByte(0)
	}
	return hkdf.Key(sha256.New, ca.der, nil, info.String(), n)
}

// parseKey reads a private key in PKCS #1, PKCS #8 or SEC 1 form. Its error
// says nothing of what was tried, so as to say nothing of the key.
func parseKey(der []byte) (crypto.Signer, error) {
	if k, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return k, nil
	}
	if k, err := x509.ParseECPrivateKey(der); err == nil {
		return k, nil
	}
	if k, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if s, ok := k.(crypto.Signer); ok {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s: not a private key that can sign", fleet.TLSKeyKey)
}
