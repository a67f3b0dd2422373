package vsphere

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// Remove implements driver.Driver: it does the next steps of the deletion, as long as tasks take
// seconds. One that waits for its guest, or for a task, is on its way out, and says when it is to be
// asked for again. So is one that vCenter does not reach: it goes when it is back. This process alone
// knows that, where its deletion did not begin before.
func (p machines) Remove(ctx context.Context, what string, c *fleet.Cluster, _ *observation, seen driver.Seen[seenVM]) error {
	s, m := seen.Thing.site, seen.Thing.machine
	switch {
	case m == nil:
		return fleet.Errorf(fleet.Unavailable, what, "its VM is being cloned, and is deleted when it is there")
	case m.Machine.Damaged != "":
		return fleet.Errorf(fleet.Conflict, what, "what %s is is not certain: %s (put its tags right, or delete it in vCenter)", seen.Where, m.Machine.Damaged)
	case m.Machine.Silent:
		p.going.Note(m.VM.InstanceUUID, true)
		s.Changed(snapshot.OwnerOf(c).Part(seen.Name))
		return nil
	case m.VM.Busy != "" && m.Deleting():
		return nil
	case m.VM.Busy != "":
		return fleet.Errorf(fleet.Unavailable, what, "%s is under way on its VM", m.VM.Busy)
	}
	defer s.Changed(snapshot.OwnerOf(c).Part(seen.Name))
	return p.remove(ctx, &work{site: s, machine: m}, removalOf(c, m))
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
