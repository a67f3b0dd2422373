package inmemory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/providers/infrastructure/inmemory/kubeapi"
)

// How long kubeadm join looks for the cluster, and how often.
const (
	discoveryTimeout  = 5 * time.Minute
	discoveryInterval = 5 * time.Second
)

// apiServer is what a cluster needs of its Kubernetes API.
type apiServer interface {
	Serve(ctx context.Context, l net.Listener) error
	Upsert(obj runtime.Object) error
	Get(gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, bool)
	Raw(gvk schema.GroupVersionKind, namespace, name string) ([]byte, bool)
	Delete(gvk schema.GroupVersionKind, namespace, name string)
	SetAvailable(ok bool)
	Trust(cert, key []byte)
	TrustEtcd(cert, key []byte)
}

var _ apiServer = (*kubeapi.Server)(nil)

// cluster is a Kubernetes cluster behind a network's load balancer.
type cluster struct {
	api       apiServer
	pki       authorities // of the newest control-plane machine
	day       bool        // what its kube-controller-manager signs lasts a day
	available bool        // the API answers
	members   []*member
	nodes     map[string]*vm // whose kubelet a Node belongs to
	stop      func()
}

// startBoot begins what the machine does at its first boot. Later boots go on
// where the power was cut.
func (c *Cloud) startBoot(v *vm) {
	if !v.alive() || v.booted {
		return
	}
	if v.boot.err != nil {
		c.console(v, v.boot.err.Error())
		return
	}
	if v.giveUp.IsZero() {
		v.giveUp = time.Now().Add(discoveryTimeout)
	}
	if v.node == "" {
		c.runKubeadm(v)
		return
	}
	c.kubeletUp(v)
}

// console shows text as the last line of the machine's console; "" clears it.
func (c *Cloud) console(v *vm, text string) {
	if v.Message == text {
		return
	}
	v.Message = text
	if text != "" {
		c.log.Debug("console", "machine", v.Name, "id", v.ID, "text", text)
	}
	c.changed(ownerOf(v.Tags))
}

// errWait is an error that kubeadm waits out for a while.
type errWait struct{ reason string }

func (e errWait) Error() string { return e.reason }

// runKubeadm makes one attempt at init or join.
func (c *Cloud) runKubeadm(v *vm) {
	command, err := "init", error(nil)
	if v.boot.join {
		command = "join"
		err = c.join(v)
	} else {
		err = c.init(v)
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
		c.whileOn(v, discoveryInterval, c.runKubeadm)
	}
}

// whileOn has do called after d, unless the machine's power was cut by then.
func (c *Cloud) whileOn(v *vm, d time.Duration, do func(*vm)) {
	power := v.powerCycles
	c.after(d, func() {
		if v.powerCycles == power && v.alive() {
			do(v)
		}
	})
}

// init is kubeadm init: it makes a cluster.
func (c *Cloud) init(v *vm) error {
	n := v.network
	want := address(n.Endpoint.Host, n.Endpoint.Port)
	if got := withPort(v.boot.cluster.ControlPlaneEndpoint); got != want {
		return fmt.Errorf("timed out waiting for the condition: controlPlaneEndpoint %q is not where this machine's API server answers, which is %s",
			v.boot.cluster.ControlPlaneEndpoint, want)
	}
	if n.cluster != nil && slices.ContainsFunc(n.cluster.members, func(m *member) bool { return m.vm.alive() }) {
		return fmt.Errorf("made a second cluster of its own beside the one that answers at %s: nothing will ever reach it", want)
	}
	k := &cluster{pki: v.boot.pki, nodes: make(map[string]*vm)}
	server, err := kubeapi.New(kubeapi.Options{
		CACert: k.pki.ca.cert, CAKey: k.pki.ca.key, EtcdCACert: k.pki.etcd.cert, EtcdCAKey: k.pki.etcd.key,
		CertSANs: append([]string{n.Endpoint.Host}, v.boot.cluster.APIServer.CertSANs...),
		Version:  v.version, Etcd: etcdView{c, k}, Log: c.log,
	})
	if err != nil {
		return err
	}
	k.api = server
	server.SetAvailable(false)
	for _, obj := range initialObjects(v.boot, n.Endpoint) {
		if err := server.Upsert(obj); err != nil {
			return err
		}
	}
	v.kubelet = k.newKubelet(k.pki.ca.cert)
	if err := register(k, v); err != nil {
		return err
	}
	v.member = k.addMember(c, v, false)
	if n.cluster != nil {
		n.cluster.stop()
	}
	n.cluster = k
	ctx, cancel := context.WithCancel(c.ctx)
	b := newBackend(n.front.Addr())
	n.front.set(b)
	k.stop = func() { cancel(); n.front.set(nil) }
	c.serves.Go(func() {
		if err := server.Serve(ctx, b); err != nil && ctx.Err() == nil {
			c.log.Error("serving the Kubernetes API failed", "address", b.Addr().String(), slog.Any("error", err))
		}
	})
	return nil
}

// join is kubeadm join.
func (c *Cloud) join(v *vm) error {
	const identity = "couldn't validate the identity of the API Server: "
	n, k := v.network, v.network.cluster
	want := address(n.Endpoint.Host, n.Endpoint.Port)
	if got := withPort(v.boot.server); got != want {
		return errWait{identity + `failed to request the cluster-info ConfigMap: Get "https://` + got + `": dial tcp: connection refused`}
	}
	if k == nil || !k.available {
		return errWait{identity + `failed to request the cluster-info ConfigMap: Get "https://` + want + `": EOF`}
	}
	published, err := k.published()
	if err != nil {
		return fmt.Errorf(identity+"%w", err)
	}
	if found := hashes(published); len(v.boot.hashes) > 0 && !slices.ContainsFunc(found, func(h string) bool { return slices.Contains(v.boot.hashes, h) }) {
		return fmt.Errorf(identity+"cluster CA found in cluster-info ConfigMap is invalid: none of the public keys %q are pinned", found)
	}
	if err := checkToken(k, v.boot.token); err != nil {
		var wait errWait
		if errors.As(err, &wait) {
			return errWait{identity + wait.reason}
		}
		return fmt.Errorf(identity+"%w", err)
	}
	if v.boot.control && !v.boot.pki.agree(k.pki) {
		return errors.New("failure loading certificate for CA: the certificates that this machine was given are not those of the cluster")
	}
	if ready, ok := k.nodeReady(v.boot.node.name); ok && ready {
		return fmt.Errorf("a Node with name %q and status \"Ready\" already exists in the cluster. "+
			"You must delete the existing Node or change the name of this new joining Node", v.boot.node.name)
	}
	v.kubelet = k.newKubelet(published)
	if v.boot.control {
		if err := v.readClusterConfiguration(k); err != nil {
			return err
		}
		c.adopt(k, v.boot)
		if err := k.mayAdd(); err != nil {
			return errWait{"error creating local etcd static pod manifest file: " + err.Error()}
		}
	}
	if err := register(k, v); err != nil {
		return err
	}
	if v.boot.control {
		v.member = k.addMember(c, v, true)
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
