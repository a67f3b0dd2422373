package aws

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// given returns the network interfaces that Git gives a machine, in their order. One that another machine has is refused.
func (v *view) given(ctx context.Context, spec *api.AWSMachineSpec, r providers.MachineRequest, vpc string) ([]cloud.Interface, error) {
	const op = "find networkInterfaces"
	if len(spec.NetworkInterfaces) == 0 {
		return nil, nil
	}
	var filters []string
	for _, id := range spec.NetworkInterfaces {
		filters = append(filters, "network-interface-id", id)
	}
	found, err := v.place.Interfaces(ctx, filters...)
	if err != nil {
		return nil, cloud.WrapLook(op, err)
	}
	var out []cloud.Interface
	for _, id := range spec.NetworkInterfaces {
		i := slices.IndexFunc(found, func(x cloud.Interface) bool { return x.ID == id })
		switch {
		case i < 0:
			return nil, fleet.Errorf(fleet.Invalid, op, "there is no network interface %s in %s (name one that exists)", id, v.spec.Region)
		case found[i].VPC != vpc:
			return nil, fleet.Errorf(fleet.Invalid, op, "network interface %s is in %s, and the cluster is in %s (name another)", id, found[i].VPC, vpc)
		case len(out) > 0 && found[i].Zone != out[0].Zone:
			return nil, fleet.Errorf(fleet.Invalid, op, "network interface %s is in %s, and %s is in %s (name two of one zone)", id, found[i].Zone, out[0].ID, out[0].Zone)
		}
		if err := v.isFree(ctx, found[i], r.Name); err != nil {
			return nil, err
		}
		out = append(out, found[i])
	}
	return out, nil
}

// isFree refuses a network interface that an instance has which is not the machine of that name.
func (v *view) isFree(ctx context.Context, x cloud.Interface, name fleet.MachineName) error {
	const op = "find networkInterfaces"
	if x.Instance == "" {
		return nil
	}
	all, err := v.place.InstancesOf(ctx, []string{x.Instance})
	switch {
	case err != nil:
		return cloud.WrapLook(op, err)
	case len(all) != 1 || all[0].Ending():
		return fleet.Errorf(fleet.Unavailable, op, "network interface %s is still attached to instance %s", x.ID, x.Instance)
	case v.c.Owns(all[0].Tags) && all[0].Tags[fleet.TagMachine] == string(name):
		return nil // an earlier request made it
	}
	return fleet.Errorf(fleet.Conflict, op, "network interface %s is attached to instance %s, and each machine has its own "+
		"(detach it, or name another; a pool with networkInterfaces has one machine, and a rollout deletes it first with maxSurge: 0)", x.ID, x.Instance)
}

// plug has the network interfaces that a machine is given be in its security groups, which form has, beside those that they
// are in.
func (v *view) plug(ctx context.Context, spec *api.AWSMachineSpec, form url.Values, r providers.MachineRequest) error {
	given, err := v.given(ctx, spec, r, v.network(new(steps.Decision)).vpc)
	if err != nil {
		return err
	}
	own := groupsIn(form)
	for _, x := range given {
		groups := slices.DeleteFunc(slices.Clone(x.Groups), func(id string) bool { return v.isGroup(id) || slices.Contains(own, id) })
		if groups = append(groups, own...); sameSet(groups, x.Groups) {
			continue
		}
		if err := v.place.SetGroups(ctx, x.ID, groups...); err != nil {
			return cloud.Wrap("add security groups to network interface "+x.ID, cloud.Named(err))
		}
	}
	return nil
}

// isGroup reports whether a security group is the cluster's.
func (v *view) isGroup(id string) bool {
	return slices.ContainsFunc(v.groups, func(g cloud.Group) bool { return g.ID == id })
}

// groupsIn returns the security groups of an instance in the parameters of RunInstances.
func groupsIn(form url.Values) []string {
	var out []string
	for i := 1; form.Has(fmt.Sprintf("SecurityGroupId.%d", i)); i++ {
		out = append(out, form.Get(fmt.Sprintf("SecurityGroupId.%d", i)))
	}
	return out
}

// givenInterfaces returns the parameters of RunInstances for network interfaces that are there, which have their subnets and
// security groups.
func givenInterfaces(spec *api.AWSMachineSpec, form url.Values) url.Values {
	out := url.Values{}
	for i, id := range spec.NetworkInterfaces {
		at := fmt.Sprintf("NetworkInterface.%d.", i+1)
		out.Set(at+"DeviceIndex", fmt.Sprint(i))
		out.Set(at+"NetworkInterfaceId", id)
	}
	for i := range groupsIn(form) {
		out[fmt.Sprintf("SecurityGroupId.%d", i+1)] = nil
	}
	return out
}

// unplug decides about network interfaces of people that are in security groups of a cluster that goes: no instance has them,
// and they are in others, too.
func (v *view) unplug(d *steps.Decision) {
	for i, x := range v.interfaces {
		others := slices.DeleteFunc(slices.Clone(x.Groups), v.isGroup)
		if x.Instance != "" || len(others) == 0 || len(others) == len(x.Groups) || strings.HasPrefix(x.Description, "ELB ") {
			continue
		}
		d.Add(steps.Step{What: "remove the security groups of the cluster from network interface " + x.ID, Do: func(ctx context.Context) error {
			err := v.place.SetGroups(ctx, x.ID, others...)
			if err == nil {
				v.interfaces[i].Groups = others
			}
			return err
		}})
	}
}
