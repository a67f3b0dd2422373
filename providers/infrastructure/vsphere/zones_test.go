package vsphere_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// compute is a cluster of the vCenter.
func (b *bench) compute(path string) *object.ClusterComputeResource {
	b.t.Helper()
	c, err := b.w.Client(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return object.NewClusterComputeResource(c.Client, b.w.Ref(path))
}

func (b *bench) configuration(path string) *types.ClusterConfigInfoEx {
	b.t.Helper()
	out, err := b.compute(path).Configuration(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) reconfigure(path string, spec *types.ClusterConfigSpecEx) {
	b.t.Helper()
	task, err := b.compute(path).Reconfigure(b.t.Context(), spec, true)
	if err == nil {
		err = task.Wait(b.t.Context())
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestZones: machines are where their zone says, and control planes in those that take them.
func TestZones(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	c := w.zoned(t)
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		t.Fatal(err)
	}
	spec.FailureDomainSelector = nil
	b := &bench{t, w, newProvider(t, nil), &c}
	if i := b.observe(); len(i.FailureDomains) > 0 {
		t.Errorf("failure domains without a selector: %+v", i.FailureDomains)
	}
	c = w.selecting(t, c)
	if d := cmp.Diff([]fleet.FailureDomain{{Name: "zone-0", ControlPlane: true}, {Name: "zone-1", ControlPlane: true}}, b.observe().FailureDomains); d != "" {
		t.Error(d)
	}
	b.ensure()
	for _, zone := range []string{"0", "1"} {
		r := b.request(fleet.MachineName("m-" + zone))
		r.FailureDomain = "zone-" + zone
		if err := b.p.CreateMachine(t.Context(), "op", r); err != nil {
			t.Fatal(err)
		}
	}
	i := b.until("both clones", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 2 })
	for n, zone := range []string{"0", "1"} {
		v := b.vms("m-" + zone)[0]
		if i.Machines[n].FailureDomain != "zone-"+zone || v.Host[:6] != "DC0_C"+zone {
			t.Errorf("machine of zone-%s is %+v, on %s", zone, i.Machines[n], v.Host)
		}
	}
}

// selecting is c with all zones as its failure domains.
func (w *world) selecting(t testing.TB, c fleet.Cluster) fleet.Cluster {
	t.Helper()
	spec := map[string]any{
		"server": w.Server(), "thumbprint": w.Thumbprint(), "controlPlaneEndpoint": map[string]any{"host": "10.0.0.200", "port": 6443},
		"identityRef": map[string]any{"kind": "Secret", "name": account.Name}, "failureDomainSelector": map[string]any{},
	}
	secrets := c.Infrastructure.Secrets
	c.Infrastructure = newObject(t, "VSphereCluster", "eu-1", spec)
	c.Infrastructure.Secrets = secrets
	return c
}

// TestHostGroup: machines of a zone of hosts join its group before they are switched on, and a
// zone whose group or rule is not there stops the cluster.
func TestHostGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	c := w.cluster(t, nil)
	c.Workers[0].FailureDomain = "rack"
	c.Companions = []fleet.Object{
		newObject(t, "VSphereFailureDomain", "rack", &api.VSphereFailureDomainSpec{Topology: api.Topology{
			Datacenter: "DC0", ComputeCluster: "DC0_C0", Hosts: api.FailureDomainHosts{VMGroupName: "vms", HostGroupName: "hosts"},
		}}),
		newObject(t, "VSphereDeploymentZone", "rack", &api.VSphereDeploymentZoneSpec{Server: w.Server(), FailureDomain: "rack"}),
	}
	b := &bench{t, w, newProvider(t, nil), &c}
	const path = "/DC0/host/DC0_C0"
	wantKind(t, "without a group", b.p.EnsureInfrastructure(t.Context(), "op", &c), fleet.Invalid, "no group of VMs called vms")
	add := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
	b.reconfigure(path, &types.ClusterConfigSpecEx{GroupSpec: []types.ClusterGroupSpec{
		{ArrayUpdateSpec: add, Info: &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}}},
		{ArrayUpdateSpec: add, Info: &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "hosts"}}},
	}})
	wantKind(t, "without a rule", b.p.EnsureInfrastructure(t.Context(), "op", &c), fleet.Invalid, "no rule that holds the VMs of vms to the hosts of hosts")
	b.reconfigure(path, &types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{{ArrayUpdateSpec: add, Info: &types.ClusterVmHostRuleInfo{
		ClusterRuleInfo: types.ClusterRuleInfo{Name: "rack", Enabled: types.NewBool(true)}, VmGroupName: "vms", AffineHostGroupName: "hosts",
	}}}})
	b.ensure()
	grouped := func(want ...string) {
		t.Helper()
		var refs []types.ManagedObjectReference
		for _, name := range want {
			refs = append(refs, b.vms(name)[0].Ref)
		}
		for _, g := range b.configuration(path).Group {
			if v, ok := g.(*types.ClusterVmGroup); ok && !slices.Equal(v.Vm, refs) {
				t.Errorf("group %s has %v, want %q", v.Name, v.Vm, want)
			}
		}
	}
	for _, name := range []fleet.MachineName{"m-0", "m-1"} {
		r := b.request(name)
		r.FailureDomain = "rack"
		if err := b.p.CreateMachine(t.Context(), fleet.OperationID("op-"+name), r); err != nil {
			t.Fatal(err)
		}
		b.until("the clone", func(i fleet.Infrastructure) bool {
			return slices.Contains(i.Upkeep, "finish machine "+string(name)+" and power it on")
		})
		b.ensure()
		if name == "m-0" { // and somebody else, who read the group before, writes it
			grouped("m-0")
			b.reconfigure(path, &types.ClusterConfigSpecEx{GroupSpec: []types.ClusterGroupSpec{{
				ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit}, Info: &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}},
			}}})
		}
	}
	grouped("m-0", "m-1")
	// What people add while nothing is wrong stays, and a machine that runs and was left out is put back.
	theirs := w.AddMachine("/DC0/vm", "theirs")
	b.p = newProvider(t, nil)
	if i := b.observe(); len(i.Upkeep) > 0 {
		t.Errorf("all are in their group, and upkeep is %q", i.Upkeep)
	}
	b.reconfigure(path, &types.ClusterConfigSpecEx{GroupSpec: []types.ClusterGroupSpec{{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit},
		Info:            &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}, Vm: []types.ManagedObjectReference{b.vms("m-1")[0].Ref, theirs.Ref}},
	}}})
	b.p = newProvider(t, nil)
	if i := b.observe(); !slices.Equal(i.Upkeep, []string{"put machine m-0 back into the VM group vms"}) {
		t.Errorf("upkeep %q, want m-0 put back", i.Upkeep)
	}
	added := w.AddMachine("/DC0/vm", "added") // and since the group was looked at
	b.reconfigure(path, &types.ClusterConfigSpecEx{GroupSpec: []types.ClusterGroupSpec{{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit},
		Info:            &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}, Vm: []types.ManagedObjectReference{b.vms("m-1")[0].Ref, theirs.Ref, added.Ref}},
	}}})
	b.ensure()
	for _, g := range b.configuration(path).Group {
		if v, ok := g.(*types.ClusterVmGroup); ok && !slices.Equal(v.Vm, []types.ManagedObjectReference{b.vms("m-1")[0].Ref, theirs.Ref, added.Ref, b.vms("m-0")[0].Ref}) {
			t.Errorf("group %s has %v, want m-1, what people added, and m-0", v.Name, v.Vm)
		}
	}
	if i := b.observe(); len(i.Upkeep) > 0 {
		t.Errorf("it is put back, and upkeep is %q", i.Upkeep)
	}
}

