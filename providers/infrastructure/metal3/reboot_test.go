package metal3_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestReboot: a machine is switched off, stays off as long as that is remembered, and is switched
// on again with what is on its disk.
func TestReboot(t *testing.T) {
	t.Parallel()
	each(t, false, func(t *testing.T, w *world) {
		c := &w.c
		m := w.create(c, worker)
		disk := w.hosts["m1"].State().Disk
		if m.Power != fleet.HostOn {
			t.Fatalf("the machine is %+v", m)
		}
		power := func(to fleet.HostPower) {
			t.Helper()
			if err := w.p.SwitchMachine(t.Context(), "op-3", c, worker, m.ProviderID, to); err != nil {
				t.Fatal(err)
			}
		}
		power(fleet.HostOff)
		c.Rebooting = []fleet.Reboot{{Machine: worker, ProviderID: m.ProviderID, Off: true}}
		got := w.until(c, "off", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Power == fleet.HostOff })
		if len(got.Upkeep) > 0 || w.hosts["m1"].State().On {
			t.Errorf("off, upkeep %q, the host is %+v", got.Upkeep, w.hosts["m1"].State())
		}
		power(fleet.HostOff)
		c.Rebooting = nil
		if got := w.observe(c); len(got.Upkeep) != 1 || !strings.HasPrefix(got.Upkeep[0], "switch it on: host ") {
			t.Errorf("nobody remembers the reboot, upkeep %q", got.Upkeep)
		}
		power(fleet.HostOn)
		got = w.until(c, "on", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Power == fleet.HostOn })
		if s := w.hosts["m1"].State(); machineOf(got, worker).State != fleet.MachineRunning || s.Running != metal3test.OnDisk || s.Disk != disk {
			t.Errorf("on again: %+v, the host is %+v", machineOf(got, worker), s)
		}
		w.remove(c, worker)
	}, "m1")
}

// TestRebootRefused: what is not certain, silent, or people's is not switched.
func TestRebootRefused(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	m := w.create(c, worker)
	silent := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtRequest})
	w.until(c, "silent", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Silent })
	if err := w.p.SwitchMachine(t.Context(), "op", c, worker, m.ProviderID, fleet.HostOff); fleet.KindOf(err) != fleet.Unavailable || !strings.Contains(err.Error(), "BMC") {
		t.Errorf("while its BMC is silent: %v", err)
	}
	if m := machineOf(w.observe(c), worker); m.Power != fleet.HostPowerUnknown {
		t.Errorf("while its BMC is silent its power is %q", m.Power)
	}
	silent.End()
	w.until(c, "heard", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Power == fleet.HostOn })
	w.ResetCalls()
	for _, id := range []fleet.ProviderID{"", "metal3://x/y/z"} {
		if err := w.p.SwitchMachine(t.Context(), "op", c, worker, id, fleet.HostOff); err != nil || len(w.changes()) > 0 {
			t.Errorf("a machine with the id %q: %v, %q", id, err, w.changes())
		}
	}
	spec, err := api.ReadHost(c.Companions[0])
	if err != nil {
		t.Fatal(err)
	}
	spec.Online = false
	old := c.Companions[0]
	c.Companions[0] = newObject(t, "metal3.io", "BareMetalHost", w.namespace, "m1", spec)
	c.Companions[0].Labels, c.Companions[0].Secrets = old.Labels, old.Secrets
	if m := machineOf(w.observe(c), worker); m.Power != fleet.HostPowerUnknown {
		t.Errorf("a host that Git keeps off may be rebooted: %+v", m)
	}
}

// TestGivenUp: the host of a machine that no reboot helped is tried last.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	m := w.create(c, worker)
	c.Rebooting = []fleet.Reboot{{Machine: worker, ProviderID: m.ProviderID, GivenUp: true}}
	w.remove(c, worker)
	c.Rebooting = nil
	w.until(c, "available", allFree)
	if m := w.create(c, worker); !strings.Contains(string(m.ProviderID), "/m2/") {
		t.Errorf("the next one is %s", m.ProviderID)
	}
}

