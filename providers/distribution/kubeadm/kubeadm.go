package kubeadm

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm/pki"
)

const (
	authorityDays      = 3650
	kubeconfigValidity = 365 * 24 * time.Hour
)

// Bootstrap implements providers.Bootstrap. Its zero value works, and it is
// safe for concurrent use.
type Bootstrap struct{}

var _ providers.Bootstrap = Bootstrap{}

// New returns a Bootstrap.
func New() Bootstrap { return Bootstrap{} }

// NewAuthorities implements providers.Bootstrap. Randomness is the system's.
func (Bootstrap) NewAuthorities(c *fleet.Cluster, now time.Time) (map[fleet.SecretName]fleet.SecretData, error) {
	spec, err := specOf(c.ControlPlane.Bootstrap)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "make authorities of cluster "+c.Key.String(), "%w", err)
	}
	conf := spec.ClusterConfiguration
	days := cmp.Or(int(conf.CACertificateValidityPeriodDays), authorityDays)
	out := make(map[fleet.SecretName]fleet.SecretData)
	for _, name := range c.Authorities() {
		d, err := newAuthority(name, conf.EncryptionAlgorithm, days, now)
		if err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "make authority "+string(name)+" of cluster "+c.Key.String(),
				"clusterConfiguration: %w", err)
		}
		out[name] = d
	}
	granted(c, out, now)
	return out, nil
}

func newAuthority(name fleet.SecretName, alg bootstrapv1.EncryptionAlgorithmType, days int, now time.Time) (fleet.SecretData, error) {
	switch name {
	case fleet.ClusterCA:
		return pki.NewCA("kubernetes", alg, days, now)
	case fleet.EtcdCA:
		return pki.NewCA("etcd-ca", alg, days, now)
	case fleet.FrontProxyCA:
		return pki.NewCA("front-proxy-ca", alg, days, now)
	case fleet.ServiceAccount:
		return pki.NewKeyPair(alg)
	}
	return nil, fmt.Errorf("there is no authority %q", name)
}

// Token implements providers.Bootstrap. The token is derived from the private
// key of the cluster's authority. So there is no state to lose, a repeated
// create is the same request, and nothing is given away: who holds that key can
// issue any certificate of the cluster.
func (Bootstrap) Token(c *fleet.Cluster, ca fleet.SecretData, m fleet.MachineName) (providers.Token, error) {
	t, err := token(c.Key, ca, m)
	if err != nil {
		return providers.Token{}, fleet.Errorf(fleet.Unknown, "make the bootstrap token of machine "+string(m), "authority ca: %w", err)
	}
	return t, nil
}

const (
	tokenIDLength     = 6
	tokenSecretLength = 16
	tokenAlphabet     = "abcdefghijklmnopqrstuvwxyz0123456789"
)

func token(c fleet.Key, ca fleet.SecretData, m fleet.MachineName) (providers.Token, error) {
	authority, err := pki.Load(ca)
	if err != nil {
		return providers.Token{}, err
	}
	stream, err := authority.Derive(128, "bootstrap token", c.String(), string(m))
	if err != nil {
		return providers.Token{}, err
	}
	// Bytes from 252 up are left out: 252 is the largest multiple of 36 that
	// fits, and the rest would make some characters likelier than others.
	chars := make([]byte, 0, tokenIDLength+tokenSecretLength)
	for _, b := range stream {
		if int(b) < 256/len(tokenAlphabet)*len(tokenAlphabet) && len(chars) < cap(chars) {
			chars = append(chars, tokenAlphabet[int(b)%len(tokenAlphabet)])
		}
	}
	if len(chars) < cap(chars) {
		return providers.Token{}, errors.New("too few characters derived")
	}
	t := providers.Token{ID: string(chars[:tokenIDLength]), Secret: fleet.NewSecret(chars[tokenIDLength:])}
	if fleet.RotationOf(ca) != (fleet.RotationState{}) {
		t.Authorities = authority.Bundle
	}
	return t, nil
}

// CACertHash returns the hash by which kubeadm pins an authority, as it stands
// in discovery.bootstrapToken.caCertHashes.
func CACertHash(c *x509.Certificate) string { return pki.Hash(c) }
