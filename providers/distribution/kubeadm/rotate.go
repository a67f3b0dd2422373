package kubeadm

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/pki"
)

// Rotate implements providers.Distribution. Which of two is trusted first in a
// bundle matters: kubeadm and the API server take the first for the one that
// signs.
func (Distribution) Rotate(c *fleet.Cluster, name fleet.SecretName, d fleet.SecretData, to fleet.RotationState) (fleet.SecretData, error) {
	op := "rotate the CA " + string(name) + " of cluster " + c.Key.String()
	now := fleet.RotationOf(d)
	if now.Stage == to.Stage && now.Wish == to.Wish {
		return d, nil // it was done before
	}
	if now.Stage.Next(name) != to.Stage || now.UnderWay() && now.Wish != to.Wish {
		return nil, fleet.Errorf(fleet.Conflict, op, "it is at stage %q, and %q is not the next", now.Stage, to.Stage)
	}
	out := fleet.SecretData{fleet.RotationKey: fleet.NewSecret([]byte(to.String()))}
	old, oldKey := lines(d[fleet.TLSCertKey]), d[fleet.TLSKeyKey]
	next, nextKey := lines(d[fleet.NextCertKey]), d[fleet.NextKeyKey]
	switch to.Stage {
	case fleet.RotationTrust:
		made, err := successor(c, name, d, to)
		if err != nil {
			return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
		}
		next = lines(made[fleet.TLSCertKey])
		put(out, bundle(old, next), oldKey)
		out[fleet.NextCertKey], out[fleet.NextKeyKey] = fleet.NewSecret(next), made[fleet.TLSKeyKey]
		if cross := made[fleet.CrossCertKey]; !cross.IsZero() {
			out[fleet.CrossCertKey] = cross
		}
	case fleet.RotationSpread, fleet.RotationHold:
		maps.Copy(out, d)
		out[fleet.RotationKey] = fleet.NewSecret([]byte(to.String()))
	case fleet.RotationSign:
		put(out, bundle(next, bytes.TrimSuffix(old, next)), nextKey)
		out[fleet.NextCertKey] = fleet.NewSecret(next)
	case fleet.RotationDone:
		put(out, next, oldKey)
	}
	if out[fleet.TLSCertKey].IsZero() || out[fleet.TLSKeyKey].IsZero() {
		return nil, fleet.Errorf(fleet.Invalid, op, "its secret lacks %s or %s: restore it", fleet.NextCertKey, fleet.NextKeyKey)
	}
	return out, nil
}

// successor makes the authority that takes the place of d. The one of the cluster
// has a name of its own and signs the old one, so that the builder of a chain
// finds the right one of the two.
func successor(c *fleet.Cluster, name fleet.SecretName, d fleet.SecretData, to fleet.RotationState) (fleet.SecretData, error) {
	spec, err := specOf(c.ControlPlane.Bootstrap)
	if err != nil {
		return nil, err
	}
	conf := spec.ClusterConfiguration
	days := cmp.Or(int(conf.CACertificateValidityPeriodDays), authorityDays)
	if name != fleet.ClusterCA {
		made, err := newAuthority(name, conf.EncryptionAlgorithm, days, to.Since)
		if err != nil {
			return nil, fmt.Errorf("clusterConfiguration: %w", err)
		}
		return made, nil
	}
	if err := checkRotatable(c); err != nil {
		return nil, err
	}
	made, err := pki.NewSuccessor("kubernetes-"+to.Wish, conf.EncryptionAlgorithm, days, to.Since)
	if err != nil {
		return nil, fmt.Errorf("clusterConfiguration: %w", err)
	}
	before, err := pki.Load(d)
	if err != nil {
		return nil, fmt.Errorf("cluster CA: %w", err)
	}
	after, err := pki.Load(made)
	if err != nil {
		return nil, err
	}
	cross, err := after.Cross(before.Certificate)
	made[fleet.CrossCertKey] = fleet.NewSecret(cross)
	return made, err
}

func put(d fleet.SecretData, cert []byte, key fleet.Secret) {
	d[fleet.TLSCertKey], d[fleet.TLSKeyKey] = fleet.NewSecret(cert), key
}

func bundle(first, second []byte) []byte { return append(bytes.Clone(first), second...) }

// lines returns the content of s with an end of line, so that PEM can follow.
func lines(s fleet.Secret) []byte {
	content := bytes.TrimSpace(s.Reveal())
	if len(content) == 0 {
		return nil
	}
	return append(bytes.Clone(content), '\n')
}

// granted marks new CA certificates as made for the requests that c has already.
func granted(c *fleet.Cluster, made map[fleet.SecretName]fleet.SecretData, now time.Time) {
	for _, r := range fleet.Rotations() {
		if d := made[r.Authority()]; d != nil && c.Rotate[r] != "" {
			state := fleet.RotationState{Wish: fleet.TrustChecksum([]byte(c.Rotate[r])), Stage: fleet.RotationDone, Since: now}
			d[fleet.RotationKey] = fleet.NewSecret([]byte(state.String()))
		}
	}
}
