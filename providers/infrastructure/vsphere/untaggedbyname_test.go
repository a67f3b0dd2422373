package vsphere_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// TestUntaggedByName: a VM without tags of anybody that is called like a machine, in a folder of machines, is
// damaged, also where no Node tells of it; what is another's, or is elsewhere, is not looked at.
func TestUntaggedByName(t *testing.T) {
	t.Parallel()
	const theirs = "md-0-x7k2p-bcdfg" // as Cluster API calls machines
	for reason, tc := range map[string]struct {
		prepare func(b *bench, made string) // made is a name that a machine has here
		want    string                      // the name that is told; "made" is that; empty: there is none
	}{
		"a machine that was adopted, without tags": {func(b *bench, _ string) { b.tagged(b.vms(theirs)[0], "") }, theirs},
		"with garbage":        {func(b *bench, _ string) { b.tagged(b.vms(theirs)[0], "?") }, theirs},
		"with tags of nobody": {func(b *bench, _ string) { b.tagged(b.vms(theirs)[0], "{}") }, theirs},
		"of another fleet": {func(b *bench, _ string) {
			b.tagged(b.vms(theirs)[0], `{"fairlead.dev/fleet":"umbrella","fairlead.dev/cluster":"prod/eu-1"}`)
		}, ""},
		"as it was": {func(*bench, string) {}, ""},
		"none that was adopted is left": {func(b *bench, _ string) {
			b.tagged(b.vms(theirs)[0], "")
			b.w.Destroy(b.vms("md-0-x7k2p-hjklm")[0].Ref)
		}, ""},
		"of a paused cluster": {func(b *bench, _ string) {
			b.tagged(b.vms(theirs)[0], "")
			b.c.Paused = true
		}, ""},
		"a name that machines have here":      {func(b *bench, made string) { b.w.AddMachine(b.folder(), made) }, "made"},
		"such a name in another folder":       {func(b *bench, made string) { b.w.AddMachine("/DC0/vm/fleet", made) }, ""},
		"such a name elsewhere, and machines": {func(b *bench, made string) { b.w.AddMachine(b.elsewhere(), made) }, "made"},
		"such a name of a template": {func(b *bench, made string) {
			b.w.Edit(b.w.AddMachine(b.folder(), made).Ref, types.PropertyChange{Name: "config.template", Val: true})
		}, ""},
		"such a name of somebody's": {func(b *bench, made string) { b.w.AddMachine(b.folder(), "of-"+made) }, ""},
		"such a name that a machine has": {func(b *bench, made string) {
			b.make(fleet.MachineName(made))
			b.w.AddMachine(b.elsewhere(), made)
		}, ""},
		"such a name of another's machine": {func(b *bench, made string) {
			b.w.Edit(b.w.AddMachine(b.folder(), made).Ref, types.PropertyChange{Name: "config.instanceUuid", Val: "00000000-0000-8000-8000-000000000000"})
		}, ""},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			b.adopt(b.theirs(theirs), b.theirs("md-0-x7k2p-hjklm"))
			made := string(b.c.MachineName(&b.c.Workers[0], 0))
			tc.prepare(b, made)
			b.restart()
			b.w.ResetCalls()
			i := b.observe()
			if calls := b.changes(); len(calls) > 0 {
				t.Errorf("looking changed something: %q", calls)
			}
			var got []string
			for _, m := range i.Machines {
				if strings.Contains(m.Damaged, "it is called like a machine of pool md-0, in a folder of these (rename /DC0/vm/") {
					got = append(got, string(m.Name))
					if m.Pool != "md-0" || m.ProviderID != fleet.ProviderID("vsphere://"+b.vms(string(m.Name))[0].UUID) {
						t.Errorf("it is %+v, want it of pool md-0, with its id", m)
					}
				}
			}
			var want []string
			if tc.want != "" {
				want = append(want, strings.Replace(tc.want, "made", made, 1))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("told: %s of %+v", d, i.Machines)
			}
		})
	}
}

// elsewhere is another folder in which the cluster has a machine.
func (b *bench) elsewhere() string {
	b.t.Helper()
	folder := b.w.folder(b.t)
	m := b.w.AddMachine(folder, "md-0-x7k2p-nprst")
	b.adopt(providers.AdoptedMachine{Name: "md-0-x7k2p-nprst", Pool: "md-0", ID: fleet.ProviderID("vsphere://" + m.UUID)})
	return folder
}

// TestUntaggedByNameAlone: such a VM is no sign that a cluster is there, and a look that is wanting tells nothing.
func TestUntaggedByNameAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.w.AddMachine(b.folder(), string(b.c.MachineName(&b.c.Workers[0], 0)))
	b.restart()
	i := b.observe()
	if len(i.Machines) != 1 || i.Machines[0].Damaged == "" || i.Exists || i.Ready {
		t.Errorf("got %+v, want the VM, and no cluster", i)
	}
	if len(i.Places) != 1 || !i.Places[0].Used {
		t.Errorf("places %+v, want that something is there", i.Places)
	}
	b.restart()
	fault := b.w.FailCalls(vspheretest.CallFault{Method: "RetrievePropertiesEx", Skip: 1, Fault: &types.NoPermission{PrivilegeId: "System.View"}})
	defer fault.End()
	if i, err := b.p.Observe(t.Context(), b.c); err == nil {
		t.Errorf("Observe = %+v, want an error", i)
	}
}

// TestUntaggedByNameCosts: where no VM may be such nothing more is asked.
func TestUntaggedByNameCosts(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.restart()
	b.w.ResetCalls()
	b.observe()
	if n := b.called("RetrievePropertiesEx"); n != 2 {
		t.Errorf("a look asked %d times, want for a listing and details", n)
	}
}
