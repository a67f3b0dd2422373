package vcenter

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
)

func names(vms []*VM) string {
	var out []string
	for _, vm := range vms {
		out = append(out, vm.Name)
	}
	return strings.Join(out, " ")
}

func TestLook(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	w.tag("DC0_H0_VM1", tagsOf("a"), ours)
	sim := w.vm("DC0_H0_VM1")
	w.update(sim, types.PropertyChange{Name: "guest.ipAddress", Val: "10.0.0.7"},
		types.PropertyChange{Name: "guest.toolsRunningStatus", Val: "guestToolsRunning"},
		types.PropertyChange{Name: "guest.net", Val: []types.GuestNicInfo{{MacAddress: "00:50:56:00:00:01", IpAddress: []string{"10.0.0.7"}}}})
	l := w.look(c)
	if len(l.VMs) != 4 || names(l.Tagged()) != "DC0_H0_VM1" {
		t.Fatalf("%d VMs, tagged %q", len(l.VMs), names(l.Tagged()))
	}
	vm := l.VM(sim.Self)
	if vm.Power != "poweredOn" || vm.Connection != "connected" || vm.IP != "10.0.0.7" || !vm.ToolsRunning || len(vm.NICs) != 1 ||
		vm.InstanceUUID != ours || vm.UUID != sim.Config.Uuid || vm.Pool != *sim.ResourcePool ||
		vm.Unread || vm.Template || vm.Unreachable() != "" {
		t.Errorf("the VM is %+v", vm)
	}
	if o, ok := vm.Owner(); !ok || o != prod.Part("a") {
		t.Errorf("its owner is %v", o)
	}
	if got := l.Path(vm); got != "/DC0/vm/DC0_H0_VM1" {
		t.Errorf("its path is %s", got)
	}
}

// TestLookIsWhole: what hides something is an error, never a part.
func TestLookIsWhole(t *testing.T) {
	w := newWorld(t, Options{}, func(m *simulator.Model) { m.Machine, m.App, m.Folder, m.Datacenter = 3, 1, 1, 2 })
	c := w.client()
	c.page = 7
	l := w.look(c)
	want := len(w.model.Map().All("VirtualMachine"))
	if len(l.VMs) != want || want < 12 {
		t.Errorf("in pages a look shows %d VMs of %d", len(l.VMs), want)
	}
	if got := w.called(); strings.Count(got, "ContinueRetrievePropertiesEx") < 3 {
		t.Errorf("it called %s", got)
	}
	c.page = 1000
	w.between(rewrite(`<obj type="Folder">group-d1</obj>`, `<obj type="Folder">other</obj>`))
	if got := w.refusal(c); !strings.HasPrefix(got, "Unknown: cannot list the virtual machines of vCenter "+c.Server()+": the listing lacks the root folder") {
		t.Errorf("without the root folder: %s", got)
	}
	w.between(rewrite(`</objects>`, `<missingSet><path>config.extraConfig</path><fault><fault xsi:type="NoPermission"><object type="VirtualMachine">vm-1</object><privilegeId>System.Read</privilegeId></fault><localizedMessage>Permission denied.</localizedMessage></fault></missingSet></objects>`))
	if got := w.refusal(c); !strings.HasPrefix(got, "Unauthorized: cannot list the virtual machines of vCenter") || !strings.HasSuffix(got, "(the user lacks System.Read on VirtualMachine vm-1)") {
		t.Errorf("a property is hidden: %s", got)
	}
}

// rewrite has the first answer with from have to instead, once in each.
func rewrite(from, to string) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return func(r *http.Request, base http.RoundTripper) (*http.Response, error) {
		resp, err := base.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		return replaced(resp, from, to)
	}
}

