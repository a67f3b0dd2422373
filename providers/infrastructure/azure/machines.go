package azure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// room is where a size may have no capacity.
type room struct {
	subscription, location, size, zone string
	spot                               bool
}

// fullFor is how long a size is not asked for in a zone that had no capacity for it.
const fullFor = 10 * time.Minute

// doubtedFor is how long such a zone comes after others: a machine that failed there, and that waits since no other zone has
// room, is replaced once its health check gives it up, by default ten minutes after it was made.
const doubtedFor = 3 * fullFor

// bornFor is how long after its creation a VM without capacity is one that never ran. Azure reports the same of one that ran,
// was stopped or resized by people, and found no room when it was to start again: there is something on it.
const bornFor = doubtedFor

// machineOf returns the machine that a VM is. View is how a VM is that failed.
func (v *view) machineOf(m *vm, view *arm.InstanceView) fleet.Machine {
	out := fleet.MachineFromTags(tagsFrom(m.Tags))
	out.ProviderID, out.Created = providerID(m.ID), m.Properties.Created
	if out.Name != "" && !strings.EqualFold(m.Name, string(out.Name)) { // a VM has the name of its machine
		out.Damaged = strings.TrimPrefix(out.Damaged+"; VM "+m.Name+" carries the tags of machine "+string(out.Name)+", as one that was copied or restored does", "; ")
	}
	if len(m.Zones) > 0 {
		out.FailureDomain = m.Zones[0]
	}
	for _, nic := range m.nics {
		for _, c := range nic.Properties.Configurations {
			if c.Properties.Address != "" {
				out.Addresses = append(out.Addresses, c.Properties.Address)
			}
		}
	}
	slices.SortStableFunc(out.Addresses, func(a, b string) int { return strings.Count(a, ":") - strings.Count(b, ":") }) // those of IPv4 first
	out.State, out.Message = stateOf(m.Properties.Provisioning, view)
	if code, _ := view.Failure(); out.State == fleet.MachineFailed && arm.IsCapacityCode(code) {
		at := v.room(m.Properties.Hardware.Size, out.FailureDomain, m.Properties.Priority == spotPriority)
		if known, _ := v.p.full.Of(at); m.Properties.Created.After(known) {
			v.p.full.Note(at, m.Properties.Created)
		}
	}
	return out
}

// elsewhere marks the machines that failed for want of capacity in their zone if Azure has not refused the size of their pool
// in another one. It is best effort: others are replaced later.
func (v *view) elsewhere(ctx context.Context, machines []fleet.Machine) {
	for i := range machines {
		m := &machines[i]
		if m.State != fleet.MachineFailed || m.Damaged != "" || !arm.IsCapacityCode(codeOf(m.Message)) || time.Since(m.Created) > bornFor {
			continue
		}
		pool, ok := v.c.Pool(m.Pool)
		if !ok {
			continue
		}
		spec, err := api.ReadMachine(pool.Infrastructure)
		if err != nil {
			continue
		}
		zones, err := v.zonesFor(ctx, spec, providers.MachineRequest{Cluster: v.c, Pool: pool, FailureDomain: pool.FailureDomain})
		if err != nil {
			continue
		}
		_, refused := v.p.full.Of(v.room(spec.VMSize, zones[0], spec.SpotVMOptions != nil)) // such zones come last
		m.Elsewhere = !refused
	}
}

// codeOf returns the code that the message of a machine begins with.
func codeOf(message string) string {
	code, _, _ := strings.Cut(message, ":")
	return code
}

func (v *view) room(size, zone string, spot bool) room {
	return room{v.place.Subscription(), v.spec.Location, strings.ToLower(size), zone, spot}
}

// osTimeout is the code of a VM whose guest did not report in time: it may run.
const osTimeout = "OSProvisioningTimedOut"

// stateOf says what the state of a VM means. One that runs is no failed machine, whatever failed later.
// Source: Azure documentation, "States and billing of Azure Virtual Machines".
func stateOf(provisioning string, view *arm.InstanceView) (fleet.MachineState, string) {
	switch provisioning {
	case "Succeeded", "Updating", "Migrating":
		return fleet.MachineRunning, ""
	case "Deleting":
		return fleet.MachineDeleting, ""
	case "Failed":
		code, message := view.Failure()
		text := strings.Trim(code+": "+message, ": ")
		switch {
		case view.Runs():
			return fleet.MachineRunning, text
		case code == osTimeout || view == nil:
			return fleet.MachinePending, text
		}
		return fleet.MachineFailed, cmp.Or(text, "Azure could not create the VM")
	}
	return fleet.MachinePending, "VM is " + strings.ToLower(cmp.Or(provisioning, "being created"))
}

// machines returns the machines of the cluster.
func (v *view) machines() []fleet.Machine {
	out := make([]fleet.Machine, 0, len(v.vms))
	for _, m := range v.vms {
		out = append(out, m.machine)
	}
	return out
}

// again looks at a VM once more by its id; nil: it is not the machine that was seen any more.
func (v *view) again(ctx context.Context, m *vm) (*arm.Resource[arm.VM], error) {
	now, err := v.place.vm(ctx, m.ID)
	if err != nil || now == nil || now.Properties.ID != m.Properties.ID {
		return nil, err
	}
	is, was := tagsFrom(now.Tags), tagsFrom(m.Tags)
	for _, t := range []string{fleet.TagFleet, fleet.TagCluster, fleet.TagMachine} {
		if is[t] != was[t] {
			return nil, nil
		}
	}
	return now, nil
}

