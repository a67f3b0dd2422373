package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"strconv"
	"time"
)

// A Client is who a client certificate is for.
type Client struct {
	CommonName   string
	Organization string
	// Purpose keeps certificates for the same name apart, as in the key of a
	// cluster.
	Purpose string
}

// NewClient issues a client certificate that is good from a little before now
// for validity, but not longer than the authority, and its key, both in PEM
// form. Equal arguments give the same certificate and key: the key is derived
// from the authority's, the signature is that of RFC 6979 or PKCS #1 v1.5.
// The key is ECDSA-P256, whatever the authority's is.
func (ca *CA) NewClient(c Client, now time.Time, validity time.Duration) (cert, key []byte, err error) {
	seed, err := ca.Derive(64, "client", c.CommonName, c.Organization, c.Purpose, strconv.FormatInt(now.UnixNano(), 10))
	if err != nil {
		return nil, nil, err
	}
	private, err := deriveKey(seed[:48])
	if err != nil {
		return nil, nil, err
	}
	notAfter := now.Add(validity)
	if notAfter.After(ca.Certificate.NotAfter) {
		notAfter = ca.Certificate.NotAfter
	}
	// A serial number is positive and has at most 20 octets (RFC 5280, 4.1.2.2).
	serial := new(big.Int).SetBytes(seed[48:])
	serial.SetBit(serial, 127, 0)
	serial.SetBit(serial, 126, 1)
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: c.CommonName, Organization: []string{c.Organization}},
		NotBefore:    now.Add(-skew),
		NotAfter:     notAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(nil, template, ca.Certificate, private.Public(), ca.key)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := encodeKey(private)
	if err != nil {
		return nil, nil, err
	}
	return encode("CERTIFICATE", der), encoded, nil
}

// deriveKey makes a P-256 key of 48 bytes. 128 bits more than the order has
// make the bias negligible (FIPS 186-5, A.2.1).
func deriveKey(seed []byte) (*ecdsa.PrivateKey, error) {
	curve := elliptic.P256()
	limit := new(big.Int).Sub(curve.Params().N, big.NewInt(1))
	d := new(big.Int).SetBytes(seed)
	d.Mod(d, limit).Add(d, big.NewInt(1))
	return ecdsa.ParseRawPrivateKey(curve, d.FillBytes(make([]byte, 32)))
}
