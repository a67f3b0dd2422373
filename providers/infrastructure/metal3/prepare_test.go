package metal3_test

import (
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// settings has Git say settings of the firmware of the host called name.
func (w *world) settings(c *fleet.Cluster, name string, settings map[string]intstr.IntOrString) {
	w.Helper()
	w.say(c, newObject(w, "metal3.io", "HostFirmwareSettings", w.namespace, name, &api.HostFirmwareSettingsSpec{Settings: settings}))
}

// say has Git say an object, in place of one of its kind and name.
func (w *world) say(c *fleet.Cluster, o fleet.Object) {
	for i := range c.Companions {
		if c.Companions[i].GVK.Kind == o.GVK.Kind && c.Companions[i].Name == o.Name {
			c.Companions[i] = o
			return
		}
	}
	c.Companions = append(c.Companions, o)
}

// virtualization is a setting that every host of the lab has, beside a number.
func virtualization(value string) map[string]intstr.IntOrString {
	return map[string]intstr.IntOrString{"ProcVirtualization": intstr.FromString(value), "Threads": intstr.FromInt32(1)}
}

// raid has the disks of a host put together.
func raid(levels ...string) func(*api.BareMetalHostSpec) {
	return func(s *api.BareMetalHostSpec) {
		s.RAID = &api.RAIDConfig{SoftwareRAIDVolumes: []api.SoftwareRAIDVolume{}}
		for _, level := range levels {
			s.RAID.SoftwareRAIDVolumes = append(s.RAID.SoftwareRAIDVolumes, api.SoftwareRAIDVolume{Level: level})
		}
	}
}

// cleans returns how many times steps were asked for at a host that runs nothing, of calls through w.
func (w *world) cleans() int {
	n := 0
	for _, c := range w.Calls() {
		if c.Changes() && c.Contains(`"clean_steps"`) && c.Status == http.StatusAccepted {
			n++
		}
	}
	return n
}

// TestPreparation: disks and firmware of a host become as Git says before a machine has it, once, and
// are done anew where Git says otherwise; disks stay as they are then where only the firmware
// changes.
func TestPreparation(t *testing.T) {
	t.Parallel()
	each(t, false, preparation, "m1")
}

func preparation(t *testing.T, w *world) {
	t.Helper()
	c, h := &w.c, w.hosts["m1"]
	w.rewrite(c, "m1", raid("1", "0"))
	w.settings(c, "m1", virtualization("Enabled"))
	w.until(c, "available", allFree)
	as := func(what string, boots bool, virtualization string, levels ...string) {
		t.Helper()
		s := h.State()
		if diff := gocmp.Diff(levels, s.Volumes); diff != "" || s.Settings["ProcVirtualization"] != virtualization || s.Settings["Threads"] != 1.0 || s.On {
			t.Errorf("%s: the host is %+v (-want +got of its volumes):\n%s", what, s, diff)
		}
		if n := w.cleans(); (n == 1) != boots || n > 1 {
			t.Errorf("%s: it was prepared %d times", what, n)
		}
		for _, call := range w.Calls() {
			if len(levels) > 0 && call.Contains(`"/properties"`) {
				t.Errorf("%s: Ironic was told other properties than it found", what)
			}
		}
		if properties, _ := w.node("m1")["properties"].(map[string]any); len(levels) > 0 && properties["root_device"] == nil {
			t.Errorf("%s: Ironic knows no root device any more: %v", what, properties)
		}
		w.ResetCalls()
	}
	as("at first", true, "Enabled", "1", "0")
	for range 3 { // another agent goes on with what the first one left
		w.p = w.provider()
		if got, h := w.observe(c), hostOf(w.observe(c), "m1"); len(got.Upkeep) > 0 || !h.Free() {
			t.Errorf("it is prepared, and still %q is to be done to %+v", got.Upkeep, got.Hosts)
		}
	}

	w.create(c, worker)
	w.settings(c, "m1", virtualization("Disabled"))
	w.rewrite(c, "m1", raid("1"))
	before := h.State()
	w.pause()
	got := w.observe(c)
	const held = "Git says other settings of firmware, volumes of disks, and machine eu-1-md-0-x7k runs on it (replace the machine, or keep it off with online: false)"
	if diff := gocmp.Diff(held, hostOf(got, "m1").Held); diff != "" || len(got.Upkeep) > 0 || machineOf(got, worker).State != fleet.MachineRunning {
		t.Errorf("with a machine on it: %+v, machine %+v, upkeep %q", hostOf(got, "m1"), machineOf(got, worker), got.Upkeep)
	}
	if after := h.State(); after.Boots != before.Boots || len(after.Volumes) != 2 {
		t.Errorf("the host was %+v and is %+v", before, after)
	}
	w.ResetCalls()
	w.remove(c, worker)
	w.until(c, "prepared anew", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 && allFree(i) })
	as("anew", true, "Disabled", "1")

	w.settings(c, "m1", virtualization("Enabled"))
	w.pause()
	if err := w.p.CreateMachine(t.Context(), "op-1", request(c, worker)); fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "m1 is to be prepared first: settings of firmware") {
		t.Errorf("before it is prepared a machine has it: %v", err)
	}
	if got := w.observe(c); !hostComes(got, "m1") || hostOf(got, "m1").Next.Why != "Git says other settings of firmware" {
		t.Errorf("it is on its way: %+v", hostOf(got, "m1"))
	}
	w.until(c, "prepared", allFree)
	as("firmware alone", true, "Enabled", "1")
	for _, call := range w.Calls() {
		if call.Contains("delete_configuration") {
			t.Error("its disks were put together anew, and Git did not say so")
		}
	}

	w.rewrite(c, "m1", func(s *api.BareMetalHostSpec) { s.RAID = nil })
	w.pause()
	if got := w.observe(c); len(got.Upkeep) > 0 || !allFree(got) {
		t.Errorf("Git says no more of volumes, and %q is to be done", got.Upkeep)
	}
	w.rewrite(c, "m1", raid())
	w.until(c, "without volumes", func(i fleet.Infrastructure) bool { return allFree(i) && len(h.State().Volumes) == 0 })
	as("without volumes", true, "Enabled")
	w.rewrite(c, "m1", func(s *api.BareMetalHostSpec) { s.RAID = nil })
	c.Companions = c.Companions[:1]
	w.pause()
	if got := w.observe(c); len(got.Upkeep) > 0 || !allFree(got) {
		t.Errorf("Git says nothing any more, and %q is to be done", got.Upkeep)
	}
}

