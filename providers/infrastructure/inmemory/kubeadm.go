package inmemory

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/providers/infrastructure/inmemory/kubeapi"
)

// How long kubeadm join looks for the cluster, and how often.
const (
	discoveryTimeout  = 5 * time.Minute
	discoveryInterval = 5 * time.Second
)

var _ boot = (*kubeadm)(nil)

func (b *kubeadm) serves() bool { return b.control }

func (b *kubeadm) registration() registration {
	r := b.node
	r.annotations = map[string]string{"kubeadm.alpha.kubernetes.io/cri-socket": r.criSocket}
	if b.control {
		r.labels = maps.Clone(r.labels)
		r.labels[controlPlaneLabel] = ""
		r.labels[corev1.LabelNodeExcludeBalancers] = ""
	}
	return r
}

// pods are the parts of a control plane, as kubeadm names them.
func (b *kubeadm) pods(v *vm) []*corev1.Pod {
	if !b.control {
		return nil
	}
	var out []*corev1.Pod
	for _, part := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		pod := newStaticPod(v, part, "registry.k8s.io/"+part+":"+v.control)
		switch part {
		case "etcd":
			pod.Annotations["kubeadm.kubernetes.io/etcd.advertise-client-urls"] = "https://" + net.JoinHostPort(v.Addresses[0], "2379")
		case "kube-apiserver":
			pod.Annotations["kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"] = net.JoinHostPort(v.Addresses[0], "6443")
		}
		out = append(out, pod)
	}
	return out
}

func (*kubeadm) conditions(*cluster, *vm) []corev1.NodeCondition { return nil }

func (*kubeadm) left(*Cloud, *vm) {}

func (b *kubeadm) announces(host string) bool { return slices.Contains(b.virtual, host) }

func (b *kubeadm) endpoint() (string, bool) {
	if b.join {
		return withPort(b.server), true
	}
	return withPort(b.cluster.ControlPlaneEndpoint), false
}

// run makes a cluster or joins one. Later boots go on where the power was cut.
func (b *kubeadm) run(c *Cloud, v *vm) {
	if v.node != "" {
		c.kubeletUp(v)
		return
	}
	if v.giveUp.IsZero() {
		v.giveUp = time.Now().Add(discoveryTimeout)
	}
	b.attempt(c, v)
}

// errWait is an error that kubeadm waits out for a while.
type errWait struct{ reason string }

func (e errWait) Error() string { return e.reason }

// attempt makes one attempt at init or join.
func (b *kubeadm) attempt(c *Cloud, v *vm) {
	command, err := "init", error(nil)
	if b.join {
		command = "join"
		err = b.joins(c, v)
	} else {
		err = b.init(c, v)
	}
	var wait errWait
	switch {
	case err == nil:
		c.console(v, "")
		c.log.Debug("node registered", "machine", v.Name, "node", v.node)
		c.kubeletUp(v)
	case !errors.As(err, &wait):
		v.booted = true
		c.console(v, "kubeadm "+command+": "+err.Error())
	case !time.Now().Before(v.giveUp):
		v.booted = true
		c.console(v, fmt.Sprintf("kubeadm %s: gave up after %s: %s", command, discoveryTimeout, err))
	default:
		c.console(v, "kubeadm "+command+": waiting: "+err.Error())
		c.whileOn(v, discoveryInterval, func(v *vm) { b.attempt(c, v) })
	}
}

// init is kubeadm init: it makes a cluster.
func (b *kubeadm) init(c *Cloud, v *vm) error {
	n := v.network
	want := address(n.Endpoint.Host, n.Endpoint.Port)
	if got := withPort(b.cluster.ControlPlaneEndpoint); got != want {
		return fmt.Errorf("timed out waiting for the condition: controlPlaneEndpoint %q is not where this machine's API server answers, which is %s",
			b.cluster.ControlPlaneEndpoint, want)
	}
	if !v.answers() {
		return errWait{"nothing answers at " + want + ": dial tcp: connect: no route to host"}
	}
	if n.cluster != nil && slices.ContainsFunc(n.cluster.members, func(m *member) bool { return m.vm.alive() }) {
		return fmt.Errorf("made a second cluster of its own beside the one that answers at %s: nothing will ever reach it", want)
	}
	k := &cluster{pki: b.pki, nodes: make(map[string]*vm)}
	server, err := kubeapi.New(kubeapi.Options{
		CACert: k.pki.ca.cert, CAKey: k.pki.ca.key, EtcdCACert: k.pki.etcd.cert, EtcdCAKey: k.pki.etcd.key,
		CertSANs: append([]string{n.Endpoint.Host}, b.cluster.APIServer.CertSANs...),
		Version:  v.version, Etcd: etcdView{c, k}, Log: c.log,
	})
	if err != nil {
		return err
	}
	k.api = server
	server.SetAvailable(false)
	for _, obj := range initialObjects(b, n.Endpoint) {
		if err := server.Upsert(obj); err != nil {
			return err
		}
	}
	v.kubelet = k.newKubelet(k.pki.ca.cert)
	if err := register(k, v); err != nil {
		return err
	}
	v.member = k.addMember(c, v, v.node, false)
	c.serveCluster(n, k)
	return nil
}

