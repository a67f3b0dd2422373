package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
)

// drawCluster draws a cluster with health checks for all of its machines.
func drawCluster(t *rapid.T) *fleet.Cluster {
	c := cluster(rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "control planes"))
	c.ControlPlane.MaxSurge = rapid.IntRange(0, 1).Draw(t, "control plane surge")
	for i := range rapid.IntRange(0, 2).Draw(t, "pools") {
		c.Workers = append(c.Workers, drawPool(t, i))
	}
	timeout := int32(120)
	c.HealthChecks = []clusterv1.MachineHealthCheck{{
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Spec: clusterv1.MachineHealthCheckSpec{Checks: clusterv1.MachineHealthCheckChecks{
			UnhealthyNodeConditions: []clusterv1.UnhealthyNodeCondition{{Type: "Ready", Status: "False", TimeoutSeconds: &timeout}},
		}},
	}}
	return c
}

func drawNaming(t *rapid.T) naming {
	return rapid.SampledFrom([]naming{byNameAndID, byName, otherwise}).Draw(t, "naming")
}

func drawPool(t *rapid.T, i int) fleet.Pool {
	p := cluster(1, 1).Workers[0]
	p.Name = fleet.PoolName(fmt.Sprintf("eu-1-md-%d", i))
	p.Replicas = rapid.IntRange(0, 5).Draw(t, "replicas")
	p.MaxSurge = rapid.IntRange(0, 3).Draw(t, "surge")
	p.MaxUnavailable = rapid.IntRange(0, 2).Draw(t, "unavailable")
	if p.MaxSurge == 0 {
		p.MaxUnavailable = max(p.MaxUnavailable, 1)
	}
	p.MaxRemediations = rapid.SampledFrom([]int{-1, 1, 2}).Draw(t, "remediations")
	p.MinReadySeconds = rapid.SampledFrom([]int{0, 30}).Draw(t, "minReadySeconds")
	if rapid.IntRange(0, 2).Draw(t, "site") == 0 {
		p.Provider = yard
	}
	p.DeletionOrder = rapid.SampledFrom([]fleet.DeletionOrder{fleet.DeleteRandom, fleet.DeleteNewest, fleet.DeleteOldest}).Draw(t, "order")
	return p
}

// mutate draws a change of what Git asks for.
func mutate(t *rapid.T, c *fleet.Cluster) *fleet.Cluster {
	return change(c, func(c *fleet.Cluster) {
		switch rapid.SampledFrom([]string{"scale", "template", "upgrade", "control plane", "vanish", "appear", "surge"}).Draw(t, "change") {
		case "scale":
			if n := len(c.Workers); n > 0 {
				c.Workers[rapid.IntRange(0, n-1).Draw(t, "pool")].Replicas = rapid.IntRange(0, 6).Draw(t, "replicas")
			}
		case "template":
			variant := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "variant")
			if n := len(c.Workers); n > 0 && rapid.Bool().Draw(t, "worker") {
				p := &c.Workers[rapid.IntRange(0, n-1).Draw(t, "pool")]
				p.Template = template(p.Version, variant)
				return
			}
			c.ControlPlane.Template = template(c.ControlPlane.Version, variant)
		case "upgrade":
			upgrade(rapid.SampledFrom([]string{"v1.34.2", "v1.35.0", "v1.36.1"}).Draw(t, "version"))(c)
		case "control plane":
			c.ControlPlane.Replicas = rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "control planes")
		case "vanish":
			if len(c.Workers) > 0 {
				c.Workers = c.Workers[:len(c.Workers)-1]
			}
		case "appear":
			p := drawPool(t, len(c.Workers))
			p.Version, p.Template = c.ControlPlane.Version, template(c.ControlPlane.Version, "")
			c.Workers = append(c.Workers, p)
		case "surge":
			c.ControlPlane.MaxSurge = 1 - c.ControlPlane.MaxSurge
		}
	})
}

