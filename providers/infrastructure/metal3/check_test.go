package metal3_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
)

// TestCheck: hosts are counted before any is enrolled, each for one machine, and those that a
// machine is on for no other.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	check := func() (texts []string) {
		t.Helper()
		w.ResetCalls()
		found, err := w.p.Check(t.Context(), []*fleet.Cluster{c})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Err != nil {
				f.Text = string(fleet.KindOf(f.Err)) + ": " + f.Err.Error()
			}
			texts = append(texts, f.Text)
		}
		if len(w.changes()) > 0 {
			t.Errorf("Ironic was asked for %q", w.changes())
		}
		return texts
	}
	want := func(at string, words ...string) {
		t.Helper()
		got := strings.Join(check(), "\n")
		for _, word := range words {
			if !strings.Contains(got, word) {
				t.Errorf("%s: %q, want %q in it", at, got, word)
			}
		}
	}
	pool := &c.Workers[0]
	for i := range c.Workers {
		c.Workers[i].Replicas = 0
	}
	c.ControlPlane.Replicas, pool.Replicas = 0, 2
	want("before", "there are 2 for 2 machines of pool "+string(pool.Name)+", of which 2 have to be enrolled first")
	pool.Replicas = 3
	want("too few", "Exhausted: ", "3 more are needed, and of 2 that it may have in namespace "+w.namespace+" only 2 are free")
	w.until(c, "available", allFree)
	pool.Replicas = 2
	want("enrolled", "there are 2 for 2 machines of pool")
	if err := w.p.CreateMachine(t.Context(), "op", request(c, worker)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, worker).State == fleet.MachineRunning })
	want("one is there", "there are 1 for 1 machines")
	pool.Replicas = 1
	want("all are there", "has all its machines")
}

// TestCheckJudgesAsMachinesDo: what hosts are made of and for whom they are reserved counts for check as
// it does for machines.
func TestCheckJudgesAsMachinesDo(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	w.until(c, "available", allFree)
	find := func() (string, error) {
		t.Helper()
		got, err := w.p.Check(t.Context(), []*fleet.Cluster{c})
		if err != nil || len(got) != 2 {
			t.Fatalf("Check = %+v, %v", got, err)
		}
		return got[1].Text, got[1].Err // the control plane comes first
	}
	c.ControlPlane.Replicas = 0
	c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MachineSpec) {
		s.HostSelector = &api.HostSelector{MatchExpressions: []api.HostSelectorRequirement{{Key: "hardware.fairlead.dev/memory-mib", Operator: "gt", Values: []string{"200000"}}}}
	})
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "its hostSelector asks for hardware, and 2 were not inspected yet") {
		t.Errorf("of hosts that were not inspected check says %v", err)
	}
	for _, name := range []string{"m1", "m2"} {
		w.set(name, "properties", map[string]any{"capabilities": "boot_mode:uefi", "cpu_arch": "x86_64", "cpus": 8, "local_gb": "99", "memory_mb": "262144"})
		w.set(name, "inspection_finished_at", "2026-11-21T12:00:00Z")
	}
	w.pause()
	if text, err := find(); err != nil {
		t.Errorf("two hosts fit, and check says %q, %v", text, err)
	}
	for _, name := range []string{"m1", "m2"} {
		w.annotate(c, name, "fairlead.dev/reserved-for", "eu-9")
	}
	if text, err := find(); fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "of 0 that it may have") {
		t.Errorf("all are reserved for another cluster, and check says %q, %v", text, err)
	}
}
