package vsphere_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// theirs makes a worker that another controller made and that runs.
func (b *bench) theirs(name string) providers.AdoptedMachine {
	b.t.Helper()
	m := b.w.AddMachine(b.folder(), name)
	b.w.SetExtraConfig(m.Ref, map[string]string{"guestinfo.userdata": "dGhlaXJz", "guestinfo.metadata": "dGhlaXJz"})
	b.w.Power(m.Ref, true)
	return providers.AdoptedMachine{Name: fleet.MachineName(name), Pool: "md-0", ID: fleet.ProviderID("vsphere://" + m.UUID)}
}

func (b *bench) adopt(machines ...providers.AdoptedMachine) {
	b.t.Helper()
	if err := b.p.Adopt(b.t.Context(), b.c, machines); err != nil {
		b.t.Fatalf("Adopt = %v", err)
	}
}

// untouched is what is to be of a machine before and after its adoption.
func (b *bench) untouched(name string) vspheretest.Machine {
	b.t.Helper()
	m := b.vms(name)[0]
	m.ExtraConfig = maps.Clone(m.ExtraConfig)
	delete(m.ExtraConfig, "fairlead.dev/tags")
	return m
}

// TestAdopt: machines of another controller are the cluster's, with the id of their Nodes, there is
// nothing to do to them, and one goes as others do.
func TestAdopt(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *api.VSphereMachineSpec) { s.PowerOffMode = api.PowerOffTrySoft })
	machines := []providers.AdoptedMachine{b.theirs("eu-1-md-0-abcde"), b.theirs("eu-1-md-0-fghij")}
	before := b.untouched("eu-1-md-0-abcde")
	b.w.ResetCalls()
	left, err := b.p.Adoptable(t.Context(), b.c, machines)
	want := []string{"VM " + b.folder() + "/eu-1-md-0-abcde", "VM " + b.folder() + "/eu-1-md-0-fghij"}
	if d := cmp.Diff(want, left); d != "" || err != nil {
		t.Fatalf("Adoptable: %s, %v", d, err)
	}
	if got := b.changes(); len(got) > 0 {
		t.Errorf("looking changed something: %q", got)
	}
	b.adopt(machines...)
	b.w.ResetCalls()
	b.adopt(machines...)
	if got := b.changes(); len(got) > 0 {
		t.Errorf("to adopt again changed something: %q", got)
	}
	if left, err := b.p.Adoptable(t.Context(), b.c, machines); len(left) > 0 || err != nil {
		t.Errorf("Adoptable after it = %q, %v", left, err)
	}
	i := b.until("both are there", func(i fleet.Infrastructure) bool { return len(i.Machines) == 2 })
	for j, m := range i.Machines {
		if m.Name != machines[j].Name || m.ProviderID != machines[j].ID || m.State != fleet.MachineRunning || m.Template != "1-md" || m.Damaged != "" {
			t.Errorf("machine %+v, want %+v", m, machines[j])
		}
	}
	if len(i.Upkeep)+len(i.Drift) > 0 {
		t.Errorf("upkeep %q, drift %q, want none", i.Upkeep, i.Drift)
	}
	if d := cmp.Diff(before, b.untouched("eu-1-md-0-abcde")); d != "" {
		t.Errorf("the machine is another: %s", d)
	}
	b.make("m-0")
	b.remove("eu-1-md-0-fghij")
	if got := b.observe().Machines; len(got) != 2 {
		t.Errorf("machines %+v, want one that was adopted, and one that was made", got)
	}
}

// TestAdoptedPoweredOff: a machine that was adopted and lost its power gets that, and nothing else.
func TestAdoptedPoweredOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.adopt(b.theirs("eu-1-md-0-abcde"))
	before := b.untouched("eu-1-md-0-abcde")
	b.w.Power(before.Ref, false)
	b.until("it is to be switched on", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	b.w.ResetCalls()
	b.ensure()
	if d := cmp.Diff([]string{"PowerOnVM_Task"}, b.changes()); d != "" {
		t.Error(d)
	}
}

