package vsphere

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// A listing is what a look at a vCenter says of all VMs there, whosesoever they are. It is not changed.
type listing struct {
	look     *vcenter.Look
	machines *machine.Index
	holders  addresses.Holders // by the names that holder gives VMs, without copies
	running  map[string]bool   // of the holders, those that are powered on
	unknown  error             // why it is not known what addresses a VM has; nil: it is
}

// listingOf returns what look says, which was a look at s. Clusters that share a look share it.
func listingOf(s *site, look *vcenter.Look) *listing {
	return look.Derived(func() any { return newListing(s, look) }).(*listing)
}

func newListing(s *site, look *vcenter.Look) *listing {
	vms := convert(look)
	l := &listing{look: look, machines: machine.NewIndex(vms), holders: make(addresses.Holders), running: make(map[string]bool)}
	l.hold(s, machine.Copies(vms))
	return l
}

// hold notes which addresses of pools the VMs of s have, without copies. Where somebody damaged what
// one says of it, no address is given: it may be the one of that VM.
func (l *listing) hold(s *site, copies map[vcenter.Ref]bool) {
	for _, vm := range l.look.Tagged() {
		if copies[vm.Ref] {
			continue
		}
		runs := vm.Power != "poweredOff"
		err := l.holders.Add(s.holder(vm.Ref), vm.Tags[addresses.Tag])
		e, wrong := l.holders.AddEndpoint(vm.Tags)
		if err = cmp.Or(err, wrong); err != nil {
			l.unknown = fmt.Errorf("tags of %s: %w", l.look.Path(vm), err)
		}
		l.running[s.holder(vm.Ref)] = runs
		if e != "" && runs {
			l.running[e] = true
		}
	}
}

// hold adds the holders of addresses of pools in another vCenter.
func (o *observation) hold(l *listing) {
	if o.holders == nil {
		o.holders, o.running, o.unknown = l.holders, l.running, l.unknown
		return
	}
	o.holders, o.running = maps.Clone(o.holders), maps.Clone(o.running)
	for c, ids := range l.holders {
		o.holders[c] = slices.Concat(o.holders[c], ids)
	}
	maps.Copy(o.running, l.running)
	o.unknown = cmp.Or(l.unknown, o.unknown)
}

// convert returns the VMs of l that have tags, as package machine wants them.
func convert(l *vcenter.Look) []machine.VM {
	busy := make(map[vcenter.Ref]string)
	for _, t := range l.Tasks {
		if t.Running() {
			busy[t.Entity] = t.What
		}
	}
	var out []machine.VM
	for i := range l.VMs {
		vm := &l.VMs[i]
		if !vm.Tagged && !machine.IsMadeUUID(vm.InstanceUUID) {
			continue
		}
		out = append(out, convertOne(vm, busy[vm.Ref]))
	}
	return out
}

// convertOne returns vm, on which the task busy runs, as package machine wants it.
func convertOne(vm *vcenter.VM, busy string) machine.VM {
	v := machine.VM{
		Ref: vm.Ref, Name: vm.Name, Configured: !vm.Unread, UUID: vm.UUID, InstanceUUID: vm.InstanceUUID, Template: vm.Template,
		Tags: "?", Power: vm.Power, Connection: vm.Connection, Created: vm.Created, Booted: vm.Booted, ToolsRunning: vm.ToolsRunning, Busy: busy,
	}
	switch {
	case vm.Tags != nil:
		v.Tags, v.Read = vm.TagsValue, vm.Tags
	case !vm.Tagged:
		v.Tags = ""
	}
	for _, n := range vm.NICs {
		v.NICs = append(v.NICs, machine.NIC{MAC: n.MacAddress, Card: n.DeviceConfigId >= 0, Addresses: n.IpAddress})
	}
	return v
}

// converted is convertOne with the remembered facts about vm.
func (p *Provider) converted(vm *vcenter.VM) machine.VM {
	v := convertOne(vm, "")
	p.remind(&v)
	return v
}

// owned returns the machines of c in l, with the remembered facts about their VMs.
func (p *Provider) owned(l *listing, c *fleet.Cluster) []machine.Owned {
	vms := l.machines.Candidates(c)
	for i := range vms {
		p.remind(&vms[i])
	}
	return machine.MachinesOf(vms, c)
}

// remind notes in vm why it could not be powered on, if that was refused, and whether its deletion
// was asked for while that could not be noted in it.
func (p *Provider) remind(vm *machine.VM) {
	vm.Refusal, _ = p.refusals.Of(vm.InstanceUUID)
	vm.Going = p.going.Has(vm.InstanceUUID)
}
