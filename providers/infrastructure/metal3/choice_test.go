package metal3_test

import (
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// annotate gives the host called name another annotation.
func (w *world) annotate(c *fleet.Cluster, name, key, value string) {
	for i := range c.Companions {
		if c.Companions[i].GVK.Kind == api.HostKind && c.Companions[i].Name == name {
			c.Companions[i].Annotations = map[string]string{key: value}
		}
	}
}

// TestHardwareSelects: hosts are selected by what inspection found, and one that was not inspected is
// not.
func TestHardwareSelects(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2", "m3")
	c := &w.c
	w.until(c, "available", allFree)
	found := func(memory string) map[string]any {
		return map[string]any{"capabilities": "boot_mode:uefi", "cpu_arch": "x86_64", "cpus": 8, "local_gb": "99", "memory_mb": memory, "vendor": "Fair lead"}
	}
	for name, memory := range map[string]string{"m1": "16384", "m2": "262144"} {
		w.set(name, "properties", found(memory))
		w.set(name, "inspection_finished_at", "2026-11-21T12:00:00Z")
	}
	c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MachineSpec) {
		s.HostSelector = &api.HostSelector{
			MatchLabels:      map[string]string{"hardware.fairlead.dev/architecture": "x86_64", "hardware.fairlead.dev/manufacturer": "Fair-lead"},
			MatchExpressions: []api.HostSelectorRequirement{{Key: "hardware.fairlead.dev/memory-mib", Operator: "gt", Values: []string{"200000"}}, {Key: "hardware.fairlead.dev/disk-gib", Operator: "in", Values: []string{"100"}}},
		}
	})
	w.pause()
	got := w.observe(c)
	for name, fits := range map[string]bool{"m1": false, "m2": true, "m3": false} {
		if h := hostOf(got, name); (len(h.Fits) == 2) != fits || len(h.Fits) == 0 {
			t.Errorf("host %s fits %q, want the workers: %t", name, h.Fits, fits)
		}
	}
	if m := w.create(c, worker); !strings.Contains(string(m.ProviderID), "/m2/") {
		t.Errorf("the machine is %s", m.ProviderID)
	}
	if err := w.p.CreateMachine(t.Context(), "op-2", request(c, "eu-1-md-0-b2c")); fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "m1 is not selected") || !strings.Contains(err.Error(), "m3 is not selected") {
		t.Errorf("the next one: %v", err)
	}
	c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MachineSpec) {
		s.HostSelector = &api.HostSelector{MatchExpressions: []api.HostSelectorRequirement{{Key: "hardware.fairlead.dev/memory-mib", Operator: "lt", Values: []string{"300000"}}}}
	})
	got = w.observe(c)
	for name, fits := range map[string]bool{"m1": true, "m2": true, "m3": false} {
		if h := hostOf(got, name); (len(h.Fits) == 2) != fits {
			t.Errorf("host %s fits %q, want the workers: %t", name, h.Fits, fits)
		}
	}
}

// TestReserved: a host that people reserved is for the machines of that cluster or pool alone.
func TestReserved(t *testing.T) {
	t.Parallel()
	for whose, free := range map[string]bool{"eu-1": true, "eu-1/md-0": true, "eu-2": false, "eu-1/md-1": false, "eu-2/md-0": false} {
		t.Run(whose, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			c := &w.c
			w.annotate(c, "m1", "fairlead.dev/reserved-for", whose)
			w.until(c, "available", allFree)
			if fits := len(hostOf(w.observe(c), "m1").Fits) > 0; fits != free {
				t.Errorf("it fits pools of the cluster: %t", fits)
			}
			err := w.p.CreateMachine(t.Context(), "op", request(c, worker))
			if free && err != nil || !free && (fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "m1 is reserved for "+whose)) {
				t.Errorf("CreateMachine = %v", err)
			}
		})
	}
}

// TestInterfaces: a machine is told of a network card by the name that a ramdisk found, or people
// say; where nobody knows names none is made.
func TestInterfaces(t *testing.T) {
	t.Parallel()
	inventory := map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:aa:00:01"}, map[string]any{"name": "eth1", "mac_address": "52:54:00:aa:00:02"}}}
	for name, tc := range map[string]struct {
		prepare func(w *world)
		want    string // the MAC address that it is told; else what is wrong
	}{
		"found": {func(w *world) { w.set("m1", "inventory", inventory) }, "52:54:00:aa:00:02"},
		"said": {func(w *world) {
			w.annotate(&w.c, "m1", "inspect.metal3.io/hardwaredetails", `{"nics":[{"name":"eth1","mac":"52:54:00:bb:00:02"}]}`)
		}, "52:54:00:bb:00:02"},
		"nobody": {func(*world) {}, "no network cards are known by name"},
		"no such": {func(w *world) {
			w.set("m1", "inventory", map[string]any{"interfaces": []any{map[string]any{"name": "eno1", "mac_address": "52:54:00:aa:00:01"}}})
		}, "it has no network card eth1, but eno1"},
		"no words": {func(w *world) {
			w.FailCalls(metal3test.CallFault{Method: "GET /v1/nodes/*/inventory", Status: 500, Message: "no disk"})
		}, "no disk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := doubled(t, "m1")
			c := &w.c
			c.Workers[0].Infrastructure = w.template("md-0", func(s *api.MachineSpec) {
				s.DataTemplate = &api.Metal3ObjectRef{Name: "nodes"}
				s.Data = &api.Metal3DataTemplateSpec{MetaData: &api.MetaData{FromHostInterfaces: []api.MetaDataHostInterface{{Key: "mac", Interface: "eth1"}}}}
			})
			w.until(c, "available", allFree)
			tc.prepare(w)
			w.pause()
			err := w.p.CreateMachine(t.Context(), "op", request(c, worker))
			if !strings.HasPrefix(tc.want, "52:54") {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("CreateMachine = %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w.until(c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, worker).State == fleet.MachineRunning })
			if meta := w.hosts["m1"].State().Disk.Drive["meta_data.json"]; !strings.Contains(meta, `"mac":"`+tc.want+`"`) {
				t.Errorf("the machine is told %s", meta)
			}
		})
	}
}

// TestKeptOff: people keep a host off by an annotation until they take that away.
func TestKeptOff(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.create(c, worker)
	disk := w.hosts["m1"].State().Disk
	w.annotate(c, "m1", "reboot.metal3.io/new-fan", "")
	got := w.until(c, "off", func(i fleet.Infrastructure) bool { return hostOf(i, "m1").Power == fleet.HostOff })
	if m := machineOf(got, worker); m.Power != fleet.HostPowerUnknown || len(got.Upkeep) > 0 {
		t.Errorf("kept off, the machine is %+v, upkeep %q", m, got.Upkeep)
	}
	c.Companions[0].Annotations = nil
	w.until(c, "on", func(i fleet.Infrastructure) bool { return machineOf(i, worker).Power == fleet.HostOn })
	if s := w.hosts["m1"].State(); s.Disk != disk || !s.On {
		t.Errorf("the host is %+v", s)
	}
}