func hostComes(i fleet.Infrastructure, name string) bool {
	h := hostOf(i, name)
	return h.Comes()
}

// TestPreparationIsKept: an account that changes is told to Ironic, and nothing is prepared anew; while a
// host that had a machine is prepared, that machine is gone.
func TestPreparationIsKept(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c, h := &w.c, w.hosts["m1"]
	w.settings(c, "m1", virtualization("Enabled"))
	w.create(c, worker)
	w.remove(c, worker)
	w.until(c, "available", allFree)
	w.ResetCalls()
	h.SetPassword("another")
	c.Companions[0].Secrets = map[fleet.Key]fleet.SecretData{{Namespace: w.namespace, Name: "m1-bmc"}: secretOf(map[string]string{"username": metal3test.BMCUser, "password": "another"})}
	w.until(c, "with the other account", func(i fleet.Infrastructure) bool {
		return allFree(i) && len(i.Upkeep) == 0 && len(w.changes()) > 0
	})
	if w.cleans() > 0 {
		t.Error("it was prepared anew")
	}
	slow := w.FailHosts(metal3test.HostFault{Host: h.Name(), At: metal3test.AtClean, Hold: true})
	w.settings(c, "m1", virtualization("Disabled"))
	unlock := w.Lock(w.namespace + "~m1") // as while its power is looked at
	w.pause()
	if err := w.p.CreateMachine(t.Context(), "op-1", request(c, worker)); hostOf(w.observe(c), "m1").State != fleet.HostPreparing || err == nil || !strings.Contains(err.Error(), "m1 is to be prepared first") {
		t.Errorf("while it is locked it is %s, and a machine: %v", hostOf(w.observe(c), "m1").State, err)
	}
	unlock()
	got := w.until(c, "being prepared", func(i fleet.Infrastructure) bool { return strings.HasPrefix(hostOf(i, "m1").Waits, "clean wait") })
	if at := hostOf(got, "m1"); at.State != fleet.HostPreparing || len(got.Machines) > 0 {
		t.Errorf("the host is %s, with machines %+v", at.State, got.Machines)
	}
	slow.End()
	w.until(c, "prepared", allFree)
}

