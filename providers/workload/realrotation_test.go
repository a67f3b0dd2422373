package workload_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/distribution/kubeadm/inside"
)

// TestRealEtcdRotation takes the authority of a real etcd of three members through
// the stages of its rotation, a member at a time. After each step all members are
// in touch, and reached with what the agent has by then.
func TestRealEtcdRotation(t *testing.T) {
	r := newRealEtcd(t)
	c := &fleet.Cluster{Key: key}
	made, err := kubeadm.New(nil).NewSecrets(c, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d := made[fleet.EtcdCA]
	use := func() {
		r.ca, r.access.Secrets = authorityOf(t, d), map[fleet.SecretName]fleet.SecretData{fleet.EtcdCA: d}
	}
	use()
	names := []string{"cp-1", "cp-2", "cp-3"}
	var voters, healthy []string
	for _, name := range names {
		voters = append(voters, name+"=https://"+r.add(name).peer)
		healthy = append(healthy, name+" healthy")
	}
	for _, name := range names {
		r.run(name, "new", voters)
	}
	r.await("three voters and a leader", healthy...)
	first := r.ca
	for _, stage := range []fleet.RotationStage{fleet.RotationTrust, fleet.RotationSign, fleet.RotationDone} {
		d, err = kubeadm.New(nil).Rotate(c, fleet.EtcdCA, d, fleet.RotationState{Wish: "w", Stage: stage, Since: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		use()
		for _, name := range names {
			r.run(name, "new", voters)
			r.await(string(stage)+" at "+name, healthy...)
		}
	}
	if bytes.Contains(r.ca.certPEM, first.certPEM) || slices.Equal(r.ca.cert.Raw, first.cert.Raw) {
		t.Error("the authority is the one that it was")
	}
	r.access.Secrets = map[fleet.SecretName]fleet.SecretData{fleet.EtcdCA: {
		"tls.crt": fleet.NewSecret(append(first.certPEM, r.ca.certPEM...)), "tls.key": fleet.NewSecret(first.keyPEM),
	}}
	if etcd, err := inside.New(r.Client).Members(t.Context(), r.access); err == nil {
		t.Errorf("what the old authority signs is still let in: %v", etcd)
	}
}

// authorityOf returns what signs with d, and all that d trusts.
func authorityOf(t *testing.T, d fleet.SecretData) authority {
	t.Helper()
	a := authority{certPEM: d[fleet.TLSCertKey].Reveal(), keyPEM: d[fleet.TLSKeyKey].Reveal()}
	pair, err := tls.X509KeyPair(a.certPEM, a.keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
		t.Fatal(err)
	}
	a.key = pair.PrivateKey.(*ecdsa.PrivateKey)
	return a
}
