package vsphere_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// TestUntagged: a machine that was adopted, and whose tags somebody took off or changed, is found by
// its id and is damaged; whoever looks finds what is there and never what is gone.
func TestUntagged(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		change  func(b *bench, v vspheretest.Machine)
		state   fleet.MachineState
		damaged string // empty: it is not found
		silent  bool
	}{
		"nothing happened": {func(*bench, vspheretest.Machine) {}, "", "", false},
		"no tags":          {func(b *bench, v vspheretest.Machine) { b.tagged(v, "") }, fleet.MachineRunning, "fairlead.dev/tags is missing", false},
		"garbage":          {func(b *bench, v vspheretest.Machine) { b.tagged(v, "?") }, fleet.MachineRunning, "fairlead.dev/tags is not what Fairlead writes", false},
		"another's": {func(b *bench, v vspheretest.Machine) {
			b.tagged(v, `{"fairlead.dev/fleet":"umbrella","fairlead.dev/cluster":"prod/eu-1"}`)
		}, fleet.MachineRunning, `fairlead.dev/fleet is "umbrella"`, false},
		"no tags and no power": {func(b *bench, v vspheretest.Machine) {
			b.tagged(v, "")
			b.w.Power(v.Ref, false)
		}, fleet.MachinePending, "fairlead.dev/tags is missing", false},
		"no tags and out of reach": {func(b *bench, v vspheretest.Machine) {
			b.tagged(v, "")
			b.w.SetConnection(v.Ref, types.VirtualMachineConnectionStateDisconnected)
		}, fleet.MachineRunning, "fairlead.dev/tags is missing", true},
		"gone": {func(b *bench, v vspheretest.Machine) { b.w.Destroy(v.Ref) }, "", "", false},
		"a copy of what has its tags": {func(b *bench, v vspheretest.Machine) {
			twin := b.w.AddMachine(b.folder(), "twin")
			b.w.Edit(twin.Ref, types.PropertyChange{Name: "config.uuid", Val: v.UUID})
		}, "", "", false},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			m := b.theirs("eu-1-md-0-abcde")
			b.adopt(m)
			tc.change(b, b.vms("eu-1-md-0-abcde")[0])
			b.restart()
			b.w.ResetCalls()
			got, err := b.p.Untagged(t.Context(), b.c, []fleet.ProviderID{m.ID, "vsphere://42304ef3-6e31-4ba1-9000-000000000000", "openstack:///42"})
			if err != nil {
				t.Fatalf("Untagged = %v", err)
			}
			if calls := b.changes(); len(calls) > 0 {
				t.Errorf("looking changed something: %q", calls)
			}
			if n := b.called("FindAllByUuid"); n != 2 {
				t.Errorf("vCenter was asked %d times, want for its own ids alone", n)
			}
			var want []fleet.ProviderID
			if tc.damaged != "" {
				want = append(want, m.ID)
			}
			var ids []fleet.ProviderID
			for _, m := range got {
				ids = append(ids, m.ProviderID)
				if m.State != tc.state || m.Silent != tc.silent || !strings.Contains(m.Damaged, tc.damaged) {
					t.Errorf("found %+v, want it %s, silent %t, and damaged as %q", m, tc.state, tc.silent, tc.damaged)
				}
			}
			if d := cmp.Diff(want, ids); d != "" {
				t.Errorf("found: %s", d)
			}
		})
	}
}

// TestUntaggedUnknown: where vCenter does not answer, nobody knows whether a machine is gone.
func TestUntaggedUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	m := b.theirs("eu-1-md-0-abcde")
	b.w.FailCalls(vspheretest.CallFault{Method: "FindAllByUuid", Fault: &types.NoPermission{PrivilegeId: "System.View"}})
	if got, err := b.p.Untagged(t.Context(), b.c, []fleet.ProviderID{m.ID}); err == nil {
		t.Errorf("Untagged = %+v, want an error", got)
	}
}

// TestUntaggedElsewhere: a vCenter that Git does not lead to any more is asked too, and where nobody
// knows how, nobody knows whether a machine is gone.
func TestUntaggedElsewhere(t *testing.T) {
	t.Parallel()
	b, other := mixed(t)
	m := other.w.AddMachine(other.folder(), "eu-1-md-0-abcde")
	id := fleet.ProviderID("vsphere://" + m.UUID)
	i := b.observe()
	b.c.Residence = fleet.Residence{Provider: "vsphere", Places: []fleet.Place{i.Places[0].Place, i.Places[1].Place}}
	left := *b.c
	left.Workers = nil
	found, err := b.p.Untagged(t.Context(), &left, []fleet.ProviderID{id})
	if err != nil || len(found) != 1 || found[0].ProviderID != id || found[0].Damaged == "" {
		t.Errorf("Untagged = %+v, %v, want what is in the vCenter that Git left", found, err)
	}
	left.Residence.Places[1].Access = ""
	found, err = b.p.Untagged(t.Context(), &left, []fleet.ProviderID{id})
	if fleet.KindOf(err) != fleet.Unauthorized || len(found) > 0 || !strings.Contains(err.Error(), "which Git does not lead to any more") {
		t.Errorf("Untagged = %+v, %v, want that it is not known how to look there", found, err)
	}
	left.Residence.Places[1] = i.Places[1].Place
	left.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{account: administrator()} // which the other one refuses
	if found, err = b.p.Untagged(t.Context(), &left, []fleet.ProviderID{id}); err == nil {
		t.Errorf("Untagged = %+v with an account that the vCenter refuses, want an error", found)
	}
}

// tagged gives v another text for its tags; empty: takes them off.
func (b *bench) tagged(v vspheretest.Machine, text string) {
	b.t.Helper()
	b.w.SetExtraConfig(v.Ref, map[string]string{"fairlead.dev/tags": text})
}
