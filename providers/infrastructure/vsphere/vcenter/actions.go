package vcenter

import (
	"context"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// A Ref is a reference to a managed object.
type Ref = types.ManagedObjectReference

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
