package inmemory

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"time"
)

// authorities are the CA certificates that a control-plane machine must be given.
type authorities struct {
	ca, etcd, proxy pair
	sa              pair // a public key in place of the certificate
	client, peer    pair // of K3s and RKE2: the signer of clients, and of members of etcd
}

// pair is a certificate and its key, PEM.
type pair struct{ cert, key []byte }

// agree reports whether both are the same cluster's: what one side signs is
// trusted on the other. There may be two of each but the front proxy's, while one
// takes the place of the other.
func (a authorities) agree(b authorities) bool {
	both := func(a, b pair) bool { return trusts(b.cert, signer(a.cert)) && trusts(a.cert, signer(b.cert)) }
	return both(a.ca, b.ca) && bytes.Equal(a.proxy.cert, b.proxy.cert) && both(a.etcd, b.etcd) && both(a.sa, b.sa)
}

// differsFrom returns the first of those given to a server of K3s or RKE2 that is another
// than the cluster's.
func (a authorities) differsFrom(b authorities) string {
	for _, x := range []struct {
		name  string
		given pair
		there pair
	}{
		{"server-ca.crt", a.ca, b.ca},
		{"client-ca.crt", a.client, b.client},
		{"etcd/server-ca.crt", a.etcd, b.etcd},
		{"etcd/peer-ca.crt", a.peer, b.peer},
	} {
		if len(x.given.cert) > 0 && !bytes.Equal(x.given.cert, x.there.cert) {
			return x.name
		}
	}
	return ""
}

// signer returns the first of a bundle in PEM, which is the one that signs.
func signer(bundle []byte) []byte {
	first, _ := pem.Decode(bundle)
	if first == nil {
		return nil
	}
	return bytes.TrimSpace(pem.EncodeToMemory(first))
}

// trusts reports whether one is in bundle.
func trusts(bundle, one []byte) bool { return len(one) > 0 && bytes.Contains(bundle, one) }

// readAuthorities reads them from the disk of a machine. Those that lie there
// must be whole: kubeadm would make its own for what is missing, which no other machine
// else knows.
func readAuthorities(d disk, dir string) (authorities, error) {
	if dir == "" {
		dir = "/etc/kubernetes/pki"
	}
	var a authorities
	for _, x := range []struct {
		to        *pair
		cert, key string
		check     func(pair) error
	}{
		{&a.ca, "ca.crt", "ca.key", checkAuthority},
		{&a.etcd, "etcd/ca.crt", "etcd/ca.key", checkAuthority},
		{&a.proxy, "front-proxy-ca.crt", "front-proxy-ca.key", checkAuthority},
		{&a.sa, "sa.pub", "sa.key", checkKeys},
	} {
		cert, key := path.Join(dir, x.cert), path.Join(dir, x.key)
		for _, name := range []string{cert, key} {
			if len(d.files[name].content) == 0 {
				return a, fmt.Errorf("certs: %s is not there", name)
			}
		}
		if mode := d.files[key].mode; mode != 0o600 {
			return a, fmt.Errorf("certs: %s has mode %#o, and a private key has 0600", key, mode)
		}
		*x.to = pair{cert: d.files[cert].content, key: d.files[key].content}
		if err := x.check(*x.to); err != nil {
			return a, fmt.Errorf("certs: %s and %s: %w", cert, key, err)
		}
	}
	return a, nil
}

// checkAuthority checks that a certificate belongs to its key and may sign.
func checkAuthority(p pair) error {
	both, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return err
	}
	if !both.Leaf.IsCA {
		return errors.New("the certificate is not a CA certificate")
	}
	if time.Now().After(both.Leaf.NotAfter) || time.Now().Before(both.Leaf.NotBefore) {
		return errors.New("the certificate is expired or not yet valid")
	}
	return nil
}

// checkKeys checks that a public key belongs to its private key.
func checkKeys(p pair) error {
	public, _ := pem.Decode(p.cert)
	private, _ := pem.Decode(p.key)
	if public == nil || private == nil {
		return errors.New("no PEM")
	}
	pub, err := x509.ParsePKIXPublicKey(public.Bytes)
	if err != nil {
		return err
	}
	key, err := parseKey(private.Bytes)
	if err != nil {
		return err
	}
	if k, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !k.Equal(pub) {
		return errors.New("the public key does not belong to the private key")
	}
	return nil
}

func parseKey(der []byte) (crypto.Signer, error) {
	if k, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return k, nil
	}
	if k, err := x509.ParseECPrivateKey(der); err == nil {
		return k, nil
	}
	k, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("no private key that this machine knows")
	}
	s, ok := k.(crypto.Signer)
	if !ok {
		return nil, errors.New("no private key that can sign")
	}
	return s, nil
}

// hashes returns those of the public keys of a bundle as kubeadm pins them.
func hashes(bundle []byte) []string {
	var out []string
	for {
		block, rest := pem.Decode(bundle)
		if block == nil {
			return out
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
			out = append(out, "sha256:"+hex.EncodeToString(sum[:]))
		}
		bundle = rest
	}
}
