package workload_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/providers"
)

// watched starts a watch and returns how often it called.
func (c *cluster) watched(ctx context.Context) *atomic.Int64 {
	var calls atomic.Int64
	c.Watch(ctx, c.access, func() { calls.Add(1) })
	return &calls
}

func TestWatch(t *testing.T) {
	c := start(t)
	n := node("w-1", corev1.ConditionTrue, nil)
	c.put(t, n)
	calls := c.watched(t.Context())
	eventually(t, "the node that was there", func() bool { return calls.Load() == 1 })

	// heartbeat changes what does not matter, and is followed by what does: that
	// is how the test knows that the heartbeat came and was not told of.
	step := func(what string, change func()) {
		t.Helper()
		before := calls.Load()
		n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(n.Status.Conditions[0].LastHeartbeatTime.Add(time.Hour))
		c.put(t, n)
		change()
		eventually(t, what, func() bool { return calls.Load() > before })
		if got := calls.Load() - before; got != 1 {
			t.Errorf("%s: called %d times, want once", what, got)
		}
	}
	step("not ready", func() { n.Status.Conditions[0].Status = corev1.ConditionFalse; c.put(t, n) })
	step("cordoned", func() { n.Spec.Unschedulable = true; c.put(t, n) })
	step("tainted", func() { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: "NoSchedule"}}; c.put(t, n) })
	step("labelled", func() { n.Labels = map[string]string{"a": "b"}; c.put(t, n) })
	step("annotated", func() { n.Annotations = map[string]string{"a": "b"}; c.put(t, n) })
	step("upgraded", func() { n.Status.NodeInfo.KubeletVersion = "v1.35.0"; c.put(t, n) })
	step("another node", func() { c.put(t, node("w-2", corev1.ConditionTrue, nil)) })
	step("deleted", func() {
		c.Server.Delete(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "", "w-2")
	})
}

func TestWatchResumes(t *testing.T) {
	c := start(t)
	calls := c.watched(t.Context())
	c.put(t, node("w-1", corev1.ConditionTrue, nil))
	eventually(t, "the first node", func() bool { return calls.Load() > 0 })

	before := calls.Load()
	c.SetAvailable(false)
	eventually(t, "the loss of the API server", func() bool { return calls.Load() > before })
	c.put(t, node("w-2", corev1.ConditionTrue, nil)) // while nobody watches
	c.SetAvailable(true)
	before = calls.Load()
	eventually(t, "the node that came meanwhile", func() bool { return calls.Load() > before })
}

func TestWatchResumesBehindTheHistory(t *testing.T) {
	c := start(t)
	calls := c.watched(t.Context())
	n := node("w-1", corev1.ConditionTrue, map[string]string{})
	c.put(t, n)
	eventually(t, "the first node", func() bool { return calls.Load() > 0 })
	c.SetAvailable(false)
	for i := range 200 {
		n.Status.Conditions[0].LastHeartbeatTime = metav1.Unix(int64(i), 0)
		c.put(t, n)
	}
	c.SetAvailable(true)
	// Each failure to watch is told of, too, but at growing intervals: only a
	// stream that is open again tells of so many changes, one after the other.
	seen, before := 0, calls.Load()
	eventually(t, "20 changes after the watch began anew", func() bool {
		if now := calls.Load(); now > before {
			seen, before = seen+1, now
			n.Labels["a"] += "b"
			c.put(t, n)
		}
		return seen >= 20
	})
}

func TestForgetEndsTheWatch(t *testing.T) {
	c := start(t)
	calls := c.watched(t.Context())
	c.put(t, node("w-1", corev1.ConditionTrue, nil))
	eventually(t, "the first node", func() bool { return calls.Load() > 0 })
	c.Forget(key)
	c.Close() // waits for the watch
	before := calls.Load()
	c.put(t, node("w-2", corev1.ConditionTrue, nil))
	if got := calls.Load(); got != before {
		t.Errorf("after Forget: called %d times", got-before)
	}
	again := c.watched(t.Context())
	eventually(t, "a watch after Forget", func() bool { return again.Load() > 0 })
}

func TestWatchGoesOnWithANewKubeconfig(t *testing.T) {
	c := start(t)
	calls := c.watched(t.Context())
	c.put(t, node("w-1", corev1.ConditionTrue, nil))
	eventually(t, "the first node", func() bool { return calls.Load() > 0 })

	second := providers.Access{Cluster: key, Kubeconfig: c.ca.kubeconfig(t, c.url, c.ca.certPEM, time.Now().Add(time.Hour))}
	if _, err := c.Observe(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	var never atomic.Int64
	c.Watch(t.Context(), second, func() { never.Add(1) })
	before := calls.Load()
	c.put(t, node("w-2", corev1.ConditionTrue, nil))
	eventually(t, "a change over the new connection", func() bool { return calls.Load() > before })
	if never.Load() != 0 {
		t.Error("there are two watches of one cluster")
	}
}
