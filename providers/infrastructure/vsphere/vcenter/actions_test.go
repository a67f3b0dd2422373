package vcenter

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
)

// ended waits for task and returns how it ended.
func (w *world) ended(c *Client, task Ref, err error) *Task {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	w.await(task)
	t, err := c.Task(w.t.Context(), task)
	if err != nil || t == nil || t.Running() {
		w.t.Fatalf("the task is %+v, %v", t, err)
	}
	return t
}

// done is that it ended well.
func (w *world) done(c *Client, task Ref, err error) *Task {
	w.t.Helper()
	t := w.ended(c, task, err)
	if t.Err != nil {
		w.t.Fatal(t.Err)
	}
	return t
}

// TestLife leads a VM from a template to its end.
func TestLife(t *testing.T) {
	w := newWorld(t, Options{})
	c, ctx := w.client(), t.Context()
	i := w.inventory()
	dc, _ := i.Datacenter("")
	folder, _ := i.Folder(dc, "")
	pool, _ := i.Pool(dc, "DC0_C0")
	from, err := c.Template(ctx, dc, "DC0_C0_RP0_VM0")
	if err != nil || from.Path != "/DC0/vm/DC0_C0_RP0_VM0" || from.Template || len(from.Devices) == 0 || from.Hardware == "" || len(from.Datastores) != 1 || from.Snapshot != nil {
		t.Fatalf("the template is %+v, %v", from, err)
	}
	task, err := c.Clone(ctx, from.Ref, folder.Ref, "new", types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &pool.Ref},
		Config:   &types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: TagsKey, Value: `{"a":"b"}`}}},
	}, "new-1")
	vm := w.done(c, task, err).Result
	if got := names(w.look(c).Tagged()); got != "new" {
		t.Errorf("a new VM has its tags from the first moment; tagged are %q", got)
	}
	task, err = c.Reconfigure(ctx, vm, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.metadata", Value: "x"}}}, "")
	w.done(c, task, err)
	d, err := c.Details(ctx, vm, "guestinfo.metadata", "guestinfo.other")
	if err != nil || d.Config["guestinfo.metadata"] != "x" || len(d.Config) != 1 || len(d.Devices) == 0 || d.Hardware == "" || d.VMX != "[LocalDS_0] new/new.vmx" {
		t.Errorf("its details are %+v, %v", d, err)
	}
	task, err = c.UpgradeHardware(ctx, vm, "vmx-21", "")
	w.done(c, task, err)
	task, err = c.UpgradeHardware(ctx, vm, "vmx-21", "")
	if again := w.ended(c, task, err); fleet.KindOf(again.Err) != fleet.Conflict { // vCenter says AlreadyUpgraded, vcsim InvalidState
		t.Errorf("a second upgrade is %v", again.Err)
	}
	task, err = c.PowerOn(ctx, vm, "")
	w.done(c, task, err)
	task, err = c.PowerOn(ctx, vm, "")
	if again := w.ended(c, task, err); !PoweredAlready(again.Err) {
		t.Errorf("a second power on is %v", again.Err)
	}
	if err := c.ShutDownGuest(ctx, vm); err != nil {
		t.Error(err)
	}
	task, err = c.PowerOff(ctx, vm, "")
	if off := w.ended(c, task, err); off.Err != nil && !PoweredAlready(off.Err) {
		t.Error(off.Err)
	}
	task, err = c.Destroy(ctx, vm, "")
	w.done(c, task, err)
	if task, err := c.Destroy(ctx, vm, ""); err != nil || task.Value != "" {
		t.Errorf("destroying what is gone gives %v, %v", task, err)
	}
	if _, err := c.Details(ctx, vm); !NotFound(err) {
		t.Errorf("details of what is gone: %v", err)
	}
	if t2, err := c.Task(ctx, Ref{Type: "Task", Value: "task-0"}); t2 != nil || err != nil {
		t.Errorf("a task that nobody knows is %v, %v", t2, err)
	}
}

// TestTemplates: by name, path and UUID; what two may be is told.
func TestTemplates(t *testing.T) {
	w := newWorld(t, Options{}, func(m *simulator.Model) { m.Datacenter = 2 })
	c := w.client()
	i := w.inventory()
	dc, _ := i.Datacenter("DC0")
	sim := w.vm("DC0_H0_VM0")
	for range 2 {
		w.wait(object.NewVirtualMachine(w.admin(), sim.Self).CreateSnapshot(t.Context(), "twice", "", false, false))
	}
	w.wait(object.NewVirtualMachine(w.admin(), sim.Self).CreateSnapshot(t.Context(), "once", "", false, false))
	for name, x := range map[string]struct{ query, want string }{
		"name":            {"DC0_H0_VM0", "/DC0/vm/DC0_H0_VM0"},
		"path":            {"/DC0/vm/DC0_H0_VM0", "/DC0/vm/DC0_H0_VM0"},
		"pattern":         {"/*/vm/DC0_H0_VM0", "/DC0/vm/DC0_H0_VM0"},
		"UUID":            {sim.Config.InstanceUuid, "/DC0/vm/DC0_H0_VM0"},
		"of another":      {"DC1_H0_VM0", "NotFound: cannot find template DC1_H0_VM0 in data center DC0: it is not there, or the user may not see it (write its name, its path as /DC0/vm/NAME, or its instance UUID)"},
		"path of another": {"/DC1/vm/DC1_H0_VM0", "/DC1/vm/DC1_H0_VM0"},
		"several":         {"DC0_H0_*", "Invalid: cannot find template DC0_H0_* in data center DC0: several are meant (write the path of one): /DC0/vm/DC0_H0_VM0, /DC0/vm/DC0_H0_VM1"},
	} {
		if x.want == "" {
			continue
		}
		from, err := c.Template(t.Context(), dc, x.query)
		got := toldOf(err)
		if err == nil {
			got = from.Path
		}
		if got != x.want {
			t.Errorf("%s: %s\nwant %s", name, got, x.want)
		}
	}
	from, err := c.Template(t.Context(), dc, "DC0_H0_VM0")
	if err != nil || from.Snapshot == nil {
		t.Fatalf("%+v, %v", from, err)
	}
	once, err := from.Named("once")
	if err != nil || once == nil || *once != *from.Snapshot {
		t.Errorf("the current snapshot is %v, by name %v, %v", from.Snapshot, once, err)
	}
	if none, err := from.Named("none"); none != nil || err != nil {
		t.Errorf("no snapshot is %v, %v", none, err)
	}
	if _, err := from.Named("twice"); toldOf(err) != "Invalid: cannot find snapshot twice of /DC0/vm/DC0_H0_VM0: 2 snapshots have that name (rename all but one)" {
		t.Error(err)
	}
}

