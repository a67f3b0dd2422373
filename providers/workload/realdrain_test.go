package workload_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/drain"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// immediately makes a pod end without a kubelet that confirms it.
func immediately(change func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TerminationGracePeriodSeconds = new(int64(0))
		if change != nil {
			change(p)
		}
	}
}

func ofDaemonSet(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: name, UID: "u", Controller: new(true)}}
	}
}

// daemonSet makes a DaemonSet that nobody carries out.
func (c *realCluster) daemonSet(namespace, name string) {
	c.t.Helper()
	labels := map[string]string{"set": name}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		},
	}}
	if _, err := c.admin.AppsV1().DaemonSets(namespace).Create(c.t.Context(), d, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// pdb makes a disruption budget and returns how its controller would set its
// status.
func (c *realCluster) pdb(namespace, app string) func(allowed, healthy int32) {
	c.t.Helper()
	b := budget(app, app, 1)
	b.Namespace = namespace
	budgets := c.admin.PolicyV1().PodDisruptionBudgets(namespace)
	made, err := budgets.Create(c.t.Context(), b, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return func(allowed, healthy int32) {
		c.t.Helper()
		made.Status = policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: made.Generation, DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: 1, ExpectedPods: 1,
		}
		if made, err = budgets.UpdateStatus(c.t.Context(), made, metav1.UpdateOptions{}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// step drains once and checks what remains.
func (c *realCluster) step(node string, rules []clusterv1.MachineDrainRule, want ...string) fleet.Node {
	c.t.Helper()
	if err := c.Drain(c.t.Context(), c.access, node, rules); err != nil {
		c.t.Fatal(err)
	}
	_, n := c.observe(node)
	if d := cmp.Diff(want, remaining(n, rules...)); d != "" || !n.Draining || !n.Unschedulable {
		c.t.Errorf("draining %v, unschedulable %v, what remains (-want +got):\n%s", n.Draining, n.Unschedulable, d)
	}
	return n
}

// pods returns the names of the pods in a namespace that are not on their way out.
func (c *realCluster) pods(namespace string) []string {
	c.t.Helper()
	list, err := c.admin.CoreV1().Pods(namespace).List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

func (c *realCluster) end(namespace, name string) {
	c.t.Helper()
	if err := c.admin.CoreV1().Pods(namespace).Delete(c.t.Context(), name, *metav1.NewDeleteOptions(0)); err != nil {
		c.t.Fatal(err)
	}
}

func TestRealDrain(t *testing.T) {
	c := startReal(t)
	ns := c.server.Namespace()
	c.node(node("d-1", corev1.ConditionTrue, nil))
	c.daemonSet(ns, "a")
	for _, p := range []*corev1.Pod{
		pod(ns, "web", "d-1", immediately(app("web"))),
		pod(ns, "slow", "d-1", nil),
		pod(ns, "db-0", "d-1", immediately(app("db"))),
		pod(ns, "agent", "d-1", ofDaemonSet("a")),
		pod(ns, "orphan", "d-1", immediately(ofDaemonSet("gone"))),
	} {
		c.pod(ns, p)
	}
	allow := c.pdb(ns, "db")
	// Nobody has looked at the budget yet: the API server lets nothing go.
	c.step("d-1", nil, ns+"/db-0: The disruption budget db is still being processed by the server.", ns+"/slow: terminating")
	allow(0, 1)
	c.step("d-1", nil, ns+"/db-0: The disruption budget db needs 1 healthy pods and has 1 currently", ns+"/slow: terminating")
	allow(1, 2)
	if n := c.step("d-1", nil, ns+"/slow: terminating"); !n.Drained.IsZero() {
		t.Errorf("drained at %s while a pod is there", n.Drained)
	}
	c.end(ns, "slow")
	if n := c.step("d-1", nil); n.Drained.Before(n.DrainStarted) {
		t.Errorf("drained at %s, begun at %s", n.Drained, n.DrainStarted)
	}
	if left := c.pods(ns); !slices.Equal(left, []string{"agent"}) {
		t.Errorf("%q are left; want the one of the DaemonSet", left)
	}
}

// TestRealDrainChoosesAsKubectl compares what is moved away with what kubectl
// drain --force --ignore-daemonsets --delete-emptydir-data deletes.
func TestRealDrainChoosesAsKubectl(t *testing.T) {
	c := startReal(t)
	ns := c.server.Namespace()
	c.node(node("k-1", corev1.ConditionTrue, nil))
	c.daemonSet(ns, "there")
	phase := func(phase corev1.PodPhase, also func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			if p.Status.Phase = phase; also != nil {
				also(p)
			}
		}
	}
	for name, change := range map[string]func(*corev1.Pod){
		"plain":   nil,
		"static":  func(p *corev1.Pod) { p.Annotations[corev1.MirrorPodAnnotationKey] = "x" },
		"daemon":  ofDaemonSet("there"),
		"orphan":  ofDaemonSet("gone"),
		"done":    phase(corev1.PodSucceeded, nil),
		"failed":  phase(corev1.PodFailed, nil),
		"ended":   phase(corev1.PodSucceeded, ofDaemonSet("there")),
		"waiting": phase(corev1.PodPending, nil),
		"local": func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		},
	} {
		c.pod(ns, pod(ns, name, "k-1", change))
	}
	list, errs := (&drain.Helper{
		Ctx: t.Context(), Client: c.admin, Force: true, IgnoreAllDaemonSets: true, DeleteEmptyDirData: true,
	}).GetPodsForDeletion("k-1")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var want []string
	for _, p := range list.Pods() {
		want = append(want, p.Namespace+"/"+p.Name+": goes")
	}
	slices.Sort(want)
	if err := c.admin.CoreV1().Nodes().Delete(t.Context(), "k-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	n := node("k-1", corev1.ConditionTrue, nil)
	n.Annotations = map[string]string{fleet.DrainingAnnotation: ""}
	c.node(n)
	_, seen := c.observe("k-1")
	if d := cmp.Diff(want, remaining(seen)); d != "" || len(want) != 7 {
		t.Errorf("of 9 pods go (-kubectl +fairlead):\n%s", d)
	}
}

// TestRealDrainOfUnreachableNode has a budget that lets nothing go, since it
// counts the pod of a dead node as lost: it must not keep the node for ever, and
// a pod that is well is kept all the same.
func TestRealDrainOfUnreachableNode(t *testing.T) {
	c := startReal(t)
	ns := c.server.Namespace()
	c.node(node("u-1", corev1.ConditionUnknown, nil))
	c.pod(ns, pod(ns, "db-0", "u-1", func(p *corev1.Pod) {
		app("db")(p)
		p.Status.Conditions[0].Status = corev1.ConditionFalse
	}))
	c.pod(ns, pod(ns, "web-0", "u-1", app("web")))
	c.pdb(ns, "db")(0, 0)
	c.pdb(ns, "web")(0, 1)
	if err := c.Drain(t.Context(), c.access, "u-1", nil); err != nil {
		t.Fatal(err)
	}
	want := []string{ns + "/web-0: The disruption budget web needs 1 healthy pods and has 1 currently"}
	eventually(t, "the pod that was deleted is not waited for", func() bool {
		_, n := c.observe("u-1")
		return slices.Equal(remaining(n), want)
	})
	p, err := c.admin.CoreV1().Pods(ns).Get(t.Context(), "db-0", metav1.GetOptions{})
	if err != nil || p.DeletionTimestamp == nil || *p.DeletionGracePeriodSeconds != 1 {
		t.Errorf("db-0: %v, deleted %v; want it there with a grace of one second", err, p.DeletionTimestamp)
	}
}

// TestRealDrainByRules drains in the order of MachineDrainRules.
func TestRealDrainByRules(t *testing.T) {
	c := startReal(t)
	ns := c.server.Namespace()
	c.node(node("r-1", corev1.ConditionTrue, nil))
	for name, change := range map[string]func(*corev1.Pod){
		"web": immediately(app("web")), "db": immediately(app("db")), "log": immediately(app("log")), "job": immediately(app("job")),
	} {
		c.pod(ns, pod(ns, name, "r-1", change))
	}
	rule := func(name, app string, behavior clusterv1.MachineDrainRuleDrainBehavior, order *int32) clusterv1.MachineDrainRule {
		r := clusterv1.MachineDrainRule{ObjectMeta: metav1.ObjectMeta{Name: name}}
		r.Spec.Drain = clusterv1.MachineDrainRuleDrainConfig{Behavior: behavior, Order: order}
		r.Spec.Pods = []clusterv1.MachineDrainRulePodSelector{{
			Selector:          &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
		}}
		return r
	}
	rules := []clusterv1.MachineDrainRule{
		rule("a", "db", clusterv1.MachineDrainRuleDrainBehaviorDrain, new(int32(7))),
		rule("b", "log", clusterv1.MachineDrainRuleDrainBehaviorSkip, nil),
		rule("c", "job", clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted, nil),
	}
	c.step("r-1", rules, ns+"/db: later", ns+"/job: ends")
	c.step("r-1", rules, ns+"/db: later", ns+"/job: ends")
	c.end(ns, "job") // done
	if n := c.step("r-1", rules); !n.Drained.IsZero() {
		t.Error("drained in the step that evicted the last pod")
	}
	if n := c.step("r-1", rules); n.Drained.IsZero() {
		t.Error("not drained when no pod is left")
	}
	if left := c.pods(ns); !slices.Equal(left, []string{"log"}) {
		t.Errorf("%q are left; want the one that a rule skips", left)
	}
}