// TestPreparationFails: what Ironic says of it is told, it is tried again, and what Git says then is
// what counts.
func TestPreparationFails(t *testing.T) {
	t.Parallel()
	each(t, false, preparationFails, "m1")
}

func preparationFails(t *testing.T, w *world) {
	t.Helper()
	c, h := &w.c, w.hosts["m1"]
	w.settings(c, "m1", map[string]intstr.IntOrString{"Nothing": intstr.FromString("Enabled")})
	got := w.until(c, "failed", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Trouble != "" })
	if at := hostOf(got, "m1"); at.TroubleIn != fleet.HostPreparationError || !strings.Contains(at.Trouble, "BIOS apply configuration failed") || at.Free() {
		t.Errorf("it failed: %+v", at)
	}
	n := w.cleans()
	w.until(c, "tried again", func(fleet.Infrastructure) bool { return w.cleans() > n })
	w.settings(c, "m1", virtualization("Enabled"))
	w.until(c, "prepared", allFree)
	if s := h.State(); s.Settings["ProcVirtualization"] != "Enabled" || s.On {
		t.Errorf("the host is %+v", s)
	}
	n = w.cleans()
	w.settings(c, "m1", map[string]intstr.IntOrString{"Nothing": intstr.FromString("Enabled")})
	w.until(c, "failed again", func(i fleet.Infrastructure) bool {
		return strings.Contains(hostOf(i, "m1").Trouble, "BIOS apply configuration failed")
	})
	c.Companions = c.Companions[:1] // Git wants nothing any more
	w.until(c, "free", allFree)
	if w.cleans() != n+1 {
		t.Errorf("it was prepared %d times more", w.cleans()-n)
	}
	w.settings(c, "m1", map[string]intstr.IntOrString{"Nothing": intstr.FromString("Enabled")})
	w.until(c, "not taken for done", func(fleet.Infrastructure) bool { return w.cleans() == n+2 })
}

// TestPreparationKilled: an agent that ends between what it asks for is gone on with, and what was
// done is not done twice.
func TestPreparationKilled(t *testing.T) {
	t.Parallel()
	for at, call := range map[string]metal3test.CallFault{
		"before the note":  {Method: "PATCH /v1/nodes/*", Text: "fairlead_prepared", Times: 1, Cut: true},
		"after the note":   {Method: "PATCH /v1/nodes/*", Text: "fairlead_prepared", Times: 1, Lose: true},
		"before the disks": {Method: "PUT /v1/nodes/*/states/raid", Times: 1, Cut: true},
		"after the disks":  {Method: "PUT /v1/nodes/*/states/raid", Times: 1, Lose: true},
		"before the steps": {Method: "PUT /v1/nodes/*/states/provision", Text: "clean_steps", Times: 1, Cut: true},
		"after the steps":  {Method: "PUT /v1/nodes/*/states/provision", Text: "clean_steps", Times: 1, Lose: true},
		"before the end":   {Method: "PATCH /v1/nodes/*", Text: "fairlead_prepared", Skip: 1, Times: 1, Cut: true},
		"after the end":    {Method: "PATCH /v1/nodes/*", Text: "fairlead_prepared", Skip: 1, Times: 1, Lose: true},
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			c := &w.c
			w.rewrite(c, "m1", raid("1", "0"))
			w.settings(c, "m1", virtualization("Enabled"))
			kill := w.FailCalls(call)
			w.until(c, "killed", func(fleet.Infrastructure) bool { return kill.Done() == 1 })
			w.p = w.provider()
			w.until(c, "available", allFree)
			if s := w.hosts["m1"].State(); len(s.Volumes) != 2 || s.Settings["ProcVirtualization"] != "Enabled" {
				t.Errorf("the host is %+v", s)
			}
			done := w.cleans()
			if at == "after the steps" {
				done++ // its answer was lost
			}
			if done != 1 {
				t.Errorf("it was prepared %d times", done)
			}
		})
	}
}

