package vcenter

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// TestFind: things are found by the names that people write, and what is not is told with
// what there is.
func TestFind(t *testing.T) {
	w := newWorld(t, Options{}, func(m *simulator.Model) {
		m.Datacenter, m.Cluster, m.Host, m.Pool, m.Folder, m.Datastore, m.Pod = 2, 2, 1, 1, 1, 2, 1
		m.OpaqueNetwork = 1
	})
	i, err := w.client().Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dc, err := i.Datacenter("DC1")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := i.Pool(dc, "DC1_C0")
	if err != nil {
		t.Fatal(err)
	}
	two, err := i.Folder(dc, "")
	if err != nil || two.Path != "/F0/DC1/vm" {
		t.Fatalf("the folder of VMs is %v, %v", two, err)
	}
	for name, c := range map[string]struct {
		find func() (*Entity, error)
		want string
	}{
		"data center by path":    {func() (*Entity, error) { return i.Datacenter("/F0/DC1") }, "/F0/DC1"},
		"data center, none said": {func() (*Entity, error) { return i.Datacenter("") }, "Invalid: cannot choose a data center: there are several, and none is named: /DC0, /F0/DC1"},
		"data center, wrong":     {func() (*Entity, error) { return i.Datacenter("DC9") }, "NotFound: cannot find data center DC9: it is not there, or the user may not see it; there are: /DC0, /F0/DC1"},
		"folder by name":         {func() (*Entity, error) { return i.Folder(dc, "F0") }, "/F0/DC1/vm/F0"},
		"folder by path":         {func() (*Entity, error) { return i.Folder(dc, "/F0/DC1/vm/F0") }, "/F0/DC1/vm/F0"},
		"folder of VMs":          {func() (*Entity, error) { return i.Folder(dc, "/F0/DC1/vm") }, "/F0/DC1/vm"},
		"folder of hosts":        {func() (*Entity, error) { return i.Folder(dc, "/F0/DC1/host") }, "NotFound: cannot find folder /F0/DC1/host in data center DC1: it is not there, or the user may not see it; there are: /F0/DC1/vm, /F0/DC1/vm/F0"},
		"folder of another":      {func() (*Entity, error) { return i.Folder(dc, "/DC0/vm") }, "NotFound: cannot find folder"},
		"cluster":                {func() (*Entity, error) { return i.Compute(dc, "DC1_C1") }, "/F0/DC1/host/F0/DC1_C1"},
		"pool by path":           {func() (*Entity, error) { return i.Pool(dc, "/F0/DC1/host/F0/DC1_C0/Resources/DC1_C0_RP1") }, "/F0/DC1/host/F0/DC1_C0/Resources/DC1_C0_RP1"},
		"pool below":             {func() (*Entity, error) { return i.Pool(dc, "F0/DC1_C0/Resources") }, "/F0/DC1/host/F0/DC1_C0/Resources"},
		"pool by name":           {func() (*Entity, error) { return i.Pool(dc, "DC1_C1_RP1") }, "/F0/DC1/host/F0/DC1_C1/Resources/DC1_C1_RP1"},
		"pool by pattern":        {func() (*Entity, error) { return i.Pool(dc, "*/*C1/Resources") }, "/F0/DC1/host/F0/DC1_C1/Resources"},
		"pool of a cluster":      {func() (*Entity, error) { return i.Pool(dc, "/F0/DC1/host/F0/DC1_C1") }, "/F0/DC1/host/F0/DC1_C1/Resources"},
		"pool, several":          {func() (*Entity, error) { return i.Pool(dc, "Resources") }, "Invalid: cannot find resource pool Resources in data center DC1: several are meant (write the path of one): /F0/DC1/host/F0/DC1_C0/Resources, /F0/DC1/host/F0/DC1_C1/Resources, /F0/DC1/host/F0/DC1_H0/Resources"},
		"pool, none said":        {func() (*Entity, error) { return i.Pool(dc, "") }, "Invalid: cannot choose a resource pool in data center DC1: there are several"},
		"pool by id":             {func() (*Entity, error) { return i.Pool(dc, pool.Ref.Value) }, "/F0/DC1/host/F0/DC1_C0/Resources"},
		"datastore":              {func() (*Entity, error) { return i.Datastore(dc, pool, "LocalDS_1") }, "/F0/DC1/datastore/F0/LocalDS_1"},
		"datastore, wrong":       {func() (*Entity, error) { return i.Datastore(dc, pool, "x") }, "NotFound: cannot find datastore x in data center DC1: it is not there, or the user may not see it; there are: /F0/DC1/datastore/F0/LocalDS_0, /F0/DC1/datastore/F0/LocalDS_1"},
		"datastore cluster":      {func() (*Entity, error) { return i.Datastore(dc, pool, "DC1_POD0") }, "Invalid: cannot find datastore DC1_POD0: it is a datastore cluster"},
		"network":                {func() (*Entity, error) { return i.Network(dc, pool, "VM Network") }, "/F0/DC1/network/VM Network"},
		"port group":             {func() (*Entity, error) { return i.Network(dc, pool, "DC1_DVPG0") }, "/F0/DC1/network/F0/DC1_DVPG0"},
		"segment":                {func() (*Entity, error) { return i.Network(dc, nil, "DC1_NSX0") }, "/F0/DC1/network/F0/DC1_NSX0"},
		"network, wrong":         {func() (*Entity, error) { return i.Network(dc, pool, "dmz") }, "NotFound: cannot find network dmz in data center DC1: it is not there, or the user may not see it; there are: "},
	} {
		e, err := c.find()
		got := toldOf(err)
		if err == nil {
			got = e.Path
		}
		if got != c.want && !(err != nil && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestUsable: what the hosts of the cluster do not reach is told, and so is what
// cannot be used now.
func TestUsable(t *testing.T) {
	w := newWorld(t, Options{}, func(m *simulator.Model) { m.Datastore = 2 })
	ds := w.model.Map().Any("Datastore").(*simulator.Datastore)
	i := w.inventory()
	dc, _ := i.Datacenter("")
	pool, _ := i.Pool(dc, "DC0_C0")
	if got := len(i.Hosts(pool)); got != 3 {
		t.Errorf("%d hosts of the cluster are there, want 3", got)
	}
	host := w.model.Map().Get(i.Hosts(pool)[0].Ref).(*simulator.HostSystem)
	w.update(host, types.PropertyChange{Name: "runtime.inMaintenanceMode", Val: true})
	w.update(ds, types.PropertyChange{Name: "summary.maintenanceMode", Val: "inMaintenance"})
	for _, c := range w.model.Map().All("ClusterComputeResource") {
		w.update(c, types.PropertyChange{Name: "network", Val: []Ref(nil)})
	}
	i = w.inventory()
	dc, _ = i.Datacenter("")
	pool, _ = i.Pool(dc, "DC0_C0")
	if got := len(i.Hosts(pool)); got != 2 {
		t.Errorf("with one in maintenance mode %d hosts are there, want 2", got)
	}
	if _, err := i.Datastore(dc, pool, ds.Name); toldOf(err) != "Unavailable: cannot use datastore /DC0/datastore/"+ds.Name+": it is in maintenance mode" {
		t.Error(err)
	}
	if _, err := i.Network(dc, pool, "VM Network"); toldOf(err) != "Invalid: cannot find network VM Network: no host of /DC0/host/DC0_C0 has /DC0/network/VM Network (it has none)" {
		t.Error(err)
	}
}

// inventory lists it anew.
func (w *world) inventory() *Inventory {
	w.t.Helper()
	i, err := w.client().listInventory(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

// TestInventoryIsShared: many questions are one request, and one after the session ended
// another.
func TestInventoryIsShared(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	for range 3 {
		if _, err := c.Inventory(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.called(); got != "RetrieveServiceContent Login RetrievePropertiesEx" {
		t.Errorf("three questions called %s", got)
	}
	w.endSessions()
	w.inventory()
	if got := w.called(); got != "RetrievePropertiesEx Login RetrievePropertiesEx" {
		t.Errorf("after the session ended it called %s", got)
	}
}