// TestCopyOfAdopted: a copy of a machine that was adopted is none, though it has its tags.
func TestCopyOfAdopted(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	m := b.theirs("eu-1-md-0-abcde")
	b.adopt(m)
	ref := b.vms("eu-1-md-0-abcde")[0].Ref
	b.w.Copy(ref, "copy")
	i := b.observe()
	if len(i.Machines) != 1 || i.Machines[0].ProviderID != m.ID || i.Machines[0].Damaged != "" {
		t.Fatalf("machines %+v, want the one that was adopted", i.Machines)
	}
	b.w.Destroy(ref)
	b.until("the copy is doubted", func(i fleet.Infrastructure) bool {
		return len(i.Machines) == 1 && strings.Contains(i.Machines[0].Damaged, "a copy of a machine that is gone")
	})
}

// setTag changes one tag of a machine.
func (b *bench) setTag(name, tag, value string) {
	b.t.Helper()
	v := b.vms(name)[0]
	var tags map[string]string
	if err := json.Unmarshal([]byte(v.ExtraConfig["fairlead.dev/tags"]), &tags); err != nil {
		b.t.Fatal(err)
	}
	tags[tag] = value
	text, err := json.Marshal(tags)
	if err != nil {
		b.t.Fatal(err)
	}
	b.w.SetExtraConfig(v.Ref, map[string]string{"fairlead.dev/tags": string(text)})
}

// TestReleaseAdopted: what was adopted is as it was; what was made since keeps all of it.
func TestReleaseAdopted(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	m := b.theirs("eu-1-md-0-abcde")
	before := b.vms("eu-1-md-0-abcde")[0]
	b.adopt(m)
	if err := b.p.Release(t.Context(), b.c, []providers.AdoptedMachine{m}); err != nil {
		t.Fatalf("Release = %v", err)
	}
	if d := cmp.Diff(before, b.vms("eu-1-md-0-abcde")[0]); d != "" {
		t.Errorf("the machine is another: %s", d)
	}
	b.adopt(m)
	b.make("m-0")
	wantKind(t, "Release", b.p.Release(t.Context(), b.c, []providers.AdoptedMachine{m}), fleet.Conflict, "machine m-0 was made or changed since")
}

// TestReleaseRefuses: where one machine was made or changed since it was adopted, none is released.
func TestReleaseRefuses(t *testing.T) {
	t.Parallel()
	for reason, change := range map[string]func(b *bench) (known int){
		"one that is not known": func(*bench) int { return 1 },
		"one that is leaving": func(b *bench) int {
			b.setTag("eu-1-md-0-fghij", "fairlead.dev/deleting", "2026-11-21T12:00:00Z")
			return 2
		},
		"one with damaged tags": func(b *bench) int {
			b.setTag("eu-1-md-0-fghij", "fairlead.dev/role", "queen")
			return 2
		},
		"one that was asked for": func(b *bench) int {
			b.setTag("eu-1-md-0-fghij", "fairlead.dev/operation", "op-m")
			return 2
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			machines := []providers.AdoptedMachine{b.theirs("eu-1-md-0-abcde"), b.theirs("eu-1-md-0-fghij")}
			b.adopt(machines...)
			known := change(b)
			b.until("it shows", func(i fleet.Infrastructure) bool { return len(i.Machines) == 2 })
			b.w.ResetCalls()
			wantKind(t, "Release", b.p.Release(t.Context(), b.c, machines[:known]), fleet.Conflict, "machine eu-1-md-0-fghij was made or changed since")
			if got := b.changes(); len(got) > 0 {
				t.Errorf("something was changed: %q", got)
			}
		})
	}
}

