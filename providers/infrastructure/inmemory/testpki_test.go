package inmemory

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

func (c *config) bytes() []byte {
	var b strings.Builder
	b.WriteString(c.header + "write_files:\n")
	for _, path := range c.order {
		content, ok := c.files[path]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "- path: %s\n  permissions: '%s'\n  content: |\n    %s\n", path, c.modes[path],
			strings.ReplaceAll(strings.TrimSpace(content), "\n", "\n    "))
	}
	b.WriteString("runcmd:\n")
	for _, line := range c.commands {
		fmt.Fprintf(&b, "- %q\n", line)
	}
	return []byte(b.String())
}

func newTestPKI(t testing.TB) testPKI {
	t.Helper()
	p := make(testPKI)
	for cert, key := range map[string]string{"ca.crt": "ca.key", "etcd/ca.crt": "etcd/ca.key", "front-proxy-ca.crt": "front-proxy-ca.key"} {
		p[cert], p[key] = newTestCA(t, time.Hour*24*365)
	}
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		t.Fatal(err)
	}
	p["sa.pub"], p["sa.key"] = pemText("PUBLIC KEY", pub), ecPEM(t, k)
	return p
}

func newTestCA(t testing.TB, life time.Duration) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	tmpl := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "kubernetes"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	return pemText("CERTIFICATE", der), ecPEM(t, k)
}

func (p testPKI) addTo(c *config) {
	for _, name := range []string{"ca.crt", "ca.key", "etcd/ca.crt", "etcd/ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.pub", "sa.key"} {
		mode := "0640"
		if strings.HasSuffix(name, ".key") {
			mode = "0600"
		}
		c.file(pkiPath+name, mode, p[name])
	}
}

func (p testPKI) initConfig(e fleet.Endpoint) *config {
	c := newConfig("kubeadm init --config " + initPath + " && echo success > /run/cluster-api/bootstrap-success.complete")
	p.addTo(c)
	c.file(initPath, "0640", fmt.Sprintf(`
apiVersion: %s
kind: ClusterConfiguration
kubernetesVersion: v1.34.1
controlPlaneEndpoint: %s:%d
clusterName: eu-1
---
apiVersion: %[1]s
kind: InitConfiguration
nodeRegistration:
  name: '{{ ds.meta_data.local_hostname }}'
  kubeletExtraArgs:
  - name: node-labels
    value: example.org/pool=cp
`, testAPI, e.Host, e.Port))
	return c
}

func (p testPKI) joinConfig(e fleet.Endpoint, control bool) *config {
	c := newConfig("kubeadm join --config " + joinPath + " && echo success > /run/cluster-api/bootstrap-success.complete")
	extra := ""
	if control {
		p.addTo(c)
		extra = "controlPlane: {}\n"
	}
	c.file(joinPath, "0640", fmt.Sprintf(`
apiVersion: %s
kind: JoinConfiguration
discovery:
  bootstrapToken:
    token: %s
    apiServerEndpoint: %s:%d
    caCertHashes: [%s]
nodeRegistration:
  name: '{{ ds.meta_data.local_hostname }}'
  kubeletExtraArgs:
  - name: register-with-taints
    value: node.cluster.x-k8s.io/uninitialized:NoSchedule
%s`, testAPI, testToken, e.Host, e.Port, firstHash([]byte(p["ca.crt"])), extra))
	return c
}