// TestSwitchRefused: the power of a host that people keep, that is not as it was, or that is busy
// stays as it is.
func TestSwitchRefused(t *testing.T) {
	t.Parallel()
	note := func(key string) func(w *world) {
		return func(w *world) { w.annotate(&w.c, "m1", key, "") }
	}
	for name, tc := range map[string]struct {
		prepare func(w *world)
		kind    fleet.ErrorKind // empty: it is no error
		want    string          // of the words
	}{
		"paused":         {note("baremetalhost.metal3.io/paused"), fleet.Conflict, "it is paused"},
		"detached":       {note("baremetalhost.metal3.io/detached"), fleet.Conflict, "it is paused"},
		"left Git":       {func(w *world) { w.c.Companions = nil }, fleet.Conflict, "Git no longer has it"},
		"in maintenance": {func(w *world) { w.set("m1", "maintenance", true) }, fleet.Conflict, "it is in maintenance"},
		"damaged": {func(w *world) {
			extra, _ := w.node("m1")["extra"].(map[string]any)
			kept, _ := extra["fairlead"].(map[string]any)
			tags, _ := kept["tags"].(map[string]any)
			tags["fairlead.dev/pool"] = "md-9"
			w.set("m1", "extra", extra)
		}, fleet.Conflict, "what host NAMESPACE/m1 is is not certain"},
		"lost": {func(w *world) {
			if err := w.LoseDatabase(w.Context()); err != nil {
				w.Fatal(err)
			}
		}, fleet.Unavailable, "may have lost its database"},
		"on its way": {func(w *world) { w.set("m1", "target_power_state", "rebooting") }, "", ""},
		"locked":     {func(w *world) { w.set("m1", "reservation", "lab") }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			c := &w.c
			m := w.create(c, worker)
			tc.prepare(w)
			w.pause()
			w.ResetCalls()
			err := w.p.SwitchMachine(t.Context(), "op", c, worker, m.ProviderID, fleet.HostOff)
			if want := strings.Replace(tc.want, "NAMESPACE", w.namespace, 1); (err != nil) != (tc.kind != "") || err != nil && (fleet.KindOf(err) != tc.kind || !strings.Contains(err.Error(), want)) {
				t.Errorf("SwitchMachine = %v, want kind %q and %q", err, tc.kind, want)
			}
			if asked := w.changes(); len(asked) > 0 || !w.hosts["m1"].State().On {
				t.Errorf("asked for %q, the host is %+v", asked, w.hosts["m1"].State())
			}
			if m := machineOf(w.observe(c), worker); name != "in maintenance" && name != "damaged" && name != "locked" && m.Power != fleet.HostPowerUnknown {
				t.Errorf("it may be rebooted: %+v", m)
			}
		})
	}
}

// TestSwitchNothingElse: what is being deployed is not switched, nor is a host that somebody is at
// already, and one that Git keeps off is not switched on.
func TestSwitchNothingElse(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	slow := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtWrite, Hold: true})
	w.until(c, "available", allFree)
	if err := w.p.CreateMachine(t.Context(), "op", request(c, worker)); err != nil {
		t.Fatal(err)
	}
	m := machineOf(w.until(c, "deploying", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Message != "" }), worker)
	w.ResetCalls()
	if err := w.p.SwitchMachine(t.Context(), "op", c, worker, m.ProviderID, fleet.HostOff); fleet.KindOf(err) != fleet.Conflict || len(w.changes()) > 0 || m.Power != fleet.HostPowerUnknown {
		t.Errorf("while it is deployed: %v, %q, %+v", err, w.changes(), m)
	}
	slow.End()
	w.until(c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Power == fleet.HostOn })

	var second error
	at := w.FailCalls(metal3test.CallFault{Method: "PUT *", Times: 1, Do: func(metal3test.Call) {
		second = w.p.SwitchMachine(t.Context(), "op", c, worker, m.ProviderID, fleet.HostOff)
	}})
	if err := w.p.SwitchMachine(t.Context(), "op", c, worker, m.ProviderID, fleet.HostOff); err != nil {
		t.Fatal(err)
	}
	if fleet.KindOf(second) != fleet.Conflict || !strings.Contains(second.Error(), "is being worked on") || at.Done() != 1 {
		t.Errorf("two at one time: %v", second)
	}
	spec, err := api.ReadHost(c.Companions[0])
	if err != nil {
		t.Fatal(err)
	}
	spec.Online = false
	old := c.Companions[0]
	c.Companions[0] = newObject(t, "metal3.io", "BareMetalHost", w.namespace, "m1", spec)
	c.Companions[0].Labels, c.Companions[0].Secrets = old.Labels, old.Secrets
	w.until(c, "off", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Power == fleet.HostOff })
	w.ResetCalls()
	if err := w.p.SwitchMachine(t.Context(), "op", c, worker, m.ProviderID, fleet.HostOn); err != nil || len(w.changes()) > 0 {
		t.Errorf("Git keeps it off: %v, %q", err, w.changes())
	}
}
