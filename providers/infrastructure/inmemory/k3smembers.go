package inmemory

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fleet"
)

const (
	etcdLabel = "node-role.kubernetes.io/etcd"
	// manageInterval is how often the leader looks after learners, and learnerPatience
	// for how long one may make no progress.
	manageInterval  = 15 * time.Second
	learnerPatience = 5 * time.Minute
	// controllerDelay is how long controllers take to act on a Node.
	controllerDelay = 2 * time.Second
)

// mayJoin reports why no learner on a Node of that name can be added now.
// Source: k3s, join in pkg/etcd/etcd.go; etcd, mayAddMember in server/etcdserver/server.go.
func (k *cluster) mayJoin(node string) error {
	const waiting = "Waiting for other members to finish joining etcd cluster: "
	if !k.quorum() {
		return errors.New("Waiting to retrieve etcd cluster member list: failed to get etcd MemberList") //nolint:staticcheck // its words
	}
	for _, m := range k.members {
		if nodeOfMember(m.Name) == node {
			return errDuplicateNode
		}
	}
	if err := k.mayAdd(); err != nil {
		return fmt.Errorf(waiting+"%w", err) //nolint:staticcheck // its words
	}
	if voters, alive := k.voters(nil); alive < voters {
		return errors.New(waiting + "etcdserver: unhealthy cluster") //nolint:staticcheck // its words
	}
	return nil
}

// nodeOfMember returns the Node in the name of a member.
func nodeOfMember(name string) string {
	if i := strings.LastIndexByte(name, '-'); i > 1 {
		return name[:i]
	}
	return name
}

// manageLearner is what the leader does with a learner: it makes one that keeps up a
// voter, and takes out one that makes no progress.
// Source: k3s, manageLearners in pkg/etcd/etcd.go.
func (c *Cloud) manageLearner(k *cluster, m *member) {
	added := time.Now()
	var tick func()
	tick = func() {
		if k.gone || k.member(m.ID) != m || !m.Learner {
			return
		}
		switch {
		case !k.quorum():
		case m.alive() && !matches(c.faults.StuckLearners, m.vm.Name):
			m.Learner = false
			c.refresh(m.vm)
			return
		case time.Since(added) > learnerPatience:
			if err := k.remove(c, m.ID); err == nil {
				return
			}
		}
		c.after(manageInterval, tick)
	}
	c.after(manageInterval, tick)
}

// register has the kubelet of the machine register its Node, and a server say there which
// member is on it.
// Source: k3s, pkg/etcd/metadata_controller.go.
func (b *k3s) register(k *cluster, v *vm) error {
	if v.node == "" || !k.hasNode(v.node) {
		v.kubelet = k.newKubelet(k.pki.ca.cert)
		if err := register(k, v); err != nil {
			return err
		}
	}
	m := k.member(v.member)
	return modify(k, nodeKind, "", v.node, func(n *corev1.Node) {
		if n.Spec.ProviderID == "" {
			n.Spec.ProviderID = string(v.Provider)
			if k.critical["disable-cloud-controller"] == "" {
				n.Spec.ProviderID = b.name + "://" + n.Name
			}
		}
		if m == nil {
			return
		}
		if n.Labels == nil {
			n.Labels = make(map[string]string)
		}
		if n.Annotations == nil {
			n.Annotations = make(map[string]string)
		}
		n.Labels[controlPlaneLabel], n.Labels[etcdLabel] = "true", "true"
		n.Annotations[b.annotation("node-name")] = m.Name
		n.Annotations[b.annotation("node-address")] = v.Addresses[0]
	})
}

// hasNode reports whether a Node of that name is there.
func (k *cluster) hasNode(name string) bool {
	_, ok := k.api.Raw(nodeKind, "", name)
	return ok
}

// passwordSecret returns the name of the Secret with the password of a Node.
func (p *program) passwordSecret(node string) string { return node + ".node-password." + p.name }

