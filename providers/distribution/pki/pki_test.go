package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/short"
)

var now = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func TestNewCA(t *testing.T) {
	for alg, want := range map[bootstrapv1.EncryptionAlgorithmType]struct {
		kind string
		bits int
		pem  string
	}{
		"":           {"ecdsa", 256, "EC PRIVATE KEY"},
		"ECDSA-P256": {"ecdsa", 256, "EC PRIVATE KEY"},
		"ECDSA-P384": {"ecdsa", 384, "EC PRIVATE KEY"},
		"RSA-2048":   {"rsa", 2048, "RSA PRIVATE KEY"},
		"RSA-3072":   {"rsa", 3072, "RSA PRIVATE KEY"},
		"RSA-4096":   {"rsa", 4096, "RSA PRIVATE KEY"},
	} {
		t.Run("algorithm "+string(alg), func(t *testing.T) {
			if want.bits > 2048 && short.Form(t) {
				return // the key takes seconds to make
			}
			d, err := NewCA("kubernetes", alg, 3650, now)
			if err != nil {
				t.Fatal(err)
			}
			ca, err := Load(d)
			if err != nil {
				t.Fatal(err)
			}
			kind, bits := "", 0
			switch k := ca.Certificate.PublicKey.(type) {
			case *ecdsa.PublicKey:
				kind, bits = "ecdsa", k.Params().BitSize
			case *rsa.PublicKey:
				kind, bits = "rsa", k.N.BitLen()
			}
			if kind != want.kind || bits != want.bits {
				t.Errorf("key is %s-%d, want %s-%d", kind, bits, want.kind, want.bits)
			}
			if block, _ := pem.Decode(d[fleet.TLSKeyKey].Reveal()); block.Type != want.pem {
				t.Errorf("key is a %q, want a %q, as kubeadm writes it", block.Type, want.pem)
			}
			checkAuthority(t, ca)
		})
	}
	if _, err := NewCA("x", "DSA", 1, now); err == nil || !strings.Contains(err.Error(), `"DSA"`) {
		t.Errorf("unknown algorithm: %v", err)
	}
}

func checkAuthority(t *testing.T, ca *CA) {
	t.Helper()
	c := ca.Certificate
	roots := x509.NewCertPool()
	roots.AddCert(c)
	if _, err := c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		t.Errorf("it does not verify: %v", err)
	}
	if err := c.CheckSignatureFrom(c); err != nil {
		t.Errorf("it is not self-signed: %v", err)
	}
	if c.Subject.String() != "CN=kubernetes" || len(c.DNSNames) != 1 || c.DNSNames[0] != "kubernetes" {
		t.Errorf("subject %s, names %q", c.Subject, c.DNSNames)
	}
	if !c.NotBefore.Equal(now.Add(-5*time.Minute)) || !c.NotAfter.Equal(time.Date(2036, 11, 18, 8, 0, 0, 0, time.UTC)) {
		t.Errorf("good from %s to %s", c.NotBefore, c.NotAfter)
	}
	if !c.IsCA || !c.MaxPathLenZero || c.KeyUsage&x509.KeyUsageCertSign == 0 {
		t.Errorf("CA %v, path length zero %v, usage %b", c.IsCA, c.MaxPathLenZero, c.KeyUsage)
	}
	if c.SerialNumber.BitLen() < 64 || len(c.SubjectKeyId) == 0 {
		t.Errorf("serial %s, subject key id %x", c.SerialNumber, c.SubjectKeyId)
	}
}

