package plan_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// A machine of a control plane that was renamed is drained by the rules of what it
// is called now.
func TestDrainOfARenamedControlPlane(t *testing.T) {
	s := newScript()
	for _, line := range []string{"control-plane replicas=1", "machine cp/0@v1.34.2", "machine cp-old/0@v1.34.2", "etcd"} {
		if err := s.read(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
	}
	s.finish()
	var drained []fleet.PoolName
	for _, a := range plan.Compute(s.in).Actions {
		if a.Kind == fleet.DrainNode {
			drained = append(drained, a.Pool)
		}
	}
	if !slices.Equal(drained, []fleet.PoolName{"cp"}) {
		t.Errorf("drained by the rules of %v, want those of cp", drained)
	}
}

// Of two servers of one name the one stays that the Node is on, though the Node's
// id names a region that the infrastructure's does not.
func TestNodeInARegion(t *testing.T) {
	for _, joined := range []string{"u1", "u2"} {
		s := newScript()
		name := fleet.NewMachineName(s.in.Desired.Key, "cp", s.in.Desired.ControlPlane.Template, 0)
		for _, id := range []string{"u1", "u2"} {
			s.in.Observed.Infrastructure.Machines = append(s.in.Observed.Infrastructure.Machines, fleet.Machine{
				Name: name, ProviderID: fleet.ProviderID("openstack:///" + id), Pool: "cp", Role: fleet.RoleControlPlane,
				Template: s.in.Desired.ControlPlane.Template, Version: s.in.Desired.ControlPlane.Version, State: fleet.MachineRunning,
				Created: s.in.Now.AddDate(0, 0, -1),
			})
		}
		s.in.Observed.Workload.Nodes = []fleet.Node{{Name: string(name), ProviderID: fleet.ProviderID("openstack://west/" + joined), ControlPlane: true}}
		s.in.Observed.Workload.Etcd = &fleet.Etcd{Members: []fleet.Member{{ID: 1, Name: string(name), Node: string(name), Healthy: true}}}
		var deleted fleet.ProviderID
		for _, a := range plan.Compute(s.in).Actions {
			if a.Kind == fleet.DeleteMachine {
				deleted = a.ProviderID
			}
		}
		want := map[string]fleet.ProviderID{"u1": "openstack:///u2", "u2": "openstack:///u1"}[joined]
		if deleted != want {
			t.Errorf("the Node is on %s: %s is deleted, want %s", joined, deleted, want)
		}
	}
}
