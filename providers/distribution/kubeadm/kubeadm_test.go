package kubeadm_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/distribution/pki"
	"fairlead.dev/providers/distribution/pki/pkitest"
)

var cluster = &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}

func certificate(t *testing.T, pemData []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(pemData)
	if block == nil {
		t.Fatal("no PEM block")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewSecrets(t *testing.T) {
	c := *cluster
	c.ControlPlane.Bootstrap = configured(bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: bootstrapv1.ClusterConfiguration{
		EncryptionAlgorithm: "ECDSA-P384", CACertificateValidityPeriodDays: 730,
	}})
	for reason, want := range map[string]struct {
		cluster *fleet.Cluster
		bits    int
		until   time.Time
	}{
		"default":  {cluster, 256, time.Date(2036, 10, 29, 12, 0, 0, 0, time.UTC)},
		"as asked": {&c, 384, time.Date(2028, 10, 31, 12, 0, 0, 0, time.UTC)},
	} {
		t.Run(reason, func(t *testing.T) {
			got, err := kubeadm.New(nil).NewSecrets(want.cluster, issued)
			if err != nil {
				t.Fatal(err)
			}
			subjects := map[fleet.SecretName]string{}
			for _, name := range []fleet.SecretName{"ca", "etcd", "proxy"} {
				cert := certificate(t, got[name][fleet.TLSCertKey].Reveal())
				subjects[name] = cert.Subject.String()
				if !cert.NotAfter.Equal(want.until) || !cert.NotBefore.Before(issued) {
					t.Errorf("%s: good from %s to %s, want until %s", name, cert.NotBefore, cert.NotAfter, want.until)
				}
				if k, ok := cert.PublicKey.(*ecdsa.PublicKey); !ok || k.Params().BitSize != want.bits {
					t.Errorf("%s: key is a %T, want ECDSA of %d bits", name, cert.PublicKey, want.bits)
				}
			}
			if d := cmp.Diff(map[fleet.SecretName]string{"ca": "CN=kubernetes", "etcd": "CN=etcd-ca", "proxy": "CN=front-proxy-ca"}, subjects); d != "" {
				t.Errorf("subjects (-want +got):\n%s", d)
			}
			if len(got) != 4 || !bytes.HasPrefix(got["sa"][fleet.TLSCertKey].Reveal(), []byte("-----BEGIN PUBLIC KEY-----")) {
				t.Errorf("%d authorities, service account %v", len(got), got["sa"])
			}
		})
	}
	edit(&c.ControlPlane.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) { s.ClusterConfiguration.EncryptionAlgorithm = "ROT13" })
	if _, err := kubeadm.New(nil).NewSecrets(&c, issued); fleet.KindOf(err) != "Invalid" || !strings.Contains(err.Error(), "ROT13") {
		t.Errorf("unknown algorithm: %v", err)
	}
}

func TestToken(t *testing.T) {
	ca, other := pkitest.Authority(t, "kubernetes", 1), pkitest.Authority(t, "kubernetes", 2)
	tok := func(c *fleet.Cluster, ca fleet.SecretData, m fleet.MachineName) string {
		got, err := kubeadm.Token(c, ca, m)
		if err != nil {
			t.Fatal(err)
		}
		return got.ID + "." + string(got.Secret.Reveal())
	}
	first := tok(cluster, ca, "eu-1-x7k")
	if first != "vizw5d.cmgn96fxwlihzoje" {
		t.Errorf("the token of a machine that is on its way changed: %s", first)
	}
	seen := map[string]string{first: "the first"}
	for reason, s := range map[string]string{
		"another machine":   tok(cluster, ca, "eu-1-x7l"),
		"another cluster":   tok(&fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-2"}}, ca, "eu-1-x7k"),
		"another authority": tok(cluster, other, "eu-1-x7k"),
	} {
		if seen[s] != "" {
			t.Errorf("%s has the token of %s", reason, seen[s])
		}
		seen[s] = reason
	}
	counts := map[rune]int{}
	form := regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)
	for i := range 2000 {
		s := tok(cluster, ca, fleet.MachineName(fmt.Sprint("m-", i)))
		if !form.MatchString(s) {
			t.Fatalf("token %q", s)
		}
		for _, r := range strings.ReplaceAll(s, ".", "") {
			counts[r]++
		}
	}
	// 44,000 characters, 36 kinds: 1,222 of each, give or take 35. A bias from
	// a plain remainder would give the first four of the alphabet 153 more each.
	for r, n := range counts {
		if n < 1222-145 || n > 1222+145 {
			t.Errorf("%d times %c", n, r)
		}
	}
	if first4 := counts['a'] + counts['b'] + counts['c'] + counts['d']; len(counts) != 36 || first4 > 4*1222+280 {
		t.Errorf("%d kinds of character, %d of the first four", len(counts), first4)
	}
	if _, err := kubeadm.Token(cluster, nil, "m"); fleet.KindOf(err) != "Unknown" {
		t.Errorf("without an authority: %v", err)
	}
}

func TestCACertHash(t *testing.T) {
	// As openssl x509 -pubkey | openssl pkey -pubin -outform der | sha256sum has it.
	const want = "sha256:5cd252fb0ce8932436faf8ccd1040981b89ee4ad6b9fe9e2a2b7e71aacb27cd3"
	if got := pki.Hash(certificate(t, pkitest.Authority(t, "kubernetes", 1)[fleet.TLSCertKey].Reveal())); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What is written into a running cluster is what kubeadm init gets.
func TestClusterConfigurationIsThatOfInit(t *testing.T) {
	for _, version := range []string{"v1.30.4", "v1.35.0"} {
		in := input(t, fleet.JoinInit, version, everything(version == "v1.35.0"))
		in.Cluster.ControlPlane = in.Pool
		data, err := kubeadm.ClusterConfiguration(in.Cluster, in.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(boot(t, in).file("/run/kubeadm/kubeadm.yaml"), "---\n")
		if d := cmp.Diff(first, string(data)); d != "" {
			t.Errorf("%s (-init +cluster):\n%s", version, d)
		}
	}
	in := input(t, fleet.JoinInit, "v1.30.4", everything(true))
	in.Cluster.ControlPlane = in.Pool
	_, err := kubeadm.ClusterConfiguration(in.Cluster, in.Endpoint)
	if fleet.KindOf(err) != "Invalid" || !strings.Contains(err.Error(), "prod/eu-1") || !strings.Contains(err.Error(), "1.31") {
		t.Errorf("what 1.30 cannot express: %v", err)
	}
	in.Cluster.ControlPlane.Version = "latest"
	if _, err := kubeadm.ClusterConfiguration(in.Cluster, in.Endpoint); fleet.KindOf(err) != "Invalid" {
		t.Errorf("a version that is none: %v", err)
	}
}