func TestNewCAIsRandom(t *testing.T) {
	a, err := NewCA("kubernetes", "", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewCA("kubernetes", "", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{fleet.TLSCertKey, fleet.TLSKeyKey} {
		if bytes.Equal(a[key].Reveal(), b[key].Reveal()) {
			t.Errorf("two authorities have the same %s", key)
		}
	}
}

func TestNewKeyPair(t *testing.T) {
	for _, alg := range []bootstrapv1.EncryptionAlgorithmType{"", "RSA-2048"} {
		d, err := NewKeyPair(alg)
		if err != nil {
			t.Fatal(err)
		}
		public, _ := pem.Decode(d[fleet.TLSCertKey].Reveal())
		private, _ := pem.Decode(d[fleet.TLSKeyKey].Reveal())
		if public == nil || public.Type != "PUBLIC KEY" || private == nil {
			t.Fatalf("%q: not a pair of PEM blocks", alg)
		}
		pub, err := x509.ParsePKIXPublicKey(public.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		key, err := parseKey(private.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil || !bytes.Equal(der, public.Bytes) {
			t.Errorf("%q: %T is not the public key of %T (%v)", alg, pub, key, err)
		}
	}
}

func TestNewClient(t *testing.T) {
	for _, alg := range []bootstrapv1.EncryptionAlgorithmType{"ECDSA-P256", "ECDSA-P384", "RSA-2048"} {
		t.Run(string(alg), func(t *testing.T) {
			d, err := NewCA("kubernetes", alg, 3650, now)
			if err != nil {
				t.Fatal(err)
			}
			ca, err := Load(d)
			if err != nil {
				t.Fatal(err)
			}
			who := Client{CommonName: "kubernetes-admin", Organization: "system:masters", Purpose: "prod/eu-1"}
			cert, key, err := ca.NewClient(who, now, 365*24*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			again, keyAgain, err := ca.NewClient(who, now, 365*24*time.Hour)
			if err != nil || !bytes.Equal(cert, again) || !bytes.Equal(key, keyAgain) {
				t.Errorf("the same request gives another certificate (%v)", err)
			}
			for reason, other := range map[string]func() ([]byte, []byte, error){
				"cluster": func() ([]byte, []byte, error) {
					return ca.NewClient(Client{who.CommonName, who.Organization, "prod/eu-2"}, now, time.Hour)
				},
				"time": func() ([]byte, []byte, error) { return ca.NewClient(who, now.Add(1), time.Hour) },
				"name": func() ([]byte, []byte, error) {
					return ca.NewClient(Client{"x", who.Organization, who.Purpose}, now, time.Hour)
				},
			} {
				if _, k, err := other(); err != nil || bytes.Equal(k, key) {
					t.Errorf("another %s gives the same key (%v)", reason, err)
				}
			}
			certs, err := Certificates(cert)
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AddCert(ca.Certificate)
			if _, err := certs[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now.Add(-time.Minute), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
				t.Errorf("it does not verify as a client: %v", err)
			}
			if _, err := certs[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
				t.Error("it verifies as a server")
			}
			if got := certs[0].Subject.String(); got != "CN=kubernetes-admin,O=system:masters" {
				t.Errorf("subject is %s", got)
			}
			if !certs[0].NotAfter.Equal(time.Date(2027, 11, 21, 8, 0, 0, 0, time.UTC)) {
				t.Errorf("it is good until %s", certs[0].NotAfter)
			}
			if n := certs[0].SerialNumber; n.Sign() <= 0 || n.BitLen() != 127 || certs[0].IsCA {
				t.Errorf("serial %s, CA %v", n, certs[0].IsCA)
			}
			late, _, err := ca.NewClient(who, now.AddDate(9, 6, 0), 365*24*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			certs, err = Certificates(late)
			if err != nil || !certs[0].NotAfter.Equal(ca.Certificate.NotAfter) {
				t.Errorf("it outlives its authority: %v", err)
			}
		})
	}
}

// Derived bytes are pinned: another value would be another token for a machine
// that is on its way.
func TestDeriveIsPinned(t *testing.T) {
	ca := &CA{der: []byte("key")}
	got, err := ca.Derive(8, "label", "a", "bc")
	if err != nil || fmt.Sprintf("%x", got) != "2148cec324f39f36" {
		t.Errorf("got %x, %v", got, err)
	}
	for reason, parts := range map[string][]string{"moved border": {"ab", "c"}, "joined": {"abc"}, "more": {"a", "bc", ""}} {
		if other, err := ca.Derive(8, "label", parts...); err != nil || bytes.Equal(got, other) {
			t.Errorf("%s: the same bytes (%v)", reason, err)
		}
	}
	if other, err := ca.Derive(8, "other", "a", "bc"); err != nil || bytes.Equal(got, other) {
		t.Errorf("another label: the same bytes (%v)", err)
	}
	if _, err := ca.Derive(8, "label", "a\x00b"); err == nil {
		t.Error("a zero byte in a part is taken")
	}
}

func TestLoadRefuses(t *testing.T) {
	good, err := NewCA("kubernetes", "", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewCA("kubernetes", "", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := Load(good)
	if err != nil {
		t.Fatal(err)
	}
	leaf, leafKey, err := ca.NewClient(Client{CommonName: "x"}, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	secret := func(s string) fleet.Secret { return fleet.NewSecret([]byte(s)) }
	const private = "-----BEGIN EC PRIVATE KEY-----\ndmVyeSBwcml2YXRl\n-----END EC PRIVATE KEY-----\n"
	for reason, c := range map[string]struct {
		d    fleet.SecretData
		want string
	}{
		"nothing":                {nil, "tls.crt: no certificate"},
		"no PEM":                 {fleet.SecretData{"tls.crt": secret("very private"), "tls.key": good["tls.key"]}, "tls.crt: no certificate"},
		"damaged certificate":    {fleet.SecretData{"tls.crt": secret(strings.ReplaceAll(private, "EC PRIVATE KEY", "CERTIFICATE"))}, "tls.crt: certificate 1 cannot be read"},
		"no key":                 {fleet.SecretData{"tls.crt": good["tls.crt"]}, "tls.key: no PEM block"},
		"damaged key":            {fleet.SecretData{"tls.crt": good["tls.crt"], "tls.key": secret(private)}, "tls.key: not a private key"},
		"key of another":         {fleet.SecretData{"tls.crt": good["tls.crt"], "tls.key": other["tls.key"]}, "tls.key is not the key"},
		"leaf and not authority": {fleet.SecretData{"tls.crt": fleet.NewSecret(leaf), "tls.key": fleet.NewSecret(leafKey)}, "not a certificate authority"},
	} {
		_, err := Load(c.d)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "private\"") || strings.Contains(err.Error(), "dmVye") {
			t.Errorf("%s: %v, want %q", reason, err, c.want)
		}
	}
	bundle := fleet.SecretData{
		"tls.crt": fleet.NewSecret(append(bytes.Clone(good["tls.crt"].Reveal()), other["tls.crt"].Reveal()...)),
		"tls.key": good["tls.key"],
	}
	if ca, err := Load(bundle); err != nil || bytes.Count(ca.Bundle, []byte("BEGIN")) != 2 {
		t.Errorf("a bundle: %v", err)
	}
	if out := fmt.Sprintf("%v %+v %#v", ca, ca, ca); strings.Contains(out, "der") || strings.Contains(out, fmt.Sprint(ca.der[:4])[1:8]) {
		t.Errorf("printed: %s", out)
	}
}
