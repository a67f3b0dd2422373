package inmemory

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/providers/infrastructure/inmemory/kubeapi"
)

// apiServer is what a cluster needs of its Kubernetes API.
type apiServer interface {
	Serve(ctx context.Context, l net.Listener) error
	Upsert(obj runtime.Object) error
	Get(gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, bool)
	Raw(gvk schema.GroupVersionKind, namespace, name string) ([]byte, bool)
	Names(gvk schema.GroupVersionKind, namespace string) []string
	Delete(gvk schema.GroupVersionKind, namespace, name string)
	SetAvailable(ok bool)
	SetVersion(version string)
	ServeSupervisor(ctx context.Context, l net.Listener, h http.Handler) error
	SetStarting(yes bool)
	SetSupervised(ok bool)
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
	gone      bool // it was stopped
	hosted    bool // its control plane is no machine

	program           *program          // nil: kubeadm
	token, agentToken string            // of K3s and RKE2, as those that follow
	critical          map[string]string // what servers must agree on
	supervisor        net.Listener      // where machines join, where that is a port of its own
	supervised        bool              // a supervisor answers
	control           bool              // the controllers are to look again
}

// A boot is what a machine makes of the user data that it was given: it is chosen by what
// that holds. What it knows without the world it has read once; what it does in the world
// it does with the cloud's lock held.
type boot interface {
	// run does what the machine does each time that its power comes on.
	run(c *Cloud, v *vm)
	// serves reports whether the machine is one of a control plane.
	serves() bool
	// registration is how the kubelet registers its Node.
	registration() registration
	// pods are the static pods of the machine v, before they run.
	pods(v *vm) []*corev1.Pod
	// conditions are those that the Node of v has beside a kubelet's.
	conditions(k *cluster, v *vm) []corev1.NodeCondition
	// left is what becomes of the machine when its member was taken out of etcd.
	left(c *Cloud, v *vm)
	// announces reports whether a static pod of the machine has it answer at host.
	announces(host string) bool
	// endpoint is where the cluster answers, as far as the user data says, and whether
	// the machine joins what is there.
	endpoint() (string, bool)
}

// noBoot is the boot of a machine whose user data is of no use.
type noBoot struct{ err error }

var _ boot = noBoot{}

func (b noBoot) run(c *Cloud, v *vm) { c.console(v, b.err.Error()) }

func (noBoot) serves() bool                                    { return false }
func (noBoot) registration() registration                      { return registration{} }
func (noBoot) pods(*vm) []*corev1.Pod                          { return nil }
func (noBoot) conditions(*cluster, *vm) []corev1.NodeCondition { return nil }
func (noBoot) left(*Cloud, *vm)                                {}
func (noBoot) announces(string) bool                           { return false }
func (noBoot) endpoint() (string, bool)                        { return "", false }

// readBoot reads the user data of s on the machine called id.
func readBoot(s VMSpec, id string) boot {
	b, err := parseBoot(s, id)
	if err != nil {
		return noBoot{err}
	}
	return b
}

func parseBoot(s VMSpec, id string) (boot, error) {
	if len(s.UserData) == 0 {
		return nil, errors.New("cloud-init: no user data was given, nothing to do")
	}
	d, err := readUserData(s, id)
	if err != nil {
		return nil, err
	}
	if b, err := parseKubeadm(d, s); b != nil || err != nil {
		return b, err
	}
	if b, err := parseK3s(d, s); b != nil || err != nil {
		return b, err
	}
	return nil, errors.New("cloud-init: no command of runcmd is kubeadm init or kubeadm join with --config")
}

// BootEndpoint returns where the user data of s says that the API server of the
// cluster answers, and whether the machine joins what is there.
func BootEndpoint(s VMSpec) (endpoint string, join bool, err error) {
	b, err := parseBoot(s, s.ID)
	if err != nil {
		return "", false, err
	}
	endpoint, join = b.endpoint()
	return endpoint, join, nil
}

// readUserData reads user data in the format that it has: an Ignition config is
// JSON.
func readUserData(s VMSpec, id string) (disk, error) {
	if bytes.HasPrefix(s.UserData, []byte("{")) {
		// The cloud calls the machine by a name in its domain.
		d, err := readIgnition(s.UserData, map[string]string{
			"COREOS_OPENSTACK_HOSTNAME": s.Name + ".novalocal", "COREOS_OPENSTACK_INSTANCE_UUID": id,
		})
		if err == nil && len(d.commands) == 0 {
			err = errors.New("ignition: no unit runs a script with kubeadm init or kubeadm join and --config")
		}
		return d, err
	}
	return readCloudConfig(s.UserData, map[string]string{
		"ds.meta_data.local_hostname": s.Name,
		"ds.meta_data.hostname":       s.Name,
		"v1.local_hostname":           s.Name,
		"local_hostname":              s.Name,
		"ds.meta_data.instance_id":    id,
		"v1.instance_id":              id,
		"instance_id":                 id,
	})
}

// startBoot has the machine do what it does when its power comes on.
func (c *Cloud) startBoot(v *vm) {
	if v.alive() && !v.booted {
		v.boot.run(c, v)
	}
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

// whileOn has do called after d, unless the machine's power was cut by then.
func (c *Cloud) whileOn(v *vm, d time.Duration, do func(*vm)) {
	power := v.powerCycles
	c.after(d, func() {
		if v.powerCycles == power && v.alive() {
			do(v)
		}
	})
}

// serveCluster puts the API server of k behind the load balancer of n, in the place of
// what was there.
func (c *Cloud) serveCluster(n *network, k *cluster) {
	if n.cluster != nil {
		n.cluster.stop()
	}
	n.cluster = k
	ctx, cancel := context.WithCancel(c.ctx)
	b := newBackend(n.front.Addr())
	n.front.set(b)
	k.stop = func() {
		cancel()
		n.front.set(nil)
		if k.supervisor != nil {
			_ = k.supervisor.Close()
		}
		k.gone = true
	}
	c.serves.Go(func() {
		if err := k.api.Serve(ctx, b); err != nil && ctx.Err() == nil {
			c.log.Error("serving the Kubernetes API failed", "address", b.Addr().String(), slog.Any("error", err))
		}
	})
	if k.supervisor == nil {
		return
	}
	c.serves.Go(func() {
		if err := k.api.ServeSupervisor(ctx, k.supervisor, supervisor{c, k}); err != nil && ctx.Err() == nil {
			c.log.Error("serving the supervisor failed", "address", k.supervisor.Addr().String(), slog.Any("error", err))
		}
	})
}
