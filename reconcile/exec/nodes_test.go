package exec_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/reconcile/exec"
)

// nodes records what Nodes are to be in line with, and how they are drained.
type nodes struct {
	providers.Workload
	pools    map[string]fleet.Pool
	machines map[string]fleet.MachineName
	rules    map[string]fleet.DrainRules
	back     []string // nodes whose drain is taken back
}

func (n *nodes) SyncNode(_ context.Context, _ providers.Access, node string, m fleet.MachineName, p fleet.Pool) error {
	n.machines[node] = m
	n.pools[node] = p
	return nil
}

func (n *nodes) Drain(_ context.Context, _ providers.Access, node string, rules fleet.DrainRules) error {
	n.rules[node] = rules
	return nil
}

func (n *nodes) Uncordon(_ context.Context, _ providers.Access, node string) error {
	n.back = append(n.back, node)
	return nil
}

// secrets has all of them, empty.
type secrets struct{ exec.Secrets }

func (secrets) Get(context.Context, fleet.Key, fleet.SecretName) (fleet.SecretData, error) {
	return fleet.SecretData{}, nil
}

// TestNodes hands on what the definition says of Nodes: the taint of outdated
// ones, and the MachineDrainRules that select their machines.
func TestNodes(t *testing.T) {
	key := fleet.Key{Namespace: "prod", Name: "eu-1"}
	rule := func(name, pool string) clusterv1.MachineDrainRule {
		return clusterv1.MachineDrainRule{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.MachineDrainRuleSpec{
			Machines: []clusterv1.MachineDrainRuleMachineSelector{{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"cluster.x-k8s.io/deployment-name": pool}},
			}},
		}}
	}
	c := &fleet.Cluster{
		Key: key, Workers: []fleet.Pool{{Name: "md", Role: fleet.RoleWorker}},
		DrainRules: fleet.DrainRules{rule("a", "md"), rule("b", "gone"), rule("c", "other")},
	}
	w := &nodes{pools: map[string]fleet.Pool{}, machines: map[string]fleet.MachineName{}, rules: map[string]fleet.DrainRules{}}
	e := exec.Executor{Workload: w, Now: time.Now, Log: slog.New(slog.DiscardHandler), Parallel: 1}
	out := e.Run(t.Context(), exec.Environment{Cluster: c, Distribution: kubeadm.Distribution{}, Secrets: secrets{}, Memory: &ledger{ended: map[fleet.MachineName]error{}}, Seen: time.Now()}, []fleet.Action{
		{Kind: fleet.SyncNode, Cluster: key, Pool: "md", Machine: "m-old", Node: "old", Outdated: true},
		{Kind: fleet.SyncNode, Cluster: key, Pool: "md", Node: "new"},
		{Kind: fleet.DrainNode, Cluster: key, Pool: "md", Node: "old"},
		{Kind: fleet.DrainNode, Cluster: key, Pool: "gone", Node: "stray"},
		{Kind: fleet.UncordonNode, Cluster: key, Pool: "md", Node: "wanted"},
	})
	for _, o := range out {
		if o.Err != nil {
			t.Error(o.Err)
		}
	}
	if len(w.pools["old"].Taints) != 1 || len(w.pools["new"].Taints) != 0 {
		t.Errorf("taints %v of an outdated node, %v of another", w.pools["old"].Taints, w.pools["new"].Taints)
	}
	if got := w.machines["old"]; got != "m-old" {
		t.Errorf("node old is brought in line as that of machine %q, want m-old", got)
	}
	if len(w.back) != 1 || w.back[0] != "wanted" {
		t.Errorf("drains taken back %v, want that of node wanted", w.back)
	}
	for node, want := range map[string]string{"old": "a", "stray": "b"} {
		if r := w.rules[node]; len(r) != 1 || r[0].Name != want {
			t.Errorf("node %s is drained by %v, want rule %s", node, r, want)
		}
	}
}
