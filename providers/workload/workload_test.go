package workload_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm/inside"
)

func TestObserve(t *testing.T) {
	c := start(t)
	c.put(t, controlPlane("cp-1")...)
	c.put(t, controlPlane("cp-2")...)
	w := node("w-1", corev1.ConditionFalse, nil)
	w.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "w-1"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.11"}, {Type: corev1.NodeExternalIP, Address: "192.0.2.11"}}
	c.put(t, w)
	p := get[corev1.Pod](t, c, "Pod", "kube-system", "etcd-cp-2")
	p.Status.Conditions[0].Status = corev1.ConditionFalse
	c.put(t, &p)

	got, err := c.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		ProviderID                  fleet.ProviderID
		Ready, ControlPlane, Serves bool
		Addresses                   string
	}
	nodes := map[string]seen{}
	serves := map[string]bool{}
	for _, s := range got.Servers {
		serves[s.Node] = s.Ready
	}
	for _, n := range got.Nodes {
		nodes[n.Name] = seen{n.ProviderID, n.Ready, n.ControlPlane, serves[n.Name], strings.Join(n.Addresses, " ")}
	}
	if len(got.Servers) != 2 {
		t.Errorf("servers: %v", got.Servers)
	}
	want := map[string]seen{
		"cp-1": {"inmemory://cp-1", true, true, true, ""},
		"cp-2": {"inmemory://cp-2", true, true, false, ""}, // its etcd is not ready
		"w-1":  {"inmemory://w-1", false, false, false, "10.0.0.11 192.0.2.11"},
	}
	if d := cmp.Diff(want, nodes); d != "" {
		t.Errorf("nodes (-want +got):\n%s", d)
	}
	if !got.Reachable {
		t.Error("reachable: got false")
	}

	c.Server.Delete(corev1.SchemeGroupVersion.WithKind("Pod"), "kube-system", "etcd-cp-1")
	got, err = c.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Servers[0].Ready {
		t.Error("cp-1 without an etcd pod, which cp-2 has: got ready")
	}
}

