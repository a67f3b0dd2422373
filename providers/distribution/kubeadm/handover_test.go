package kubeadm_test

import (
	"crypto/x509"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/distribution/pki"
)

// While two authorities of the cluster are trusted, kube-controller-manager is
// given one certificate to sign with; and an API server whose certificate is of
// the old one is believed by whoever trusts the new one alone.
func TestHandover(t *testing.T) {
	b := kubeadm.Distribution{}
	in := input(t, fleet.JoinControlPlane, "v1.36.3", bootstrapv1.KubeadmConfigSpec{})
	if command := boot(t, in).RunCmd[0]; strings.Contains(command, "cat ") {
		t.Errorf("without a rotation it runs %q", command)
	}
	plain := in.Secrets[fleet.ClusterCA]
	old, err := pki.Load(plain)
	if err != nil {
		t.Fatal(err)
	}
	var now *pki.CA
	for d, stage := plain, fleet.RotationStage(""); stage != fleet.RotationDone; {
		stage = stage.Next(fleet.ClusterCA)
		if d, err = b.Rotate(in.Cluster, fleet.ClusterCA, d, fleet.RotationState{Wish: "w", Stage: stage, Since: issued}); err != nil {
			t.Fatal(err)
		}
		if now, err = pki.Load(d); err != nil {
			t.Fatal(err)
		}
		in.Secrets[fleet.ClusterCA] = d
		m := boot(t, in)
		var patch []struct{ Op, Path, Value string }
		if content := m.file("/etc/kubernetes/patches/kube-controller-managerfairlead+json.json"); content != "" {
			if err := json.Unmarshal([]byte(content), &patch); err != nil {
				t.Fatal(err)
			}
		}
		var flags []string
		for _, p := range patch {
			if p.Op != "add" || p.Path != "/spec/containers/0/command/-" {
				t.Errorf("%s: patch %v does not add to the command", stage, p)
			}
			flags = append(flags, p.Value)
		}
		signing := "--cluster-signing-cert-file=/etc/kubernetes/pki/ca-signing.crt"
		oldSigns := stage == fleet.RotationTrust || stage == fleet.RotationSpread
		var want []string
		if oldSigns {
			want = []string{signing, "--cluster-signing-duration=24h0m0s"}
		} else if stage != fleet.RotationDone {
			want = []string{signing}
		}
		if !slices.Equal(flags, want) {
			t.Errorf("%s: kube-controller-manager gets %q, want %q", stage, flags, want)
		}
		if want != nil {
			if certs, err := pki.Certificates([]byte(m.file("/etc/kubernetes/pki/ca-signing.crt"))); err != nil || len(certs) != 1 || !certs[0].Equal(now.Certificate) {
				t.Errorf("%s: it signs with %v, %v", stage, certs, err)
			}
			if dir := m.document(t, "JoinConfiguration")["patches"]; dir == nil || dir.(map[string]any)["directory"] != "/etc/kubernetes/patches" {
				t.Errorf("%s: kubeadm reads its patches from %v", stage, dir)
			}
		}
		after := " && cat /etc/kubernetes/pki/ca-cross.crt >> /etc/kubernetes/pki/apiserver.crt && echo success"
		if got := strings.Contains(m.RunCmd[0], after); got != oldSigns {
			t.Errorf("%s: it runs %q", stage, m.RunCmd[0])
		}
		if oldSigns {
			next, err := pki.Certificates(d[fleet.NextCertKey].Reveal())
			if err != nil {
				t.Fatal(err)
			}
			believed(t, old, m.file("/etc/kubernetes/pki/ca-cross.crt"), next[0])
		}
	}
	if now.Certificate.Equal(old.Certificate) || now.Certificate.Subject.String() == old.Certificate.Subject.String() {
		t.Errorf("in the end %s signs, as in the beginning", now)
	}
}

