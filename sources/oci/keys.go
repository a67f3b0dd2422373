package oci

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	_ "crypto/sha512" // for keys of larger curves
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Keys are trusted public keys.
type Keys struct{ keys []key }

type key struct {
	file   string
	public crypto.PublicKey
}

// minRSA is the least size of an RSA key, in bits.
const minRSA = 2048

// NewKeys reads public keys in PEM, as cosign writes them to cosign.pub: ECDSA, Ed25519 or
// RSA. Files maps names, for messages, to their content.
func NewKeys(files map[string][]byte) (*Keys, error) {
	k := &Keys{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		rest, found := bytes.TrimSpace(files[file]), false
		for len(rest) > 0 {
			block, after := pem.Decode(rest)
			if block == nil || block.Type != "PUBLIC KEY" || !bytes.HasPrefix(rest, []byte("-----BEGIN")) {
				return nil, fmt.Errorf("%s is no public key in PEM, as cosign generate-key-pair writes it to cosign.pub", file)
			}
			public, err := x509.ParsePKIXPublicKey(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("%s: the public key cannot be read: %w", file, err)
			}
			switch p := public.(type) {
			case *ecdsa.PublicKey, ed25519.PublicKey:
			case *rsa.PublicKey:
				if p.N.BitLen() < minRSA {
					return nil, fmt.Errorf("%s: the RSA key has %d bits, fewer than %d", file, p.N.BitLen(), minRSA)
				}
			default:
				return nil, fmt.Errorf("%s: the public key is none of ECDSA, Ed25519 and RSA", file)
			}
			k.keys, rest, found = append(k.keys, key{file, public}), bytes.TrimSpace(after), true
		}
		if !found {
			return nil, fmt.Errorf("%s is empty", file)
		}
	}
	if len(k.keys) == 0 {
		return nil, errors.New("no public key is given")
	}
	return k, nil
}

// Verify returns the file of the key that signed payload, and its fingerprint.
func (k *Keys) Verify(payload, signature []byte) (who string, err error) {
	for _, key := range k.keys {
		if signed(key.public, payload, signature) {
			der, err := x509.MarshalPKIXPublicKey(key.public)
			sum := sha256.Sum256(der)
			return key.file + " SHA256:" + hex.EncodeToString(sum[:8]), err
		}
	}
	return "", fmt.Errorf("none of the %d trusted keys made the signature", len(k.keys))
}

// signed reports whether signature is cosign's signature of payload.
func signed(public crypto.PublicKey, payload, signature []byte) bool {
	sum := sha256.Sum256(payload)
	switch p := public.(type) {
	case *ecdsa.PublicKey:
		if ecdsa.VerifyASN1(p, sum[:], signature) {
			return true
		}
		// Newer versions of cosign choose the hash by the curve.
		hash := crypto.SHA384
		switch size := p.Curve.Params().BitSize; {
		case size <= 256:
			return false
		case size > 384:
			hash = crypto.SHA512
		}
		h := hash.New()
		h.Write(payload)
		return ecdsa.VerifyASN1(p, h.Sum(nil), signature)
	case ed25519.PublicKey:
		return ed25519.Verify(p, payload, signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(p, crypto.SHA256, sum[:], signature) == nil
	}
	return false
}
