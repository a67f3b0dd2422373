package vcenter

import (
	"context"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// A Ref is a reference to a managed object.
type Ref = types.ManagedObjectReference

// What follows asks for one change each. Most are done by a task, which is returned and not
// waited for: the next look tells how it went. Token is what Look.TasksFor finds the task by,
// also for another agent.

// start asks for a task, which token is to be known by, and returns it at once.
func (c *Client) start(ctx context.Context, op, token string, ask func(context.Context, *vim25.Client) (Ref, error)) (Ref, error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return Ref{}, Wrap(op, err)
	}
	task, err := ask(c.withToken(ctx, vim, token), vim)
	if err != nil {
		return Ref{}, Wrap(op, err)
	}
	c.asked.note(task, token)
	return task, nil
}

// Clone makes a VM called name in folder of template, as spec says. While it is made, and
// where that fails, Look.TasksFor tells of token. Names are unique in a folder: where a VM
// has it the task fails with an error of which DuplicateOf tells the VM.
func (c *Client) Clone(ctx context.Context, template, folder Ref, name string, spec types.VirtualMachineCloneSpec, token string) (Ref, error) {
	return c.start(ctx, "clone "+template.Value+" as "+name, token, func(ctx context.Context, vim *vim25.Client) (Ref, error) {
		res, err := methods.CloneVM_Task(ctx, vim, &types.CloneVM_Task{This: template, Folder: folder, Name: name, Spec: spec})
		if err != nil {
			return Ref{}, err
		}
		return res.Returnval, nil
	})
}

// Reconfigure changes vm as spec says.
func (c *Client) Reconfigure(ctx context.Context, vm Ref, spec types.VirtualMachineConfigSpec, token string) (Ref, error) {
	return c.start(ctx, "reconfigure "+vm.Value, token, func(ctx context.Context, vim *vim25.Client) (Ref, error) {
		res, err := methods.ReconfigVM_Task(ctx, vim, &types.ReconfigVM_Task{This: vm, Spec: spec})
		if err != nil {
			return Ref{}, err
		}
		return res.Returnval, nil
	})
}

// UpgradeHardware makes the virtual hardware of vm, which is powered off, of version:
// "vmx-19". One that has it already gives an error of which UpgradedAlready holds.
func (c *Client) UpgradeHardware(ctx context.Context, vm Ref, version, token string) (Ref, error) {
	return c.start(ctx, "upgrade the hardware of "+vm.Value+" to "+version, token, func(ctx context.Context, vim *vim25.Client) (Ref, error) {
		res, err := methods.UpgradeVM_Task(ctx, vim, &types.UpgradeVM_Task{This: vm, Version: version})
		if err != nil {
			return Ref{}, err
		}
		return res.Returnval, nil
	})
}

// PowerOn powers vm on. If it is on already, PoweredAlready holds of the error.
func (c *Client) PowerOn(ctx context.Context, vm Ref, token string) (Ref, error) {
	return c.start(ctx, "power on "+vm.Value, token, func(ctx context.Context, vim *vim25.Client) (Ref, error) {
		res, err := methods.PowerOnVM_Task(ctx, vim, &types.PowerOnVM_Task{This: vm})
		if err != nil {
			return Ref{}, err
		}
		return res.Returnval, nil
	})
}

// PowerOff takes the power from vm. One that has none gives an error of which
// PoweredAlready holds.
func (c *Client) PowerOff(ctx context.Context, vm Ref, token string) (Ref, error) {
	return c.start(ctx, "power off "+vm.Value, token, func(ctx context.Context, vim *vim25.Client) (Ref, error) {
		res, err := methods.PowerOffVM_Task(ctx, vim, &types.PowerOffVM_Task{This: vm})
		if err != nil {
			return Ref{}, err
		}
		return res.Returnval, nil
	})
}

// ShutDownGuest asks the tools in the guest of vm to shut it down. Where none run the error is
// one of which ToolsUnavailable holds.
func (c *Client) ShutDownGuest(ctx context.Context, vm Ref) error {
	_, err := c.start(ctx, "shut down the guest of "+vm.Value, "", func(ctx context.Context, vim *vim25.Client) (Ref, error) {
		_, err := methods.ShutdownGuest(ctx, vim, &types.ShutdownGuest{This: vm})
		return Ref{}, err
	})
	return err
}

// Destroy removes vm, which is powered off, with the files of all disks that are attached to
// it. What is not there gives no task and no error.
func (c *Client) Destroy(ctx context.Context, vm Ref, token string) (Ref, error) {
	task, err := c.start(ctx, "destroy "+vm.Value, token, func(ctx context.Context, vim *vim25.Client) (Ref, error) {
		res, err := methods.Destroy_Task(ctx, vim, &types.Destroy_Task{This: vm})
		if err != nil {
			return Ref{}, err
		}
		return res.Returnval, nil
	})
	if NotFound(err) {
		return Ref{}, nil
	}
	return task, err
}

// Task reads how task is; nil where vCenter forgot it, ten minutes after it ended at least.
func (c *Client) Task(ctx context.Context, task Ref) (*Task, error) {
	var o mo.Task
	err := c.properties(ctx, task, []string{"info"}, &o)
	switch {
	case NotFound(err):
		return nil, nil
	case err != nil:
		return nil, WrapLook("look at task "+task.Value, err)
	}
	t := taskOf(o.Info, c.asked.token(task))
	return &t, nil
}
