package inmemory

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/providers/infrastructure/inmemory/kubeapi"
)

// k3s is the boot of a machine that installs K3s or RKE2.
type k3s struct {
	*program
	server  bool   // becomes a server; else an agent
	version string // that is installed
	config  k3sConfig
	pki     authorities // that it is given
	node    registration
	virtual []string // addresses that its static pods announce
}

var _ boot = (*k3s)(nil)

// restartInterval is when systemd starts the service again after it ended.
const restartInterval = 5 * time.Second

func (b *k3s) serves() bool { return b.server }

func (b *k3s) registration() registration { return b.node }

func (b *k3s) announces(host string) bool { return slices.Contains(b.virtual, host) }

// pods are the parts of a control plane of RKE2; those of K3s are one process.
func (b *k3s) pods(v *vm) []*corev1.Pod {
	if !b.server || !b.apart {
		return nil
	}
	image := "index.docker.io/rancher/hardened-kubernetes:" + strings.ReplaceAll(b.version, "+", "-")
	var out []*corev1.Pod
	for _, part := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		out = append(out, newStaticPod(v, part, image))
	}
	return out
}

// endpoint knows only one address of the first server: the first name in the
// certificate of its API server.
func (b *k3s) endpoint() (string, bool) {
	if u, err := url.Parse(b.config.value("server")); err == nil && u.Host != "" {
		if b.join != 0 {
			return address(u.Hostname(), defaultPort), true
		}
		return u.Host, true
	}
	sans := b.config.list("tls-san")
	if len(sans) == 0 {
		return "", false
	}
	return withPort(sans[0]), false
}

// run is the start of the service. What the machine did before its power was cut it goes
// on with.
func (b *k3s) run(c *Cloud, v *vm) {
	v.version, v.control, v.ended = b.version, b.version, false
	if time.Until(v.expires) < certificateRenewal {
		v.expires = time.Now().Add(certificateLife)
	}
	k := v.network.cluster
	var err error
	switch {
	case b.server && k != nil && k.member(v.member) != nil:
		c.startMember(v)
		return
	case b.server && v.member != 0 && !v.tombstone:
		v.tombstone = true // its etcd learns now that it was removed
		b.left(c, v)
		return
	case b.server && b.config.value("server") == "":
		err = b.first(c, v)
	case b.server:
		err = b.joinServer(c, v)
	case k != nil && v.node != "" && k.nodes[v.node] == v && k.hasNode(v.node):
	default:
		err = b.joinAgent(v)
	}
	switch {
	case v.booted:
		c.console(v, b.name+": "+err.Error())
	case err != nil:
		c.console(v, b.name+": "+err.Error())
		c.whileOn(v, restartInterval, func(v *vm) { b.run(c, v) })
	case b.server:
		c.console(v, "")
		v.tombstone = false
		c.startMember(v)
	default:
		c.console(v, "")
		b.startKubelet(c, v)
	}
}

// first makes a cluster.
func (b *k3s) first(c *Cloud, v *vm) error {
	n := v.network
	if n.cluster != nil && slices.ContainsFunc(n.cluster.members, func(m *member) bool { return m.vm.alive() }) {
		v.booted = true
		return fmt.Errorf("made a second cluster of its own beside the one that answers at %s: nothing will ever reach it",
			address(n.Endpoint.Host, n.Endpoint.Port))
	}
	k := &cluster{pki: b.pki, nodes: make(map[string]*vm), program: b.program, critical: b.config.critical()}
	if t, err := parseToken(b.config.value("token")); err == nil {
		k.token = cmp.Or(t.password, v.ID)
	}
	if t, err := parseToken(b.config.value("agent-token")); err == nil {
		k.agentToken = t.password
	}
	o := kubeapi.Options{
		CACert: b.pki.ca.cert, CAKey: b.pki.ca.key, ClientCACert: b.pki.client.cert,
		CertSANs: slices.Concat(b.config.list("tls-san"), v.Addresses, []string{"127.0.0.1", "localhost", b.node.name}),
		Version:  b.version, Log: c.log, NodeWritten: func() { c.nodeWritten(k) },
	}
	if b.join == 0 {
		o.Supervisor = supervisor{c, k}
	}
	server, err := kubeapi.New(o)
	if err != nil {
		return err
	}
	k.api = server
	server.SetAvailable(false)
	server.SetSupervised(false)
	if b.join != 0 {
		if n.cluster != nil { // none of its members is left, and its port is free
			n.cluster.stop()
		}
		if k.supervisor, err = c.listen(address(n.Endpoint.Host, b.join)); err != nil {
			return err
		}
	}
	v.member = k.addMember(c, v, b.memberName(c), false)
	c.serveCluster(n, k)
	return nil
}

// memberName returns a new name for a member on the machine.
func (b *k3s) memberName(c *Cloud) string { return b.node.name + "-" + c.newID()[:8] }

