package azure_test

import (
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
