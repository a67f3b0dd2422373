package network

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// groups has the managed security groups made and their rules kept, exactly.
func (v *view) groups(d *decision) {
	if v.groupsDiffer(d) {
		return
	}
	var wanted []api.ManagedSecurityGroupName
	if v.spec.ManagedSecurityGroups != nil {
		wanted = append(wanted, api.SecurityGroupControlPlane, api.SecurityGroupWorker)
		if v.spec.Bastion.IsEnabled() {
			wanted = append(wanted, api.SecurityGroupBastion)
		}
	}
	found := make(map[api.ManagedSecurityGroupName]groups.SecGroup)
	for _, name := range []api.ManagedSecurityGroupName{api.SecurityGroupBastion, api.SecurityGroupControlPlane, api.SecurityGroupWorker} {
		all := filter(v.mine.groups, func(g groups.SecGroup) bool { return isFor(g.Description, string(name)) })
		if !slices.Contains(wanted, name) {
			for _, g := range without(all, v.groupUsed) {
				d.Add(v.removeGroup(g))
			}
			continue
		}
		g, surplus, _ := pick(all, func(g groups.SecGroup) (time.Time, string) { return g.CreatedAt, g.ID }, v.groupUsed)
		for _, s := range surplus {
			d.Add(v.removeGroup(s))
		}
		if g == nil {
			d.Add(step{What: "make security group " + v.name(string(name)), Essential: name != api.SecurityGroupBastion, Do: v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error {
				return v.makeGroup(ctx, c, name)
			})})
			continue
		}
		found[name] = *g
		v.tags(d, "security-groups", g.ID, g.Name, g.Tags, func(t []string) { g.Tags = t; v.putGroup(*g) })
	}
	d.placement.ControlPlaneGroup = found[api.SecurityGroupControlPlane].ID
	d.placement.WorkerGroup = found[api.SecurityGroupWorker].ID
	d.placement.BastionGroup = found[api.SecurityGroupBastion].ID
	if len(wanted) > 0 && len(found) == len(wanted) && len(d.placement.subnets) > 0 {
		v.rules(d, found)
	}
}

// groupsDiffer tells where the machines that are there have managed security groups
// and the next ones were to have none, or the other way round: the two would not
// reach each other.
func (v *view) groupsDiffer(d *decision) bool {
	const field = "managedSecurityGroups"
	wanted := v.spec.ManagedSecurityGroups != nil
	of := func(name api.ManagedSecurityGroupName) []groups.SecGroup {
		return filter(v.mine.groups, func(g groups.SecGroup) bool { return isFor(g.Description, string(name)) })
	}
	control, worker := of(api.SecurityGroupControlPlane), of(api.SecurityGroupWorker)
	if wanted && v.started() && len(v.ports) > 0 && d.placement.PortSecurity && len(control)+len(worker) == 0 {
		d.CannotFollow(field, "the machines were made without such groups "+putBack)
		d.placement.Ungrouped = true
		return true
	}
	if wanted || !slices.ContainsFunc(slices.Concat(control, worker), v.groupUsed) {
		return false
	}
	for name, id := range map[*[]groups.SecGroup]*string{&control: &d.placement.ControlPlaneGroup, &worker: &d.placement.WorkerGroup} {
		if len(*name) > 0 {
			*id = (*name)[0].ID
		}
	}
	d.CannotFollow(field, "the machines are in such groups "+putBack)
	return true
}

func (v *view) putGroup(g groups.SecGroup) {
	put(&v.all.groups, &v.mine.groups, g, func(o groups.SecGroup) bool { return o.ID == g.ID })
}

func (v *view) groupUsed(g groups.SecGroup) bool {
	return slices.ContainsFunc(v.all.ports, func(p cloud.Port) bool { return slices.Contains(p.SecurityGroups, g.ID) })
}

func (v *view) makeGroup(ctx context.Context, c *gophercloud.ServiceClient, name api.ManagedSecurityGroupName) error {
	g, err := groups.Create(ctx, c, groups.CreateOpts{Name: v.name(string(name)), Description: v.description(string(name))}).Extract()
	return entered(v.putGroup, g, err)
}

