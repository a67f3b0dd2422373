package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// RemoveShared implements driver.Driver: it takes the steps of the deletion that are possible now. A gateway and
// the interfaces of load balancers take their time to go.
func (p machines) RemoveShared(ctx context.Context, what string, c *fleet.Cluster, v *view) error {
	if api.IsManaged(c) {
		return p.deleteManaged(ctx, what, c)
	}
	return p.removeShared(ctx, what, c, v)
}

// removeShared deletes all that the machines of c shared.
func (p *Provider) removeShared(ctx context.Context, what string, c *fleet.Cluster, v *view) error {
	if !c.Delete { // who asks without that looks at the same
		if err := v.lookAtInterfaces(ctx); err != nil {
			return err
		}
	}
	errs := v.perform(ctx, v.decideDeletion)
	for _, s := range v.secrets {
		errs = append(errs, cloud.Wrap("delete secret "+s.Name, v.drop(ctx, s)))
	}
	err := fleet.JoinErrors(errs...)
	p.noteRefusal(v, err)
	return cloud.Wrap(what, err)
}

// noteRefusal notes why the last deletion was refused: nothing that a look sees tells it.
func (p *Provider) noteRefusal(v *view, err error) {
	if kind := fleet.KindOf(err); err == nil || kind == fleet.Unavailable || kind == fleet.Unanswered {
		p.refused.Forget(v.owner)
		return
	}
	p.refused.Note(v.owner, err.Error())
}

// deletion says what the deletion of the cluster waits for.
func (p *Provider) deletion(v *view) string {
	d := v.decideDeletion()
	out := slices.Clone(d.Waits)
	if refused, ok := p.refused.Of(v.owner); ok {
		out = append(out, refused)
	}
	return strings.Join(out, "; ")
}

// decideDeletion decides what of the shared things can be deleted now: what nothing depends on any more.
func (v *view) decideDeletion() *steps.Decision {
	d := new(steps.Decision)
	v.endBastions(d, slices.DeleteFunc(slices.Clone(v.bastions), func(i cloud.Instance) bool { return i.State == "shutting-down" }), "with the cluster")
	if len(v.bastions) > 0 {
		d.Wait("bastion " + v.bastions[0].ID + " is being terminated")
	}
	for _, b := range slices.Concat(v.balancers, v.leftBalancers()) {
		d.Add(steps.Step{What: "delete load balancer " + b.Name, Do: func(ctx context.Context) error {
			err := v.place.DeleteBalancer(ctx, b)
			if err == nil {
				v.forgetBalancer(b.ID)
			}
			return err
		}})
	}
	for _, t := range v.targets {
		t.Balancers = slices.DeleteFunc(slices.Clone(t.Balancers), func(id string) bool { return v.s.Balancers.Get(id) == nil })
		for _, id := range t.Balancers {
			if !slices.ContainsFunc(v.balancers, func(b cloud.Balancer) bool { return b.ID == id }) {
				d.Wait("target group " + t.Name + " is used by load balancer " + v.s.Balancers.Get(id).Name + " (delete its listener)")
			}
		}
		d.Add(v.deletionOf(t, len(t.Balancers) > 0))
	}
	v.unplug(d)
	v.deleteGroups(d)
	for _, n := range v.nats {
		if n.State == "deleting" {
			d.Wait("NAT gateway " + n.ID + " is being deleted")
			continue
		}
		others := v.usedBy(func(i cloud.Interface) bool { return i.VPC == n.VPC && i.Instance != "" }) // those of the cluster are gone
		d.Add(steps.Step{What: "delete NAT gateway " + n.ID, Blocked: len(others) > 0, Do: func(ctx context.Context) error {
			err := v.place.DeleteNAT(ctx, n.ID)
			if i := slices.IndexFunc(v.nats, func(o cloud.NAT) bool { return o.ID == n.ID }); err == nil && i >= 0 {
				v.nats[i].State = "deleting"
			}
			return err
		}})
	}
	for _, a := range v.addresses {
		ours := slices.ContainsFunc(v.nats, func(n cloud.NAT) bool { return n.Address == a.ID })
		if a.Association != "" && !ours {
			d.Wait("address " + a.IP + " is still in use (disassociate it)")
		}
		d.Add(steps.Step{What: "release address " + a.IP, Blocked: ours || a.Association != "", Do: func(ctx context.Context) error { return v.releaseAddress(ctx, a.ID) }})
	}
	v.deleteNetwork(d)
	v.deleteBucket(d)
	if v.noBucket != nil {
		d.Wait("what is in the bucket stays: " + v.noBucket.Error())
	}
	return d
}

