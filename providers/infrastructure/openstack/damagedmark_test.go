package openstack_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// damagedMarks are what people and tools do to the metadata of a machine's server, and
// what is then said of the machine.
var damagedMarks = map[string]struct {
	wipe func(m ost.Object) ost.Object
	says string
	open bool // the server says that it is that machine, all the same
}{
	"all of it":       {wipe: func(ost.Object) ost.Object { return ost.Object{} }, says: "fairlead.dev/cluster is missing"},
	"the cluster":     {wipe: func(m ost.Object) ost.Object { delete(m, "fairlead.dev:cluster"); return m }, says: "fairlead.dev/cluster is missing"},
	"the machine":     {wipe: func(m ost.Object) ost.Object { delete(m, "fairlead.dev:machine"); return m }, says: "fairlead.dev/machine is missing"},
	"another machine": {wipe: func(m ost.Object) ost.Object { m["fairlead.dev:machine"] = "eu-1-cp-other"; return m }, says: `fairlead.dev/machine is "eu-1-cp-other"`},
	"another fleet":   {wipe: func(m ost.Object) ost.Object { m["fairlead.dev:fleet"] = "fleet-b"; return m }, says: `fairlead.dev/fleet is "fleet-b"`},
	"another cluster": {wipe: func(m ost.Object) ost.Object { m["fairlead.dev:cluster"] = "prod/eu-2"; return m }, says: `fairlead.dev/cluster is "prod/eu-2"`},
	"those of bastion": {wipe: func(m ost.Object) ost.Object {
		m["fairlead.dev:machine"], m["fairlead.dev:role"] = "eu-1-bastion", "bastion"
		return m
	}, says: `fairlead.dev/machine is "eu-1-bastion"`},
	"the role":       {wipe: func(m ost.Object) ost.Object { delete(m, "fairlead.dev:role"); return m }, says: "fairlead.dev/role is missing", open: true},
	"another role":   {wipe: func(m ost.Object) ost.Object { m["fairlead.dev:role"] = "worker"; return m }, open: true},
	"a strange role": {wipe: func(m ost.Object) ost.Object { m["fairlead.dev:role"] = "bastion"; return m }, says: `fairlead.dev/role is "bastion"`, open: true},
	"the pool":       {wipe: func(m ost.Object) ost.Object { delete(m, "fairlead.dev:pool"); return m }, says: "fairlead.dev/pool is missing", open: true},
	"the template":   {wipe: func(m ost.Object) ost.Object { m["fairlead.dev:template"] = "x"; return m }, says: `fairlead.dev/template is "x"`, open: true},
}

// A machine whose server's metadata somebody wiped or changed is shown as damaged, with
// the name that its ports have, so that it is held: it keeps its parts and its place in
// the load balancer, and the rest of the cluster is worked on.
func TestDamagedMark(t *testing.T) {
	for reason, tc := range damagedMarks {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, clusterSpec(), diskSpec(), func(w *world) {
				w.settle()
				for n := range 3 {
					w.mustCreateControlPlane(n)
				}
				for n := range 2 {
					w.mustCreate(n)
					w.await(n, fleet.MachineRunning)
				}
				w.settle()
				name := w.controlPlaneName(0)
				server := w.serverNamed(name)
				id, before := server.ID(), server.Object("metadata")
				w.cloud.Edit(ost.Servers, id, func(o ost.Object) { o["metadata"] = tc.wipe(maps.Clone(before)) })
				time.Sleep(2 * tick)
				got := w.observe()
				w.wantDamaged(got, name, fleet.ProviderID("openstack:///"+id), tc.says)
				w.meddle()
				if !tc.open {
					w.wantError("DeleteMachine", w.provider.DeleteMachine(w.Context(), "op", &w.cluster, name, ""), fleet.Conflict, "server "+id)
					_ = w.provider.DeleteMachine(w.Context(), "op", &w.cluster, name, fleet.ProviderID("openstack:///"+id))
				}
				w.wantHeldElsewhere(name, reason == "another cluster")
				w.orphansGone(id)
				w.delete(1) // the rest of the cluster is worked on
				for len(w.parts(1)) > 0 {
					w.meddle()
				}
				w.mustCreate(2)
				w.await(2, fleet.MachineRunning)
				w.wantWhole(5)
				gone := w.cluster
				gone.Delete = true
				for _, m := range w.observe().Machines {
					if m.Name != name {
						_ = w.provider.DeleteMachine(w.Context(), "op", &gone, m.Name, m.ProviderID)
					}
				}
				if !tc.open {
					_ = w.provider.DeleteMachine(w.Context(), "op", &gone, name, "")
				}
				time.Sleep(time.Minute)
				for range 6 {
					time.Sleep(2 * tick)
					w.wantError("DeleteInfrastructure", w.provider.DeleteInfrastructure(w.Context(), "op", &gone), fleet.Conflict)
				}
				if _, there := w.cloud.Object(ost.Servers, id); !there || w.plugged() != 2 || len(w.cloud.Objects(ost.LoadBalancers)) != 1 {
					w.Errorf("%d ports and volumes have a server, load balancers %v, want what the one that is held needs", w.plugged(), w.cloud.Objects(ost.LoadBalancers))
				}
				w.cloud.Edit(ost.Servers, id, func(o ost.Object) { o["metadata"] = before })
				time.Sleep(2 * tick)
				if got := w.observe(); len(got.Machines) != 1 || got.Machines[0].Damaged != "" || got.Machines[0].Name != name {
					w.Errorf("with its metadata back: machines %v", got.Machines)
				}
				w.remove()
			})
		})
	}
}

