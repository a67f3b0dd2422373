package plan_test

import (
	"testing"
	"time"

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
