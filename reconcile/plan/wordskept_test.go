package plan_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
)

// kept reads a line about a pool that the cloud keeps, as Git has it.
func (s *script) kept(name fleet.PoolName, w words) {
	s.in.Desired.KeptPools = append(s.in.Desired.KeptPools, fleet.KeptPool{
		Name: name, Count: w.number("count", 1), Range: poolRange(w), Version: cmp.Or(w["version"], "v1.34.2"),
		MinReadySeconds: w.number("min-ready", 0), Paused: w.is("paused"),
	})
}

// seen reads a line about a pool that the cloud keeps, as it was seen, with its machines and Nodes.
func (s *script) seen(name fleet.PoolName, w words) {
	p := fleet.KeptPoolSeen{
		Name: name, State: fleet.KeptState(cmp.Or(w["state"], "Active")), Message: w["message"], Count: w.number("count", 1), Range: poolRange(w),
		Version: cmp.Or(w["version"], "v1.34.2"), Damaged: w["damaged"],
	}
	if w.is("drift") {
		p.Drift = []string{w["drift"]}
	}
	if w.is("fixed") {
		p.Fixed = []string{w["fixed"]}
	}
	if w["version"] == "none" {
		p.Version = ""
	}
	o := &s.in.Observed
	for i := range w.number("machines", p.Count) {
		id := fleet.ProviderID(fmt.Sprintf("cloud://%s-%d", cmp.Or(w["id"], string(name)), i))
		if w["id"] == "none" {
			p.Machines = append(p.Machines, "")
			continue
		}
		p.Machines = append(p.Machines, id)
		if i < w.number("nodes", p.Count) {
			o.Workload.Nodes = append(o.Workload.Nodes, fleet.Node{
				Name: fmt.Sprintf("%s-%d", cmp.Or(w["id"], string(name)), i), ProviderID: id, Ready: i < w.number("ready", p.Count),
				KubeletVersion: cmp.Or(w["kubelet"], p.Version), Created: s.in.Now.Add(-w.duration("age")), Annotations: s.annotations(w),
			})
		}
	}
	o.Infrastructure.Pools = append(o.Infrastructure.Pools, p)
}

// annotations are those by which a Node says that a machine of the cluster is behind it, as controllers of
// Cluster API write them.
func (s *script) annotations(w words) map[string]string {
	if !w.is("adopted") {
		return nil
	}
	k := s.in.Desired.Key
	return map[string]string{"cluster.x-k8s.io/machine": "m", "cluster.x-k8s.io/cluster-name": k.Name, "cluster.x-k8s.io/cluster-namespace": k.Namespace}
}

func poolRange(w words) *fleet.PoolRange {
	lower, upper, ok := strings.Cut(w["range"], "-")
	if !ok {
		return nil
	}
	return &fleet.PoolRange{Min: words{"n": lower}.number("n", 0), Max: words{"n": upper}.number("n", 0)}
}

// keptOf is what a change of a pool that the cloud keeps is about.
func keptOf(c forecast.Change) string {
	switch c.Kind {
	case forecast.CreatePool, forecast.UpdatePool, forecast.DeletePool:
		return string(c.Pool)
	}
	return ""
}

// TestDeferredPoolVersion: another change of a pool whose upgrade people defer asks for the version that it has.
func TestDeferredPoolVersion(t *testing.T) {
	s := newScript()
	s.hosted(words{"version": "v1.34.2", "has": "v1.34.2", "served": "v1.34.2"})
	s.kept("a", words{"version": "v1.34.2", "count": "2"})
	s.seen("a", words{"version": "v1.33.5"})
	s.topology(words{"defer": "a"})
	p := plan.Compute(s.in)
	if len(p.Actions) != 1 || p.Actions[0].Kind != fleet.EnsurePool || p.Desired.KeptPools[0].Version != "v1.33.5" {
		t.Errorf("actions %v, version %s", p.Actions, p.Desired.KeptPools[0].Version)
	}
	if got := s.in.Desired.KeptPools[0].Version; got != "v1.34.2" {
		t.Errorf("Git has %s now", got)
	}
}
