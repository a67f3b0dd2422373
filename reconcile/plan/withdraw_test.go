package plan_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan"
)

// TestRemovalIsWithdrawn: a server that was asked to leave etcd, and whose removal is not in
// the plan any more, is told to stay.
func TestRemovalIsWithdrawn(t *testing.T) {
	for name, c := range map[string]struct {
		world  string
		leaves string
		began  bool // the removal was asked for a moment ago
		blind  bool // nobody has looked at etcd
		want   bool
	}{
		"nothing is planned":         {world: "control-plane replicas=3", want: true},
		"it goes":                    {world: "control-plane replicas=2", leaves: "draining drained"},
		"it was asked a moment ago":  {world: "control-plane replicas=3", began: true},
		"another one is not healthy": {world: "control-plane replicas=2\nbroken", leaves: "draining drained", want: true},
		"the cluster is deleted":     {world: "cluster delete\ncontrol-plane replicas=3"},
		"its workers are deleted":    {world: "cluster delete\ncontrol-plane replicas=3\npool md replicas=1\nmachine md/0@v1.34.2"},
		"nobody can look":            {world: "control-plane replicas=3\napi down"},
		"etcd is looked at first":    {world: "control-plane replicas=2", leaves: "draining drained", blind: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			world, broken := strings.CutSuffix(c.world, "\nbroken")
			lines := append([]string{"distribution leave-is-asked node-is-member"}, strings.Split(world, "\n")...)
			for _, m := range []string{"machine cp/0@v1.34.2 " + c.leaves, "machine cp/1@v1.34.2", "machine cp/2@v1.34.2"} {
				if broken && strings.Contains(m, "cp/1") {
					m += " member=sick"
				}
				lines = append(lines, m)
			}
			if !c.blind {
				lines = append(lines, "etcd")
			}
			for _, line := range lines {
				if err := s.read(strings.Fields(line)); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
			}
			s.finish()
			first := s.in.Observed.Infrastructure.Machines[0]
			for _, m := range s.in.Observed.Infrastructure.Machines {
				if s.alias[string(m.Name)] == "cp/0@v1.34.2" {
					first = m
				}
			}
			node := string(first.Name)
			s.in.Observed.Distribution.Steps = map[string][]fleet.Step{"v1.34.2": {{Name: "KeepMember/" + node, When: fleet.UnlessLeaving, Node: node, Reason: "r"}}}
			if c.began {
				s.in.Attempts = append(s.in.Attempts, fleet.Attempt{
					Action: fleet.Action{Kind: fleet.RemoveMember, Node: node, Machine: first.Name}, At: s.in.Now.Add(-time.Second), Answered: true,
				})
			}
			p := plan.Compute(s.in)
			got := false
			for _, a := range p.Actions {
				got = got || a.Kind == fleet.ApplyStep && a.Step == "KeepMember/"+node && a.Node == node
			}
			if got != c.want {
				t.Errorf("withdrawn: %t, want %t; actions %v, waiting %q", got, c.want, p.Actions, p.Waiting)
			}
		})
	}
}
