package exec_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/reconcile/exec"
)

// sets records what is done about resource sets.
type sets struct {
	providers.Workload
	calls []string
}

func (s *sets) ApplyResources(_ context.Context, _ providers.Access, set fleet.ResourceSet, names []string) error {
	s.calls = append(s.calls, fmt.Sprintf("apply %s %s %v", set.Name, set.Strategy, names))
	return nil
}

func (s *sets) PruneResources(_ context.Context, _ providers.Access, set fleet.ResourceSet, objects []fleet.ObjectRef) error {
	s.calls = append(s.calls, fmt.Sprintf("prune %s %q %v", set.Name, set.Strategy, objects))
	return nil
}

// TestResources hands on the set that the definition holds; one that it does not
// hold any more can be pruned, and not applied.
func TestResources(t *testing.T) {
	key := fleet.Key{Namespace: "prod", Name: "eu-1"}
	c := &fleet.Cluster{Key: key, ResourceSets: []fleet.ResourceSet{{Name: "cni", Strategy: fleet.ReconcileStrategy}}}
	w := &sets{}
	e := exec.Executor{Workload: w, Now: time.Now, Log: slog.New(slog.DiscardHandler), Parallel: 1}
	gone := []fleet.ObjectRef{{Kind: "ConfigMap", Namespace: "net", Name: "a"}}
	out := e.Run(t.Context(), exec.Environment{Cluster: c, Distribution: kubeadm.Distribution{}, Secrets: secrets{}, Memory: &ledger{ended: map[fleet.MachineName]error{}}, Seen: time.Now()}, []fleet.Action{
		{Kind: fleet.ApplyResources, Cluster: key, Addon: "cni", Resources: []string{"ConfigMap/cni"}},
		{Kind: fleet.PruneResources, Cluster: key, Addon: "cni", Objects: gone},
		{Kind: fleet.PruneResources, Cluster: key, Addon: "gone", Objects: gone},
		{Kind: fleet.ApplyResources, Cluster: key, Addon: "gone"},
	})
	want := []string{
		"apply cni Reconcile [ConfigMap/cni]", `prune cni "Reconcile" [ConfigMap net/a]`, `prune gone "" [ConfigMap net/a]`,
	}
	if !slices.Equal(w.calls, want) {
		t.Errorf("calls %q, want %q", w.calls, want)
	}
	if err := out[3].Err; fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("applying a set that is not there: %v", err)
	}
}