// deletionOf is the step that deletes a target group.
func (v *view) deletionOf(t cloud.TargetGroup, blocked bool) steps.Step {
	return steps.Step{What: "delete target group " + t.Name, Blocked: blocked, Do: func(ctx context.Context) error {
		err := v.place.DeleteTargetGroup(ctx, t.ID)
		if err == nil {
			v.targets = slices.DeleteFunc(v.targets, func(o cloud.TargetGroup) bool { return o.ID == t.ID })
		}
		return err
	}}
}

// forgetBalancer forgets one that was deleted. Its interfaces go in time.
func (v *view) forgetBalancer(id string) {
	v.balancers = slices.DeleteFunc(v.balancers, func(o cloud.Balancer) bool { return o.ID == id })
	for i := range v.targets {
		v.targets[i].Balancers = slices.DeleteFunc(slices.Clone(v.targets[i].Balancers), func(o string) bool { return o == id })
	}
	all := *v.s
	all.Balancers = cloud.WithoutBalancer(v.s.Balancers, id)
	v.s = &all
}

// leftBalancers are load balancers that controllers of Kubernetes made for Services in a VPC that was made for the
// cluster. In a given VPC they may be those of another cluster of that name.
func (v *view) leftBalancers() []cloud.Balancer {
	var out []cloud.Balancer
	for _, b := range v.s.Balancers.All {
		if v.ours(b.VPC) && b.Tags[fleet.TagFleet] == "" && v.isOfKubernetes(b.Tags) {
			out = append(out, b)
		}
	}
	return out
}

// isOfKubernetes reports whether tags are those of something that controllers of Kubernetes made in the cluster.
func (v *view) isOfKubernetes(tags cloud.Tags) bool {
	return cloud.IsOfKubernetes(tags, v.service) || slices.ContainsFunc(v.before, func(name string) bool { return cloud.IsOfKubernetes(tags, name) })
}

// ours reports whether a VPC was made for the cluster.
func (v *view) ours(vpc string) bool {
	return slices.ContainsFunc(v.vpcs, func(n cloud.VPC) bool { return n.ID == vpc })
}

// deleteGroups deletes security groups that no interface has: first the rules that name others of them.
func (v *view) deleteGroups(d *steps.Decision) {
	var busy []string
	for _, g := range v.groups {
		used := v.usedBy(func(i cloud.Interface) bool {
			return slices.Contains(i.Groups, g.ID)
		})
		if len(used) > 0 {
			busy = append(busy, used...)
			continue
		}
		named := slices.ContainsFunc(v.groups, func(o cloud.Group) bool {
			return o.ID != g.ID && slices.ContainsFunc(o.Rules, func(r cloud.Rule) bool { return r.Source == g.ID })
		})
		rules := slices.DeleteFunc(slices.Clone(g.Rules), func(r cloud.Rule) bool { return !strings.HasPrefix(r.Source, "sg-") || r.Source == g.ID })
		if len(rules) > 0 {
			d.Add(steps.Step{What: "revoke rules of security group " + g.Name, Do: func(ctx context.Context) error {
				err := v.place.Revoke(ctx, g.ID, rules...)
				if i := slices.IndexFunc(v.groups, func(o cloud.Group) bool { return o.ID == g.ID }); err == nil && i >= 0 {
					v.groups[i].Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(r cloud.Rule) bool { return slices.ContainsFunc(rules, r.Same) })
				}
				return err
			}})
		}
		d.Add(steps.Step{What: "delete security group " + g.Name, Blocked: named || len(rules) > 0, Do: func(ctx context.Context) error {
			err := v.place.DeleteGroup(ctx, g.ID)
			if err == nil {
				v.groups = slices.DeleteFunc(v.groups, func(o cloud.Group) bool { return o.ID == g.ID })
			}
			return err
		}})
	}
	v.waitFor(d, busy)
}

// usedBy describes the interfaces for which in is true.
func (v *view) usedBy(in func(cloud.Interface) bool) []string {
	var out []string
	for _, i := range v.interfaces {
		if in(i) {
			out = append(out, i.ID+" ("+whose(i)+")")
		}
	}
	return out
}

// whose says whose an interface is, in words.
func whose(i cloud.Interface) string {
	switch {
	case i.Instance != "":
		return "of instance " + i.Instance
	case strings.HasPrefix(i.Description, "ELB "):
		return "of load balancer " + strings.TrimPrefix(strings.TrimPrefix(i.Description, "ELB "), "net/")
	case strings.HasPrefix(i.Description, "aws-K8S-"):
		return "of the CNI of an instance, " + i.Description
	case i.Description != "":
		return i.Description
	}
	return "of somebody else"
}

