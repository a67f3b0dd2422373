package inmemory

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"strings"
	"testing"
	"time"
)

// TestLeafIsNoAuthority: a certificate that may not sign is no authority.
func TestLeafIsNoAuthority(t *testing.T) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	err = checkAuthority(pair{cert: []byte(pemText("CERTIFICATE", der)), key: []byte(ecPEM(t, k))})
	if err == nil || !strings.Contains(err.Error(), "not a CA certificate") {
		t.Errorf("error = %v, want the certificate refused", err)
	}
}