// joins is kubeadm join.
func (b *kubeadm) joins(c *Cloud, v *vm) error {
	const identity = "couldn't validate the identity of the API Server: "
	n, k := v.network, v.network.cluster
	want := address(n.Endpoint.Host, n.Endpoint.Port)
	if got := withPort(b.server); got != want {
		return errWait{identity + `failed to request the cluster-info ConfigMap: Get "https://` + got + `": dial tcp: connection refused`}
	}
	if k == nil || !k.available {
		return errWait{identity + `failed to request the cluster-info ConfigMap: Get "https://` + want + `": EOF`}
	}
	published, err := k.published()
	if err != nil {
		return fmt.Errorf(identity+"%w", err)
	}
	if found := hashes(published); len(b.hashes) > 0 && !slices.ContainsFunc(found, func(h string) bool { return slices.Contains(b.hashes, h) }) {
		return fmt.Errorf(identity+"cluster CA found in cluster-info ConfigMap is invalid: none of the public keys %q are pinned", found)
	}
	if err := checkToken(k, b.token); err != nil {
		var wait errWait
		if errors.As(err, &wait) {
			return errWait{identity + wait.reason}
		}
		return fmt.Errorf(identity+"%w", err)
	}
	if b.control && !b.pki.agree(k.pki) {
		return errors.New("failure loading certificate for CA: the certificates that this machine was given are not those of the cluster")
	}
	if ready, ok := k.nodeReady(b.node.name); ok && ready {
		return fmt.Errorf("a Node with name %q and status \"Ready\" already exists in the cluster. "+
			"You must delete the existing Node or change the name of this new joining Node", b.node.name)
	}
	v.kubelet = k.newKubelet(published)
	if b.control {
		if err := v.readClusterConfiguration(k); err != nil {
			return err
		}
		c.adopt(k, b)
		if err := k.mayAdd(); err != nil {
			return errWait{"error creating local etcd static pod manifest file: " + err.Error()}
		}
	}
	if err := register(k, v); err != nil {
		return err
	}
	if b.control {
		v.member = k.addMember(c, v, v.node, true)
	}
	return nil
}

// checkToken checks that the cluster knows the bootstrap token, as its
// bootstrap signer, token cleaner and authenticator would.
func checkToken(k *cluster, token string) error {
	id, secret, _ := strings.Cut(token, ".")
	u, ok := k.api.Get(corev1.SchemeGroupVersion.WithKind("Secret"), "kube-system", "bootstrap-token-"+id)
	unknown := errWait{fmt.Sprintf("could not find a JWS signature in the cluster-info ConfigMap for token ID %q", id)}
	if !ok {
		return unknown
	}
	var s corev1.Secret
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &s); err != nil {
		return err
	}
	expires, err := time.Parse(time.RFC3339, string(s.Data["expiration"]))
	switch {
	case string(s.Type) != "bootstrap.kubernetes.io/token", string(s.Data["token-id"]) != id,
		string(s.Data["usage-bootstrap-signing"]) != "true",
		len(s.Data["expiration"]) > 0 && err != nil,
		err == nil && !time.Now().Before(expires):
		return unknown
	case string(s.Data["token-secret"]) != secret:
		return errors.New("failed to verify JWS signature of received cluster info object, can't trust this API Server")
	case string(s.Data["usage-bootstrap-authentication"]) != "true",
		!slices.Contains(split(string(s.Data["auth-extra-groups"])), "system:bootstrappers:kubeadm:default-node-token"):
		return errWait{fmt.Sprintf("the token %q may not request a certificate for the kubelet", id)}
	}
	return nil
}

// withPort gives an endpoint without port the port that kubeadm takes.
func withPort(endpoint string) string {
	if _, _, err := net.SplitHostPort(endpoint); err == nil {
		return endpoint
	}
	return address(endpoint, defaultPort)
}
