package azure_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

// inRacks runs a test in a location without zones.
func inRacks(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(newWorld(t, azuretest.New(azuretest.Options{Zones: []string{}, Page: 3, Lag: 2 * time.Second, Make: 4 * time.Second, Start: 8 * time.Second, Delete: 4 * time.Second})))
	})
}

// setOf returns the name of the availability set of a machine.
func (w *world) setOf(m fleet.Machine) string {
	r, _ := w.Resource(vmID(m.ProviderID))
	p, _ := r.Body["properties"].(map[string]any)
	set, _ := p["availabilitySet"].(map[string]any)
	id, _ := set["id"].(string)
	return id[strings.LastIndexByte(id, '/')+1:]
}

// TestAvailabilitySets: in a location without zones the machines of a pool are in an availability set, which goes with the
// cluster. Spot VMs, and machines in zones, are in none.
func TestAvailabilitySets(t *testing.T) {
	inRacks(t, func(w *world) {
		w.Inject(azuretest.Fault{Method: "PUT availabilitysets", Lose: true, Times: 1})
		w.ready(&w.c)
		wantKind(t, "the answer is lost", w.p.CreateMachine(w.Context(), "op", request(&w.c, "cp-0")), fleet.Unanswered)
		for name, want := range map[fleet.MachineName]string{"cp-0": "eu-1_control-plane-as", "cp-1": "eu-1_control-plane-as", "m-0": "eu-1_eu-1-md-0-as"} {
			if got := w.setOf(w.create(&w.c, name)); got != want {
				t.Errorf("%s is in %q, want %s", name, got, want)
			}
		}
		spot := w.c
		spot.Workers = slices.Clone(w.c.Workers)
		spot.Workers[0].Infrastructure = object(t, "AzureMachineTemplate", "spot", strings.Replace(machineSpec, "{", "{spotVMOptions: {}, ", 1))
		if got := w.setOf(w.create(&spot, "m-1")); got != "" {
			t.Errorf("a spot VM is in %s", got)
		}
		flex := groupID("shared") + "/providers/Microsoft.Compute/virtualMachineScaleSets/flex"
		w.Put(flex, map[string]any{"location": azuretest.Location}) // of people
		spot.Workers[0].Infrastructure = object(t, "AzureMachineTemplate", "flex", strings.Replace(machineSpec, "{", "{virtualMachineScaleSetID: 'azure://"+flex+"', ", 1))
		is, _ := w.Resource(vmID(w.create(&spot, "m-2").ProviderID))
		if p := is.Body["properties"].(map[string]any); p["availabilitySet"] != nil || says(p["virtualMachineScaleSet"]) != "map[id:"+flex+"]" {
			t.Errorf("a VM of a scale set is in %v and %v", p["availabilitySet"], p["virtualMachineScaleSet"])
		}
		racks := w.c
		racks.Workers = slices.Clone(w.c.Workers)
		racks.Workers[0].Name, racks.Workers[0].Kind = "racks", fleet.MachinePoolKind
		racks.Workers[0].Infrastructure = object(t, "AzureMachinePool", "racks", "{location: westeurope, platformFaultDomainCount: 1, template: {vmSize: Standard_D4s_v5}}")
		w.create(&racks, "m-3")
		set, _ := w.Resource(groupID("rg-1") + "/providers/Microsoft.Compute/availabilitySets/eu-1_racks-as")
		if p, _ := set.Body["properties"].(map[string]any); says(p["platformFaultDomainCount"], p["platformUpdateDomainCount"]) != "1 1" {
			t.Errorf("the availability set of the pool is %v", set.Body)
		}
		if err := w.p.DeleteMachine(w.Context(), "op", &racks, "m-3", ""); err != nil {
			t.Error(err)
		}
		time.Sleep(settle)
		w.Remove(set.ID)
		sets := w.Resources("availabilitysets")
		if len(sets) != 2 {
			t.Fatalf("there are %d sets", len(sets))
		}
		for _, s := range sets {
			if p := s.Body["properties"].(map[string]any); says(p["platformFaultDomainCount"], s.Body["sku"], s.Tags["fairlead.dev_cluster"]) != "3 map[name:Aligned] prod/eu-1" {
				t.Errorf("%s: %v", s.Name, s.Body)
			}
		}
		orphans, err := w.p.Orphans(w.Context(), w.c.Fleet, []*fleet.Cluster{func() *fleet.Cluster { c := w.c; c.Key.Name = "other"; return &c }()})
		if err != nil || !slices.ContainsFunc(orphans, func(o fleet.Orphan) bool { return o.Name == "eu-1_control-plane-as" }) {
			t.Errorf("orphans %v, %v", orphans, err)
		}
		gone := w.c
		gone.Delete = true
		for _, m := range w.observe(&gone).Machines {
			if err := w.p.DeleteMachine(w.Context(), "op", &gone, m.Name, ""); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(settle)
		w.dismantle(&gone)
		if _, there := w.Resource(flex); !there {
			t.Error("the scale set of people is gone")
		}
		w.Remove(groupID("shared"))
		if left := w.Resources(""); len(left) > 0 {
			t.Errorf("%d resources are left, %s is one", len(left), left[0].ID)
		}
	})
	in(t, func(w *world) {
		if got := w.setOf(w.create(&w.c, "cp-0")); got != "" || len(w.Resources("availabilitysets")) > 0 {
			t.Errorf("in a zone it is in %s", got)
		}
	})
}

// TestAvailabilitySetOfOthers: one of that name that is not of the cluster is not used, and stays.
func TestAvailabilitySetOfOthers(t *testing.T) {
	inRacks(t, func(w *world) {
		w.ready(&w.c)
		id := groupID("rg-1") + "/providers/Microsoft.Compute/availabilitySets/eu-1_eu-1-md-0-as"
		w.Put(id, map[string]any{"location": azuretest.Location})
		w.fail(&w.c, "m-0", fleet.Conflict, "that is not of the cluster")
		for _, name := range []fleet.MachineName{"m-1", "m-2"} { // somebody makes it at the same time
			own := name == "m-1"
			w.Drop(id)
			tags := map[string]any{}
			if own {
				tags = map[string]any{"fairlead.dev_fleet": "fleet-a", "fairlead.dev_cluster": "prod/eu-1"}
			}
			end := w.Inject(azuretest.Fault{Method: "PUT availabilitysets", Times: 1, Do: func(c azuretest.Call) {
				w.Put(id, map[string]any{"location": azuretest.Location, "tags": tags})
			}})
			if err := w.p.CreateMachine(w.Context(), "op", request(&w.c, name)); (err == nil) != own {
				t.Errorf("one of the cluster %t: CreateMachine = %v", own, err)
			}
			end()
			w.Drop(groupID("rg-1") + "/providers/Microsoft.Compute/virtualMachines/" + string(name))
		}
		gone := w.c
		gone.Delete = true
		for range 10 {
			_ = w.p.DeleteInfrastructure(w.Context(), "op", &gone)
			time.Sleep(settle)
		}
		if _, there := w.Resource(id); !there {
			t.Error("that of others is gone")
		}
	})
}

// TestRoleWithoutSets: a role that does not see availability sets is enough where there are zones, also for a deletion.
// Elsewhere the right that lacks is told.
func TestRoleWithoutSets(t *testing.T) {
	in(t, func(w *world) {
		w.Deny("availabilitysets", true)
		m := w.create(&w.c, "m-0")
		if err := w.p.DeleteMachine(w.Context(), "op", &w.c, "m-0", m.ProviderID); err != nil {
			t.Error(err)
		}
		time.Sleep(settle)
		w.dismantle(&w.c)
	})
	inRacks(t, func(w *world) {
		w.Deny("availabilitysets", true)
		w.ready(&w.c)
		w.fail(&w.c, "m-0", fleet.Unauthorized, "availabilitysets")
	})
}

// with returns c with the pool of workers from a template of its own.
func with(t *testing.T, c fleet.Cluster, spec string) fleet.Cluster {
	t.Helper()
	c.Workers = slices.Clone(c.Workers)
	c.Workers[0].Infrastructure = object(t, "AzureMachineTemplate", "other", spec)
	return c
}

// TestLimitsOfSets: a location may have one fault domain, a name may be longer than Azure takes, and Ultra Disks are in no set.
func TestLimitsOfSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, azuretest.New(azuretest.Options{Zones: []string{}, Faults: 1}))
		w.create(&w.c, "m-0")
		if p := w.Resources("availabilitysets")[0].Body["properties"].(map[string]any); says(p["platformFaultDomainCount"], p["platformUpdateDomainCount"]) != "1 1" {
			t.Errorf("the set has %v", p)
		}
	})
	inRacks(t, func(w *world) {
		w.ready(&w.c)
		var names []string
		for i, pool := range []fleet.PoolName{"a", "b"} {
			long := w.c
			long.Workers = slices.Clone(w.c.Workers)
			long.Workers[0].Name = fleet.PoolName(strings.Repeat("x", 90)) + pool
			names = append(names, w.setOf(w.create(&long, fleet.MachineName("m-"+string(rune('0'+i))))))
		}
		if names[0] == names[1] || len(names[0]) != 80 || !strings.HasPrefix(names[0], "eu-1_xxx") || !strings.HasSuffix(names[0], "-as") {
			t.Errorf("the sets are %q", names)
		}
		for i, spec := range []string{"additionalCapabilities: {ultraSSDEnabled: true}", "additionalCapabilities: {}, dataDisks: [{nameSuffix: a, diskSizeGB: 4, lun: 1, managedDisk: {storageAccountType: UltraSSD_LRS}}]"} {
			c := with(t, w.c, "{vmSize: Standard_D4s_v5, "+spec+"}")
			if got := w.setOf(w.create(&c, fleet.MachineName("u-"+string(rune('0'+i))))); got != "" {
				t.Errorf("a VM with Ultra Disks is in %s", got)
			}
		}
		w.Fill("Standard_D4s_v5", "", "AllocationFailed", false)
		for _, want := range []string{"Quota is something else. (ask for another vmSize, or for more zones)", "westeurope has no capacity for it now (wait"} {
			err := w.p.CreateMachine(w.Context(), "op", request(&w.c, "m-9"))
			if wantKind(t, "no room", err, fleet.Exhausted); !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "zones )") || strings.Contains(err.Error(), "zones  now") {
				t.Errorf("%v, want %q", err, want)
			}
		}
	})
}

