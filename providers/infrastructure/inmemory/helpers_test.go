package inmemory

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
)

// A config is the user data of a machine, before a test spoils it.
type config struct {
	header   string
	files    map[string]string
	modes    map[string]string
	order    []string
	commands []string
}

func (c *config) file(path, mode, content string) {
	if _, ok := c.files[path]; !ok {
		c.order = append(c.order, path)
	}
	c.files[path], c.modes[path] = content, mode
}

func (c *config) replace(path, old, new string) {
	c.files[path] = strings.ReplaceAll(c.files[path], old, new)
}

const (
	testHeader = "## template: jinja\n#cloud-config\n"
	testToken  = "abcdef.0123456789abcdef"
	testAPI    = "kubeadm.k8s.io/v1beta4"
	joinPath   = "/run/kubeadm/kubeadm-join-config.yaml"
	initPath   = "/run/kubeadm/kubeadm.yaml"
	pkiPath    = "/etc/kubernetes/pki/"
)

// A testPKI is what a cluster trusts, file name to PEM.
type testPKI map[string]string

func ecPEM(t testing.TB, k *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pemText("EC PRIVATE KEY", der)
}

func pemText(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func newConfig(command string) *config {
	return &config{header: testHeader, files: map[string]string{}, modes: map[string]string{}, commands: []string{command}}
}

// A lab is a cloud with one network on which a test boots machines.
type lab struct {
	*Cloud
	t       testing.TB
	pki     testPKI
	network Network
	timing  DevMachineInMemory
}

var labTags = map[string]string{fleet.TagFleet: "f", fleet.TagCluster: "prod/eu-1"}

func newLab(t testing.TB, o CloudOptions) *lab {
	t.Helper()
	if o.Listen == nil {
		o.Listen = NewPipeNetwork().Listen
	}
	c := NewCloud(o)
	t.Cleanup(c.Close)
	n, err := c.CreateNetwork(context.Background(), NetworkSpec{Name: "eu-1", Tags: labTags})
	if err != nil {
		t.Fatal(err)
	}
	return &lab{Cloud: c, t: t, pki: newTestPKI(t), network: n}
}

func (l *lab) boot(name string, c *config) VM {
	l.t.Helper()
	v, err := l.CreateVM(context.Background(), VMSpec{
		Name: name, Network: l.network.ID, Tags: labTags, Version: "v1.34.1", UserData: c.bytes(), Timing: l.timing,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

func (l *lab) bootInit(name string) VM {
	l.t.Helper()
	return l.boot(name, l.pki.initConfig(l.network.Endpoint))
}

func (l *lab) bootControl(name string) VM {
	l.t.Helper()
	return l.boot(name, l.pki.joinConfig(l.network.Endpoint, true))
}

func (l *lab) bootWorker(name string) VM {
	l.t.Helper()
	return l.boot(name, l.pki.joinConfig(l.network.Endpoint, false))
}

// machine returns what the cloud shows of a machine.
func (l *lab) machine(id string) VM {
	l.t.Helper()
	all, err := l.VMs(context.Background(), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, v := range all {
		if v.ID == id {
			return v
		}
	}
	l.t.Fatalf("machine %s is not there", id)
	return VM{}
}

func (l *lab) cluster() *cluster {
	l.lock()
	defer l.unlock()
	return l.networks[l.network.ID].cluster
}

func (l *lab) available() bool {
	k := l.cluster()
	l.lock()
	defer l.unlock()
	return k != nil && k.available
}

// ready returns the status of the Ready condition of a node, or "absent".
func (l *lab) ready(node string) string {
	l.t.Helper()
	k := l.cluster()
	if k == nil {
		return "absent"
	}
	u, ok := k.api.Get(nodeKind, "", node)
	if !ok {
		return "absent"
	}
	conditions, _ := u.Object["status"].(map[string]any)["conditions"].([]any)
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Ready" {
			return c["status"].(string)
		}
	}
	return "none"
}

// token puts a bootstrap token into the cluster.
func (l *lab) token(change func(*corev1.Secret)) {
	l.t.Helper()
	id, secret, _ := strings.Cut(testToken, ".")
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-" + id},
		Type:       "bootstrap.kubernetes.io/token",
		Data: map[string][]byte{
			"token-id": []byte(id), "token-secret": []byte(secret),
			"expiration":              []byte(time.Now().Add(15 * time.Minute).UTC().Format(time.RFC3339)),
			"usage-bootstrap-signing": []byte("true"), "usage-bootstrap-authentication": []byte("true"),
			"auth-extra-groups": []byte("system:bootstrappers:kubeadm:default-node-token"),
		},
	}
	if change != nil {
		change(s)
	}
	if err := l.cluster().api.Upsert(s); err != nil {
		l.t.Fatal(err)
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func firstHash(bundle []byte) string { return hashes(bundle)[0] }