// rules has the rules of the groups brought in line.
func (v *view) rules(d *decision, found map[api.ManagedSecurityGroupName]groups.SecGroup) {
	set := ruleSet{spec: v.spec.ManagedSecurityGroups, ids: make(groupIDs), apiPort: int(v.port()), bastion: v.spec.Bastion.IsEnabled()}
	for name, g := range found {
		set.ids[name] = g.ID
	}
	for _, s := range v.inUse(d) {
		set.cidrs = append(set.cidrs, s.CIDR)
		if f := familyOf(s.CIDR); !slices.Contains(set.families, f) {
			set.families = append(set.families, f)
		}
	}
	slices.Sort(set.families)
	set.ports = v.additionalPorts()
	wanted, err := set.wanted()
	if err != nil {
		d.Faults = append(d.Faults, fleet.Errorf(fleet.Invalid, "make the rules of the security groups", "%w", err))
		return
	}
	for _, name := range []api.ManagedSecurityGroupName{api.SecurityGroupBastion, api.SecurityGroupControlPlane, api.SecurityGroupWorker} {
		g, ok := found[name]
		if !ok {
			continue
		}
		add, remove := diffRules(wanted[name], g.Rules)
		if d.refused {
			remove = nil
		}
		if len(add) > 0 {
			d.Add(step{
				What: fmt.Sprintf("add to security group %s: %s", g.Name, words(add, func(r described) string { return r.String() })),
				Do:   v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error { return v.addRules(ctx, c, g.ID, add) }),
			})
		}
		for _, r := range remove {
			d.Add(step{
				What: fmt.Sprintf("remove from security group %s: %s (rule %s)", g.Name, observedRule(r), r.ID),
				Do:   v.neutron(func(ctx context.Context, c *gophercloud.ServiceClient) error { return v.removeRule(ctx, c, g.ID, r) }),
			})
		}
	}
}

// addRules makes them in one call, or where some are there already, one by one.
func (v *view) addRules(ctx context.Context, c *gophercloud.ServiceClient, group string, add []described) error {
	var opts []rules.CreateOpts
	for _, r := range add {
		opts = append(opts, r.create(group))
	}
	made, err := rules.CreateBulk(ctx, c, opts).Extract()
	if duplicate(err) {
		made, err = nil, nil
		for i, o := range opts {
			got, one := rules.Create(ctx, c, o).Extract()
			if one != nil && !duplicate(one) {
				return one
			}
			if one == nil {
				made = append(made, *got)
				continue
			}
			made = append(made, add[i].asMade(group))
		}
	}
	if err != nil {
		return err
	}
	return v.withGroup(group, func(have []rules.SecGroupRule) []rules.SecGroupRule { return append(slices.Clone(have), made...) })
}

// duplicate reports whether Neutron has such a rule.
func duplicate(err error) bool {
	return err != nil && fleet.KindOf(openstackauth.Wrap("add rules", err)) == fleet.Conflict && strings.Contains(openstackauth.Wrap("", err).Error(), "already exist")
}

func (v *view) removeRule(ctx context.Context, c *gophercloud.ServiceClient, group string, r rules.SecGroupRule) error {
	if err := ignoreNotFound(rules.Delete(ctx, c, r.ID).ExtractErr()); err != nil {
		return err
	}
	return v.withGroup(group, func(have []rules.SecGroupRule) []rules.SecGroupRule {
		return without(have, func(o rules.SecGroupRule) bool { return o.ID == r.ID })
	})
}

// withGroup enters a change of the rules of one of the cluster's groups.
func (v *view) withGroup(id string, change func([]rules.SecGroupRule) []rules.SecGroupRule) error {
	if g, ok := find(v.mine.groups, func(g groups.SecGroup) bool { return g.ID == id }); ok {
		g.Rules = change(g.Rules)
		v.putGroup(g)
	}
	return nil
}