// TestApart: machines of a pool are kept apart, until the cluster goes.
func TestApart(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	const path = "/DC0/host/DC0_C0"
	rules := func() map[string]int {
		out := make(map[string]int)
		for _, r := range b.configuration(path).Rule {
			out[r.GetClusterRuleInfo().Name] = len(r.(*types.ClusterAntiAffinityRuleSpec).Vm)
		}
		return out
	}
	b.make("m-0")
	if d := cmp.Diff(map[string]int{}, rules()); d != "" {
		t.Errorf("rules of one machine: %s", d)
	}
	b.make("m-1")
	b.make("m-2")
	if d := cmp.Diff(map[string]int{"fairlead acme prod/eu-1 md-0": 3}, rules()); d != "" {
		t.Errorf("rules of three machines: %s", d)
	}
	for _, name := range []fleet.MachineName{"m-0", "m-1", "m-2"} {
		b.remove(name)
	}
	if err := b.p.DeleteInfrastructure(t.Context(), "op", b.c); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{}, rules()); d != "" {
		t.Errorf("rules of a cluster that is gone: %s", d)
	}
}

// TestChangesOfAClusterInTurn: a machine waits for a change of its compute cluster that another one asked for,
// which is no problem of either.
func TestChangesOfAClusterInTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.make("m-1")
	var last types.ManagedObjectReference
	for _, task := range b.w.Registry().AllReference("Task") {
		if info := task.(*simulator.Task).Info; info.Name == "ReconfigureCluster" {
			last = info.Task
		}
	}
	state := func(s types.TaskInfoState) { b.w.Edit(last, types.PropertyChange{Name: "info.state", Val: s}) }
	state(types.TaskInfoStateRunning)
	var asked atomic.Int32
	b.w.FailCalls(vspheretest.CallFault{Method: "RetrievePropertiesEx", Text: ">" + last.Value + "<", Do: func(vspheretest.Call) {
		if asked.Add(1) == 3 {
			state(types.TaskInfoStateSuccess)
		}
	}})
	b.make("m-2")
	if n := asked.Load(); n < 3 {
		t.Errorf("the task of the other change was asked about %d times", n)
	}
	for _, r := range b.w.Rules("/DC0/host/DC0_C0") {
		if n := len(r.(*types.ClusterAntiAffinityRuleSpec).Vm); n != 3 {
			t.Errorf("%s keeps %d machines apart, want 3", r.GetClusterRuleInfo().Name, n)
		}
	}
}