// ensurePassword checks that no other machine has the name of the machine's Node, and claims
// it. This cloud's machines have their id for a password.
// Source: k3s, pkg/nodepassword.
func (k *cluster) ensurePassword(v *vm, b *k3s) error {
	kind, name := corev1.SchemeGroupVersion.WithKind("Secret"), b.passwordSecret(b.node.name)
	if u, ok := k.api.Get(kind, system, name); ok {
		var s corev1.Secret
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &s); err != nil {
			return err
		}
		if string(s.Data["hash"]) == v.ID {
			return nil
		}
		return errors.New("Node password rejected, duplicate hostname or contents of '/etc/rancher/node/password' may not match " + //nolint:staticcheck // its words
			"server node-passwd entry, try enabling a unique node name with the --with-node-id flag")
	}
	immutable := true
	return k.api.Upsert(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name}, Immutable: &immutable,
		Type: corev1.SecretType(b.name + ".cattle.io/node-password"), Data: map[string][]byte{"hash": []byte(v.ID)},
	})
}

// nodeWritten has the controllers look at the Nodes of k soon.
func (c *Cloud) nodeWritten(k *cluster) {
	c.lock()
	defer c.unlock()
	c.after(controllerDelay+c.faults.SlowLeave, func() { c.control(k) })
}

// control does with the Nodes of k what the servers' controllers do, and looks again at
// those that it could do nothing with.
// Source: k3s, pkg/etcd/member_controller.go and pkg/nodepassword/controller.go.
func (c *Cloud) control(k *cluster) {
	if k.gone {
		return
	}
	again := !k.available
	if k.available {
		for _, name := range k.api.Names(nodeKind, "") {
			if err := c.controlNode(k, name); err != nil {
				c.log.Debug("controller", "node", name, slog.Any("error", err))
				again = true
			}
		}
	}
	if again && !k.control {
		k.control = true
		c.after(manageInterval, func() { k.control = false; c.control(k) })
	}
}

// finalizers are those with which the controllers hold a Node that is being deleted.
func finalizers() []string { return []string{"wrangler.cattle.io/managed-etcd-controller"} }

// controlNode does what is due with one Node.
func (c *Cloud) controlNode(k *cluster, name string) error {
	u, ok := k.api.Get(nodeKind, "", name)
	if !ok {
		return nil
	}
	var n corev1.Node
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &n); err != nil {
		return err
	}
	p := k.program
	if n.DeletionTimestamp == nil && len(n.Finalizers) == 0 { // a client made it
		err := modify(k, nodeKind, "", name, func(n *corev1.Node) { n.Finalizers = finalizers() })
		if err != nil {
			return err
		}
	}
	_, etcd := n.Labels[etcdLabel]
	asked, removed := strings.EqualFold(n.Annotations[p.annotation("remove")], "true"), n.Annotations[p.annotation("removed-node-name")]
	switch {
	case n.DeletionTimestamp != nil:
		if etcd && (!asked || removed == "") {
			if err := k.removePeer(c, &n); err != nil {
				return err
			}
		}
		k.api.Delete(corev1.SchemeGroupVersion.WithKind("Secret"), system, p.passwordSecret(name))
		return modify(k, nodeKind, "", name, func(n *corev1.Node) { n.Finalizers = nil })
	case !etcd || removed == "" && !asked:
		return nil
	case removed != "":
		if now := n.Annotations[p.annotation("node-name")]; now == "" || now == removed {
			return nil
		}
		return modify(k, nodeKind, "", name, func(n *corev1.Node) {
			delete(n.Annotations, p.annotation("removed-node-name"))
			n.Annotations[p.annotation("remove")] = "false"
		})
	}
	if err := k.removePeer(c, &n); err != nil {
		return err
	}
	return modify(k, nodeKind, "", name, func(n *corev1.Node) {
		n.Annotations[p.annotation("removed-node-name")] = n.Annotations[p.annotation("node-name")]
		maps.DeleteFunc(n.Annotations, func(key, _ string) bool {
			return key == p.annotation("node-name") || key == p.annotation("node-address")
		})
	})
}

// removePeer takes out the member that the annotations of n name.
func (k *cluster) removePeer(c *Cloud, n *corev1.Node) error {
	name, address := n.Annotations[k.program.annotation("node-name")], n.Annotations[k.program.annotation("node-address")]
	switch {
	case name == "":
		return fmt.Errorf("node name annotation for node %s not found", n.Name)
	case address == "":
		return fmt.Errorf("node address annotation for node %s not found", n.Name)
	}
	i := slices.IndexFunc(k.members, func(m *member) bool { return m.named && m.Name == name && m.vm.Addresses[0] == address })
	if i < 0 {
		return nil
	}
	err := k.remove(c, k.members[i].ID)
	if fleet.KindOf(err) == fleet.NotFound {
		return nil
	}
	return err
}
