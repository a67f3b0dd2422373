package workload_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

func budget(name, app string, minAvailable int) *policyv1.PodDisruptionBudget {
	n := intstr.FromInt(minAvailable)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}
}

func app(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels["app"] = name }
}

// remaining tells what is on a node and has to go before it is drained, "namespace/name: why".
func remaining(n fleet.Node, rules ...clusterv1.MachineDrainRule) (out []string) {
	for i, turn := range fleet.DrainRules(rules).Behaviors(n.Pods, n.Unreachable(), time.Now()) {
		p := n.Pods[i]
		why := map[fleet.DrainBehavior]string{fleet.DrainEvict: "goes", fleet.DrainWaitCompleted: "ends", fleet.DrainLater: "later"}[turn]
		if turn == fleet.DrainSkip {
			continue
		}
		if p.Blocked != "" {
			why = p.Blocked
		}
		if !p.Deleted.IsZero() {
			why = "terminating"
		}
		out = append(out, p.String()+": "+why)
	}
	return out
}

// observeNode returns what is seen of one node.
func observeNode(t *testing.T, c *cluster, name string) fleet.Node {
	t.Helper()
	w, err := c.Observe(t.Context(), c.access)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range w.Nodes {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("there is no node %s", name)
	return fleet.Node{}
}

func (c *cluster) drain(t *testing.T, node string, rules ...clusterv1.MachineDrainRule) {
	t.Helper()
	if err := c.Drain(t.Context(), c.access, node, rules); err != nil {
		t.Fatal(err)
	}
}

func TestDrain(t *testing.T) {
	c := start(t)
	c.put(t, node("w-1", corev1.ConditionTrue, nil), node("w-2", corev1.ConditionTrue, nil))
	c.put(t, budget("db", "db", 1),
		pod("default", "web", "w-1", app("web")),
		pod("default", "scratch", "w-1", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}),
		pod("default", "done", "w-1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("default", "db-0", "w-1", app("db")),
		pod("default", "agent", "w-1", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "a", UID: "u", Controller: new(true)}}
		}),
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}},
		pod("default", "orphan", "w-1", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "gone", UID: "v", Controller: new(true)}}
		}),
		pod("default", "static", "w-1", func(p *corev1.Pod) { p.Annotations["kubernetes.io/config.mirror"] = "x" }),
		pod("default", "stays", "w-1", func(p *corev1.Pod) { p.Labels["cluster.x-k8s.io/drain"] = "skip" }),
		pod("default", "job", "w-1", func(p *corev1.Pod) { p.Labels["cluster.x-k8s.io/drain"] = "wait-completed" }),
		pod("default", "elsewhere", "w-2", nil),
	)
	if n := observeNode(t, c, "w-1"); n.Draining || n.Pods != nil {
		t.Errorf("before: draining %v with pods %v", n.Draining, n.Pods)
	}

	c.drain(t, "w-1")
	n := observeNode(t, c, "w-1")
	if !n.Draining || !n.Unschedulable || time.Since(n.DrainStarted) > time.Minute {
		t.Errorf("draining %v since %s, unschedulable %v", n.Draining, n.DrainStarted, n.Unschedulable)
	}
	want := []string{
		"default/db-0: The disruption budget db needs 1 healthy pods and has 1 currently",
		"default/job: ends",
	}
	if d := cmp.Diff(want, remaining(n)); d != "" {
		t.Errorf("what remains (-want +got):\n%s", d)
	}
	left := map[string]bool{}
	for _, name := range []string{"web", "scratch", "done", "db-0", "agent", "orphan", "static", "stays", "job", "elsewhere"} {
		left[name] = c.has("Pod", "default", name)
	}
	wantLeft := map[string]bool{
		"web": false, "scratch": false, "done": false, "orphan": false,
		"db-0": true, "agent": true, "static": true, "stays": true, "job": true, "elsewhere": true,
	}
	if d := cmp.Diff(wantLeft, left); d != "" {
		t.Errorf("pods left (-want +got):\n%s", d)
	}

	// A second replica elsewhere lets the first go.
	c.put(t, pod("default", "db-1", "w-2", app("db")))
	c.drain(t, "w-1")
	again := observeNode(t, c, "w-1")
	if d := cmp.Diff([]string{"default/job: ends"}, remaining(again)); d != "" {
		t.Errorf("what remains after the second step (-want +got):\n%s", d)
	}
	if !again.DrainStarted.Equal(n.DrainStarted) {
		t.Errorf("the second step moved the start from %s to %s", n.DrainStarted, again.DrainStarted)
	}
}

func TestDrainOfUnreachableNode(t *testing.T) {
	c := start(t)
	c.put(t, node("w-1", corev1.ConditionUnknown, nil), pod("default", "web", "w-1", nil))
	c.drain(t, "w-1")
	p := get[corev1.Pod](t, c, "Pod", "default", "web")
	if p.DeletionTimestamp == nil || *p.DeletionGracePeriodSeconds != 1 {
		t.Fatalf("the pod: deleted %v with grace %v, want grace 1", p.DeletionTimestamp, p.DeletionGracePeriodSeconds)
	}
	// Nobody will ever report its end, and drain does not wait for it.
	eventually(t, "no pods remain", func() bool { return remaining(observeNode(t, c, "w-1")) == nil })
	if !c.has("Pod", "default", "web") {
		t.Error("the pod is gone, though its kubelet is dead")
	}
}

func TestDrainOfReachableNodeWaitsForTerminatingPods(t *testing.T) {
	c := start(t)
	c.put(t, node("w-1", corev1.ConditionTrue, nil), pod("default", "web", "w-1", func(p *corev1.Pod) {
		p.Finalizers = []string{"example.com/slow"}
	}))
	c.drain(t, "w-1")
	want := []string{"default/web: terminating"}
	if d := cmp.Diff(want, remaining(observeNode(t, c, "w-1"))); d != "" {
		t.Errorf("what remains (-want +got):\n%s", d)
	}
}

func TestDrainOfMissingNode(t *testing.T) {
	c := start(t)
	c.drain(t, "none")
}
