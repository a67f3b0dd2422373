package inmemory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const serverPassword = "1f0c9e4d5a6b7c8d1f0c9e4d5a6b7c8d"

// A k3sLab is a lab with machines of K3s or RKE2.
type k3sLab struct {
	*lab
	program  *program
	release  string
	dial     *PipeNetwork
	client   *http.Client // of an administrator
	clientCA testPKI      // the authority of clients
}

// inK3sLabs runs a test for K3s and for RKE2, in bubbles.
func inK3sLabs(t *testing.T, o CloudOptions, test func(t *testing.T, l *k3sLab)) {
	t.Helper()
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newK3sLab(t, o, p)) })
		})
	}
}

func newK3sLab(t *testing.T, o CloudOptions, p *program) *k3sLab {
	t.Helper()
	dial := NewPipeNetwork()
	o.Listen = dial.Listen
	l := &k3sLab{lab: newLab(t, o), program: p, dial: dial, clientCA: testPKI{}, release: map[string]string{"k3s": "v1.34.1+k3s1", "rke2": "v1.34.1+rke2r1"}[p.name]}
	l.clientCA["ca.crt"], l.clientCA["ca.key"] = newTestCA(t, 24*365*time.Hour)
	signer := l.clientCA.administrator(t, dial).Transport.(*http.Transport)
	l.client = l.pki.administrator(t, dial)
	transport := l.client.Transport.(*http.Transport)
	transport.TLSClientConfig.Certificates = signer.TLSClientConfig.Certificates
	transport.DisableKeepAlives = true
	return l
}

// joinURL is where machines join.
func (l *k3sLab) joinURL() string {
	port := l.program.join
	if port == 0 {
		port = l.network.Endpoint.Port
	}
	return "https://" + address(l.network.Endpoint.Host, port)
}

func (l *k3sLab) k10(credentials string) string {
	file := strings.TrimSpace(l.pki["ca.crt"]) + "\n" // as a block of YAML has it
	return "K10" + authorityHash([]byte(file)) + "::" + credentials
}

// config returns the user data of a server or agent with these lines of config.yaml.
func (l *k3sLab) config(role string, lines ...string) *config {
	var commands []string
	if l.program.start == nil {
		commands = []string{fmt.Sprintf("curl -sfL https://get.k3s.io | INSTALL_K3S_VERSION='%s' sh -s - %s", l.release, role)}
	} else {
		commands = []string{
			fmt.Sprintf("curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION='%s' INSTALL_RKE2_TYPE='%s' sh -", l.release, role),
			"systemctl enable --now rke2-" + role + ".service",
		}
	}
	c := newConfig(commands[0])
	c.commands = commands
	c.file(l.program.configFile(), "0600", strings.Join(lines, "\n"))
	return c
}

func (l *k3sLab) firstConfig() *config {
	lines := []string{"token: " + serverPassword, "tls-san: [" + l.network.Endpoint.Host + "]", "disable-cloud-controller: true"}
	if !l.program.apart {
		lines = append(lines, "cluster-init: true")
	}
	c := l.config("server", lines...)
	dir := "/var/lib/rancher/" + l.program.name + "/server/tls/"
	c.file(dir+"server-ca.crt", "0640", l.pki["ca.crt"])
	c.file(dir+"server-ca.key", "0600", l.pki["ca.key"])
	c.file(dir+"client-ca.crt", "0640", l.clientCA["ca.crt"])
	c.file(dir+"client-ca.key", "0600", l.clientCA["ca.key"])
	c.file(dir+"etcd/server-ca.crt", "0640", l.pki["etcd/ca.crt"])
	c.file(dir+"etcd/server-ca.key", "0600", l.pki["etcd/ca.key"])
	return c
}

func (l *k3sLab) serverConfig() *config {
	return l.config("server", "token: "+l.k10("server:"+serverPassword), "server: "+l.joinURL(),
		"tls-san: ["+l.network.Endpoint.Host+"]", "disable-cloud-controller: true")
}

func (l *k3sLab) agentConfig() *config {
	return l.config("agent", "token: "+l.k10(testToken), "server: "+l.joinURL(), "node-label: [example.org/pool=md]")
}