// TestAdoptedAddresses: addresses of pools that machines have stay theirs, and are given to no
// other.
func TestAdoptedAddresses(t *testing.T) {
	t.Parallel()
	b := pooled(t, "10.7.0.10-10.7.0.11")
	m := b.theirs("eu-1-md-0-abcde")
	wantKind(t, "without its claim", b.p.Adopt(t.Context(), b.c, []providers.AdoptedMachine{m}), fleet.NotFound, "machine eu-1-md-0-abcde", "no IPAddressClaim of it has one of InClusterIPPool/prod/nodes")
	m.Addresses = "InClusterIPPool/prod/nodes=10.7.0.11"
	other := b.theirs("eu-1-md-0-fghij")
	other.Addresses = m.Addresses
	wantKind(t, "one address for two", b.p.Adopt(t.Context(), b.c, []providers.AdoptedMachine{m, other}), fleet.Conflict, "machine eu-1-md-0-fghij", "machine eu-1-md-0-abcde has 10.7.0.11")
	b.adopt(m)
	wantKind(t, "the address of another", b.p.Adopt(t.Context(), b.c, []providers.AdoptedMachine{other}), fleet.Conflict, "another machine of a fleet has 10.7.0.11")
	if err := b.ask("m-0"); err != nil {
		t.Fatal(err)
	}
	b.until("the clone", func(i fleet.Infrastructure) bool { return len(i.Machines) == 2 })
	var tags map[string]string
	if err := json.Unmarshal([]byte(b.vms("m-0")[0].ExtraConfig["fairlead.dev/tags"]), &tags); err != nil {
		t.Fatal(err)
	}
	if got := tags["fairlead.dev/addresses"]; got != "InClusterIPPool/prod/nodes=10.7.0.10" {
		t.Errorf("the next machine has %s, want the other address", got)
	}
	wantKind(t, "a third machine", b.ask("m-1"), fleet.Exhausted, "all of its 2 addresses are taken")
	b.setTag("m-0", "fairlead.dev/addresses", "?")
	other.Addresses = "InClusterIPPool/prod/nodes=10.7.0.10"
	b.restart()
	wantKind(t, "an address that perhaps another has", b.p.Adopt(t.Context(), b.c, []providers.AdoptedMachine{other}), fleet.Conflict, "tags of "+b.folder()+"/m-0")
}

// TestAdoptFailureDomain: a machine is in the failure domain that its Machine says.
func TestAdoptFailureDomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	c := w.selecting(t, w.zoned(t))
	b := &bench{t, w, newProvider(t, nil), &c}
	m := b.theirs("eu-1-cp-abcde")
	m.Pool, m.FailureDomain = c.ControlPlane.Name, "nowhere"
	wantKind(t, "no such zone", b.p.Adopt(t.Context(), b.c, []providers.AdoptedMachine{m}), fleet.Invalid, "nowhere")
	m.FailureDomain = "abroad" // a zone of a vCenter that neither the cluster nor a pool names
	c.Companions = append(c.Companions, newObject(t, "VSphereDeploymentZone", "abroad", &api.VSphereDeploymentZoneSpec{Server: "other.example.com:443", FailureDomain: "fd-0"}))
	b.w.ResetCalls()
	wantKind(t, "a zone elsewhere", b.p.Adopt(t.Context(), b.c, []providers.AdoptedMachine{m}), fleet.Invalid, "Git does not lead to vCenter other.example.com:443")
	if n := b.called("FindAllByUuid"); n > 0 || len(b.changes()) > 0 {
		t.Errorf("its VM was looked for %d times where it is not, and %q was done", n, b.changes())
	}
	m.FailureDomain = "zone-1"
	b.adopt(m)
	if got := b.observe().Machines; len(got) != 1 || got[0].FailureDomain != "zone-1" {
		t.Errorf("machines %+v, want one in zone-1", got)
	}
}