// waitFor notes what is still plugged in.
func (v *view) waitFor(d *steps.Decision, used []string) {
	slices.Sort(used)
	if used = slices.Compact(used); len(used) > 0 {
		d.Wait(fmt.Sprintf("network interfaces are still in use: %s", strings.Join(used, ", ")))
	}
}

// deleteNetwork deletes subnets, route tables, the internet gateway and the VPC.
func (v *view) deleteNetwork(d *steps.Decision) {
	var used []string
	for _, s := range v.subnets {
		in := v.usedBy(func(i cloud.Interface) bool { return i.Subnet == s.ID })
		used = append(used, in...)
		d.Add(steps.Step{What: "delete subnet " + s.ID, Blocked: len(in) > 0, Do: func(ctx context.Context) error {
			err := v.place.DeleteSubnet(ctx, s.ID)
			if err == nil {
				v.subnets = slices.DeleteFunc(v.subnets, func(o cloud.Subnet) bool { return o.ID == s.ID })
			}
			return err
		}})
	}
	v.waitFor(d, used)
	for _, t := range v.tables {
		busy := slices.ContainsFunc(t.Associations, func(a cloud.Association) bool {
			return slices.ContainsFunc(v.subnets, func(s cloud.Subnet) bool { return s.ID == a.Subnet })
		})
		d.Add(steps.Step{What: "delete route table " + t.ID, Blocked: busy, Do: func(ctx context.Context) error { return v.deleteTable(ctx, t.ID) }})
	}
	for _, g := range v.gateways {
		if g.VPC != "" {
			public := v.usedBy(func(i cloud.Interface) bool { return i.VPC == g.VPC })
			v.waitFor(d, v.usedBy(func(i cloud.Interface) bool {
				return i.VPC == g.VPC && !slices.ContainsFunc(v.subnets, func(s cloud.Subnet) bool { return s.ID == i.Subnet })
			}))
			d.Add(steps.Step{What: "detach internet gateway " + g.ID, Blocked: len(public) > 0, Do: func(ctx context.Context) error {
				err := v.place.DetachGateway(ctx, g.ID, g.VPC)
				if i := slices.IndexFunc(v.gateways, func(o cloud.Gateway) bool { return o.ID == g.ID }); err == nil && i >= 0 {
					v.gateways[i].VPC = ""
				}
				return err
			}})
			continue
		}
		d.Add(steps.Step{What: "delete internet gateway " + g.ID, Do: func(ctx context.Context) error {
			err := v.place.DeleteGateway(ctx, g.ID)
			if err == nil {
				v.gateways = slices.DeleteFunc(v.gateways, func(o cloud.Gateway) bool { return o.ID == g.ID })
			}
			return err
		}})
	}
	for _, g := range v.egresses {
		d.Add(steps.Step{What: "delete egress-only internet gateway " + g.ID, Blocked: len(v.subnets) > 0, Do: func(ctx context.Context) error { return v.deleteEgress(ctx, g.ID) }})
	}
	empty := len(v.subnets)+len(v.tables)+len(v.groups)+len(v.nats)+len(v.egresses) == 0 && !slices.ContainsFunc(v.gateways, func(g cloud.Gateway) bool { return g.VPC != "" })
	for _, n := range v.vpcs {
		left := v.leftGroups(n.ID)
		var theirs []string
		for _, g := range v.strays {
			if _, ok := left[g.Name]; !ok && g.VPC == n.ID {
				theirs = append(theirs, g.Name+" ("+g.ID+")")
			}
		}
		if empty && len(theirs) > 0 {
			d.Wait("security groups of others are in " + n.ID + ": " + strings.Join(theirs, ", ") + " (delete them)")
		}
		if empty && len(left) > 0 {
			d.Wait("controllers of Kubernetes left security groups in " + n.ID + ": " + strings.Join(slices.Sorted(maps.Keys(left)), ", "))
		}
		d.Add(steps.Step{What: "delete VPC " + n.ID, Blocked: !empty || len(theirs) > 0, Do: func(ctx context.Context) error {
			for _, id := range left {
				if err := v.place.DeleteGroup(ctx, id); err != nil {
					return err
				}
			}
			return v.deleteVPC(ctx, n.ID)
		}})
	}
}

// leftGroups are the security groups that controllers of Kubernetes made for Services in a VPC, by name.
func (v *view) leftGroups(vpc string) map[string]string {
	out := make(map[string]string)
	for _, g := range v.strays {
		if g.VPC == vpc && v.isOfKubernetes(g.Tags) {
			out[g.Name] = g.ID
		}
	}
	return out
}
