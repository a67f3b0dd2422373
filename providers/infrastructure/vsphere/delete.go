package vsphere

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// DeleteMachine implements providers.Infrastructure: it does the next steps of the deletion,
// as long as tasks take seconds. One that waits for its guest, or for a task, is on its way
// out, and says when it is to be asked for again. So is one that vCenter does not reach: it goes
// when it is back. This process alone knows that, where its deletion did not begin before.
func (p *Provider) DeleteMachine(ctx context.Context, _ fleet.OperationID, c *fleet.Cluster, name fleet.MachineName, id fleet.ProviderID) error {
	op := "delete machine " + c.Key.Namespace + "/" + string(name)
	if name == "" {
		return fleet.Errorf(fleet.Invalid, op, "no name was given")
	}
	o := snapshot.OwnerOf(c).Part(name)
	end, err := p.busy.Begin(op, o)
	if err != nil {
		return err
	}
	defer end()
	got, err := p.look(ctx, c, o)
	if err != nil {
		return wrap(op, err)
	}
	var errs []error
	for i := range got.sites {
		s := &got.sites[i]
		for j := range s.owned {
			m := &s.owned[j]
			switch {
			case m.Machine.Name != name || id != "" && m.Machine.ProviderID != id:
			case m.Machine.Damaged != "":
				errs = append(errs, fleet.Errorf(fleet.Conflict, op, "what VM %s is is not certain: %s (put its tags right, or delete it in vCenter)", s.look.Path(s.look.VM(m.VM.Ref)), m.Machine.Damaged))
			case m.Machine.Silent:
				p.going.Note(m.VM.InstanceUUID, true)
				s.Changed(o)
			case m.VM.Busy != "" && m.Deleting():
			case m.VM.Busy != "":
				errs = append(errs, fleet.Errorf(fleet.Unavailable, op, "%s is under way on its VM", m.VM.Busy))
			default:
				errs = append(errs, p.remove(ctx, &work{site: s, machine: m}, removalOf(c, m)))
				s.Changed(o)
			}
		}
		for _, k := range s.clones {
			if k.machine != nil && k.machine.Name == name && id == "" {
				errs = append(errs, fleet.Errorf(fleet.Unavailable, op, "its VM is being cloned, and is deleted when it is there"))
			}
		}
	}
	return wrap(op, fleet.JoinErrors(errs...))
}

// remove does the next steps of the deletion of a machine, if a second look still finds it.
func (p *Provider) remove(ctx context.Context, j *work, r machine.Removal) error {
	m := j.machine
	if same, err := j.again(ctx); err != nil || !same {
		return err
	}
	for range mostSteps {
		var d *machine.Details
		if m.Deleting() && m.VM.Power == "poweredOff" {
			var err error
			if d, err = j.details(ctx, nil); vcenter.NotFound(err) {
				return nil
			} else if err != nil {
				return err
			}
		}
		step := machine.NextOfDeletion(m, d, r, j.site.Now())
		if step.Action == machine.Destroy {
			if err := p.dropRuleOfLast(ctx, j); err != nil {
				return err
			}
		}
		done, err := p.take(ctx, j, step)
		switch {
		case vcenter.NotFound(err):
			return nil
		case step.Action == machine.ShutDownGuest && vcenter.ToolsUnavailable(err) && r.Mode == "trySoft":
			m.VM.ToolsRunning = false
			continue
		case err != nil && !vcenter.PoweredAlready(err):
			return err
		case step.Action == machine.Destroy && done:
			p.forget(m.VM.InstanceUUID)
			return nil
		case step.Action == machine.ShutDownGuest:
			p.asked.Note(m.VM.InstanceUUID, true)
			return nil
		case !done || step.Action == machine.Destroy:
			return nil
		}
		step.Apply(m)
	}
	return nil
}

// unasked reports whether m is to go and runs, and its guest was not asked to shut down by this
// process: one that ended may have noted that m goes, and not have asked any more. To ask
// twice does no harm.
func (p *Provider) unasked(m *machine.Owned) bool {
	return m.VM.Power == "poweredOn" && m.VM.Busy == "" && !m.Machine.Silent && !p.asked.Has(m.VM.InstanceUUID)
}
