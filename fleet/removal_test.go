package fleet_test

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// A pool is removed from Git. Its machines go by the rules that held for them.
func TestRemovalOfADepartedPool(t *testing.T) {
	rule := clusterv1.MachineDrainRule{ObjectMeta: metav1.ObjectMeta{Name: "batch"}}
	rule.Spec.Drain.Behavior = clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted
	rule.Spec.Machines = []clusterv1.MachineDrainRuleMachineSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "batch"}}}}
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu"}, DrainRules: []clusterv1.MachineDrainRule{rule}}
	p := fleet.Pool{
		Name: "jobs", Role: fleet.RoleWorker, Labels: map[string]string{"tier": "batch"}, NodeDrainTimeoutSeconds: 60, MaxUnavailable: 2, DeletionOrder: fleet.DeleteOldest,
		Annotations: map[string]string{clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation: "", "other": ""},
	}
	r, special := c.RemovalOf(&p)
	if want := (fleet.PoolRemoval{Pool: "jobs", DrainSeconds: 60, Exclude: []string{clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation}, Labels: p.Labels, MaxUnavailable: 2, Order: "Oldest"}); !special || !reflect.DeepEqual(r, want) {
		t.Errorf("removal %+v, special %t, want %+v", r, special, want)
	}
	c = c.WithRemovals([]fleet.PoolRemoval{r})
	if n := len(c.DrainRulesOf("jobs")); n != 1 {
		t.Errorf("%d drain rules hold for the pool, want 1", n)
	}
	if n := len(c.DrainRulesOf("other")); n != 0 {
		t.Errorf("%d drain rules hold for another pool, want 0", n)
	}
	if got := c.Departed("jobs"); got.NodeDrainTimeoutSeconds != 60 || len(got.Annotations) != 1 || got.MaxUnavailable != 2 || got.DeletionOrder != "Oldest" {
		t.Errorf("departed pool %+v", got)
	}
	if _, special := c.RemovalOf(&fleet.Pool{Name: "plain", Role: fleet.RoleWorker, MaxUnavailable: 1, DeletionOrder: "Random"}); special {
		t.Error("a pool without settings is remembered")
	}
}
