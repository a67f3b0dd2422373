package metal3_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestNodeReuseWaits: a machine of a pool with nodeReuse waits for the host that its predecessor had
// while that is cleaned, though another host is free; machines of other pools do not get it.
func TestNodeReuseWaits(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	w.until(c, "available", allFree)
	reusing := func(host string) {
		c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MachineSpec) {
			s.NodeReuse, s.AutomatedCleaningMode = true, api.CleaningMetadata
			if host != "" {
				s.HostSelector = &api.HostSelector{MatchLabels: map[string]string{"name": host}}
			}
		})
	}
	reusing("m2")
	w.create(c, worker)
	reusing("")
	cleaning := w.FailHosts(metal3test.HostFault{Host: w.hosts["m2"].Name(), At: metal3test.AtClean, Hold: true})
	w.remove(c, worker)

	const next = "eu-1-md-0-b2c"
	create := func(r func() error, kind fleet.ErrorKind, words string) {
		t.Helper()
		if err := r(); fleet.KindOf(err) != kind || err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("CreateMachine = %v, want kind %s and %q", err, kind, words)
		}
	}
	create(func() error { return w.p.CreateMachine(t.Context(), "op", request(c, next)) }, fleet.Exhausted, "host "+w.namespace+"/m2, which a machine of pool md-0 had, is clean")

	cleaning.End()
	w.until(c, "available", allFree)
	other := c.Workers[0]
	other.Name, other.Infrastructure = "md-1", w.template("md-1", func(s *api.MachineSpec) {
		s.HostSelector = &api.HostSelector{MatchLabels: map[string]string{"name": "m2"}}
	})
	c.Workers = append(c.Workers, other)
	r := request(c, "eu-1-md-1-a")
	r.Pool = other
	create(func() error { return w.p.CreateMachine(t.Context(), "op", r) }, fleet.Exhausted, "m2 is kept for pool md-0, whose template sets nodeReuse and which has 0 of 1 machines")
	if m := w.create(c, next); !strings.Contains(string(m.ProviderID), "/m2/") {
		t.Errorf("the machine is %s, want host m2", m.ProviderID)
	}
}

// TestNodeReuseDoesNotWaitForEver: a host that cannot be cleaned is not waited for, and one of a pool
// that has all its machines is kept for nobody.
func TestNodeReuseDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	w.until(c, "available", allFree)
	c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MachineSpec) {
		s.NodeReuse, s.AutomatedCleaningMode = true, api.CleaningMetadata
	})
	w.create(c, worker) // on m1
	broken := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtClean})
	w.remove(c, worker)
	w.until(c, "not cleaned", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Trouble != "" })
	if m := w.create(c, "eu-1-md-0-b2c"); !strings.Contains(string(m.ProviderID), "/m2/") {
		t.Errorf("the machine is %s, want host m2", m.ProviderID)
	}
	broken.End()
	w.until(c, "cleaned", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Free() })
	other := c.Workers[0]
	other.Name, other.Infrastructure = "md-1", w.template("md-1", nil)
	c.Workers = append(c.Workers, other)
	r := request(c, "eu-1-md-1-a")
	r.Pool = other
	if err := w.p.CreateMachine(t.Context(), "op", r); err != nil {
		t.Errorf("CreateMachine = %v", err)
	}
}
