package workload_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm/inside"
	"fairlead.dev/providers/workload"
	"fairlead.dev/test/lab/kube"
)

// A realCluster is a kube-apiserver without anything that runs behind it: the
// test plays kubelets and controllers through admin.
type realCluster struct {
	*workload.Client
	t       *testing.T
	kubeadm *inside.Client
	server  *kube.Server
	admin   kubernetes.Interface
	access  providers.Access
}

func startReal(t *testing.T, options ...kube.Option) *realCluster {
	t.Helper()
	server := kube.Start(t, options...)
	c := &realCluster{Client: workload.New(workload.Options{}), t: t, server: server, admin: kubernetes.NewForConfigOrDie(server.Config)}
	c.kubeadm = inside.New(c.Client)
	t.Cleanup(c.Close)
	c.access = c.as(server.Config)
	return c
}

// as returns the access of another user.
func (c *realCluster) as(config *rest.Config) providers.Access {
	c.t.Helper()
	data, err := os.ReadFile(c.server.WriteKubeconfig(config))
	if err != nil {
		c.t.Fatal(err)
	}
	return providers.Access{Cluster: key, Kubeconfig: fleet.NewSecret(data)}
}

// node makes a node as its kubelet would, with a status.
func (c *realCluster) node(n *corev1.Node) *corev1.Node {
	c.t.Helper()
	nodes := c.admin.CoreV1().Nodes()
	made, err := nodes.Create(c.t.Context(), n, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = nodes.Delete(context.Background(), n.Name, metav1.DeleteOptions{}) })
	made.Status = n.Status
	if made, err = nodes.UpdateStatus(c.t.Context(), made, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	return made
}