// wantDamaged fails unless the machine called name is the only one that says says.
func (w *world) wantDamaged(got fleet.Infrastructure, name fleet.MachineName, id fleet.ProviderID, says string) {
	w.Helper()
	if len(got.Machines) != 5 || len(got.Drift) > 0 {
		w.Errorf("%d machines, drift %q, want 5 and none", len(got.Machines), got.Drift)
	}
	for _, m := range got.Machines {
		switch {
		case m.Name != name && m.Damaged != "":
			w.Errorf("machine %s is damaged: %s", m.Name, m.Damaged)
		case m.Name == name && (m.ProviderID != id || m.State != fleet.MachineRunning || m.Pool != w.cluster.ControlPlane.Name || says == "" && m.Damaged != "" || !strings.Contains(m.Damaged, says)):
			w.Errorf("machine %+v, want %s of the control plane, damaged as %q", m, id, says)
		}
	}
}

// wantHeldElsewhere fails unless cluster eu-2 has the machine called name, damaged, or
// has none.
func (w *world) wantHeldElsewhere(name fleet.MachineName, has bool) {
	w.Helper()
	other := w.cluster
	other.Key.Name = "eu-2"
	got, err := w.provider.Observe(w.Context(), &other)
	if err != nil {
		w.Fatal(err)
	}
	if !has && len(got.Machines) == 0 {
		return
	}
	if len(got.Machines) != 1 || got.Machines[0].Name != name || !strings.Contains(got.Machines[0].Damaged, "is that of machine "+string(name)+" of cluster prod/eu-1") {
		w.Errorf("cluster eu-2 has machines %+v", got.Machines)
	}
	w.wantError("DeleteMachine of eu-2", w.provider.DeleteMachine(w.Context(), "op", &other, name, ""), fleet.Conflict, "its metadata says")
}

// wantWhole fails unless n machines have their ports and volumes, and the load
// balancer its three members.
func (w *world) wantWhole(n int) {
	w.Helper()
	members := 0
	for _, p := range w.cloud.Objects(ost.Members) {
		if p.String("provisioning_status") != "DELETED" {
			members++
		}
	}
	if w.plugged() != 2*n || members != 3 {
		w.Errorf("%d ports and volumes have a server, %d members, want %d and 3", w.plugged(), members, 2*n)
	}
}

// A part of a machine that is gone, plugged into the server of another: the other goes
// on, and nothing comes in place of the one that the part is of before it is off.
func TestPartOfAnother(t *testing.T) {
	inBubble(t, clusterSpec(), diskSpec(), func(w *world) {
		w.settle()
		w.mustCreate(0)
		w.await(0, fleet.MachineRunning)
		port := w.cloud.Add("alpha", ost.Ports, ost.Object{
			"name": string(w.name(1)) + "-0", "device_id": w.server(0).ID(), "device_owner": "compute:az1",
			"description": cloud.FormatOwner("", snapshot.OwnerOf(&w.cluster).Part(w.name(1))),
		})
		w.meddle()
		got := w.observe()
		if len(got.Machines) != 2 || got.Machines[0].Damaged+got.Machines[1].Damaged == "" {
			w.Errorf("machines %+v, want one that is held", got.Machines)
		}
		for _, m := range got.Machines {
			if m.Name == w.name(0) && m.Damaged != "" || m.Name == w.name(1) && (m.ProviderID != "" || m.Pool != "eu-1-md-0" || !strings.Contains(m.Damaged, "take it off")) {
				w.Errorf("machine %+v", m)
			}
		}
		w.wantError("CreateMachine", w.create(1), fleet.Conflict, "port "+string(w.name(1))+"-0", "take the port")
		w.cloud.Remove(ost.Ports, port)
		time.Sleep(2 * tick)
		w.mustCreate(1)
		w.await(1, fleet.MachineRunning)
	})
}