// believed checks that what ca signs is believed by whoever trusts only, where it
// is shown with the crossing certificate, and only there.
func believed(t *testing.T, ca *pki.CA, cross string, only *x509.Certificate) {
	t.Helper()
	leaf, _, err := ca.NewClient(pki.Client{CommonName: "kube-apiserver"}, issued, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	certs, err := pki.Certificates(leaf)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := pki.Certificates([]byte(cross))
	if err != nil {
		t.Fatal(err)
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(only)
	options := x509.VerifyOptions{Roots: roots, CurrentTime: issued, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	if _, err := certs[0].Verify(options); err == nil {
		t.Error("it is believed without the crossing certificate: the test shows nothing")
	}
	between.AddCert(shown[0])
	options.Intermediates = between
	if _, err := certs[0].Verify(options); err != nil {
		t.Errorf("it is not believed: %v", err)
	}
}

// What says by itself whom to trust is found before the rotation begins, and the
// rotations of other authorities do not care.
func TestRotateRefuses(t *testing.T) {
	yes := func(name, value string) []bootstrapv1.Arg { return []bootstrapv1.Arg{{Name: name, Value: &value}} }
	control := func(c *fleet.Cluster, conf bootstrapv1.ClusterConfiguration) {
		c.ControlPlane.Bootstrap = configured(bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: conf})
	}
	join := func(c *fleet.Cluster, conf bootstrapv1.JoinConfiguration) {
		c.Workers = []fleet.Pool{{Name: "workers", Bootstrap: configured(bootstrapv1.KubeadmConfigSpec{JoinConfiguration: conf})}}
	}
	for want, change := range map[string]func(*fleet.Cluster){
		"controllerManager.extraArgs: cluster-signing-cert-file": func(c *fleet.Cluster) {
			control(c, bootstrapv1.ClusterConfiguration{ControllerManager: bootstrapv1.ControllerManager{ExtraArgs: yes("cluster-signing-cert-file", "/a")}})
		},
		"controllerManager.extraArgs: root-ca-file": func(c *fleet.Cluster) {
			control(c, bootstrapv1.ClusterConfiguration{ControllerManager: bootstrapv1.ControllerManager{ExtraArgs: yes("root-ca-file", "/a")}})
		},
		"apiServer.extraArgs: client-ca-file": func(c *fleet.Cluster) {
			control(c, bootstrapv1.ClusterConfiguration{APIServer: bootstrapv1.APIServer{ExtraArgs: yes("client-ca-file", "/a")}})
		},
		"pool workers: joinConfiguration.discovery": func(c *fleet.Cluster) {
			join(c, bootstrapv1.JoinConfiguration{Discovery: bootstrapv1.Discovery{BootstrapToken: bootstrapv1.BootstrapTokenDiscovery{CACertHashes: []string{"sha256:00"}}}})
		},
		"pool workers: joinConfiguration.nodeRegistration.kubeletExtraArgs": func(c *fleet.Cluster) {
			join(c, bootstrapv1.JoinConfiguration{NodeRegistration: bootstrapv1.NodeRegistrationOptions{KubeletExtraArgs: yes("rotate-certificates", "false")}})
		},
		"": func(c *fleet.Cluster) {
			control(c, bootstrapv1.ClusterConfiguration{ControllerManager: bootstrapv1.ControllerManager{ExtraArgs: yes("cluster-signing-duration", "1h")}})
			join(c, bootstrapv1.JoinConfiguration{NodeRegistration: bootstrapv1.NodeRegistrationOptions{KubeletExtraArgs: yes("rotate-certificates", "true")}})
		},
	} {
		b, c := kubeadm.Distribution{}, &fleet.Cluster{}
		made, err := b.NewSecrets(c, issued)
		if err != nil {
			t.Fatal(err)
		}
		change(c)
		to := fleet.RotationState{Wish: "w", Stage: fleet.RotationTrust, Since: issued}
		_, err = b.Rotate(c, fleet.ClusterCA, made[fleet.ClusterCA], to)
		if want == "" && err != nil || want != "" && (fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := b.Rotate(c, fleet.EtcdCA, made[fleet.EtcdCA], to); err != nil {
			t.Errorf("etcd, with %q: %v", want, err)
		}
	}
}

// A machine that joins a cluster whose authority was ever rotated finds in
// cluster-info what is trusted now.
func TestTokenPublishes(t *testing.T) {
	b, c := kubeadm.Distribution{}, &fleet.Cluster{}
	made, err := b.NewSecrets(c, issued)
	if err != nil {
		t.Fatal(err)
	}
	d := made[fleet.ClusterCA]
	if tok, err := kubeadm.Token(c, d, "m"); err != nil || tok.Authorities != nil {
		t.Errorf("authorities %q, %v of a cluster whose kubeadm init has published them", tok.Authorities, err)
	}
	if d, err = b.Rotate(c, fleet.ClusterCA, d, fleet.RotationState{Wish: "w", Stage: fleet.RotationTrust, Since: issued}); err != nil {
		t.Fatal(err)
	}
	if tok, err := kubeadm.Token(c, d, "m"); err != nil || string(tok.Authorities) != string(d[fleet.TLSCertKey].Reveal()) {
		t.Errorf("authorities %q, %v", tok.Authorities, err)
	}
}