// TestDamaged: whose a VM is cannot be read: it is told, never left out.
func TestDamaged(t *testing.T) {
	w := newWorld(t, Options{Ours: func(id string) bool { return id == ours }})
	c := w.client()
	w.reconfigure("DC0_H0_VM0", types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: TagsKey, Value: "x"}}})
	w.reconfigure("DC0_H0_VM1", types.VirtualMachineConfigSpec{InstanceUuid: ours})
	l := w.look(c)
	vm := l.VM(w.vm("DC0_H0_VM0").Self)
	if !vm.Tagged || vm.TagsValue != "x" || vm.Tags != nil || names(l.Tagged()) != "DC0_H0_VM0" {
		t.Errorf("with tags that nobody wrote it is %+v", vm)
	}
	if vm := l.VM(w.vm("DC0_H0_VM1").Self); vm.Tagged || vm.InstanceUUID != ours || vm.UUID == "" || vm.Power != "poweredOn" {
		t.Errorf("with its tags wiped it is %+v", vm)
	}
	if vm := l.VM(w.vm("DC0_C0_RP0_VM0").Self); vm.Power != "" || vm.InstanceUUID == "" {
		t.Errorf("another's VM is %+v", vm)
	}
}

// TestUnread: vCenter does not tell the configuration of a VM that it cannot reach, and the
// machine is not gone.
func TestUnread(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	w.tag("DC0_H0_VM0", tagsOf("a"), ours)
	w.look(c)
	sim := w.vm("DC0_H0_VM0")
	w.update(sim, types.PropertyChange{Name: "runtime.connectionState", Val: types.VirtualMachineConnectionStateInaccessible})
	own := *w.model.Service.Context
	w.model.Map().WithLock(&own, sim.Self, func() { sim.Config = nil })
	vm := w.look(c).VM(sim.Self)
	if !vm.Unread || !vm.Tagged || vm.Tags[fleet.TagMachine] != "a" || vm.InstanceUUID != ours || vm.Unreachable() != "vCenter says that the virtual machine is inaccessible" {
		t.Errorf("a VM that was seen before is %+v", vm)
	}
	w.look(c)
	if vm := w.look(c).VM(sim.Self); !vm.Tagged {
		t.Error("the third look forgot it")
	}
	other := w.cred
	other.User, other.Insecure = "fairlead@vsphere.local", true
	other.From = "elsewhere"
	p := NewPool(w.pool.o)
	t.Cleanup(p.Close)
	fresh, err := p.Client(other)
	if err != nil {
		t.Fatal(err)
	}
	if vm := w.look(fresh).VM(sim.Self); !vm.Unread || vm.Tagged || vm.Name != "DC0_H0_VM0" || vm.Connection != "inaccessible" {
		t.Errorf("to another agent it is %+v", vm)
	}
}

// TestGoneMeanwhile: a VM that goes between two requests of a look is not there, and the
// look is whole.
func TestGoneMeanwhile(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	w.tag("DC0_H0_VM0", tagsOf("a"), "")
	w.tag("DC0_H0_VM1", tagsOf("b"), "")
	w.reconfigure("DC0_H0_VM0", types.VirtualMachineConfigSpec{})
	asked := 0
	w.between(func(r *http.Request, base http.RoundTripper) (*http.Response, error) {
		if methodOf(r) == "RetrievePropertiesEx" {
			if asked++; asked == 2 {
				w.remove("DC0_H0_VM0")
			}
		}
		return base.RoundTrip(r)
	})
	if got := names(w.look(c).Tagged()); got != "DC0_H0_VM1" || asked != 3 {
		t.Errorf("after %d requests there is %q", asked, got)
	}
}