// TestFullSet: an availability set takes 200 VMs. Further machines of the pool are in none.
func TestFullSet(t *testing.T) {
	inRacks(t, func(w *world) {
		w.create(&w.c, "m-0")
		r, _ := w.Resource(groupID("rg-1") + "/providers/Microsoft.Compute/virtualMachines/m-0")
		for i := range 199 {
			if i == 198 {
				if got := w.setOf(w.create(&w.c, "m-a")); got == "" {
					t.Error("the last VM that the set takes is in none")
				}
			}
			name := fmt.Sprint("x-", i)
			id := w.AddVM("rg-1", name)
			w.Retag(id, func(tags map[string]string) {
				maps.Copy(tags, r.Tags)
				tags["fairlead.dev_machine"] = name
			})
		}
		time.Sleep(settle)
		if got := w.setOf(w.create(&w.c, "m-b")); got != "" {
			t.Errorf("the 202nd machine is in %s", got)
		}
	})
}

// TestZonesLater: machines in availability sets stay as they are if their location gets zones. New ones are in zones.
func TestZonesLater(t *testing.T) {
	inRacks(t, func(w *world) {
		was := w.create(&w.c, "cp-0")
		w.SetZones("1", "2")
		w.p = w.provider()
		got := w.observe(&w.c)
		if m := machineOf(got, "cp-0"); m.Damaged != "" || m.Template != was.Template || m.State != fleet.MachineRunning || !got.Ready || len(got.Drift)+len(got.Upkeep) > 0 {
			t.Errorf("machine %+v, drift %q, upkeep %q", m, got.Drift, got.Upkeep)
		}
		if m := w.create(&w.c, "cp-1"); m.FailureDomain == "" || w.setOf(m) != "" {
			t.Errorf("a new machine is in zone %q and set %q", m.FailureDomain, w.setOf(m))
		}
	})
}
