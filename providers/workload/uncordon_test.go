package workload_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet"
)

// TestUncordon: the removal of a node on which a budget keeps all pods is taken back. A cordon of
// people stays.
func TestUncordon(t *testing.T) {
	c := start(t)
	held := node("w-2", corev1.ConditionTrue, nil)
	held.Spec.Unschedulable = true
	c.put(t, node("w-1", corev1.ConditionTrue, nil), held, node("w-3", corev1.ConditionTrue, nil))
	c.put(t, budget("db", "db", 2), pod("default", "db-0", "w-1", app("db")), pod("default", "db-1", "w-2", app("db")), pod("default", "web", "w-3", nil))
	for _, name := range []string{"w-1", "w-2", "w-3"} {
		c.drain(t, name)
		n := observeNode(t, c, name)
		if !n.Draining || !n.Unschedulable || n.Evicted != (name == "w-3") {
			t.Errorf("%s is draining %t, unschedulable %t, evicted %t", name, n.Draining, n.Unschedulable, n.Evicted)
		}
	}
	for name, cordoned := range map[string]bool{"w-1": false, "w-2": true, "w-3": false, "not-there": false} {
		if err := c.Uncordon(t.Context(), c.access, name); err != nil {
			t.Fatal(err)
		}
		if name == "not-there" {
			continue
		}
		live := get[corev1.Node](t, c, "Node", "", name)
		if live.Spec.Unschedulable != cordoned {
			t.Errorf("%s is unschedulable: %t, want %t", name, live.Spec.Unschedulable, cordoned)
		}
		for _, key := range []string{fleet.DrainingAnnotation, fleet.DrainedAnnotation, fleet.EvictedAnnotation, fleet.CordonedAnnotation} {
			if _, there := live.Annotations[key]; there {
				t.Errorf("%s still has %s", name, key)
			}
		}
	}
	// Nobody removes it: the cordon is of people.
	if err := c.Uncordon(t.Context(), c.access, "w-2"); err != nil {
		t.Fatal(err)
	}
	if live := get[corev1.Node](t, c, "Node", "", "w-2"); !live.Spec.Unschedulable {
		t.Error("w-2 takes pods, though people cordoned it")
	}
}