// Remove implements driver.Driver: the endpoint leads away from the VM, and it is deleted with its interface and disks.
func (p machines) Remove(ctx context.Context, what string, _ *fleet.Cluster, v *view, s driver.Seen[*vm]) error {
	m := s.Thing
	if s.Damaged != "" {
		return fleet.Errorf(fleet.Conflict, what, "what %s is is not certain: %s (correct its tags, or delete it in Azure)", s.Where, s.Damaged)
	}
	defer v.place.lists.Changed(v.owner.Part(s.Name))
	now, err := v.again(ctx, m)
	if err != nil || now == nil {
		return err
	}
	if s.State != fleet.MachineFailed {
		if err := v.leave(ctx, m); err != nil {
			return err
		}
	}
	p.extended.Forget(m.Properties.ID)
	if now.Properties.Provisioning == "Deleting" {
		return nil
	}
	p.o.Log.InfoContext(ctx, "deleting a VM", "machine", string(s.Name), "vm", m.ID)
	return v.place.Delete(ctx, m.ID)
}

// A leftover is an interface or a disk of a machine whose VM is gone.
type leftover struct {
	machine        fleet.MachineName
	kind, name, id string
}

// leftovers returns those of the cluster, and says what becomes of other parts without a VM. Of a VM that was just asked
// for, the parts may be listed before it is.
func (v *view) leftovers() (out []leftover, kept []string) {
	note := func(x leftover, tags arm.Tags, infix string, withVM bool, state string) { // what people copied has another name
		x.machine = fleet.MachineName(tagsFrom(tags)[fleet.TagMachine])
		named := strings.HasPrefix(strings.ToLower(x.name), strings.ToLower(string(x.machine)+infix)) || infix == publicInfix && strings.EqualFold(x.name, theirPublic+string(x.machine))
		switch {
		case x.machine == "" || !withVM || !named:
			kept = append(kept, x.kind+" "+x.name+" carries the tags of the cluster, and is no part of a machine (delete it, or remove its tags)")
		case slices.ContainsFunc(v.l.vms.All, func(m arm.Resource[arm.VM]) bool { return strings.EqualFold(m.Name, string(x.machine)) }):
		case state != "":
			kept = append(kept, x.kind+" "+x.name+" is left of machine "+string(x.machine)+", and is "+state)
		default:
			out = append(out, x)
		}
	}
	for _, n := range v.nics {
		state := ""
		if n.Properties.VM != nil {
			state = "attached"
		}
		if n.Properties.Provisioning == "Deleting" {
			state = "being deleted"
		}
		note(leftover{kind: "interface", name: n.Name, id: n.ID}, n.Tags, "-nic", true, state)
	}
	for _, a := range v.addresses {
		state := ""
		if a.Properties.Configuration != nil {
			state = "attached"
		}
		if a.Properties.Provisioning == "Deleting" {
			state = "being deleted"
		}
		note(leftover{kind: "public address", name: a.Name, id: a.ID}, a.Tags, publicInfix, true, state)
	}
	for _, d := range v.disks {
		state := cmp.Or(strings.ToLower(d.Properties.DiskState), "in an unknown state")
		switch {
		case d.Properties.Provisioning == "Deleting":
			state = "being deleted"
		case state == "unattached":
			state = ""
		}
		note(leftover{kind: "disk", name: d.Name, id: d.ID}, d.Tags, "_", slices.Contains([]string{"", "FromImage", "Empty"}, d.Properties.Creation.Option), state) // others are copied or restored
	}
	return out, kept
}

// cleaning are the steps that remove leftovers of machines.
func (v *view) cleaning() []steps.Step {
	var out []steps.Step
	left, _ := v.leftovers()
	for _, x := range left {
		out = append(out, steps.Step{What: fmt.Sprintf("delete %s %s, which is left of machine %s", x.kind, x.name, x.machine), Upkeep: true, Do: func(ctx context.Context) error {
			return v.p.Try(v.owner.Part(x.machine), func() error { return v.deleteLeftover(ctx, x) })
		}})
	}
	return out
}

// deleteLeftover deletes a leftover if a VM of its name is still missing. Azure keeps what is attached.
func (v *view) deleteLeftover(ctx context.Context, x leftover) error {
	if now, err := v.place.vm(ctx, v.place.resource(arm.VMs, string(x.machine))); err != nil || now != nil {
		return err
	}
	defer v.place.lists.Changed(v.owner.Part(x.machine))
	return v.deleteOwn(ctx, x.id)
}

// Untagged implements providers.UntaggedFinder.
func (p *Provider) Untagged(ctx context.Context, c *fleet.Cluster, ids []fleet.ProviderID) ([]fleet.Machine, error) {
	op := "find machines of " + c.Key.String() + " without tags"
	v, err := p.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return nil, arm.WrapLook(op, err)
	}
	var out []fleet.Machine
	for i := range v.l.vms.All {
		r := v.l.vms.All[i]
		id := providerID(r.ID)
		if c.Owns(tagsFrom(r.Tags)) || !slices.ContainsFunc(ids, func(o fleet.ProviderID) bool { return strings.EqualFold(string(o), string(id)) }) {
			continue
		}
		m := v.machineOf(&vm{Resource: r}, v.l.views[strings.ToLower(r.ID)])
		m.Damaged = "the tags " + tagName(fleet.TagFleet) + " and " + tagName(fleet.TagCluster) + " of VM " + r.Name + " do not say that it is of the cluster"
		out = append(out, m)
	}
	driver.SortMachines(out)
	return out, nil
}