// TestAdoptRefuses: where one machine cannot be taken over, none is.
func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		change func(b *bench, m *providers.AdoptedMachine)
		kind   fleet.ErrorKind
		want   string
	}{
		"gone":       {func(_ *bench, m *providers.AdoptedMachine) { m.ID = "vsphere://42304ef3-6e31-4ba1-9000-000000000000" }, fleet.NotFound, "no VM with the UUID 42304ef3"},
		"of a cloud": {func(_ *bench, m *providers.AdoptedMachine) { m.ID = "openstack:///1" }, fleet.Invalid, "none of vSphere"},
		"of another": {func(b *bench, m *providers.AdoptedMachine) {
			b.w.SetExtraConfig(b.vms(string(m.Name))[0].Ref, map[string]string{"fairlead.dev/tags": `{"fairlead.dev/fleet":"umbrella","fairlead.dev/cluster":"prod/eu-9"}`})
		}, fleet.Conflict, "belongs to cluster prod/eu-9 of fleet umbrella"},
		"garbage": {func(b *bench, m *providers.AdoptedMachine) {
			b.w.SetExtraConfig(b.vms(string(m.Name))[0].Ref, map[string]string{"fairlead.dev/tags": "?"})
		}, fleet.Conflict, "a key fairlead.dev/tags that says nothing"},
		"away": {func(b *bench, m *providers.AdoptedMachine) {
			b.w.SetConnection(b.vms(string(m.Name))[0].Ref, types.VirtualMachineConnectionStateDisconnected)
		}, fleet.Unavailable, "vCenter says that the virtual machine is disconnected"},
		"twice": {func(b *bench, m *providers.AdoptedMachine) {
			twin := b.w.AddMachine(b.folder(), "twin")
			b.w.Edit(twin.Ref, types.PropertyChange{Name: "config.uuid", Val: strings.TrimPrefix(string(m.ID), "vsphere://")})
		}, fleet.Conflict, "have the same UUID"},
		"a template": {func(b *bench, m *providers.AdoptedMachine) {
			b.w.Edit(b.vms(string(m.Name))[0].Ref, types.PropertyChange{Name: "config.template", Val: true})
		}, fleet.Conflict, "is a template"},
		"of another cluster": {func(b *bench, m *providers.AdoptedMachine) {
			b.w.SetExtraConfig(b.vms(string(m.Name))[0].Ref, map[string]string{"fairlead.dev/tags": `{"fairlead.dev/fleet":"acme","fairlead.dev/cluster":"prod/eu-9"}`})
		}, fleet.Conflict, "belongs to cluster prod/eu-9 of fleet acme"},
		"of its name in another fleet": {func(b *bench, m *providers.AdoptedMachine) {
			b.w.SetExtraConfig(b.vms(string(m.Name))[0].Ref, map[string]string{"fairlead.dev/tags": `{"fairlead.dev/fleet":"umbrella","fairlead.dev/cluster":"prod/eu-1"}`})
		}, fleet.Conflict, "belongs to cluster prod/eu-1 of fleet umbrella"},
		"made here": {func(b *bench, m *providers.AdoptedMachine) {
			b.w.SetExtraConfig(b.vms(string(m.Name))[0].Ref, map[string]string{"fairlead.dev/tags": `{"fairlead.dev/fleet":"acme","fairlead.dev/cluster":"prod/eu-1","fairlead.dev/operation":"op-m"}`})
		}, fleet.Conflict, "was not adopted, and carries a mark of the cluster"},
		"on its way out": {func(b *bench, m *providers.AdoptedMachine) {
			b.adopt(*m)
			b.setTag(string(m.Name), "fairlead.dev/deleting", "2026-11-21T12:00:00Z")
		}, fleet.Conflict, "is being deleted"},
		"the VM of the other": {func(b *bench, m *providers.AdoptedMachine) {
			m.ID = fleet.ProviderID("vsphere://" + b.vms("eu-1-md-0-abcde")[0].UUID)
		}, fleet.Conflict, "eu-1-md-0-abcde is that of machine eu-1-md-0-abcde too"},
		"an address of no device": {
			func(_ *bench, m *providers.AdoptedMachine) { m.Addresses = "InClusterIPPool/prod/nodes=10.7.0.11" },
			fleet.Conflict, "it has 10.7.0.11 of InClusterIPPool/prod/nodes, and no device of it names that pool",
		},
		"addresses that nobody wrote": {func(_ *bench, m *providers.AdoptedMachine) { m.Addresses = "10.7.0.11" }, fleet.Conflict, "\"10.7.0.11\" is no address of a pool"},
		"of no pool":                  {func(_ *bench, m *providers.AdoptedMachine) { m.Pool = "md-9" }, fleet.Invalid, "no pool md-9"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			machines := []providers.AdoptedMachine{b.theirs("eu-1-md-0-abcde"), b.theirs("eu-1-md-0-fghij")}
			tc.change(b, &machines[1])
			b.w.ResetCalls()
			wantKind(t, "Adopt", b.p.Adopt(t.Context(), b.c, machines), tc.kind, "machine eu-1-md-0-fghij", tc.want)
			if got := b.changes(); len(got) > 0 {
				t.Errorf("something was changed: %q", got)
			}
		})
	}
}