// TestGroups: a VM joins a group, a rule keeps VMs apart, and what is so already is left.
func TestGroups(t *testing.T) {
	w := newWorld(t, Options{})
	c, ctx := w.client(), t.Context()
	i := w.inventory()
	dc, _ := i.Datacenter("")
	cluster, _ := i.Compute(dc, "DC0_C0")
	one, two := w.vm("DC0_C0_RP0_VM0").Self, w.vm("DC0_C0_RP0_VM1").Self
	o := object.NewClusterComputeResource(w.admin(), cluster.Ref)
	w.wait(o.Reconfigure(ctx, &types.ClusterConfigSpecEx{
		GroupSpec: []types.ClusterGroupSpec{
			{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: "add"}, Info: &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}}},
			{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: "add"}, Info: &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "hosts"}, Host: cluster.Hosts[:1]}},
		},
		RulesSpec: []types.ClusterRuleSpec{{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: "add"}, Info: &types.ClusterVmHostRuleInfo{
			ClusterRuleInfo: types.ClusterRuleInfo{Name: "rule", Enabled: types.NewBool(true), Mandatory: types.NewBool(true)},
			VmGroupName:     "vms", AffineHostGroupName: "hosts",
		}}},
	}, true))
	for range 2 {
		task, err := c.JoinGroup(ctx, cluster.Ref, "vms", one)
		if err != nil {
			t.Fatal(err)
		}
		if task.Value != "" {
			w.done(c, task, err)
		}
		task, err = c.JoinGroup(ctx, cluster.Ref, "vms", two)
		if err != nil {
			t.Fatal(err)
		}
		if task.Value != "" {
			w.done(c, task, err)
		}
	}
	if _, err := c.JoinGroup(ctx, cluster.Ref, "other", one); toldOf(err) != "NotFound: cannot put "+one.Value+" into the group of virtual machines other: there is no such group; there are: vms" {
		t.Error(err)
	}
	task, err := c.KeepApart(ctx, cluster.Ref, "apart", []Ref{one})
	if err != nil || task.Value != "" {
		t.Errorf("one VM was kept apart by %v, %v", task, err)
	}
	task, err = c.KeepApart(ctx, cluster.Ref, "apart", []Ref{two, one, two})
	w.done(c, task, err)
	g, err := c.Groups(ctx, cluster.Ref)
	if err != nil {
		t.Fatal(err)
	}
	apart, ok := g.Apart("apart")
	if !slices.Equal(g.VMs["vms"], []Ref{one, two}) || !slices.Equal(g.Hosts["hosts"], cluster.Hosts[:1]) || !ok || !sameRefs(apart, []Ref{one, two}) {
		t.Errorf("the groups are %+v, apart are %v", g, apart)
	}
	if r := g.RuleFor("vms", "hosts"); r == nil || !r.Enabled || !r.Mandatory || g.RuleFor("vms", "other") != nil {
		t.Errorf("the rule is %+v", r)
	}
	if task, err := c.KeepApart(ctx, cluster.Ref, "apart", []Ref{one, two}); err != nil || task.Value != "" {
		t.Errorf("what is apart was changed by %v, %v", task, err)
	}
	task, err = c.KeepApart(ctx, cluster.Ref, "apart", nil)
	w.done(c, task, err)
	if g, err = c.Groups(ctx, cluster.Ref); err != nil {
		t.Fatal(err)
	}
	if _, ok := g.Apart("apart"); ok {
		t.Error("the rule is there still")
	}
}

// TestChangesOfAClusterWait: a group is changed as a whole, so that the second change would
// undo the first if it did not wait.
func TestChangesOfAClusterWait(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	dc, _ := w.inventory().Datacenter("")
	cluster, _ := w.inventory().Compute(dc, "DC0_C0")
	task, err := c.KeepApart(t.Context(), cluster.Ref, "apart", []Ref{w.vm("DC0_C0_RP0_VM0").Self, w.vm("DC0_C0_RP0_VM1").Self})
	w.done(c, task, err)
	sim := w.model.Map().Get(task).(*simulator.Task)
	w.update(sim, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateRunning})
	_, err = c.KeepApart(t.Context(), cluster.Ref, "apart", nil)
	if toldOf(err) != "Unavailable: cannot keep virtual machines apart with the rule apart: another change of the cluster is under way" {
		t.Error(err)
	}
	w.update(sim, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateSuccess})
	task, err = c.KeepApart(t.Context(), cluster.Ref, "apart", nil)
	w.done(c, task, err)
}