// TestNotApart: where the account may not change the cluster, machines run all the same.
func TestNotApart(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.w.FailCalls(vspheretest.CallFault{Method: "ReconfigureComputeResource_Task", Fault: &types.NoPermission{PrivilegeId: "Host.Inventory.EditCluster"}})
	b.make("m-0")
	b.make("m-1")
}

// TestUnread: a VM with the name of a machine whose configuration vCenter does not tell is that
// machine being cloned, to any agent; where vCenter does not reach it nothing is done to it.
func TestUnread(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	name := b.c.MachineName(&b.c.Workers[0], 0)
	held := b.w.FailTasks(vspheretest.TaskFault{Task: "CloneVM_Task", Hold: true})
	defer held.End()
	if err := b.ask(name); err != nil {
		t.Fatal(err)
	}
	b.until("its VM", func(fleet.Infrastructure) bool { return len(b.vms(string(name))) == 1 })
	b.restart()
	i := b.until("it is seen", func(i fleet.Infrastructure) bool { return len(i.Machines) == 1 })
	if m := i.Machines[0]; m.Name != name || m.State != fleet.MachinePending || m.Pool != "md-0" || m.Damaged != "" {
		t.Errorf("while it is cloned: %+v", m)
	}
	if err := b.ask(name); err != nil {
		t.Errorf("asked for by another agent: %v, want it adopted", err)
	}
	if calls, _, _ := b.w.Count("CloneVM_Task"); calls != 1 {
		t.Errorf("%d clones were asked for, want one", calls)
	}
	b.w.SetConnection(b.vms(string(name))[0].Ref, types.VirtualMachineConnectionStateInaccessible)
	b.restart()
	i = b.until("it is silent", func(i fleet.Infrastructure) bool { return len(i.Machines) == 1 && i.Machines[0].Silent })
	if m := i.Machines[0]; m.Name != name || m.Damaged == "" {
		t.Errorf("out of reach: %+v, want it held", m)
	}
}

// TestDatastoreOfAGroupOfHosts: the datastore of a machine is one that the hosts of its zone reach, and
// where there is none nothing is cloned.
func TestDatastoreOfAGroupOfHosts(t *testing.T) {
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	near, far := w.Ref("/DC0/datastore/LocalDS_0"), w.Ref("/DC0/datastore/LocalDS_1")
	b := w.racked(t, near)
	w.Edit(far, types.PropertyChange{Name: "summary.freeSpace", Val: int64(9 << 40)})
	w.Edit(near, types.PropertyChange{Name: "summary.freeSpace", Val: int64(1 << 40)})
	b.ensure()
	ask := func(name fleet.MachineName) error {
		r := b.request(name)
		r.FailureDomain = "rack"
		return b.p.CreateMachine(t.Context(), fleet.OperationID("op-"+name), r)
	}
	if err := ask("m-0"); err != nil {
		t.Fatal(err)
	}
	b.until("the clone", func(fleet.Infrastructure) bool { return len(b.vms("m-0")) == 1 })
	if v := b.vms("m-0")[0]; v.Host != "DC0_C0_H0" {
		t.Errorf("the machine of the zone of host DC0_C0_H0 is on %s", v.Host)
	}
	b.edit(func(s *api.VSphereMachineSpec) { s.Datastore, s.StoragePolicyName = "LocalDS_1", "" })
	wantKind(t, "a named datastore that they do not reach", ask("m-1"), fleet.Invalid, "no host of the group of hosts hosts of /DC0/host/DC0_C0 reaches datastore /DC0/datastore/LocalDS_1")
	b.edit(func(s *api.VSphereMachineSpec) { s.Datastore, s.StoragePolicyName = "", "vSAN Default Storage Policy" })
	b.restart()
	w.Edit(w.Ref("/DC0/host/DC0_C0/DC0_C0_H0"), types.PropertyChange{Name: "datastore", Val: []types.ManagedObjectReference{}})
	wantKind(t, "hosts that reach none", ask("m-1"), fleet.Invalid, "allows none of those that the group of hosts hosts")
}

