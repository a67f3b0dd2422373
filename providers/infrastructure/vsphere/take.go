package vsphere

import (
	"context"
	"errors"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// work is what a change of one machine needs.
type work struct {
	site    *observedSite
	machine *machine.Owned
	compute *vcenter.Entity // that it runs on; nil while it is being deleted
	group   string          // of VMs, of its zone; empty: there is none
	grouped []vcenter.Ref   // VMs of the zone on compute
	rule    string          // that keeps its pool apart; empty: none does
	apart   []vcenter.Ref   // VMs of the pool on compute
}

// again reads the VM of j once more and reports whether it is what the look showed: that may be minutes
// old. It has its present power then.
func (j *work) again(ctx context.Context) (same bool, err error) {
	was := j.site.look.VM(j.machine.VM.Ref)
	now, err := j.site.Again(ctx, was.Ref)
	switch {
	case err != nil, now == nil:
		return false, err
	case now.Unread:
		return false, fleet.Errorf(fleet.Unavailable, "read virtual machine "+was.Ref.Value, "vCenter does not show its configuration: the VM is being cloned, or its files cannot be read")
	}
	vm := &j.machine.VM
	vm.Power, vm.Connection, vm.ToolsRunning = now.Power, now.Connection, now.ToolsRunning
	return now.TagsValue == was.TagsValue && now.UUID == was.UUID && now.InstanceUUID == was.InstanceUUID && now.Template == was.Template, nil
}

// take does step to the machine, and reports whether it is done: a task that takes longer than
// the patience of the provider goes on, and the next look tells how it went.
func (p *Provider) take(ctx context.Context, j *work, step machine.Step) (done bool, err error) {
	s, vm := j.site, j.machine.VM.Ref
	p.o.Log.InfoContext(ctx, "changing a virtual machine", "machine", string(j.machine.Machine.Name), "vm", vm.Value, "step", step.What)
	var task vcenter.Ref
	switch step.Action {
	case machine.None:
		return true, nil
	case machine.UpgradeHardware:
		task, err = s.UpgradeHardware(ctx, vm, step.Version, "")
	case machine.Reconfigure:
		task, err = s.Reconfigure(ctx, vm, *step.Config, "")
	case machine.JoinGroup:
		task, err = p.inTurn(ctx, s.Client, func() (vcenter.Ref, error) { return s.JoinGroup(ctx, j.compute.Ref, j.group, j.grouped...) })
	case machine.Spread:
		task, err = p.inTurn(ctx, s.Client, func() (vcenter.Ref, error) { return s.KeepApart(ctx, j.compute.Ref, j.rule, j.apart) })
	case machine.AttachTags:
		err = s.AttachTags(ctx, vm, step.Tags)
	case machine.PowerOn:
		task, err = s.PowerOn(ctx, vm, "")
	case machine.ShutDownGuest:
		err = s.ShutDownGuest(ctx, vm)
	case machine.PowerOff:
		task, err = s.PowerOff(ctx, vm, "")
	case machine.Destroy:
		task, err = s.Destroy(ctx, vm, "")
	default:
		return false, fleet.Errorf(fleet.Unknown, step.What, "unknown step")
	}
	if err != nil || task.Value == "" {
		return err == nil, err
	}
	return p.await(ctx, s.Client, task)
}

// inTurn asks for a change of a compute cluster. While another change of it is under way, it waits for that, as
// long as the patience of p is, and asks again.
func (p *Provider) inTurn(ctx context.Context, c *vcenter.Client, ask func() (vcenter.Ref, error)) (vcenter.Ref, error) {
	for {
		task, err := ask()
		busy, ok := errors.AsType[*vcenter.BusyError](err)
		if !ok {
			return task, err
		}
		if ended, failed := p.await(ctx, c, busy.Task); !ended && failed == nil {
			return vcenter.Ref{}, err
		}
	}
}

// How often a task is asked about that a call waits for.
const firstAsk, lastAsk = 50 * time.Millisecond, time.Second

// await waits for task, one of those that take seconds, as long as the patience of p is, and
// reports whether it ended. One that failed gives its error.
func (p *Provider) await(ctx context.Context, c *vcenter.Client, task vcenter.Ref) (ended bool, err error) {
	deadline := time.Now().Add(p.o.Patience)
	for pause := firstAsk; ; pause = min(2*pause, lastAsk) {
		t, err := c.Task(ctx, task)
		switch {
		case err != nil:
			return false, err
		case t == nil:
			return true, nil // vCenter forgot it
		case !t.Running():
			return true, t.Err
		case time.Now().Add(pause).After(deadline):
			return false, nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, nil // the next look tells
		}
	}
}

// details reads what a look does not tell of the machine, for one that is to be s.
func (j *work) details(ctx context.Context, w *machine.Wanted) (*machine.Details, error) {
	d, err := j.site.Details(ctx, j.machine.VM.Ref, machine.MetadataKey, machine.MetadataKey+".encoding")
	if err != nil {
		return nil, err
	}
	out := &machine.Details{
		Devices: d.Devices, HardwareVersion: d.Hardware, VMPath: d.VMX, Metadata: d.Config[machine.MetadataKey],
		MetadataEncoding: d.Config[machine.MetadataKey+".encoding"], Grouped: true, Spread: true,
	}
	if w == nil || w.Spec == nil {
		return out, nil
	}
	if len(w.Spec.TagIDs) > 0 {
		if out.Attached, err = j.site.TagIDsOf(ctx, j.machine.VM.Ref); err != nil {
			return nil, err
		}
	}
	if j.group == "" && j.rule == "" {
		return out, nil
	}
	g, err := j.site.Groups(ctx, j.compute.Ref)
	if err != nil {
		return nil, err
	}
	if j.group != "" {
		out.Grouped = slices.Contains(g.VMs[j.group], j.machine.VM.Ref)
	}
	if j.rule != "" && len(j.apart) > 1 {
		apart, _ := g.Apart(j.rule)
		out.Spread = slices.Contains(apart, j.machine.VM.Ref)
	}
	return out, nil
}
