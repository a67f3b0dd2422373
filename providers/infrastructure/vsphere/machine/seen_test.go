package machine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

const (
	poweredOn  = types.VirtualMachinePowerStatePoweredOn
	poweredOff = types.VirtualMachinePowerStatePoweredOff
	suspended  = types.VirtualMachinePowerStateSuspended
)

// TestOf: which VMs are machines of a cluster, and which are damaged.
func TestOf(t *testing.T) {
	const other = "42304ef3-6e31-4ba1-9000-000000000000"
	copied := func(v *machine.VM) { v.UUID, v.InstanceUUID, v.Name = other, other, "copy" }
	retagged := func(more ...string) func(v *machine.VM) {
		return func(v *machine.VM) { v.Tags = machine.EncodeTags(tags(more...)) }
	}
	for reason, tc := range map[string]struct {
		vms  []machine.VM
		want []string // names, and a word of the damage
	}{
		"ours":                              {[]machine.VM{vm(nil)}, []string{"m-0"}},
		"in capitals":                       {[]machine.VM{vm(func(v *machine.VM) { v.UUID, v.InstanceUUID = strings.ToUpper(m0), "" })}, []string{"m-0"}},
		"vCenter changed the instance UUID": {[]machine.VM{vm(func(v *machine.VM) { v.InstanceUUID = other })}, []string{"m-0"}},
		"vCenter changed the BIOS UUID":     {[]machine.VM{vm(func(v *machine.VM) { v.UUID = other })}, []string{"m-0"}},
		"a copy beside it":                  {[]machine.VM{vm(copied), vm(nil)}, []string{"m-0"}},
		"restored beside it":                {[]machine.VM{vm(func(v *machine.VM) { v.InstanceUUID = other }), vm(nil)}, []string{"m-0"}},
		"twice":                             {[]machine.VM{vm(nil), vm(nil)}, []string{"m-0 2 VMs have its tags", "m-0 2 VMs have its tags"}},
		"twice, and neither is whole": {
			[]machine.VM{vm(func(v *machine.VM) { v.InstanceUUID = other }), vm(func(v *machine.VM) { v.InstanceUUID = "" })},
			[]string{"m-0 2 VMs have its tags", "m-0 2 VMs have its tags"},
		},
		"adopted":                            {[]machine.VM{adopted(nil)}, []string{"m-0"}},
		"adopted, and a copy beside it":      {[]machine.VM{adopted(copied), adopted(nil)}, []string{"m-0"}},
		"adopted, and restored beside it":    {[]machine.VM{adopted(func(v *machine.VM) { v.InstanceUUID = other }), adopted(nil)}, []string{"m-0"}},
		"a copy of one adopted that is gone": {[]machine.VM{adopted(copied)}, []string{"m-0 it is a copy of a machine that is gone"}},
		"a copy, and it is gone":             {[]machine.VM{vm(copied)}, []string{"m-0 it is a copy of a machine that is gone"}},
		"a template of it, and it is gone":   {[]machine.VM{vm(func(v *machine.VM) { copied(v); v.Template = true })}, nil},
		"foreign":                            {[]machine.VM{vm(func(v *machine.VM) { copied(v); v.Tags = "" })}, nil},
		"foreign, with garbage":              {[]machine.VM{vm(func(v *machine.VM) { copied(v); v.Tags = "?" })}, nil},
		"of another cluster":                 {[]machine.VM{foreign("fairlead.dev/cluster", "prod/eu-2")}, nil},
		"of another fleet":                   {[]machine.VM{foreign("fairlead.dev/fleet", "umbrella")}, nil},
		"all tags wiped":                     {[]machine.VM{vm(func(v *machine.VM) { v.Tags = "" })}, []string{"m-0 fairlead.dev/tags is missing"}},
		"tags emptied":                       {[]machine.VM{vm(func(v *machine.VM) { v.Tags = "{}" })}, []string{"m-0 fairlead.dev/fleet is missing"}},
		"tags garbled":                       {[]machine.VM{vm(func(v *machine.VM) { v.Tags = "?" })}, []string{"m-0 not what Fairlead writes"}},
		"the tag of the machine lost":        {[]machine.VM{vm(retagged("fairlead.dev/machine", ""))}, []string{"m-0 fairlead.dev/machine is missing"}},
		"the tag of the cluster lost":        {[]machine.VM{vm(retagged("fairlead.dev/cluster", ""))}, []string{"m-0 fairlead.dev/cluster is missing"}},
		"the tag of the cluster of another":  {[]machine.VM{vm(retagged("fairlead.dev/cluster", "prod/eu-2"))}, []string{"m-0 prod/eu-2"}},
		"the tag of the role lost":           {[]machine.VM{vm(retagged("fairlead.dev/role", ""))}, []string{"m-0 fairlead.dev/role is missing"}},
		"the tags of another of the cluster": {[]machine.VM{vm(retagged("fairlead.dev/machine", "m-1"))}, []string{"m-1 do not make"}},
	} {
		got := machine.MachinesOf(tc.vms, cluster())
		var names []string
		for _, o := range got {
			names = append(names, string(o.Machine.Name))
		}
		if len(got) != len(tc.want) {
			t.Errorf("%s: %q, want %q", reason, names, tc.want)
			continue
		}
		for i, o := range got {
			name, damage, _ := strings.Cut(tc.want[i], " ")
			if string(o.Machine.Name) != name || (damage == "") != (o.Machine.Damaged == "") || !strings.Contains(o.Machine.Damaged, damage) {
				t.Errorf("%s: %s, damaged %q, want %s", reason, o.Machine.Name, o.Machine.Damaged, tc.want[i])
			}
			if o.Machine.ProviderID == "" {
				t.Errorf("%s: no provider id", reason)
			}
		}
	}
}

