package plan_test

import (
	"strings"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// succeeded has an agent with another clock take the cluster over, now.
func succeeded(w *world, ahead time.Duration) {
	w.ahead, w.attempts, w.answered = ahead, nil, false
	w.since = w.clock()
}

// successions are two agents of which one is wrong, by more than any timeout or less.
func successions(t *testing.T, test func(t *testing.T, first, second time.Duration)) {
	for _, skew := range []time.Duration{25 * time.Hour, 45 * time.Minute, -45 * time.Minute, -25 * time.Hour} {
		t.Run("the second "+skew.String(), func(t *testing.T) { test(t, 0, skew) })
		t.Run("the first "+skew.String(), func(t *testing.T) { test(t, skew, 0) })
	}
}

// until passes every ten seconds until is, and returns how long that took.
func until(t *testing.T, w *world, most time.Duration, is func() bool) time.Duration {
	t.Helper()
	began := w.now
	for !is() {
		if w.now.Sub(began) > most {
			t.Fatalf("not within %s\n%s", most, strings.Join(tail(w.log, 20), "\n"))
		}
		w.pass()
		w.advance(10 * time.Second)
	}
	return w.now.Sub(began)
}

// TestSuccessorsClock: an agent with another clock than the one before it begins every
// timeout anew, and comes to its end, however often it restarts.
func TestSuccessorsClock(t *testing.T) {
	at := func(first time.Duration, d *fleet.Cluster) *world {
		w := newWorld(d)
		w.ahead = first
		w.since = w.clock()
		return w
	}
	resting := func(t *testing.T, first time.Duration, d *fleet.Cluster) *world {
		w := at(first, d)
		if err := w.rest(2000); err != nil {
			t.Fatal(err)
		}
		return w
	}
	made := func(t *testing.T, w *world, want int) {
		t.Helper()
		if w.ids != want {
			t.Errorf("%d machines were made, want %d\n%s", w.ids, want, strings.Join(tail(w.log, 20), "\n"))
		}
		if len(w.violations) > 0 {
			t.Error(w.violations[0])
		}
	}
	checked := func(c *fleet.Cluster) { c.HealthChecks = checkAll(300) }
	for name, test := range map[string]func(t *testing.T, first, second time.Duration){
		"machines that are being made": func(t *testing.T, first, second time.Duration) {
			w := at(first, change(cluster(1, 2), checked))
			until(t, w, time.Hour, func() bool { return len(w.machines) == 3 })
			w.boot = 2 * time.Minute
			succeeded(w, second)
			hour(w)
			made(t, w, 3)
		},
		"machines whose infrastructure is not ready": func(t *testing.T, first, second time.Duration) {
			w := at(first, change(cluster(1, 1), func(c *fleet.Cluster) {
				timeout := int32(300)
				c.HealthChecks = checkAll(0)
				c.HealthChecks[0].Spec.Checks = clusterv1.MachineHealthCheckChecks{UnhealthyMachineConditions: []clusterv1.UnhealthyMachineCondition{
					{Type: "InfrastructureReady", Status: "False", TimeoutSeconds: &timeout},
				}}
			}))
			until(t, w, time.Hour, func() bool { return len(w.machines) == 2 })
			w.boot = 6 * time.Minute
			until(t, w, time.Hour, func() bool { return len(w.memory.ObservedConditions) > 1 })
			succeeded(w, second)
			hour(w)
			made(t, w, 2)
		},
		"machines whose infrastructure is not ready, and an API server that does not answer": func(t *testing.T, first, second time.Duration) {
			w := resting(t, first, change(cluster(1, 1), func(c *fleet.Cluster) {
				timeout := int32(300)
				c.HealthChecks = checkAll(0)
				c.HealthChecks[0].Spec.Checks = clusterv1.MachineHealthCheckChecks{UnhealthyMachineConditions: []clusterv1.UnhealthyMachineCondition{
					{Type: "InfrastructureReady", Status: "False", TimeoutSeconds: &timeout},
				}}
			}))
			m := w.machines[0]
			m.State, m.born = fleet.MachinePending, w.now.Add(3*time.Minute)
			w.plan()
			w.outage = true
			succeeded(w, second)
			_, p := w.plan()
			for _, r := range p.Machines {
				for _, c := range r.Conditions {
					if c.Type == "HealthCheckSucceeded" && c.Status == fleet.False {
						t.Errorf("machine %s is condemned: %s", r.Machine.Name, c.Message)
					}
				}
			}
		},
		"Nodes that are not ready for a moment": func(t *testing.T, first, second time.Duration) {
			w := resting(t, first, change(cluster(3, 2), checked))
			for _, n := range w.nodes {
				w.setReady(n, false)
			}
			w.plan()
			succeeded(w, second)
			hour(w)
			made(t, w, 5)
		},
		"a machine that did not start": func(t *testing.T, first, second time.Duration) {
			w := at(first, cluster(1, 1))
			until(t, w, time.Hour, func() bool { return len(w.machines) == 2 })
			m := w.machines[1]
			m.State, m.dead = fleet.MachineFailed, true
			succeeded(w, second)
			if took := until(t, w, time.Hour, func() bool { return w.find(m.Name) == nil }); took < 5*time.Minute || took > 12*time.Minute {
				t.Errorf("another was tried after %s", took)
			}
		},
		"a drain that has begun": func(t *testing.T, first, second time.Duration) {
			w := resting(t, first, change(cluster(1, 1), func(c *fleet.Cluster) {
				c.Workers[0].NodeDrainTimeoutSeconds = 600
			}))
			m := w.machines[1]
			w.stuck = m.Name
			w.desired = change(w.desired, func(c *fleet.Cluster) { c.Workers[0].Replicas = 0 })
			n := w.nodes[w.nodeName(m)]
			until(t, w, time.Hour, func() bool { return !n.DrainStarted.IsZero() })
			succeeded(w, second)
			if took := until(t, w, time.Hour, func() bool { return w.find(m.Name) == nil || !m.goneAt.IsZero() }); took < 10*time.Minute || took > 12*time.Minute {
				t.Errorf("it was given up after %s", took)
			}
		},
		"a machine that is sick, an agent that crashes each minute": func(t *testing.T, first, second time.Duration) {
			w := resting(t, first, change(cluster(1, 2), checked))
			m := w.machines[1]
			w.kill(m)
			w.plan()
			n, began, clocks := w.nodes[w.nodeName(m)], w.now, 0
			for minute := 0; !n.Draining; minute++ {
				if minute > 15 {
					t.Fatal("never condemned")
				}
				succeeded(w, second)
				w.since = w.clock().Add(-w.settle / 2)
				was := w.memory.Clock
				w.plan()
				if w.memory.Clock != was {
					clocks++
				}
				w.since = w.clock().Add(-w.settle) // the agent before it lives on for the pass
				w.pass()
				w.advance(time.Minute)
			}
			if took := w.now.Sub(began); took < 5*time.Minute || took > 8*time.Minute {
				t.Errorf("condemned after %s", took)
			}
			if clocks != 1 {
				t.Errorf("clocks were written %d times, want once", clocks)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { successions(t, test) })
	}
}

// TestAttemptsByAnotherClock: how long an attempt to replace a machine counts, and how
// long the next one waits, begins anew with another clock.
func TestAttemptsByAnotherClock(t *testing.T) {
	successions(t, func(t *testing.T, first, second time.Duration) {
		w, err := rested(cluster(3))
		if err != nil {
			t.Fatal(err)
		}
		succeeded(w, first)
		most, period := int32(1), int32(300)
		w.desired = change(w.desired, func(c *fleet.Cluster) {
			c.ControlPlane.Remediation.MaxRetry, c.ControlPlane.Remediation.RetryPeriodSeconds = &most, &period
			c.HealthChecks = checkAll(60)
		})
		w.kill(w.machines[0])
		until(t, w, time.Hour, func() bool {
			for _, m := range w.machines {
				m.dead = m.dead || !m.joined
			}
			return w.ids == 5 && len(w.machines) == 3
		})
		succeeded(w, second)
		for range 180 { // half of the hour that an attempt counts
			w.pass()
			w.advance(10 * time.Second)
		}
		if w.ids != 5 {
			t.Errorf("%d machines were made, want 5: maxRetry is reached\n%s", w.ids, strings.Join(tail(w.log, 20), "\n"))
		}
	})
}

// TestFirstMachineByAnotherClock: the only machine of a cluster that was initialised is
// never taken for one that failed, whatever clock it was made by; and not soon where
// nobody remembers that it was.
func TestFirstMachineByAnotherClock(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		successions(t, func(t *testing.T, first, second time.Duration) {
			w := newWorld(change(cluster(1), func(c *fleet.Cluster) { c.HealthChecks = checkAll(300) }))
			w.ahead = first
			w.since = w.clock()
			if err := w.rest(2000); err != nil {
				t.Fatal(err)
			}
			if forgotten { // the agent ended before it told
				w.memory.Residence, w.memory.Milestones = fleet.Residence{}, fleet.Milestones{}
			}
			w.outage = true
			succeeded(w, second)
			w.desired = change(w.desired, upgrade("v1.34.3"))
			minutes := 60
			if forgotten {
				minutes = 30 // while it is seen that the clock was another
			}
			for range 6 * minutes {
				w.pass()
				w.advance(10 * time.Second)
			}
			if w.ids != 1 || len(w.machines) != 1 || !w.machines[0].goneAt.IsZero() {
				t.Errorf("the machine was replaced\n%s", strings.Join(tail(w.log, 20), "\n"))
			}
		})
	}
}

// TestRotationByAnotherClock: an old authority is trusted for as long as what it signed
// is in use, by the clock of one agent.
func TestRotationByAnotherClock(t *testing.T) {
	successions(t, func(t *testing.T, first, second time.Duration) {
		w, err := rested(cluster(1))
		if err != nil {
			t.Fatal(err)
		}
		succeeded(w, first)
		w.desired = change(w.desired, func(c *fleet.Cluster) { c.Rotate = map[fleet.Rotation]string{fleet.RotateCA: "1"} })
		stage := func() fleet.RotationStage { return w.secrets.Rotations[fleet.ClusterCA].Stage }
		until(t, w, 2*time.Hour, func() bool { return stage() == fleet.RotationSpread })
		succeeded(w, second)
		began := w.now
		for stage() == fleet.RotationSpread && w.now.Sub(began) < 53*time.Hour {
			w.pass()
			w.advance(10 * time.Minute)
		}
		if took := w.now.Sub(began); took < 25*time.Hour || took > 52*time.Hour {
			t.Errorf("the new one signs after %s, and others have to fetch it within 25h", took)
		}
	})
}