func (l *k3sLab) bootK3s(name string, c *config) VM {
	l.t.Helper()
	v, err := l.CreateVM(context.Background(), VMSpec{Name: name, Network: l.network.ID, Tags: labTags, Version: l.release, UserData: c.bytes(), Timing: l.timing})
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

// servers makes a control plane of n servers, s-0, s-1, …, of which all vote.
func (l *k3sLab) servers(n int) []VM {
	l.t.Helper()
	vms := []VM{l.bootK3s("s-0", l.firstConfig())}
	for i := 1; i < n; i++ {
		l.pass(time.Minute)
		vms = append(vms, l.bootK3s(fmt.Sprintf("s-%d", i), l.serverConfig()))
	}
	l.pass(time.Minute)
	return vms
}

func (l *k3sLab) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// info asks for the members as a user with a password and returns the status with them:
// "s-0" for s-0-0a1b2c3d, "s-1 learner".
func (l *k3sLab) info(user, password string) (int, []string) {
	l.t.Helper()
	code, body := l.get(l.joinURL()+"/db/info", func(r *http.Request) { r.SetBasicAuth(user, password) })
	var out struct {
		Members []peer `json:"members"`
	}
	if err := json.Unmarshal(body, &out); err != nil && code == http.StatusOK {
		l.t.Fatalf("%s: %v", body, err)
	}
	var names []string
	for _, m := range out.Members {
		name := nodeOfMember(m.Name)
		if m.IsLearner {
			name += " learner"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return code, names
}

// get returns the status and the body of a GET without a client's certificate.
func (l *k3sLab) get(url string, change func(*http.Request)) (int, []byte) {
	l.t.Helper()
	return l.do(http.MethodGet, url, nil, change)
}

func (l *k3sLab) do(method, url string, body []byte, change func(*http.Request)) (int, []byte) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	resp, err := l.client.Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer func() { _ = resp.Body.Close() }()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return resp.StatusCode, out
}

// nodeURL is where the API has a Node.
func (l *k3sLab) nodeURL(name string) string {
	return "https://" + address(l.network.Endpoint.Host, l.network.Endpoint.Port) + "/api/v1/nodes/" + name
}

// leave asks the member on a Node to leave.
func (l *k3sLab) leave(node string) {
	l.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, l.program.annotation("remove"))
	code, body := l.do(http.MethodPatch, l.nodeURL(node), []byte(patch), func(r *http.Request) {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	})
	if code != http.StatusOK {
		l.t.Fatalf("PATCH %s: %d %s", node, code, body)
	}
}

func (l *k3sLab) delete(node string) {
	l.t.Helper()
	if code, body := l.do(http.MethodDelete, l.nodeURL(node), nil, nil); code != http.StatusOK {
		l.t.Fatalf("DELETE %s: %d %s", node, code, body)
	}
}

// node returns the Node called name, or nil.
func (l *k3sLab) node(name string) *corev1.Node {
	l.t.Helper()
	u, ok := l.cluster().api.Get(nodeKind, "", name)
	if !ok {
		return nil
	}
	var n corev1.Node
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &n); err != nil {
		l.t.Fatal(err)
	}
	return &n
}

func (l *k3sLab) wantNames(reason string, want ...string) {
	l.t.Helper()
	code, got := l.info("server", serverPassword)
	if code != http.StatusOK || !slices.Equal(got, want) {
		l.t.Errorf("%s: members = %d %q, want %q", reason, code, got, want)
	}
}

func (l *k3sLab) wantConsole(v VM, words string) {
	l.t.Helper()
	if got := l.machine(v.ID).Message; !strings.Contains(got, words) || words == "" && got != "" {
		l.t.Errorf("console of %s = %q, want %q in it", v.Name, got, words)
	}
}

// voter returns what a Node tells of its member.
func voter(n *corev1.Node) string {
	for _, c := range n.Status.Conditions {
		if c.Type == "EtcdIsVoter" {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// agentToken puts the bootstrap token of agents into the cluster.
func (l *k3sLab) agentToken(change func(*corev1.Secret)) {
	l.token(func(s *corev1.Secret) {
		s.Data["auth-extra-groups"] = []byte("system:bootstrappers:" + l.program.name + ":default-node-token")
		if change != nil {
			change(s)
		}
	})
}
