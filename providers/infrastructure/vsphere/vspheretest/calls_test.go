package vspheretest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// TestCallFaults: calls are counted, refused, cut, and done without an answer.
func TestCallFaults(t *testing.T) {
	b := newBench(t, small())
	b.ResetCalls()
	lost := b.FailCalls(vspheretest.CallFault{Method: "CloneVM_Task", Skip: 1, Times: 1, Lose: true})
	b.made("m1")
	if _, err := b.ask("m2"); err == nil {
		t.Error("the answer came")
	}
	await(t, func() bool { return len(b.Machines()) == 2 })
	if lost.Done() != 1 {
		t.Errorf("it met %d calls", lost.Done())
	}
	cut := b.FailCalls(vspheretest.CallFault{Changes: true, Cut: true})
	if _, err := b.ask("m3"); err == nil {
		t.Error("the call came through")
	}
	cut.End()
	refused := b.FailCalls(vspheretest.CallFault{Method: "CloneVM_Task", Text: "m4", Fault: &types.NoPermission{PrivilegeId: "X.Y"}})
	_, err := b.ask("m4")
	var no *types.NoPermission
	if _, ok := fault.As(err, &no); !ok || no.PrivilegeId != "X.Y" || !strings.Contains(err.Error(), "Permission to perform this operation was denied.") {
		t.Errorf("got %v", err)
	}
	b.made("m5")
	refused.End()
	if n, in, out := b.Count("Clone*"); n != 5 || in < 2000 || out < 500 {
		t.Errorf("%d calls, %d and %d bytes", n, in, out)
	}
	for _, c := range b.Calls() {
		if c.Changes() != (c.Method == "CloneVM_Task") {
			t.Errorf("%s changes: %t", c.Method, c.Changes())
		}
		if c.Method == "CloneVM_Task" && !strings.HasPrefix(c.This, "vm-") {
			t.Errorf("it was asked of %q", c.This)
		}
	}
	if len(b.Machines()) != 3 {
		t.Errorf("there are %+v", b.Machines())
	}
}

// TestSessions: passwords are checked, and sessions end.
func TestSessions(t *testing.T) {
	b := newBench(t, small())
	ctx := t.Context()
	if _, err := b.Login(ctx, vspheretest.Administrator, "guess"); !fault.Is(err, &types.InvalidLogin{}) {
		t.Errorf("a wrong password: %v", err)
	}
	b.AddUser("agent", "old", vspheretest.Grant{Path: "/"})
	c, err := b.Login(ctx, "agent", "old")
	if err != nil {
		t.Fatal(err)
	}
	b.SetPassword("agent", "new")
	if ok, err := c.SessionManager.SessionIsActive(ctx); err != nil || !ok {
		t.Errorf("the session ended with the password: %t, %v", ok, err)
	}
	if _, err := b.Login(ctx, "agent", "old"); !fault.Is(err, &types.InvalidLogin{}) || !strings.Contains(err.Error(), "incorrect user name or password") {
		t.Errorf("the old password: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		done <- property.Wait(ctx, property.DefaultCollector(c.Client), c.ServiceContent.RootFolder, []string{"name"}, func([]types.PropertyChange) bool { return false })
	}()
	await(t, func() bool { n, _, _ := b.Count("WaitForUpdatesEx"); return n >= 2 })
	if got := b.Sessions()["agent"]; got != 1 {
		t.Errorf("agent has %d sessions", got)
	}
	b.EndSessions("agent")
	if err := <-done; err == nil {
		t.Error("what waited goes on")
	}
	_, err = find.NewFinder(c.Client, false).VirtualMachineList(ctx, "/DC0/vm/*")
	if err == nil {
		t.Error("the session goes on")
	}
	if _, err := c.ServiceContent, b.c.Logout(ctx); err != nil {
		t.Error(err)
	}
	if len(b.Sessions()) != 0 {
		t.Errorf("there are %v", b.Sessions())
	}
}

// TestRights: a privilege that is missing is named; what may not be seen is left out.
func TestRights(t *testing.T) {
	b := newBench(t, small())
	ctx := t.Context()
	b.AddUser("agent", "pw", vspheretest.Grant{Path: "/", Privileges: []string{"VirtualMachine.Interact.PowerOn"}}, vspheretest.Grant{Path: "/DC0/vm/templates", None: true})
	m := b.AddMachine("/DC0/vm/fleet", "m1")
	c, err := b.Login(ctx, "agent", "pw")
	if err != nil {
		t.Fatal(err)
	}
	vm := object.NewVirtualMachine(c.Client, m.Ref)
	if _, err := vm.Destroy(ctx); !denied(err, "VirtualMachine.Inventory.Delete") {
		t.Errorf("destroy: %v", err)
	}
	if _, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "a", Value: "b"}}}); !denied(err, "VirtualMachine.Config.AdvancedConfig") {
		t.Errorf("reconfigure: %v", err)
	}
	task, err := vm.PowerOn(ctx)
	if err != nil || task.Wait(ctx) != nil {
		t.Errorf("power on: %v", err)
	}
	authorization := object.NewAuthorizationManager(c.Client)
	got, err := authorization.FetchUserPrivilegeOnEntities(ctx, []types.ManagedObjectReference{m.Ref}, "agent")
	want := []string{"System.Anonymous", "System.Read", "System.View", "VirtualMachine.Interact.PowerOn"}
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(want, got[0].Privileges); diff != "" {
		t.Error(diff)
	}
	if all, err := find.NewFinder(c.Client, false).VirtualMachineList(ctx, "/DC0/vm/..."); err != nil || len(all) != 1 {
		t.Errorf("it sees %v: %v", all, err)
	}
}

func denied(err error, privilege string) bool {
	var no *types.NoPermission
	_, ok := fault.As(err, &no)
	return ok && no.PrivilegeId == privilege
}

// TestTwo: two vCenters know nothing of each other.
func TestTwo(t *testing.T) {
	a, b := newBench(t, small()), newBench(t, small())
	a.AddMachine("/DC0/vm/fleet", "m1")
	if a.Server() == b.Server() || a.Thumbprint() == b.Thumbprint() || len(a.Machines()) != 1 || len(b.Machines()) != 0 {
		t.Errorf("%s %s, %v %v", a.Server(), b.Server(), a.Machines(), b.Machines())
	}
}

// TestCopy: what people clone has all options of its source, and UUIDs of its own.
func TestCopy(t *testing.T) {
	b := newBench(t, small())
	m := b.AddMachine("/DC0/vm/fleet", "m1")
	b.SetExtraConfig(m.Ref, map[string]string{"ours": "a"})
	copied := b.Copy(m.Ref, "copy")
	if copied.ExtraConfig["ours"] != "a" || copied.InstanceUUID == m.InstanceUUID || copied.UUID == m.UUID {
		t.Errorf("it is %+v", copied)
	}
}