// edit changes the template of the workers of b.
func (b *bench) edit(change func(s *api.VSphereMachineSpec)) {
	b.t.Helper()
	spec, err := api.ReadMachine(b.c.Workers[0].Infrastructure)
	if err != nil {
		b.t.Fatal(err)
	}
	change(spec)
	b.c.Workers[0].Infrastructure = newObject(b.t, "VSphereMachineTemplate", "md-0", spec)
}

// racked is a bench whose workers are in the zone rack, which is the first host of a cluster. That host
// reaches datastores, and the other one LocalDS_1.
func (w *world) racked(t *testing.T, datastores ...types.ManagedObjectReference) *bench {
	t.Helper()
	c := w.cluster(t, func(s *api.VSphereMachineSpec) {
		s.Datastore, s.StoragePolicyName = "", "vSAN Default Storage Policy"
		s.ResourcePool = "/DC0/host/DC0_C0/Resources"
	})
	c.Workers[0].FailureDomain = "rack"
	c.Companions = []fleet.Object{
		newObject(t, "VSphereFailureDomain", "rack", &api.VSphereFailureDomainSpec{Topology: api.Topology{
			Datacenter: "DC0", ComputeCluster: "DC0_C0", Hosts: api.FailureDomainHosts{VMGroupName: "vms", HostGroupName: "hosts"},
		}}),
		newObject(t, "VSphereDeploymentZone", "rack", &api.VSphereDeploymentZoneSpec{Server: w.Server(), FailureDomain: "rack"}),
	}
	b := &bench{t, w, newProvider(t, nil), &c}
	const path = "/DC0/host/DC0_C0"
	host, add := w.Ref(path+"/DC0_C0_H0"), types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
	b.reconfigure(path, &types.ClusterConfigSpecEx{
		GroupSpec: []types.ClusterGroupSpec{
			{ArrayUpdateSpec: add, Info: &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}}},
			{ArrayUpdateSpec: add, Info: &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "hosts"}, Host: []types.ManagedObjectReference{host}}},
		},
		RulesSpec: []types.ClusterRuleSpec{{ArrayUpdateSpec: add, Info: &types.ClusterVmHostRuleInfo{
			ClusterRuleInfo: types.ClusterRuleInfo{Name: "rack", Enabled: types.NewBool(true), Mandatory: types.NewBool(true)}, VmGroupName: "vms", AffineHostGroupName: "hosts",
		}}},
	})
	w.Edit(host, types.PropertyChange{Name: "datastore", Val: datastores})
	w.Edit(w.Ref(path+"/DC0_C0_H1"), types.PropertyChange{Name: "datastore", Val: []types.ManagedObjectReference{w.Ref("/DC0/datastore/LocalDS_1")}})
	return b
}

// rules are the names of those that keep machines apart.
func (b *bench) rules() (out []string) {
	for _, r := range b.w.Rules("/DC0/host/DC0_C0") {
		out = append(out, r.GetClusterRuleInfo().Name)
	}
	return out
}

// TestRuleOfAPoolThatLeftGit: what keeps machines of a pool apart goes with the last of them, and with the
// cluster where that was not possible, whatever Git says of the pool.
func TestRuleOfAPoolThatLeftGit(t *testing.T) {
	b := newBench(t, nil)
	b.make("m-0")
	b.make("m-1")
	own := b.rules()
	if len(own) != 1 {
		t.Fatalf("rules %q, want one", own)
	}
	b.reconfigure("/DC0/host/DC0_C0", &types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
		Info: &types.ClusterAntiAffinityRuleSpec{
			ClusterRuleInfo: types.ClusterRuleInfo{Name: own[0] + "0"}, Vm: []types.ManagedObjectReference{b.vms("m-0")[0].Ref, b.vms("m-1")[0].Ref},
		},
	}}})
	gone := *b.c
	gone.Workers = nil
	b.c = &gone
	b.remove("m-0")
	if left := b.rules(); len(left) != 2 {
		t.Errorf("with a machine of the pool left the rules are %q", left)
	}
	b.remove("m-1")
	if left := b.rules(); !slices.Equal(left, []string{own[0] + "0"}) {
		t.Errorf("the machines of the pool are gone, and the rules are %q, want that of another pool", left)
	}
	if err := b.p.DeleteInfrastructure(t.Context(), "op", b.c); err != nil {
		t.Fatal(err)
	}
	if left := b.rules(); len(left) > 0 {
		t.Errorf("the cluster is gone, and the rules are %q", left)
	}
}