// tokenExpires says when the token abcdef expires.
func tokenExpires(t *testing.T, c *cluster) time.Time {
	t.Helper()
	s := get[corev1.Secret](t, c, "Secret", "kube-system", "bootstrap-token-abcdef")
	at, err := time.Parse(time.RFC3339, string(s.Data["expiration"]))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestEnsureToken(t *testing.T) {
	c := start(t)
	token := inside.Token{ID: "abcdef", Secret: fleet.NewSecret([]byte("0123456789abcdef"))}
	expires := func() time.Time {
		t.Helper()
		return tokenExpires(t, c)
	}
	ensure := func(ttl time.Duration) {
		t.Helper()
		if err := c.kubeadm.EnsureToken(t.Context(), c.access, token, ttl); err != nil {
			t.Fatal(err)
		}
	}
	ensure(time.Hour)
	first := expires()
	s := get[corev1.Secret](t, c, "Secret", "kube-system", "bootstrap-token-abcdef")
	data := map[string]string{}
	for k, v := range s.Data {
		if k != "expiration" && k != "description" {
			data[k] = string(v)
		}
	}
	want := map[string]string{
		"token-id": "abcdef", "token-secret": "0123456789abcdef",
		"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
		"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
	}
	if d := cmp.Diff(want, data); d != "" || s.Type != "bootstrap.kubernetes.io/token" {
		t.Errorf("secret of type %s (-want +got):\n%s", s.Type, d)
	}
	ensure(time.Minute)
	if got := expires(); !got.Equal(first) {
		t.Errorf("a shorter life: expires %s, want %s still", got, first)
	}
	ensure(2 * time.Hour)
	if got := expires(); !got.After(first.Add(30 * time.Minute)) {
		t.Errorf("a longer life: expires %s, first was %s", got, first)
	}
	longest := expires()
	token.Secret = fleet.NewSecret([]byte("fedcba9876543210"))
	ensure(time.Minute)
	s = get[corev1.Secret](t, c, "Secret", "kube-system", "bootstrap-token-abcdef")
	if got := string(s.Data["token-secret"]); got != "fedcba9876543210" || !expires().Equal(longest) {
		t.Errorf("another secret: got %s until %s, want it until %s", got, expires(), longest)
	}
}

func TestSyncNode(t *testing.T) {
	c := start(t)
	live := node("w-1", corev1.ConditionTrue, map[string]string{"kubernetes.io/hostname": "w-1"})
	live.Spec.Taints = []corev1.Taint{
		{Key: "node.cluster.x-k8s.io/uninitialized", Effect: "NoSchedule"},
		{Key: "foreign", Value: "x", Effect: "NoExecute"},
	}
	c.put(t, live)
	pool := fleet.Pool{
		Name: "eu-1-md-0", Role: fleet.RoleWorker,
		NodeLabels: map[string]string{"node-role.kubernetes.io/gpu": "", "a.node.cluster.x-k8s.io/b": "c"},
		Taints: []clusterv1.MachineTaint{
			{Key: "always", Value: "1", Effect: "NoSchedule", Propagation: "Always"},
			{Key: "once", Value: "1", Effect: "NoSchedule", Propagation: "OnInitialization"},
		},
	}
	desired := &fleet.Cluster{Key: key}
	sync := func() corev1.Node {
		t.Helper()
		if err := c.SyncNode(t.Context(), c.access, "w-1", "eu-1-md-0-1a2b3c4d", pool); err != nil {
			t.Fatal(err)
		}
		w, err := c.Observe(t.Context(), c.access)
		if err != nil {
			t.Fatal(err)
		}
		if !fleet.NodeInSync(desired, pool, "eu-1-md-0-1a2b3c4d", w.Nodes[0]) {
			t.Fatal("after SyncNode: not in sync")
		}
		return get[corev1.Node](t, c, "Node", "", "w-1")
	}

	got := sync()
	wantAnnotations := map[string]string{
		"cluster.x-k8s.io/cluster-name":        "eu-1",
		"cluster.x-k8s.io/cluster-namespace":   "prod",
		"cluster.x-k8s.io/machine":             "eu-1-md-0-1a2b3c4d",
		"cluster.x-k8s.io/owner-kind":          "MachineDeployment",
		"cluster.x-k8s.io/owner-name":          "eu-1-md-0",
		"cluster.x-k8s.io/labels-from-machine": "a.node.cluster.x-k8s.io/b,node-role.kubernetes.io/gpu",
		"cluster.x-k8s.io/taints-from-machine": "always:NoSchedule",
	}
	if d := cmp.Diff(wantAnnotations, got.Annotations); d != "" {
		t.Errorf("annotations (-want +got):\n%s", d)
	}
	wantTaints := []corev1.Taint{
		{Key: "always", Value: "1", Effect: "NoSchedule"},
		{Key: "foreign", Value: "x", Effect: "NoExecute"},
		{Key: "once", Value: "1", Effect: "NoSchedule"},
	}
	if d := cmp.Diff(wantTaints, got.Spec.Taints); d != "" {
		t.Errorf("taints (-want +got):\n%s", d)
	}
	if again := sync(); again.ResourceVersion != got.ResourceVersion {
		t.Error("a node in sync was written")
	}

	// The pool gives up a label and its taints; people take away and add some.
	pool.NodeLabels = map[string]string{"a.node.cluster.x-k8s.io/b": "d"}
	pool.Taints = pool.Taints[1:]
	got.Spec.Taints = []corev1.Taint{{Key: "always", Value: "1", Effect: "NoSchedule"}}
	got.Labels["mine"] = "kept"
	got.ResourceVersion = ""
	c.put(t, &got)
	got = sync()
	wantLabels := map[string]string{"kubernetes.io/hostname": "w-1", "a.node.cluster.x-k8s.io/b": "d", "mine": "kept"}
	if d := cmp.Diff(wantLabels, got.Labels); d != "" {
		t.Errorf("labels (-want +got):\n%s", d)
	}
	if len(got.Spec.Taints) != 0 {
		t.Errorf("taints: got %v, want none: one was given up, one is for initialization only", got.Spec.Taints)
	}
}

// What kubelet writes on a new Node while it is brought in line is no error, and
// stays.
func TestSyncNodeMeetsTheKubelet(t *testing.T) {
	c := start(t)
	c.put(t, node("w-1", corev1.ConditionTrue, nil))
	writes := 0
	a := c.through(t, func(r *http.Request) {
		if r.Method == http.MethodPatch && writes < 2 {
			writes++
			theirs := node("w-1", corev1.ConditionTrue, map[string]string{"written": strconv.Itoa(writes)})
			theirs.Spec.Taints = []corev1.Taint{{Key: "theirs", Value: strconv.Itoa(writes), Effect: "NoSchedule"}}
			c.put(t, theirs)
		}
	})
	if err := c.SyncNode(t.Context(), a, "w-1", "m-1", fleet.Pool{NodeLabels: map[string]string{"ours": ""}}); err != nil {
		t.Fatal(err)
	}
	got := get[corev1.Node](t, c, "Node", "", "w-1")
	if _, ours := got.Labels["ours"]; !ours || got.Labels["written"] != "2" || len(got.Spec.Taints) != 1 || got.Spec.Taints[0].Value != "2" {
		t.Errorf("the node is labelled %v, tainted %v", got.Labels, got.Spec.Taints)
	}
}

func TestDeleteNode(t *testing.T) {
	c := start(t)
	c.put(t, node("w-1", corev1.ConditionTrue, nil))
	for range 2 {
		if err := c.Client.DeleteNode(t.Context(), c.access, "w-1"); err != nil {
			t.Fatal(err)
		}
		if c.has("Node", "", "w-1") {
			t.Error("the node is still there")
		}
	}
}

func TestErrorKinds(t *testing.T) {
	c := start(t)
	other := newAuthority(t, "kubernetes")
	hour := time.Now().Add(time.Hour)
	cases := map[string]struct {
		reason     string
		kubeconfig fleet.Secret
		want       fleet.ErrorKind
		words      string
	}{
		"wrong server authority": {
			"the cluster is not the one that the kubeconfig is for",
			c.ca.kubeconfig(t, c.url, other.certPEM, hour), fleet.Unauthorized, "not of the CA of this cluster",
		},
		"client certificate of another authority": {
			"the server does not know us", other.kubeconfig(t, c.url, c.ca.certPEM, hour), fleet.Unauthorized, "Unauthorized",
		},
		"expired client certificate": {
			"the server does not know us any more",
			c.ca.kubeconfig(t, c.url, c.ca.certPEM, time.Now().Add(-time.Minute)), fleet.Unauthorized, "Unauthorized",
		},
		"nobody listens": {
			"the control plane is down", c.ca.kubeconfig(t, "https://127.0.0.1:1", c.ca.certPEM, hour), fleet.Unavailable, "connection refused",
		},
		"no kubeconfig": {
			"nothing can be reached with it", fleet.NewSecret([]byte("x: [")), fleet.Invalid, "kubeconfig",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := c.Observe(t.Context(), providers.Access{Cluster: key, Kubeconfig: tc.kubeconfig})
			if got := fleet.KindOf(err); got != tc.want {
				t.Errorf("%s: got kind %s of %v, want %s", tc.reason, got, err, tc.want)
			}
			if err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("%s: got %v, want %q in it", tc.reason, err, tc.words)
			}
		})
	}
	t.Run("a new kubeconfig heals", func(t *testing.T) {
		if _, err := c.Observe(t.Context(), c.access); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("no backends", func(t *testing.T) {
		c.SetAvailable(false)
		defer c.SetAvailable(true)
		_, err := c.Observe(t.Context(), c.access)
		if got := fleet.KindOf(err); got != fleet.Unavailable {
			t.Errorf("got kind %s of %v, want Unavailable", got, err)
		}
	})
	t.Run("node that is not there", func(t *testing.T) {
		err := c.SyncNode(t.Context(), c.access, "none", "m-1", fleet.Pool{})
		if got := fleet.KindOf(err); got != fleet.NotFound {
			t.Errorf("got kind %s of %v, want NotFound", got, err)
		}
	})
}