// TestRecentTasks: a clone is known by its token while it runs and when it failed.
func TestRecentTasks(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	sim := w.vm("DC0_H0_VM0")
	spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: sim.ResourcePool}}
	one, err := c.Clone(t.Context(), sim.Self, *sim.Parent, "new", spec, "token-1")
	if err != nil {
		t.Fatal(err)
	}
	w.await(one)
	two, err := c.Clone(t.Context(), sim.Self, *sim.Parent, "new", spec, "token-2")
	if err != nil {
		t.Fatal(err)
	}
	w.await(two)
	l := w.look(c)
	made := tasksFor(l, "token-1")
	if len(made) != 1 || made[0].Err != nil || made[0].Running() || l.VM(made[0].Result) == nil || l.VM(made[0].Result).Name != "new" || made[0].Entity != sim.Self {
		t.Fatalf("the clone is %+v", made)
	}
	failed := tasksFor(l, "token-2")
	if len(failed) != 1 {
		t.Fatalf("the failed clone is %+v", failed)
	}
	if got := toldOf(failed[0].Err); got != "Conflict: cannot finish task VirtualMachine.cloneVm of vCenter: DuplicateName" {
		t.Errorf("the clone failed with %s", got)
	}
	if ref, ok := DuplicateOf(failed[0].Err); !ok || ref != made[0].Result {
		t.Errorf("the name is that of %v", ref)
	}
}

// tasksFor returns what was requested with token.
func tasksFor(l *Look, token string) []Task {
	return slices.DeleteFunc(slices.Clone(l.Tasks), func(t Task) bool { return t.Token != token })
}

// TestTokenIsSent: vCenter is told it, so that another agent sees it in the task.
func TestTokenIsSent(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	w.look(c)
	var sent string
	w.between(func(r *http.Request, base http.RoundTripper) (*http.Response, error) {
		sent = bodyOf(r)
		return base.RoundTrip(r)
	})
	if _, err := c.PowerOff(t.Context(), w.vm("DC0_H0_VM0").Self, "token-1"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(sent, "<operationID>token-1</operationID>") || !strings.Contains(sent, "<activationId>token-1</activationId>") {
		t.Errorf("it sent %s", sent)
	}
	if got := taskOf(types.TaskInfo{ActivationId: "token-1"}, "").Token; got != "token-1" {
		t.Errorf("a task of another agent has token %q", got)
	}
}

// TestWithUUID: VMs are found by the UUID of their BIOS, also one whose configuration vCenter does
// not tell, and what went meanwhile is none of them.
func TestWithUUID(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.client()
	sim, twin := w.vm("DC0_H0_VM0"), w.vm("DC0_H0_VM1")
	id := sim.Config.Uuid
	find := func(then func()) []VM {
		t.Helper()
		w.between(func(r *http.Request, base http.RoundTripper) (*http.Response, error) {
			res, err := base.RoundTrip(r)
			if methodOf(r) == "FindAllByUuid" && then != nil {
				then()
			}
			return res, err
		})
		out, err := c.WithUUID(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := find(nil); len(got) != 1 || got[0].Ref != sim.Self || got[0].Name != "DC0_H0_VM0" || got[0].UUID != id || got[0].Unread {
		t.Errorf("found %+v", got)
	}
	w.update(twin, types.PropertyChange{Name: "config.uuid", Val: id})
	if got := find(nil); len(got) != 2 {
		t.Errorf("found %+v, want two of one UUID", got)
	}
	if got := find(func() {
		w.update(twin, types.PropertyChange{Name: "config.uuid", Val: "42304ef3-6e31-4ba1-9000-000000000000"})
	}); len(got) != 1 {
		t.Errorf("found %+v, want none that has another UUID by now", got)
	}
	if got := find(func() { w.remove("DC0_H0_VM0") }); len(got) != 0 {
		t.Errorf("found %+v, want none that is gone", got)
	}
	sim = w.vm("DC0_C0_RP0_VM0")
	id = sim.Config.Uuid
	got := find(func() {
		own := *w.model.Service.Context
		w.model.Map().WithLock(&own, sim.Self, func() { sim.Config = nil })
	})
	if len(got) != 1 || !got[0].Unread || got[0].UUID != id {
		t.Errorf("found %+v, want one of which nothing is told", got)
	}
}