// joinServer has the machine be a server of the cluster that is there. In the end its
// member has joined, and does not vote.
// Source: k3s, pkg/cluster/bootstrap.go, and join in pkg/etcd/etcd.go.
func (b *k3s) joinServer(c *Cloud, v *vm) error {
	const starting = "starting kubernetes: preparing server: "
	k, t, err := b.reach(v)
	if err != nil {
		return fmt.Errorf(starting+"%w", err)
	}
	if status, ok := k.answers(t, serverRole, serverRole); !ok {
		return fmt.Errorf(starting+"%s/v1-%s/server-bootstrap: %s", b.config.value("server"), b.name, status)
	}
	if key := firstDifference(k.critical, b.config.critical()); key != "" {
		return fmt.Errorf(starting+"failed to validate server configuration: critical configuration value mismatch between servers: %s", key)
	}
	if file := b.pki.differsFrom(k.pki); file != "" {
		return fmt.Errorf(starting+"%s newer than datastore and could cause a cluster outage. "+ //nolint:staticcheck // its words
			"Remove the file(s) from disk and restart to be recreated from datastore.", file)
	}
	if err := k.mayJoin(b.node.name); err != nil {
		return err
	}
	v.member = k.addMember(c, v, b.memberName(c), true)
	c.manageLearner(k, k.member(v.member))
	return nil
}

// reach finds the cluster that the machine is to join, as far as its address and its
// token lead there.
// Source: k3s, pkg/clientaccess/token.go.
func (b *k3s) reach(v *vm) (*cluster, joinToken, error) {
	t, err := parseToken(b.config.value("token"))
	if err != nil {
		return nil, t, err
	}
	server := b.config.value("server")
	cacerts := server + "/cacerts"
	u, err := url.Parse(server)
	if err != nil {
		return nil, t, fmt.Errorf("Invalid server url, failed to parse: %s: %w", server, err) //nolint:staticcheck // its words
	}
	n, k, port := v.network, v.network.cluster, b.join
	if port == 0 {
		port = n.Endpoint.Port
	}
	at, api := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")), address(n.Endpoint.Host, n.Endpoint.Port)
	switch {
	case at == api && at != address(n.Endpoint.Host, port), at == api && k != nil && k.program == nil:
		return nil, t, fmt.Errorf("failed to get CA certs: %s: 401 Unauthorized", cacerts) // an API server answers
	case at != address(n.Endpoint.Host, port), k != nil && (k.program == nil || k.program.name != b.name):
		return nil, t, fmt.Errorf(`failed to get CA certs: Get %q: dial tcp %s: connect: connection refused`, cacerts, at)
	case k == nil || !k.supervised:
		return nil, t, fmt.Errorf(`failed to get CA certs: Get %q: EOF`, cacerts)
	}
	return k, t, t.check(k.pki.ca.cert)
}

// answers reports whether the supervisor lets in a client that shows t as a user and needs one
// of roles, or else the status that it answers with.
func (k *cluster) answers(t joinToken, user supervisorRole, roles ...supervisorRole) (status string, ok bool) {
	role := k.role(t, user)
	switch {
	case role == "":
		return "401 Unauthorized", false
	case !slices.Contains(roles, role):
		return "403 Forbidden", false
	}
	return "", true
}

// joinAgent has the machine be an agent of the cluster that is there.
// Source: k3s, pkg/agent/config/config.go, and pkg/nodepassword.
func (b *k3s) joinAgent(v *vm) error {
	const waiting = "Waiting to retrieve agent configuration; server is not ready: "
	k, t, err := b.reach(v)
	if err != nil {
		return fmt.Errorf(waiting+"%w", err) //nolint:staticcheck // its words
	}
	status, ok := k.answers(t, agentRole, agentRole)
	if ok && !k.available {
		status, ok = "503 Service Unavailable", false
	}
	if !ok {
		return fmt.Errorf(waiting+"failed to retrieve configuration from server: %s/v1-%s/config: %s", b.config.value("server"), b.name, status) //nolint:staticcheck // its words
	}
	if err := k.ensurePassword(v, b); err != nil {
		return fmt.Errorf(waiting+"%w", err) //nolint:staticcheck // its words
	}
	return nil
}

// conditions has what a server tells of its member.
// Source: k3s, setEtcdStatusCondition in pkg/etcd/etcd.go.
func (b *k3s) conditions(k *cluster, v *vm) []corev1.NodeCondition {
	if !b.server {
		return nil
	}
	out := corev1.NodeCondition{Type: "EtcdIsVoter", Status: corev1.ConditionFalse}
	switch m := k.member(v.member); {
	case m == nil:
		out.Reason, out.Message = "NotAMember", "Node is not a member of the etcd cluster"
	case !m.alive():
		out.Reason, out.Message = "Unhealthy", "failed to check etcd member status: context deadline exceeded"
	case m.Learner:
		out.Reason, out.Message = "MemberIsLearner", "Node has not been promoted to voting member of the etcd cluster"
	default:
		out.Status, out.Reason, out.Message = corev1.ConditionTrue, "MemberNotLearner", "Node is a voting member of the etcd cluster"
	}
	return []corev1.NodeCondition{out}
}

// firstDifference returns the first key, of those in a, of which b has another value.
func firstDifference(a, b map[string]string) string {
	var keys []string
	for key, value := range a {
		if b[key] != value {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return slices.Min(keys)
}

var errDuplicateNode = errors.New("etcd cluster join failed: duplicate node name found, please use a unique name for this node")
