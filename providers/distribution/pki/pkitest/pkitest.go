// Package pkitest has CAs for tests.
package pkitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// Authority returns an authority of ten years that is the same in every run: its key is the
// number n.
func Authority(t testing.TB, name string, n byte) fleet.SecretData {
	t.Helper()
	issued := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	scalar := make([]byte, 32)
	scalar[31] = n
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(n)), Subject: pkix.Name{CommonName: name}, NotBefore: issued, NotAfter: issued.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.SecretData{
		fleet.TLSCertKey: fleet.NewSecret(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		fleet.TLSKeyKey:  fleet.NewSecret(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})),
	}
}