// pod makes a pod that runs.
func (c *realCluster) pod(namespace string, p *corev1.Pod) {
	c.t.Helper()
	p.Namespace = namespace
	pods := c.admin.CoreV1().Pods(namespace)
	made, err := pods.Create(c.t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	made.Status = p.Status
	if _, err = pods.UpdateStatus(c.t.Context(), made, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// observe returns what is seen of the node of that name.
func (c *realCluster) observe(name string) (fleet.Workload, fleet.Node) {
	c.t.Helper()
	w, err := c.Observe(c.t.Context(), c.access)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, n := range w.Nodes {
		if n.Name == name {
			return w, n
		}
	}
	c.t.Fatalf("there is no node %s", name)
	return w, fleet.Node{}
}

func TestRealNodes(t *testing.T) {
	c := startReal(t)
	c.server.Prepare("kube-system")
	cp := node("cp-1", corev1.ConditionTrue, map[string]string{"node-role.kubernetes.io/control-plane": ""})
	c.node(cp)
	for _, o := range controlPlane("cp-1")[1:] {
		c.pod("kube-system", o.(*corev1.Pod))
	}
	w, n := c.observe("cp-1")
	if err := c.kubeadm.Observe(t.Context(), c.access, &w); err != nil || len(w.Servers) != 1 || !w.Servers[0].Ready {
		t.Errorf("servers %v, %v", w.Servers, err)
	}
	if !w.Reachable || !n.Ready || !n.ControlPlane || n.ProviderID != "inmemory://cp-1" {
		t.Errorf("observed %+v", n)
	}

	live := node("w-1", corev1.ConditionTrue, map[string]string{"kubernetes.io/hostname": "w-1"})
	live.Spec.Taints = []corev1.Taint{{Key: "node.cluster.x-k8s.io/uninitialized", Effect: "NoSchedule"}, {Key: "foreign", Value: "x", Effect: "NoExecute"}}
	c.node(live)
	pool := fleet.Pool{
		Name: "eu-1-md-0", Role: fleet.RoleWorker, NodeLabels: map[string]string{"node-role.kubernetes.io/gpu": ""},
		Taints: []clusterv1.MachineTaint{{Key: "always", Value: "1", Effect: "NoSchedule", Propagation: "Always"}},
	}
	for range 2 {
		if err := c.SyncNode(t.Context(), c.access, "w-1", "m-1", pool); err != nil {
			t.Fatal(err)
		}
		if _, n := c.observe("w-1"); !fleet.NodeInSync(&fleet.Cluster{Key: key}, pool, "m-1", n) {
			t.Error("after SyncNode: not in sync")
		}
		got, err := c.admin.CoreV1().Nodes().Get(t.Context(), "w-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := []corev1.Taint{{Key: "always", Value: "1", Effect: "NoSchedule"}, {Key: "foreign", Value: "x", Effect: "NoExecute"}}
		if _, ok := got.Labels["node-role.kubernetes.io/gpu"]; !ok || !cmp.Equal(want, withoutTimes(got.Spec.Taints)) {
			t.Errorf("labels %v, taints %v", got.Labels, got.Spec.Taints)
		}
	}
	for range 2 { // what is gone is deleted
		if err := c.DeleteNode(t.Context(), c.access, "w-1"); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutTimes drops when taints were added, and those that the API server adds
// to a node of which no kubelet has said that it is ready.
func withoutTimes(taints []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, taint := range taints {
		if taint.Key == corev1.TaintNodeNotReady {
			continue
		}
		taint.TimeAdded = nil
		out = append(out, taint)
	}
	return out
}

// What a token's bearer may do, kubeadm's own roles say; who it is, the token.
func TestRealTokenLetsIn(t *testing.T) {
	c := startReal(t)
	token := inside.Token{ID: "abcdef", Secret: fleet.NewSecret([]byte("0123456789abcdef"))}
	for _, ttl := range []time.Duration{time.Hour, time.Minute, 2 * time.Hour} {
		if err := c.kubeadm.EnsureToken(t.Context(), c.access, token, ttl); err != nil {
			t.Fatal(err)
		}
	}
	anonymous := rest.AnonymousClientConfig(c.server.Config)
	anonymous.BearerToken = "abcdef.0123456789abcdef"
	bearer := kubernetes.NewForConfigOrDie(anonymous)
	eventually(t, "the API server knows the token", func() bool {
		_, err := bearer.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		return err != nil && strings.Contains(err.Error(), `User "system:bootstrap:abcdef" cannot list`)
	})
	s, err := c.admin.CoreV1().Secrets("kube-system").Get(t.Context(), "bootstrap-token-abcdef", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if at, err := time.Parse(time.RFC3339, string(s.Data["expiration"])); err != nil || time.Until(at) < time.Hour {
		t.Errorf("the token expires %s, %v", at, err)
	}
}

func TestRealAddons(t *testing.T) {
	c := startReal(t)
	apps, core := c.admin.AppsV1(), c.admin.CoreV1()
	const ns = "kube-system"
	labels := map[string]string{"k8s-app": "x"}
	proxy, dns := proxySet("registry.k8s.io/kube-proxy:v1.33.0"), dnsDeployment("registry.k8s.io/coredns/coredns:v1.11.1", "Corefile")
	for _, template := range []*corev1.PodTemplateSpec{&proxy.Spec.Template, &dns.Spec.Template} {
		template.Labels = labels
	}
	dns.Spec.Template.Spec.Volumes[1].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	proxy.Spec.Selector, dns.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}, &metav1.LabelSelector{MatchLabels: labels}
	var err [4]error
	_, err[0] = apps.DaemonSets(ns).Create(t.Context(), proxy, metav1.CreateOptions{})
	_, err[1] = apps.Deployments(ns).Create(t.Context(), dns, metav1.CreateOptions{})
	_, err[2] = core.ConfigMaps(ns).Create(t.Context(), configMap("kubeadm-config", "ClusterConfiguration", fromInit), metav1.CreateOptions{})
	_, err[3] = core.ConfigMaps(ns).Create(t.Context(), configMap("coredns", "Corefile", ".:53 {\n    errors\n}\n"), metav1.CreateOptions{})
	for _, err := range err {
		if err != nil {
			t.Fatal(err)
		}
	}
	pool := fleet.Pool{Version: "v1.34.1"}
	config := "apiVersion: kubeadm.k8s.io/v1beta4\nclusterName: eu-1\nkind: ClusterConfiguration\nkubernetesVersion: v1.34.1\n"
	for range 2 {
		if err := c.kubeadm.SyncConfig(t.Context(), c.access, []byte(config), "config"); err != nil {
			t.Fatal(err)
		}
		if err := c.kubeadm.SyncAddons(t.Context(), c.access, pool, bootstrapv1.ClusterConfiguration{}, "addons"); err != nil {
			t.Fatal(err)
		}
		var got *appsv1.DaemonSet
		if got, err[0] = apps.DaemonSets(ns).Get(t.Context(), "kube-proxy", metav1.GetOptions{}); err[0] != nil {
			t.Fatal(err[0])
		}
		containers := got.Spec.Template.Spec.Containers
		if containers[0].Image != "registry.k8s.io/kube-proxy:v1.34.1" || len(containers) != 2 || containers[1].Image != "x:1" {
			t.Errorf("kube-proxy has %v", containers)
		}
	}
	var w fleet.Workload
	observed := c.kubeadm.Observe(t.Context(), c.access, &w)
	if d := cmp.Diff(applied("v1.34.1", "config", "addons"), w.Applied); observed != nil || d != "" {
		t.Errorf("observed, with %v (-want +got):\n%s", observed, d)
	}
}

// A watch outlives a restart of the API server, and what changed in between is
// told of.
func TestRealWatchAndRestart(t *testing.T) {
	c := startReal(t, kube.Own())
	var calls atomic.Int64
	c.Watch(t.Context(), c.access, func() { calls.Add(1) })
	n := c.node(node("r-1", corev1.ConditionTrue, nil))
	eventually(t, "the watch tells of a new node", func() bool { return calls.Load() > 0 })
	c.server.Down()
	if w, err := c.Observe(t.Context(), c.access); err == nil && w.Reachable || err != nil && fleet.KindOf(err) != "Unavailable" {
		t.Errorf("while it is down: reachable %v, %v", w.Reachable, err)
	}
	c.server.Up()
	before := calls.Load()
	n.Spec.Unschedulable = true
	n.ResourceVersion = ""
	if _, err := c.admin.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the watch tells of what changed after the restart", func() bool { return calls.Load() > before })
	if _, got := c.observe("r-1"); !got.Unschedulable {
		t.Error("the cordon is not seen")
	}
}

func TestRealRefusals(t *testing.T) {
	c := startReal(t)
	if _, err := c.Observe(t.Context(), c.as(c.server.User("nobody"))); fleet.KindOf(err) != "Unauthorized" {
		t.Errorf("a user without rights: %v, want the kind Unauthorized", err)
	}
	if err := c.SyncNode(t.Context(), c.access, "is-not-there", "m-1", fleet.Pool{}); fleet.KindOf(err) != "NotFound" {
		t.Errorf("a node that is not there: %v, want the kind NotFound", err)
	}
	if err := c.Drain(t.Context(), c.access, "is-not-there", nil); err != nil {
		t.Errorf("drain of a node that is not there: %v", err)
	}
}