// TestServicing: firmware that Git says of a host with a machine on it is worked on while people keep the
// machine off, and the machine is on it still.
func TestServicing(t *testing.T) {
	t.Parallel()
	each(t, false, servicing, "m1")
}

func servicing(t *testing.T, w *world) {
	t.Helper()
	c, h := &w.c, w.hosts["m1"]
	w.create(c, worker)
	disk := h.State().Disk
	w.settings(c, "m1", virtualization("Enabled"))
	w.rewrite(c, "m1", raid("1"))
	w.annotate(c, "m1", "reboot.metal3.io/rack", "")
	const tooOld = "Ironic has to be of release 23.0, 2023.2, or newer to work on firmware"
	got := w.until(c, "serviced", func(i fleet.Infrastructure) bool {
		at := hostOf(i, "m1")
		return h.State().Settings["ProcVirtualization"] == "Enabled" && !h.State().On && at.Power == fleet.HostOff && at.Held != "" || strings.Contains(at.Trouble, tooOld)
	})
	if at := hostOf(got, "m1"); strings.Contains(at.Trouble, tooOld) {
		if m := machineOf(got, worker); h.State().Disk != disk || m.State != fleet.MachineRunning {
			t.Errorf("an Ironic that cannot: machine %+v, host %+v", m, h.State())
		}
		return
	}
	const held = "Git says other volumes of disks, and machine eu-1-md-0-x7k runs on it (replace the machine)"
	if diff := gocmp.Diff(held, hostOf(got, "m1").Held); diff != "" || machineOf(got, worker).State != fleet.MachineRunning || len(got.Upkeep) > 0 {
		t.Errorf("kept off: %+v, %q", hostOf(got, "m1"), got.Upkeep)
	}
	w.annotate(c, "m1", "none", "")
	w.until(c, "on", func(i fleet.Infrastructure) bool { return h.State().Running == metal3test.OnDisk })
	if s := h.State(); s.Disk != disk || len(s.Volumes) > 0 {
		t.Errorf("the host is %+v", s)
	}

	w.settings(c, "m1", map[string]intstr.IntOrString{"Nothing": intstr.FromInt32(1)})
	w.annotate(c, "m1", "reboot.metal3.io/rack", "")
	got = w.until(c, "failed", func(i fleet.Infrastructure) bool {
		return strings.Contains(hostOf(i, "m1").Trouble, "BIOS apply configuration failed")
	})
	if m := machineOf(got, worker); m.State != fleet.MachineRunning || m.Message == "" || !strings.Contains(hostOf(got, "m1").Trouble, "cannot service host") {
		t.Errorf("its machine: %+v, host %+v", m, hostOf(got, "m1"))
	}
	w.settings(c, "m1", virtualization("Disabled"))
	w.until(c, "serviced again", func(i fleet.Infrastructure) bool {
		return h.State().Settings["ProcVirtualization"] == "Disabled" && hostOf(i, "m1").Power == fleet.HostOff && hostOf(i, "m1").Trouble == ""
	})
	w.annotate(c, "m1", "none", "")
	w.until(c, "on again", func(i fleet.Infrastructure) bool {
		return hostOf(i, "m1").State == fleet.HostProvisioned && h.State().Running == metal3test.OnDisk
	})
	w.remove(c, worker)
}

// TestServiceIsRemembered: a machine whose host is serviced is remembered, and what Ironic does with its
// host is told.
func TestServiceIsRemembered(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.create(c, worker)
	slow := w.FailHosts(metal3test.HostFault{Host: w.hosts["m1"].Name(), At: metal3test.AtClean, Hold: true})
	w.settings(c, "m1", virtualization("Enabled"))
	w.annotate(c, "m1", "reboot.metal3.io/rack", "")
	got := w.until(c, "being serviced", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Waits == "service wait: the ramdisk to call" })
	if m := machineOf(got, worker); m.State != fleet.MachineRunning || !strings.Contains(m.Message, "is service wait") || m.Power != fleet.HostPowerUnknown || hostOf(got, "m1").State != fleet.HostProvisioned {
		t.Errorf("machine %+v on %+v", m, hostOf(got, "m1"))
	}
	if len(got.Places) != 2 {
		t.Errorf("what is remembered: %+v", got.Places)
	}
	slow.End()
	w.until(c, "serviced", func(i fleet.Infrastructure) bool {
		return hostOf(i, "m1").Power == fleet.HostOff && hostOf(i, "m1").Waits == ""
	})
}

