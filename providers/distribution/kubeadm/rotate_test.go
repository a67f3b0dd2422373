package kubeadm_test

import (
	"bytes"
	"crypto/tls"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/distribution/pki"
)

// Each stage of a rotation trusts whoever signs in the stages beside it, and the
// first that is trusted is the one that signs.
func TestRotate(t *testing.T) {
	b, c := kubeadm.Distribution{}, &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}
	made, err := b.NewSecrets(c, issued)
	if err != nil {
		t.Fatal(err)
	}
	both := []fleet.RotationStage{fleet.RotationTrust, fleet.RotationSpread}
	for name, rolls := range map[fleet.SecretName]int{fleet.EtcdCA: 3, fleet.ServiceAccount: 3, fleet.ClusterCA: 4} {
		d := made[name]
		old := bytes.TrimSpace(d[fleet.TLSCertKey].Reveal())
		checksums := make(map[string]bool)
		for stage := fleet.RotationStage(""); stage != fleet.RotationDone; {
			stage = stage.Next(name)
			if _, err := b.Rotate(c, name, d, fleet.RotationState{Wish: "w", Stage: stage.Next(name), Since: issued}); fleet.KindOf(err) != fleet.Conflict {
				t.Errorf("%s: over a stage to %s: %v", name, stage.Next(name), err)
			}
			before := d
			state := fleet.RotationState{Wish: "w", Stage: stage, Since: issued.Add(time.Hour)}
			if d, err = b.Rotate(c, name, before, state); err != nil {
				t.Fatal(err)
			}
			if again, err := b.Rotate(c, name, d, state); err != nil || !bytes.Equal(again[fleet.TLSCertKey].Reveal(), d[fleet.TLSCertKey].Reveal()) {
				t.Errorf("%s: %s once more changes it, %v", name, stage, err)
			}
			if fleet.RotationOf(d) != state {
				t.Errorf("%s: state %v, want %v", name, fleet.RotationOf(d), state)
			}
			checksums[fleet.AuthorityChecksum(name, d)] = true
			trusts := func(d fleet.SecretData, cert []byte) bool { return bytes.Contains(d[fleet.TLSCertKey].Reveal(), cert) }
			if !trusts(d, signer(t, name, before)) || !trusts(before, signer(t, name, d)) {
				t.Errorf("%s: machines of %s and of the stage before do not trust each other", name, stage)
			}
			if trusts(d, old) != (stage != fleet.RotationDone) {
				t.Errorf("%s: the old one is trusted at %s: %v", name, stage, trusts(d, old))
			}
			if bytes.Equal(signer(t, name, d), old) != slices.Contains(both, stage) {
				t.Errorf("%s: the old one signs at %s, or does not", name, stage)
			}
		}
		if len(d) != 3 {
			t.Errorf("%s: in the end it has %d parts, want certificate, key and state", name, len(d))
		}
		if len(checksums) != rolls || fleet.AuthorityChecksum(name, made[name]) != "" {
			t.Errorf("%s: checksums %v, want %d, or one that never was rotated has one", name, checksums, rolls)
		}
	}
}

// What is made for a cluster that has a wish grants it.
func TestNewAuthoritiesGrantWishes(t *testing.T) {
	c := &fleet.Cluster{Rotate: map[fleet.Rotation]string{fleet.RotateEtcdCA: "1"}}
	made, err := kubeadm.New(nil).NewSecrets(c, issued)
	if err != nil {
		t.Fatal(err)
	}
	if got := fleet.RotationOf(made[fleet.EtcdCA]); got.Stage != fleet.RotationDone || got.Wish != fleet.TrustChecksum([]byte("1")) {
		t.Errorf("state %v", got)
	}
	if got := fleet.RotationOf(made[fleet.ServiceAccount]); got != (fleet.RotationState{}) {
		t.Errorf("state %v of what nobody asked for", got)
	}
}

// signer returns the certificate, or public key, of the one in d that signs.
func signer(t *testing.T, name fleet.SecretName, d fleet.SecretData) []byte {
	t.Helper()
	bundle := d[fleet.TLSCertKey].Reveal()
	if name != fleet.ServiceAccount {
		if _, err := pki.Load(d); err != nil {
			t.Fatal(err)
		}
		if _, err := tls.X509KeyPair(bundle, d[fleet.TLSKeyKey].Reveal()); err != nil {
			t.Fatal(err)
		}
	}
	const end = "-----END "
	i := bytes.Index(bundle, []byte(end))
	j := bytes.IndexByte(append(bundle[i:len(bundle):len(bundle)], '\n'), '\n')
	return bytes.TrimSpace(bundle[:i+j])
}
