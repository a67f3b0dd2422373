package ironic

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
)

// The verbs ask Ironic to take a node from one state to another, and return when it has
// begun. node is a name or a UUID. A state that does not allow it, as after the same request,
// gives the kind Conflict; a node at which something else is under way Unavailable.
// Source: Ironic, documentation of the bare metal state machine.

// Manage has Ironic check that the BMC answers: from enroll to manageable. It also leaves
// inspect failed, adopt failed, clean failed (out of maintenance) and available.
func (c *Client) Manage(ctx context.Context, node string) error {
	return c.provision(ctx, "verify host ", node, nodes.ProvisionStateOpts{Target: nodes.TargetManage})
}

// Inspect has Ironic look at what a manageable host is made of. A ramdisk that does so
// restarts it.
func (c *Client) Inspect(ctx context.Context, node string) error {
	return c.provision(ctx, "inspect host ", node, nodes.ProvisionStateOpts{Target: nodes.TargetInspect})
}

// Provide makes a manageable host available. It erases the host's disks, unless automated
// cleaning is off.
func (c *Client) Provide(ctx context.Context, node string) error {
	return c.provision(ctx, "make available host ", node, nodes.ProvisionStateOpts{Target: nodes.TargetProvide})
}

// Adopt makes a manageable host active without a change of its power or disk.
// It wants instance_info with an image.
func (c *Client) Adopt(ctx context.Context, node string) error {
	return c.provision(ctx, "adopt host ", node, nodes.ProvisionStateOpts{Target: nodes.TargetAdopt})
}

// stepPriority is when a custom step comes: while the ramdisk runs, and before what starts the
// host from its disk, which has 60.
// Source: Ironic, drivers/modules/agent.py, CustomAgentDeploy; baremetal-operator,
// pkg/provisioner/ironic/ironic.go.
const stepPriority = 80

// Deploy has a machine run on an available host, as instance_info and the deploy interface of
// its node say. Its config drive is that of [DriveKey]. step is the deploy step of the ramdisk
// that takes the place of writing an image; empty: none does.
func (c *Client) Deploy(ctx context.Context, node, step string) error {
	opts := nodes.ProvisionStateOpts{Target: nodes.TargetActive}
	if step != "" {
		opts.DeploySteps = []nodes.DeployStep{{Interface: nodes.InterfaceDeploy, Step: step, Args: map[string]any{}, Priority: stepPriority}}
	}
	return c.provision(ctx, "deploy host ", node, opts)
}

// Undeploy ends the machine on a host: it is switched off, cleaned, and available in the end.
// Ironic takes it even where the BMC does not answer. Then the node is in state error,
// without instance_uuid and instance_info, while the machine runs on: Undeploy again.
func (c *Client) Undeploy(ctx context.Context, node string) error {
	return c.provision(ctx, "release host ", node, nodes.ProvisionStateOpts{Target: nodes.TargetDeleted})
}

// Abort ends what waits for a ramdisk: inspect wait, clean wait; and, of newer releases than 29.0, a
// service that failed.
func (c *Client) Abort(ctx context.Context, node string) error {
	return c.provision(ctx, "abort what is under way at host ", node, nodes.ProvisionStateOpts{Target: nodes.TargetAbort})
}

func (c *Client) provision(ctx context.Context, what, node string, o nodes.ProvisionStateOpts) error {
	return Wrap(what+node, nodes.ChangeProvisionState(ctx, c.service, node, o).ExtractErr())
}

// A PowerChange is what the power of a host can be asked for.
type PowerChange string

// What power can be asked for. The soft ones ask the operating system first, and a host
// whose system does not answer stays unchanged.
const (
	On       PowerChange = "power on"
	Off      PowerChange = "power off"
	Reboot   PowerChange = "rebooting"
	SoftOff  PowerChange = "soft power off"
	SoftBoot PowerChange = "soft rebooting"
)

// Power switches a host on or off, and returns when Ironic has begun. It is Ironic's to do:
// a host that is switched off otherwise is switched on again by Ironic.
func (c *Client) Power(ctx context.Context, node string, to PowerChange) error {
	o := nodes.PowerStateOpts{Target: nodes.TargetPowerState(to)}
	return Wrap("change the power of host "+node, nodes.ChangePowerState(ctx, c.service, node, o).ExtractErr())
}

// SetMaintenance keeps Ironic from doing anything at a host, for a reason.
func (c *Client) SetMaintenance(ctx context.Context, node, reason string) error {
	return Wrap("set into maintenance host "+node, nodes.SetMaintenance(ctx, c.service, node, nodes.MaintenanceOpts{Reason: reason}).ExtractErr())
}

// UnsetMaintenance lets Ironic go on with a host, and forgets its fault.
func (c *Client) UnsetMaintenance(ctx context.Context, node string) error {
	return Wrap("take out of maintenance host "+node, nodes.UnsetMaintenance(ctx, c.service, node).ExtractErr())
}