// adopted is a VM that another controller made, with the tags that were written for it.
func adopted(change func(v *machine.VM)) machine.VM {
	id := machine.UUIDs{Instance: "5034A6C9-0000-4000-9000-000000000001", BIOS: "42344155-0000-4000-9000-000000000002"}
	return vm(func(v *machine.VM) {
		v.InstanceUUID, v.UUID = strings.ToLower(id.Instance), strings.ToLower(id.BIOS)
		v.Tags = machine.EncodeTags(machine.AdoptedTags(tags(), id, spec(nil), ""))
		if change != nil {
			change(v)
		}
	})
}

// foreign is a VM with the tags of m-0 but for one, and with the UUID that these make.
func foreign(tag, value string) machine.VM {
	return vm(func(v *machine.VM) {
		t := tags(tag, value)
		v.Tags, v.UUID = machine.EncodeTags(t), machine.InstanceUUID(t)
		v.InstanceUUID = v.UUID
	})
}

// TestState: what vCenter's states mean.
func TestState(t *testing.T) {
	for reason, tc := range map[string]struct {
		change func(v *machine.VM)
		state  fleet.MachineState
		text   string
		silent bool
	}{
		"on":                                   {func(v *machine.VM) { v.Power = poweredOn }, fleet.MachineRunning, "", false},
		"off":                                  {func(v *machine.VM) {}, fleet.MachinePending, "powered off", false},
		"off, a task":                          {func(v *machine.VM) { v.Busy = "Power On virtual machine" }, fleet.MachinePending, "Power On virtual machine is under way", false},
		"it cannot be switched":                {func(v *machine.VM) { v.Refusal = "No host is compatible" }, fleet.MachineFailed, "No host is compatible", false},
		"on after all":                         {func(v *machine.VM) { v.Power, v.Refusal = poweredOn, "No host is compatible" }, fleet.MachineRunning, "", false},
		"suspended":                            {func(v *machine.VM) { v.Power = suspended }, fleet.MachineRunning, "suspended", false},
		"host away":                            {func(v *machine.VM) { v.Power, v.Connection = poweredOn, "disconnected" }, fleet.MachineRunning, "disconnected", true},
		"datastore away":                       {func(v *machine.VM) { v.Connection = "inaccessible" }, fleet.MachinePending, "inaccessible", true},
		"orphaned":                             {func(v *machine.VM) { v.Power, v.Connection = poweredOn, "orphaned" }, fleet.MachineRunning, "orphaned", true},
		"made a template":                      {func(v *machine.VM) { v.Template = true }, fleet.MachineFailed, "template", false},
		"on its way out":                       {func(v *machine.VM) { v.Tags = machine.EncodeTags(tags(machine.TagDeleting, "2026-11-23T11:59:00Z")) }, fleet.MachineDeleting, "", false},
		"on its way out, who knows since when": {func(v *machine.VM) { v.Tags = machine.EncodeTags(tags(machine.TagDeleting, "?")) }, fleet.MachineDeleting, "", false},
		"damaged, not on its way out": {func(v *machine.VM) {
			v.Power, v.Tags = poweredOn, machine.EncodeTags(tags(machine.TagDeleting, "2026-11-23T11:59:00Z", "fairlead.dev/role", ""))
		}, fleet.MachineRunning, "", false},
	} {
		m := owned(tc.change).Machine
		if m.State != tc.state || !strings.Contains(m.Message, tc.text) || m.Silent != tc.silent {
			t.Errorf("%s: %s, %q, silent %t, want %s, %q, %t", reason, m.State, m.Message, m.Silent, tc.state, tc.text, tc.silent)
		}
	}
}

// TestAddresses: those at which others reach the machine.
func TestAddresses(t *testing.T) {
	nics := func(v *machine.VM) {
		v.NICs = []machine.NIC{
			{Card: true, Addresses: []string{"fe80::1", "fd00::11", "10.0.0.11", "10.0.0.100"}},
			{Card: false, Addresses: []string{"192.168.0.1"}},
			{Card: true, Addresses: []string{"169.254.1.1", "10.1.0.11", "127.0.0.1", "?"}},
		}
	}
	got := owned(func(v *machine.VM) { nics(v); v.Power = poweredOn }).Machine.Addresses
	if d := cmp.Diff([]string{"10.0.0.11", "10.1.0.11", "fd00::11"}, got); d != "" {
		t.Errorf("without link-local ones, those of software, and the endpoint, which servers have by turns: %s", d)
	}
	if got := owned(nics).Machine.Addresses; len(got) > 0 {
		t.Errorf("one that is off has addresses: %q", got)
	}
}

// TestMachine: what else is told.
func TestMachine(t *testing.T) {
	m := owned(func(v *machine.VM) {
		v.UUID, v.Tags = strings.ToUpper(m0), machine.EncodeTags(tags(machine.TagFailureDomain, "zone-a"))
	}).Machine
	if m.ProviderID != "vsphere://030af483-7e45-8cd2-89f0-289540edf966" || m.FailureDomain != "zone-a" || m.Operation != "op-1" || m.Created.IsZero() {
		t.Errorf("%+v", m)
	}
	if m := owned(func(v *machine.VM) { v.Created = v.Booted }).Machine; m.Created.Format("15:04") != "12:00" {
		t.Errorf("made at %v, want when it was asked for: vCenter does not say", m.Created)
	}
}
