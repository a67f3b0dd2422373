package fleet_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// TestOfOutdated taints the Nodes of outdated workers, and leaves the pool and
// control planes as they are.
func TestOfOutdated(t *testing.T) {
	taints := make([]clusterv1.MachineTaint, 0, 4)
	taints = append(taints, clusterv1.MachineTaint{Key: "always", Effect: "NoSchedule", Propagation: "Always"})
	p := fleet.Pool{Name: "md-0", Role: fleet.RoleWorker, Taints: taints}
	want := []corev1.Taint{{Key: "always", Effect: "NoSchedule"}, {Key: "node.cluster.x-k8s.io/outdated-revision", Effect: "PreferNoSchedule"}}
	if got := fleet.NodeTaints(p.OfOutdated(), nil, nil); !slices.Equal(got, want) {
		t.Errorf("an outdated worker has %v, want %v", got, want)
	}
	if got := fleet.NodeTaints(p, nil, want); !slices.Equal(got, want[:1]) {
		t.Errorf("a worker that is not outdated any more has %v, want %v", got, want[:1])
	}
	if extra := taints[:2][1]; extra.Key != "" {
		t.Errorf("the taints of the pool were written to: %v", extra)
	}
	p.Role = fleet.RoleControlPlane
	if got := fleet.NodeTaints(p.OfOutdated(), nil, nil); !slices.Equal(got, want[:1]) {
		t.Errorf("an outdated control plane has %v, want %v", got, want[:1])
	}
	p.Role, p.Kind = fleet.RoleWorker, fleet.LoneMachine // which nothing replaces
	if got := fleet.NodeTaints(p.OfOutdated(), nil, nil); !slices.Equal(got, want[:1]) {
		t.Errorf("an outdated Machine that stands alone has %v, want %v", got, want[:1])
	}
}

// TestTurnsOfTheUnreachable: a pod that was deleted is waited for, unless its Node
// does not answer and its time is over.
func TestTurnsOfTheUnreachable(t *testing.T) {
	now := time.Now()
	pods := []fleet.Pod{{Name: "a", Deleted: now.Add(-time.Minute)}, {Name: "b", Deleted: now}}
	if got, want := fleet.DrainRules(nil).Behaviors(pods, true, now), []fleet.DrainBehavior{fleet.DrainSkip, fleet.DrainEvict}; !slices.Equal(got, want) {
		t.Errorf("on a Node that does not answer: behaviors %v, want %v", got, want)
	}
	if got, want := fleet.DrainRules(nil).Behaviors(pods, false, now), []fleet.DrainBehavior{fleet.DrainEvict, fleet.DrainEvict}; !slices.Equal(got, want) {
		t.Errorf("on one that does: behaviors %v, want %v", got, want)
	}
}

// TestTurnsWhileTerminating has a pod of a lower order that is on its way out:
// the next order waits for it, and one that is on its way out already is no
// "later" one.
func TestTurnsWhileTerminating(t *testing.T) {
	now := time.Now()
	rules := fleet.DrainRules{
		{Spec: clusterv1.MachineDrainRuleSpec{
			Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: "Drain", Order: new(int32(-1))},
			Pods:  []clusterv1.MachineDrainRulePodSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"first": ""}}}},
		}},
	}
	pods := []fleet.Pod{
		{Name: "a", Labels: map[string]string{"first": ""}, Deleted: now.Add(time.Minute)},
		{Name: "b"},
		{Name: "c", Deleted: now.Add(time.Minute)},
	}
	want := []fleet.DrainBehavior{fleet.DrainEvict, fleet.DrainLater, fleet.DrainEvict}
	if got := rules.Behaviors(pods, false, now); !slices.Equal(got, want) {
		t.Errorf("behaviors %v, want %v", got, want)
	}
	if got := rules.Behaviors(pods[1:], false, now); !slices.Equal(got, []fleet.DrainBehavior{fleet.DrainEvict, fleet.DrainEvict}) {
		t.Errorf("once the first is gone: behaviors %v, want both to go", got)
	}
}