// TestNothingBreaksAndEverythingConverges runs a cluster under faults, pushes
// and restarts; every plan on the way is safe, and in the end Git has its way.
func TestNothingBreaksAndEverythingConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &chaos{world: newWorld(drawCluster(t)), t: t, twins: map[fleet.MachineName]bool{}}
		for i := range c.desired.Workers {
			c.desired.Workers[i].Strategy = rapid.SampledFrom([]fleet.Strategy{fleet.RollingUpdate, fleet.RollingUpdate, fleet.OnDelete}).Draw(t, "strategy")
		}
		c.pods = rapid.IntRange(0, 2).Draw(t, "pods")
		c.naming = drawNaming(t)
		c.drawClocks()
		if rapid.Bool().Draw(t, "provisioned") {
			if err := c.rest(1000); err != nil {
				t.Fatal(err)
			}
		}
		c.foreign()
		for range rapid.IntRange(20, 150).Draw(t, "steps") {
			c.step()
		}
		c.calm()
		switch err := c.rest(3000); {
		case err == nil:
			c.check()
			c.inspect()
		case !c.overtaken || c.hasControlPlane(): // else people restore the cluster, or delete it
			t.Fatalf("ConvergesToDesired: %v", err)
		}
		c.desired = change(c.desired, func(d *fleet.Cluster) { d.Delete = true })
		for range rapid.IntRange(0, 20).Draw(t, "steps of deletion") {
			c.step()
		}
		c.calm()
		c.desired = change(c.desired, func(d *fleet.Cluster) { d.Delete = true })
		if err := c.rest(1000); err != nil {
			t.Fatalf("ConvergesToDesired: %v", err)
		}
		c.check()
		if len(c.machines) > 0 || c.infra.Exists || c.yard.Exists || len(c.secrets.Missing) != 4 || c.secrets.Kubeconfig.Exists {
			c.fail("a deletion left something over: %v %v %v", c.machines, c.infra, c.secrets)
		}
	})
}

// TestNoMinorIsSkipped has a cluster under faults go to a version that skips a minor one. The
// property of that name, which every plan is judged by, holds.
func TestNoMinorIsSkipped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &chaos{world: newWorld(drawCluster(t)), t: t, twins: map[fleet.MachineName]bool{}}
		c.naming = drawNaming(t)
		if err := c.rest(1000); err != nil {
			t.Fatal(err)
		}
		c.desired = change(c.desired, upgrade("v1.36.1"))
		for range 30 {
			c.step()
		}
	})
}

// TestPreviewIsWhatHappens pushes a change to a cluster at rest and lets a
// faultless world go on: what is created and deleted is what Preview told.
func TestPreviewIsWhatHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(drawCluster(t))
		w.naming = drawNaming(t)
		if err := w.rest(2000); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			w.desired = mutate(t, w.desired)
		}
		if rapid.Bool().Draw(t, "delete") {
			w.desired = change(w.desired, func(c *fleet.Cluster) { c.Delete = true })
		}
		for _, m := range w.machines {
			if rapid.IntRange(0, 4).Draw(t, "mark") == 0 {
				w.nodes[w.nodeName(m)].Annotations[clusterv1.DeleteMachineAnnotation] = ""
			}
		}
		var told []string
		for _, ch := range forecast.Of(w.input(false)).Changes {
			switch ch.Kind {
			case forecast.CreateMachine:
				told = append(told, "create "+string(ch.Machine))
			case forecast.DeleteMachine:
				told = append(told, "delete "+string(ch.Machine))
			case forecast.ReplaceMachine:
				told = append(told, "delete "+string(ch.Machine), "create "+string(ch.By))
			}
		}
		var done []string
		for range 3000 {
			_, p := w.plan()
			for _, a := range p.Actions {
				switch a.Kind {
				case fleet.CreateMachine:
					done = append(done, "create "+string(a.Machine))
				case fleet.DeleteMachine:
					done = append(done, "delete "+string(a.Machine))
				}
			}
			if p = w.pass(); w.done(p) {
				break
			}
			w.advance(10 * time.Second)
		}
		slices.Sort(told)
		slices.Sort(done)
		if !slices.Equal(told, slices.Compact(done)) {
			t.Fatalf("PreviewIsWhatHappens: told\n%s\ndone\n%s\n%s", strings.Join(told, "\n"), strings.Join(done, "\n"), strings.Join(tail(w.log, 60), "\n"))
		}
		if rest := forecast.Of(w.input(false)).Changes; !w.desired.Delete && len(rest) > 0 {
			t.Fatalf("PreviewIsWhatHappens: at rest it tells %v", rest)
		}
	})
}
