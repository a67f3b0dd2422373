package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// TestRolloutPassesAStuckDrain rolls a pool of which one machine never ends its drain:
// an outdated one, or a new one that people have remediated. It costs its own share of
// maxSurge and maxUnavailable and no more: where that leaves any, all others are
// replaced, and enough of them stay available on the way.
func TestRolloutPassesAStuckDrain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		desired := drawCluster(t)
		desired.Workers = []fleet.Pool{drawPool(t, 0)}
		p := &desired.Workers[0]
		p.Replicas = rapid.IntRange(2, 6).Draw(t, "replicas")
		p.MaxUnavailable = min(p.MaxUnavailable, p.Replicas)
		if p.MaxSurge+p.MaxUnavailable < 2 {
			p.MaxSurge++
		}
		w, err := rested(desired)
		if err != nil {
			t.Fatal(err)
		}
		old := p.Template
		w.desired = change(w.desired, func(c *fleet.Cluster) { c.Workers[0].Template = template(c.Workers[0].Version, "b") })
		outdated := rapid.Bool().Draw(t, "an outdated one")
		c := &chaos{world: w, t: t, twins: map[fleet.MachineName]bool{}}
		for range 400 {
			c.jam(outdated, old)
			in, plan := c.plan()
			c.judge(in, plan)
			for _, a := range plan.Actions {
				c.remember(a, true)
				c.carryOut(a)
			}
			c.advance(10 * time.Second)
		}
		left, fresh := 0, 0
		for _, m := range c.machines {
			switch {
			case m.Pool != p.Name || m.Name == c.stuck:
			case m.Template == old:
				left++
			default:
				fresh++
			}
		}
		if want := p.Replicas - 1; c.stuck == "" || left > 0 || fresh < want {
			t.Fatalf("RolloutPassesAStuckDrain: %s is stuck, %d others are outdated, %d of %d are new: %+v\n%s",
				c.stuck, left, fresh, want, *p, strings.Join(tail(c.log, 60), "\n"))
		}
	})
}

// jam has the drain of the first machine that is to go never end: an outdated one, or
// the first new one, which people have remediated.
func (c *chaos) jam(outdated bool, old fleet.TemplateHash) {
	pool := c.desired.Workers[0].Name
	if c.stuck != "" {
		return
	}
	i := slices.IndexFunc(c.machines, func(m *simMachine) bool {
		n := c.nodes[string(m.Name)]
		return m.Pool == pool && n != nil && n.Ready && (m.Template == old) == outdated && (!outdated || n.Draining)
	})
	if i < 0 {
		return
	}
	m := c.machines[i]
	c.stuck = m.Name
	n := c.nodes[string(m.Name)]
	if n.Pods = append(n.Pods, fleet.Pod{Namespace: "default", Name: "stays", Blocked: "disruption budget"}); !outdated {
		n.Annotations[clusterv1.RemediateMachineAnnotation] = ""
	}
}
