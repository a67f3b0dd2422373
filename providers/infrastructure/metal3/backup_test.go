package metal3_test

import (
	"net/http"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// restore gives the node of a host what a backup of Ironic's database has that was made before the host had a machine,
// with power as its power.
func (w *world) restore(host string, power any) {
	w.Helper()
	var changes []map[string]any // in one request: the double looks at the power in between
	for field, value := range map[string]any{
		"provision_state": "available", "target_provision_state": nil, "instance_uuid": nil, "instance_info": map[string]any{}, "extra": map[string]any{},
		"power_state": power, "fault": "", // a fault that is not nil has the double keep the power
		"maintenance": false, "maintenance_reason": nil,
		"provision_updated_at": time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339),
	} {
		changes = append(changes, map[string]any{"op": "add", "path": "/" + field, "value": value})
	}
	w.ask(http.MethodPatch, host, "", changes)
}

// TestPowerOfABackup: a restored database has the power of the time of the backup, until Ironic asks the BMC again. A
// host that became available before its machine was made is no proof that the machine is gone.
func TestPowerOfABackup(t *testing.T) {
	t.Parallel()
	for name, power := range map[string]any{"off then": "power off", "never asked": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			c := &w.c
			w.create(c, worker)
			w.observe(c) // what runs is remembered
			before := w.hosts["m1"].State()
			silent := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtRequest}) // Ironic did not ask it yet
			defer silent.End()
			w.restore("m1", power)
			w.pause()
			w.p = w.provider()
			for range 2 {
				if m := machineOf(w.observe(c), worker); m.State != fleet.MachineRunning || !m.Silent {
					t.Errorf("after the database was restored the machine is %+v", m)
				}
			}
			wantKind(t, "CreateMachine", w.p.CreateMachine(t.Context(), "op", request(c, "eu-1-md-0-new")), fleet.Exhausted)
			if s := w.hosts["m1"].State(); !s.On || s.Boots != before.Boots || s.Disk.ID != before.Disk.ID {
				t.Errorf("the host was %+v and is %+v", before, s)
			}
			silent.End()
			w.set("m1", "provision_state", "manageable")
			got := w.until(c, "adopted", func(i fleet.Infrastructure) bool { return !machineOf(i, worker).Silent })
			if m, s := machineOf(got, worker), w.hosts["m1"].State(); m.State != fleet.MachineRunning || s.Boots != before.Boots {
				t.Errorf("adopted: %+v, on %+v", m, s)
			}
		})
	}
}

// TestRescuedIsRemembered: a machine whose host people rescue is remembered, too.
func TestRescuedIsRemembered(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"rescue", "rescue wait", "unrescue failed"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			c := &w.c
			w.create(c, worker)
			w.set("m1", "provision_state", state)
			w.pause()
			if m := machineOf(w.observe(c), worker); m.State != fleet.MachineRunning || m.Silent {
				t.Errorf("while people rescue it the machine is %+v", m)
			}
			if err := w.LoseDatabase(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.pause()
			w.p = w.provider()
			if m := machineOf(w.observe(c), worker); m.State != fleet.MachineRunning || !m.Silent {
				t.Errorf("after the database was lost the machine is %+v", m)
			}
		})
	}
}