// TestServiceAborted: a host whose service failed is no more serviced when people switch it on.
func TestServiceAborted(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c, h := &w.c, w.hosts["m1"]
	w.create(c, worker)
	w.settings(c, "m1", map[string]intstr.IntOrString{"Nothing": intstr.FromInt32(1)})
	w.annotate(c, "m1", "reboot.metal3.io/rack", "")
	w.until(c, "failed", func(i fleet.Infrastructure) bool {
		return strings.Contains(hostOf(i, "m1").Trouble, "unable to find attribute")
	})
	w.annotate(c, "m1", "none", "")
	w.until(c, "on again", func(i fleet.Infrastructure) bool {
		return hostOf(i, "m1").State == fleet.HostProvisioned && h.State().Running == metal3test.OnDisk
	})
}

// TestFirmware: firmware is flashed before its settings are written, and an Ironic that is too old for it
// says so.
func TestFirmware(t *testing.T) {
	t.Parallel()
	each(t, false, firmware, "m1")
}

func firmware(t *testing.T, w *world) {
	t.Helper()
	c := &w.c
	w.say(c, newObject(w, "metal3.io", "HostFirmwareComponents", w.namespace, "m1", &api.HostFirmwareComponentsSpec{
		Updates: []api.FirmwareUpdate{{Component: "bios", URL: "http://127.0.0.1/bios.bin"}},
	}))
	w.settings(c, "m1", virtualization("Enabled"))
	got := w.until(c, "tried", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Trouble != "" || allFree(i) })
	if s := w.hosts["m1"].State(); allFree(got) && (s.Settings["firmware bios"] != "http://127.0.0.1/bios.bin" || s.Settings["ProcVirtualization"] != "Enabled") {
		t.Errorf("the host is %+v", s)
	}
	tooOld := strings.Contains(hostOf(got, "m1").Trouble, "Ironic has to be of release 23.0, 2023.2, or newer to work on firmware")
	noService := strings.Contains(hostOf(got, "m1").Trouble, "'interface': 'firmware', 'step': 'update'") // the BMCs of the lab flash nothing
	if h := hostOf(got, "m1"); !allFree(got) && (!tooOld && !noService || h.TroubleIn != fleet.HostPreparationError) {
		t.Errorf("it says %+v", h)
	}
}

// TestInspectedAgain: a host is inspected again when no machine has it, where its last inspection is
// older than people want it.
func TestInspectedAgain(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.rewrite(c, "m1", func(s *api.BareMetalHostSpec) { s.InspectionMode = api.InspectFast })
	w.until(c, "available", allFree)
	inspections := func() int {
		n := 0
		for _, call := range w.Calls() {
			if call.Contains(`"inspect"`) && call.Status == http.StatusAccepted {
				n++
			}
		}
		return n
	}
	w.create(c, worker)
	w.ResetCalls()
	w.set("m1", "inspection_finished_at", "2026-11-21T12:00:00Z")
	w.annotate(c, "m1", "fairlead.dev/inspect-after", "2099-11-21T12:00:00Z") // a time to come
	w.pause()
	if got := w.observe(c); len(got.Upkeep) > 0 {
		t.Errorf("too early %q is to be done", got.Upkeep)
	}
	w.annotate(c, "m1", "fairlead.dev/inspect-after", "2026-11-22T12:00:00Z")
	w.pause()
	if got := w.observe(c); len(got.Upkeep) > 0 || inspections() > 0 {
		t.Errorf("with a machine on it %q is to be done", got.Upkeep)
	}
	w.remove(c, worker)
	w.until(c, "inspected again", func(i fleet.Infrastructure) bool { return allFree(i) && inspections() > 0 })
	w.p = w.provider()
	w.pause()
	if got := w.observe(c); len(got.Upkeep) > 0 || inspections() != 1 {
		t.Errorf("%d inspections, and %q is to be done", inspections(), got.Upkeep)
	}
}
