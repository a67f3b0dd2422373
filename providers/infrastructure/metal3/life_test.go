package metal3_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestLife: a host from Git to a machine and back.
func TestLife(t *testing.T) {
	t.Parallel()
	each(t, false, life, "m1")
}

func life(t *testing.T, w *world) {
	t.Helper()
	c := &w.c
	if got := w.observe(c); got.Exists || len(got.Upkeep) != 1 || got.Upkeep[0] != "enrol it: host "+w.namespace+"/m1" {
		t.Errorf("before: %+v", got)
	}
	w.until(c, "available", allFree)
	if err := w.p.CreateMachine(t.Context(), "op-1", request(c, "eu-1-md-0-x7k")); err != nil {
		t.Fatal(err)
	}
	got := w.until(c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, "eu-1-md-0-x7k").State == fleet.MachineRunning })
	m := machineOf(got, "eu-1-md-0-x7k")
	if m.ProviderID != fleet.ProviderID("metal3://"+w.namespace+"/m1/eu-1-md-0-x7k") || m.Damaged != "" || m.Pool != "md-0" || m.FailureDomain != "rack-a" || m.Silent {
		t.Errorf("the machine: %+v", m)
	}
	s := w.hosts["m1"].State()
	if !s.On || s.Running != metal3test.OnDisk || s.Disk.Image != w.ImageURL() || s.Disk.Drive["user_data"] != "#cloud-config\n{}\n" {
		t.Errorf("the host: %+v %+v", s, s.Disk)
	}
	h := hostOf(got, "m1")
	want := fleet.HostConsumer{Cluster: c.Key, Machine: "eu-1-md-0-x7k"}
	if diff := cmp.Diff(want, h.Consumer); diff != "" || h.State != fleet.HostProvisioned {
		t.Errorf("the host is %+v", h)
	}
	for range 2 {
		if err := w.p.DeleteMachine(t.Context(), "op-2", c, "eu-1-md-0-x7k", m.ProviderID); err != nil {
			t.Fatal(err)
		}
	}
	w.until(c, "free again", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 && allFree(i) })
	if s := w.hosts["m1"].State(); s.On {
		t.Errorf("after its release the host is %+v", s)
	}
	if err := w.p.DeleteInfrastructure(t.Context(), "op-3", c); err != nil {
		t.Fatal(err)
	}
	if got := w.observe(c); got.Exists || !hostOf(got, "m1").Free() {
		t.Errorf("in the end: %+v", got)
	}
}
