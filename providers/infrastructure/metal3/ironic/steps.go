package ironic

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
)

// A Step is a part of cleaning or servicing.
type Step struct {
	Interface string // of the node, whose it is: "raid", "bios", "firmware", "deploy"
	Name      string
	Args      map[string]any
}

// The versions of Ironic's API that know later steps.
// Source: Ironic, REST API version history.
const (
	firmwareVersion = "1.86"
	serviceVersion  = "1.87"
)

// Clean carries out steps on a manageable host, in their order. It is manageable again then.
func (c *Client) Clean(ctx context.Context, node string, steps []Step) error {
	version := Microversion
	if slices.ContainsFunc(steps, func(s Step) bool { return s.Interface == string(nodes.InterfaceFirmware) }) {
		version = firmwareVersion
	}
	err := c.speaking(version).provision(ctx, "clean host ", node, nodes.ProvisionStateOpts{Target: nodes.TargetClean, CleanSteps: stepsOf(steps)})
	if version != Microversion {
		return ofSteps(err)
	}
	return err
}

// Service carries out steps on an active host, and starts the system on its disk again. It is active again
// then.
func (c *Client) Service(ctx context.Context, node string, steps []Step) error {
	return ofSteps(c.speaking(serviceVersion).provision(ctx, "service host ", node, nodes.ProvisionStateOpts{Target: nodes.TargetService, ServiceSteps: stepsOf(steps)}))
}

// speaking returns c for a request that only later releases know.
func (c *Client) speaking(version string) *Client {
	service := *c.service
	service.Microversion = version
	return &Client{service: &service, transport: c.transport}
}

func stepsOf(steps []Step) []nodes.CleanStep {
	out := make([]nodes.CleanStep, len(steps))
	for i, s := range steps {
		out[i] = nodes.CleanStep{Interface: nodes.StepInterface(s.Interface), Step: s.Name, Args: s.Args}
	}
	return out
}

// Disks is Ironic's target_raid_config: how the step create_configuration puts disks together.
type Disks map[string]any

// ToRAIDConfigMap implements nodes.RAIDConfigOptsBuilder.
func (d Disks) ToRAIDConfigMap() (map[string]any, error) { return d, nil }

// SetDisks tells Ironic d of a host. Nothing is done to it.
func (c *Client) SetDisks(ctx context.Context, node string, d Disks) error {
	return Wrap("say how disks are put together of host "+node, nodes.SetRAIDConfig(ctx, c.service, node, d).ExtractErr())
}

// Note keeps value at a key of a host's driver_info, and gives its node interfaces, by what they
// are for: "raid". Nil takes away what is kept.
func (c *Client) Note(ctx context.Context, node, key string, value any, interfaces map[string]string) error {
	ops := nodes.UpdateOpts{nodes.UpdateOperation{Op: nodes.AddOp, Path: "/driver_info/" + key, Value: value}}
	if value == nil {
		ops = nodes.UpdateOpts{nodes.UpdateOperation{Op: nodes.RemoveOp, Path: "/driver_info/" + key}}
	}
	for name, to := range interfaces {
		ops = append(ops, nodes.UpdateOperation{Op: nodes.AddOp, Path: "/" + name + "_interface", Value: to})
	}
	return Wrap("note what is done to host "+node, nodes.Update(ctx, c.service, node, ops).Err)
}
