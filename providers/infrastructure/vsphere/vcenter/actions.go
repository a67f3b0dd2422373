package vcenter

import (
	"context"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// A Ref is a reference to a managed object.
type Ref = types.ManagedObjectReference

// What follows asks for one change each. Most are done by a task, which is returned and not
// waited for: the next look tells how it went. Token is what a look finds the task by,
// also for another agent.

// start asks for a task, which token is to be known by, and returns it at once.
func (c *Client) start(ctx context.Context, op, token string, ask func(context.Context, *vim25.Client) (*object.Task, error)) (Ref, error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return Ref{}, Wrap(op, err)
	}
	task, err := ask(c.withToken(ctx, vim, token), vim)
	if err != nil {
		return Ref{}, Wrap(op, err)
	}
	c.asked.note(task.Reference(), token)
	return task.Reference(), nil
}

// Clone makes a VM called name in folder of template, as spec says. While it is made, and
// where that fails, the tasks of a look tell of token. Names are unique in a folder: where a VM
// has it the task fails with an error of which DuplicateOf tells the VM.
func (c *Client) Clone(ctx context.Context, template, folder Ref, name string, spec types.VirtualMachineCloneSpec, token string) (Ref, error) {
	return c.start(ctx, "clone "+template.Value+" as "+name, token, func(ctx context.Context, vim *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(vim, template).Clone(ctx, object.NewFolder(vim, folder), name, spec)
	})
}

// Reconfigure changes vm as spec says.
func (c *Client) Reconfigure(ctx context.Context, vm Ref, spec types.VirtualMachineConfigSpec, token string) (Ref, error) {
	return c.start(ctx, "reconfigure "+vm.Value, token, func(ctx context.Context, vim *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(vim, vm).Reconfigure(ctx, spec)
	})
}

// UpgradeHardware makes the virtual hardware of vm, which is powered off, of version:
// "vmx-19".
func (c *Client) UpgradeHardware(ctx context.Context, vm Ref, version, token string) (Ref, error) {
	return c.start(ctx, "upgrade the hardware of "+vm.Value+" to "+version, token, func(ctx context.Context, vim *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(vim, vm).UpgradeVM(ctx, version)
	})
}

// PowerOn powers vm on. If it is on already, PoweredAlready holds of the error.
func (c *Client) PowerOn(ctx context.Context, vm Ref, token string) (Ref, error) {
	return c.start(ctx, "power on "+vm.Value, token, func(ctx context.Context, vim *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(vim, vm).PowerOn(ctx)
	})
}

// PowerOff takes the power from vm. One that has none gives an error of which
// PoweredAlready holds.
func (c *Client) PowerOff(ctx context.Context, vm Ref, token string) (Ref, error) {
	return c.start(ctx, "power off "+vm.Value, token, func(ctx context.Context, vim *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(vim, vm).PowerOff(ctx)
	})
}

// ShutDownGuest asks the tools in the guest of vm to shut it down. Where none run the error is
// one of which ToolsUnavailable holds.
func (c *Client) ShutDownGuest(ctx context.Context, vm Ref) error {
	op := "shut down the guest of " + vm.Value
	vim, err := c.conn(ctx)
	if err != nil {
		return Wrap(op, err)
	}
	return Wrap(op, object.NewVirtualMachine(vim, vm).ShutdownGuest(ctx))
}

// Destroy removes vm, which is powered off, with the files of all disks that are attached to
// it. What is not there gives no task and no error.
func (c *Client) Destroy(ctx context.Context, vm Ref, token string) (Ref, error) {
	task, err := c.start(ctx, "destroy "+vm.Value, token, func(ctx context.Context, vim *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(vim, vm).Destroy(ctx)
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
