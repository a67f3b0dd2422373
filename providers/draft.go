package providers

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"time"

	"fairlead.dev/fleet"
)

// A Drafter makes user data of machines that do not exist, to find out whether they could be
// made. It is safe for concurrent use.
type Drafter struct{ standIn fleet.SecretData }

// NewDrafter returns a Drafter.
func NewDrafter() Drafter { return Drafter{standIns()} }

// Draft makes the user data of a machine of p, a pool of c, that joins as join says. Values
// that Git does not hold have stand-ins: certificates, keys, tokens, the endpoint, and the
// name of the machine. The error says why no such machine can be made before the manifests
// change, with a *fleet.FieldError if it is known which field of the bootstrap configuration
// is wrong. "version" is that of the pool. Other errors of UserData are not returned: they are
// about the stand-ins, or go away by themselves.
func (r Drafter) Draft(d Distribution, c *fleet.Cluster, p fleet.Pool, join fleet.Join) error {
	in := BootstrapInput{
		Cluster: c, Pool: p, Machine: "stand-in", Join: join, Endpoint: c.NamedEndpoint(),
		Secrets: make(map[fleet.SecretName]fleet.SecretData),
	}
	if in.Endpoint.IsZero() {
		in.Endpoint = fleet.Endpoint{Host: "192.0.2.1", Port: 6443}
	}
	for _, n := range d.Needs(c) {
		in.Secrets[n.Name] = r.standIn
	}
	_, err := d.UserData(in)
	if fleet.KindOf(err) != fleet.Invalid {
		return nil
	}
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		return e.Err // the operation names the stand-in
	}
	return err
}

// Joins returns the ways in which machines of p come to be.
func Joins(p fleet.Pool) []fleet.Join {
	if p.Role == fleet.RoleControlPlane {
		return []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane}
	}
	return []fleet.Join{fleet.JoinWorker}
}

// unmade returns the ways in which no machine of c can be made, at each of its versions.
func unmade(d Distribution, c *fleet.Cluster) []fleet.Unmade {
	if c.Delete || c.Abandon {
		return nil // none is to be made
	}
	var out []fleet.Unmade
	drafter := NewDrafter()
	add := func(c *fleet.Cluster) {
		for _, p := range c.Pools() {
			for _, join := range Joins(p) {
				if err := drafter.Draft(d, c, p, join); err != nil {
					out = append(out, fleet.Unmade{Pool: p.Name, Version: p.Version, Join: join, Why: err.Error()})
				}
			}
		}
	}
	add(c)
	if c.Topology == nil {
		return out
	}
	for _, v := range c.Topology.Older {
		staged := *c
		staged.Workers = nil
		for _, p := range c.Pools() {
			b, ok := v.Pools[p.Name]
			switch {
			case ok && p.Role == fleet.RoleControlPlane:
				staged.ControlPlane = p.At(v.Version, b)
			case ok:
				staged.Workers = append(staged.Workers, p.At(v.Version, b))
			}
		}
		add(&staged)
	}
	return out
}

// standIns returns values that are valid for each need of each distribution, and that no
// cluster trusts: everybody knows the key. They are always the same.
func standIns() fleet.SecretData {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stand-in"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	certificate, err := x509.CreateCertificate(nil, authority, authority, key.Public(), key) // Ed25519 needs no randomness
	if err != nil {
		panic(err) // nothing in it varies
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	block := func(kind string, der []byte) fleet.Secret {
		return fleet.NewSecret(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	text := fleet.NewSecret(bytes.Repeat([]byte("0"), 64))
	return fleet.SecretData{
		fleet.TLSCertKey: block("CERTIFICATE", certificate), fleet.TLSKeyKey: block("PRIVATE KEY", private),
		fleet.SeedKey: text, fleet.TokenKey: text,
	}
}
