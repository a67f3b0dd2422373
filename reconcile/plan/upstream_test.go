package plan_test

import (
	"strings"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// TestScaleAndUpgradeAtOnce pushes another version and other numbers of machines
// in one commit, and other numbers once more while that rolls out.
// Source: Cluster API, #7547.
func TestScaleAndUpgradeAtOnce(t *testing.T) {
	for _, from := range []int{1, 3} {
		for _, to := range []int{1, 3, 5} {
			for _, surge := range []int{0, 1} {
				for _, workers := range [][3]int{{2, 4, 1}, {4, 1, 3}, {0, 2, 0}} {
					c := cluster(from, workers[0])
					c.ControlPlane.MaxSurge = surge
					w, err := rested(c)
					if err != nil {
						t.Fatal(err)
					}
					w.desired = change(w.desired, func(c *fleet.Cluster) {
						upgrade("v1.35.0")(c)
						c.ControlPlane.Replicas, c.Workers[0].Replicas = to, workers[1]
					})
					for range 30 {
						w.pass()
						w.advance(10 * time.Second)
					}
					w.desired = change(w.desired, func(c *fleet.Cluster) {
						c.ControlPlane.Replicas, c.Workers[0].Replicas = from, workers[2]
					})
					if err := w.rest(2000); err != nil {
						t.Fatalf("control plane %d→%d→%d with surge %d, workers %v: %v", from, to, from, surge, workers, err)
					}
					if len(w.violations) > 0 {
						t.Fatal(w.violations[0])
					}
					if len(w.machines) != from+workers[2] || len(w.members) != from {
						t.Errorf("%d machines and %d members of etcd, want %d and %d", len(w.machines), len(w.members), from+workers[2], from)
					}
				}
			}
		}
	}
}

// TestBadSpecIsMendedByTheNextPush: machines of a template never join, which no
// health check looks after. The next push, or one that takes it back, is all that
// it takes.
// Source: Cluster API, #3483.
func TestBadSpecIsMendedByTheNextPush(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		for _, surge := range []int{0, 1} {
			for _, after := range []string{"mended", ""} {
				w, err := rested(sized(replicas, surge))
				if err != nil {
					t.Fatal(err)
				}
				w.push("bad")
				w.push(after)
				if err := w.rest(2000); err != nil {
					t.Errorf("control plane of %d, surge %d, then template %q: %v", replicas, surge, after, err)
				}
			}
		}
	}
	w := newWorld(sized(3, 1))
	w.push("bad")
	w.push("mended")
	if err := w.rest(2000); err != nil {
		t.Errorf("the first machine: %v", err)
	}
	if len(w.violations) > 0 {
		t.Error(w.violations[0])
	}
}

func sized(replicas, surge int) *fleet.Cluster {
	c := cluster(replicas, 2)
	c.ControlPlane.MaxSurge, c.Workers[0].MaxUnavailable = surge, 1-surge
	c.Workers[0].MaxSurge = surge
	return c
}

// push asks for another template everywhere and lets an hour pass. Machines of
// the template bad never join.
func (w *world) push(variant string) {
	w.desired = change(w.desired, func(c *fleet.Cluster) {
		c.ControlPlane.Template = template(c.ControlPlane.Version, variant)
		for i := range c.Workers {
			c.Workers[i].Template = c.ControlPlane.Template
		}
	})
	w.broken = template(w.desired.ControlPlane.Version, "bad")
	for range 120 {
		w.pass()
		w.advance(30 * time.Second)
	}
}

// TestSeveralFaultsAtOnce breaks several control-plane machines in one moment, as
// many as etcd survives: all are replaced, and etcd keeps its quorum throughout.
// Source: Cluster API, KubeadmControlPlane remediation.
func TestSeveralFaultsAtOnce(t *testing.T) {
	timeout, retry := int32(120), int32(5)
	for name, c := range map[string]struct{ replicas, dead, deaf int }{
		"two of five":                           {5, 2, 0},
		"two of five, and the node of another":  {5, 2, 1},
		"one of three, and the node of another": {3, 1, 1},
		"the nodes of all but one":              {3, 0, 2},
	} {
		d := cluster(c.replicas, 2)
		d.ControlPlane.Remediation.MaxRetry = &retry
		d.HealthChecks = []clusterv1.MachineHealthCheck{{Spec: clusterv1.MachineHealthCheckSpec{Checks: clusterv1.MachineHealthCheckChecks{
			UnhealthyNodeConditions: []clusterv1.UnhealthyNodeCondition{{Type: "Ready", Status: "False", TimeoutSeconds: &timeout}},
		}}}}
		w, err := rested(d)
		if err != nil {
			t.Fatal(err)
		}
		var broken []*simMachine
		for _, m := range w.machines {
			if m.Role == fleet.RoleControlPlane && len(broken) < c.dead+c.deaf {
				broken = append(broken, m)
			}
		}
		for i, m := range broken {
			w.kill(m)
			for j := range w.members {
				if i >= c.dead && w.members[j].Name == string(m.Name) {
					w.members[j].Healthy = true // its etcd and API server go on
				}
			}
		}
		for range 600 {
			w.pass()
			w.advance(10 * time.Second)
			if !w.reachable() {
				t.Fatalf("%s: the API server or the quorum of etcd is lost\n%s", name, strings.Join(tail(w.log, 40), "\n"))
			}
		}
		if err := w.rest(10); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(w.violations) > 0 {
			t.Errorf("%s: %s", name, w.violations[0])
		}
	}
}
