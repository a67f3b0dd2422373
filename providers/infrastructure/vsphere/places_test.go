package vsphere_test

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// alias is another name of the vCenter.
func (w *world) alias() string { return strings.Replace(w.Server(), "127.0.0.1", "localhost", 1) }

// leadTo has the pool md-0 name its vCenter by a server.
func (b *bench) leadTo(server, thumbprint string) {
	b.t.Helper()
	spec, err := api.ReadMachine(b.c.Workers[0].Infrastructure)
	if err != nil {
		b.t.Fatal(err)
	}
	spec.Server, spec.Thumbprint = server, thumbprint
	next := *b.c
	next.Workers = []fleet.Pool{b.c.Workers[0]}
	next.Workers[0].Infrastructure = newObject(b.t, "VSphereMachineTemplate", "md-0", spec)
	b.c = &next
}

// TestTwoNamesOfOneVCenter: a vCenter that Git names in two ways is one place, whose machines are
// shown once, and made and deleted by either name.
func TestTwoNamesOfOneVCenter(t *testing.T) {
	b := newBench(t, nil)
	b.make("m-0")
	b.leadTo(b.w.alias(), b.w.Thumbprint())
	if i := b.observe(); len(i.Machines) != 1 || i.Machines[0].Damaged != "" || len(i.Places) != 1 || i.Places[0].ID != "vCenter "+b.w.Server() {
		t.Errorf("by two names there are %+v in %+v", i.Machines, i.Places)
	}
	b.ensure()
	b.make("m-1")
	if i := b.observe(); len(i.Machines) != 2 {
		t.Errorf("a machine by the other name makes %+v", i.Machines)
	}
	orphans, err := b.p.Orphans(t.Context(), "acme", []*fleet.Cluster{b.like("eu-2", b.w.Server()), b.like("eu-3", b.w.alias())})
	if err != nil || len(orphans) != 2 {
		t.Errorf("orphans by two names = %+v, %v, want m-0 and m-1 once", orphans, err)
	}
	b.remove("m-0")
	if len(b.vms("m-0")) != 0 || len(b.vms("m-1")) != 1 {
		t.Errorf("after the deletion of m-0 there are %+v", b.w.Machines())
	}
}

// like is the cluster of b under another name, in a vCenter called server.
func (b *bench) like(name, server string) *fleet.Cluster {
	b.t.Helper()
	spec, err := api.ReadCluster(b.c.Infrastructure)
	if err != nil {
		b.t.Fatal(err)
	}
	spec.Server = server
	c := *b.c
	c.Key.Name, c.Infrastructure = name, newObject(b.t, "VSphereCluster", name, spec)
	c.Infrastructure.Secrets = b.c.Infrastructure.Secrets
	return &c
}

// TestTwoNamesWithTwoAccounts: neither of two accounts may stand for what the other sees.
func TestTwoNamesWithTwoAccounts(t *testing.T) {
	b := newBench(t, nil)
	b.w.AddUser("reader@vsphere.local", "Reader-1!")
	secret := administrator()
	secret[b.w.alias()+".username"], secret[b.w.alias()+".password"] = fleet.NewSecret([]byte("reader@vsphere.local")), fleet.NewSecret([]byte("Reader-1!"))
	b.c.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{account: secret}
	b.leadTo(b.w.alias(), b.w.Thumbprint())
	_, err := b.p.Observe(t.Context(), b.c)
	wantKind(t, "Observe", err, fleet.Invalid, "use one name of the vCenter")
}

// TestRenamedVCenter: a vCenter that gets another name is the place that it was.
func TestRenamedVCenter(t *testing.T) {
	b := newBench(t, nil)
	b.make("m-0")
	home := b.observe().Places[0].Place
	b.c = b.like("eu-1", b.w.alias())
	b.leadTo("", "")
	b.c.Residence = fleet.Residence{Provider: "vsphere", Places: []fleet.Place{home}}
	if i := b.observe(); len(i.Places) != 1 || i.Places[0].ID != home.ID || len(i.Machines) != 1 {
		t.Errorf("by its new name there are %+v in %+v, want the place %s", i.Machines, i.Places, home.ID)
	}
}

// TestNameOfAnotherVCenter: another vCenter that has the name of one by now is another place.
func TestNameOfAnotherVCenter(t *testing.T) {
	b := newBench(t, nil)
	here, other := b.observe().Places[0].Place, newWorld(t, vspheretest.Options{Datacenters: 1})
	was := here
	was.Access = strings.Replace(here.Access, `"instance":"`, `"instance":"0`, 1)
	b.c.Residence = fleet.Residence{Provider: "vsphere", Places: []fleet.Place{was}}
	if i := b.observe(); i.Places[0].ID == here.ID {
		t.Errorf("the place of another vCenter is %s as well", here.ID)
	}
	there := fleet.Place{ID: "vCenter " + other.Server(), Access: `{"server":"` + other.Server() + `","instance":"0"}`}
	b.leadTo(other.Server(), other.Thumbprint())
	b.c.Residence.Places = []fleet.Place{here, there}
	_, err := b.p.Observe(t.Context(), b.c)
	wantKind(t, "Observe", err, fleet.Unauthorized, "leads to another vCenter now")
	b.c.ForgetPlaces = []string{there.ID}
	if i := b.observe(); len(i.Places) != 2 || i.Places[1].ID == there.ID {
		t.Errorf("places %+v, want that of the other vCenter under an id of its own", i.Places)
	}
}

// TestOneIDInTwoVCenters: of a machine that was copied into another vCenter with its UUIDs nobody
// can tell which one Nodes and deletions mean.
func TestOneIDInTwoVCenters(t *testing.T) {
	b, other := mixed(t)
	b.askServer("cp-0")
	b.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	b.ensure()
	original := b.vms("cp-0")[0]
	replica := other.w.AddMachine("/DC0/vm", "replica")
	other.w.SetExtraConfig(replica.Ref, map[string]string{"fairlead.dev/tags": original.ExtraConfig["fairlead.dev/tags"]})
	other.w.Edit(replica.Ref, types.PropertyChange{Name: "config.uuid", Val: original.UUID}, types.PropertyChange{Name: "config.instanceUuid", Val: original.UUID})
	i := b.until("it is told", func(i fleet.Infrastructure) bool { return len(i.Machines) == 1 && i.Machines[0].Damaged != "" })
	if !strings.Contains(i.Machines[0].Damaged, "2 VMs have its provider id") || !strings.Contains(i.Machines[0].Damaged, "/DC0/vm/replica in vCenter "+other.w.Server()) {
		t.Errorf("damage %q", i.Machines[0].Damaged)
	}
	wantKind(t, "DeleteMachine", b.p.DeleteMachine(t.Context(), "op", b.c, "cp-0", i.Machines[0].ProviderID), fleet.Conflict)
	if len(b.vms("cp-0")) != 1 || len(other.vms("replica")) != 1 {
		t.Errorf("left are %+v and %+v, want both", b.w.Machines(), other.w.Machines())
	}
}
