package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

var _ providers.Adopter = (*Provider)(nil)

// theirRole is the tag that says what Cluster API's provider made something for.
// Source: CAPA, api/v1beta2/tags.go.
const theirRole = "sigs.k8s.io/cluster-api-provider-aws/role"

// An adoption is a thing that Cluster API's provider made for a cluster, and the tags that it is to get.
type adoption struct {
	what, id string // what it is for people: "subnet subnet-1"
	has, add cloud.Tags
	by       tagger // which service keeps its tags
}

// A tagger sets and removes the tags of a thing by its id.
type tagger struct {
	mark   func(ctx context.Context, at *cloud.Place, id string, add cloud.Tags) error
	unmark func(ctx context.Context, at *cloud.Place, id string, keys []string) error
}

// ofEC2 is for what EC2 keeps.
func ofEC2() tagger {
	return tagger{
		func(ctx context.Context, at *cloud.Place, id string, add cloud.Tags) error {
			return at.Mark(ctx, []string{id}, add)
		},
		func(ctx context.Context, at *cloud.Place, id string, keys []string) error {
			return at.Unmark(ctx, id, keys)
		},
	}
}

// ofBalancing is for load balancers and target groups.
func ofBalancing() tagger {
	return tagger{
		func(ctx context.Context, at *cloud.Place, id string, add cloud.Tags) error {
			return at.MarkBalancer(ctx, id, add)
		},
		func(ctx context.Context, at *cloud.Place, id string, keys []string) error {
			return at.UnmarkBalancer(ctx, id, keys)
		},
	}
}

// done reports whether the thing has its tags.
func (x *adoption) done() bool {
	for k, v := range x.add {
		if has, ok := x.has[k]; !ok || has != v {
			return false
		}
	}
	return true
}

// Adoptable implements providers.Adopter.
func (p *Provider) Adoptable(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) ([]string, error) {
	op := "adopt " + c.Key.String()
	_, all, err := p.adoptions(ctx, op, c, machines)
	var out []string
	for i := range all {
		if !all[i].done() {
			out = append(out, all[i].what)
		}
	}
	slices.Sort(out)
	return out, cloud.WrapLook(op, err)
}

// Adopt implements providers.Adopter: things get tags, and nothing else changes.
func (p *Provider) Adopt(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "adopt " + c.Key.String()
	v, all, err := p.adoptions(ctx, op, c, machines)
	if err != nil {
		return cloud.Wrap(op, err)
	}
	defer v.changed()
	for i := range all {
		x := &all[i]
		if x.done() {
			continue
		}
		if err := x.by.mark(ctx, v.place, x.id, x.add); err != nil {
			return cloud.Wrap(op+": mark "+x.what, err)
		}
	}
	return nil
}

// Release implements providers.Adopter.
func (p *Provider) Release(ctx context.Context, c *fleet.Cluster, machines []providers.AdoptedMachine) error {
	op := "release " + c.Key.String()
	v, parts, err := p.lookAdopted(ctx, c)
	if err != nil {
		return cloud.WrapLook(op, err)
	}
	if err := driver.MayRelease(op, c, v.machines(), machines, func(id fleet.ProviderID) string { return instanceID(id) }); err != nil {
		return err
	}
	all := append(parts, v.adopted()...)
	for i := range all {
		if x := &all[i]; x.has[adoptedTag] != x.id {
			return fleet.Errorf(fleet.Conflict, op, "%s was made since it was adopted (delete the cluster with Fairlead)", x.what)
		}
	}
	defer v.changed()
	for i := range all {
		x := &all[i]
		var keys []string
		for k := range x.has {
			if strings.HasPrefix(k, "fairlead.dev/") {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		if err := x.by.unmark(ctx, v.place, x.id, keys); err != nil {
			return cloud.Wrap(op+": remove the tags of "+x.what, err)
		}
	}
	return nil
}

// lookAdopted looks at c, and at what EKS keeps of it.
func (p *Provider) lookAdopted(ctx context.Context, c *fleet.Cluster) (*view, []adoption, error) {
	if !api.IsManaged(c) {
		v, err := p.look(ctx, c, snapshot.OwnerOf(c))
		return v, nil, err
	}
	m, err := p.lookManaged(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	parts, err := m.adoptedParts(ctx)
	return m.view, parts, err
}

// adopted returns all of EC2 that has the tags of the cluster. The VPC comes after what is found by way of it, and machines come last: until
// they are released, it can be done again.
func (v *view) adopted() []adoption {
	var out []adoption
	add := func(kind, id string, tags cloud.Tags) {
		out = append(out, adoption{what: kind + " " + id, id: id, has: tags, by: ofEC2()})
	}
	for _, t := range v.subnets {
		add("subnet", t.ID, t.Tags)
	}
	for _, t := range v.gateways {
		add("internet gateway", t.ID, t.Tags)
	}
	for _, t := range v.egresses {
		add("egress-only internet gateway", t.ID, t.Tags)
	}
	for _, t := range v.nats {
		add("NAT gateway", t.ID, t.Tags)
	}
	for _, t := range v.addresses {
		add("address", t.ID, t.Tags)
	}
	for _, t := range v.tables {
		add("route table", t.ID, t.Tags)
	}
	for _, t := range v.groups {
		add("security group", t.ID, t.Tags)
	}
	for _, t := range v.bastions {
		add("bastion", t.ID, t.Tags)
	}
	for _, t := range v.balancers {
		out = append(out, adoption{what: "load balancer " + t.Name, id: t.ID, has: t.Tags, by: ofBalancing()})
	}
	for _, t := range v.targets {
		out = append(out, adoption{what: "target group " + t.Name, id: t.ID, has: t.Tags, by: ofBalancing()})
	}
	for _, t := range v.vpcs {
		add("VPC", t.ID, t.Tags)
	}
	for _, t := range v.instances {
		add("instance", t.ID, t.Tags)
	}
	return out
}

// A finder looks for what Cluster API's provider made of a cluster, by its tags.
type finder struct {
	*view
	managed *managed // nil: EKS does not keep its control plane

	op   string
	made string // the tag of what it made
	own  bool   // it made the VPC
	vpc  string
	all  []adoption
}

// adoptions returns what Cluster API's provider made for c, with the tags that it is to get. If one thing is missing or
// somebody else's, there is only the error.
func (p *Provider) adoptions(ctx context.Context, op string, c *fleet.Cluster, machines []providers.AdoptedMachine) (*view, []adoption, error) {
	f := &finder{op: op, made: api.TheirCluster + c.Key.Name}
	ofMachines := func(ctx context.Context) error { return f.machines(ctx, machines) }
	var finds []func(context.Context) error
	if api.IsManaged(c) {
		m, err := p.lookManaged(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		f.view, f.managed, finds = m.view, m, []func(context.Context) error{f.plane, ofMachines, f.network, f.bastion}
	} else {
		v, err := p.look(ctx, c, snapshot.OwnerOf(c))
		if err != nil || len(machines) == 0 { // they tell which network it is
			return v, nil, err
		}
		f.view, finds = v, []func(context.Context) error{ofMachines, f.network, f.securityGroups, f.loadBalancers, f.bastion}
	}
	for _, find := range finds {
		if err := find(ctx); err != nil {
			return nil, nil, err
		}
	}
	for i := range f.all {
		x := &f.all[i]
		switch {
		case x.has[fleet.TagFleet] == "":
		case !c.Owns(x.has):
			return nil, nil, fleet.Errorf(fleet.Conflict, op, "%s belongs to cluster %s of fleet %s", x.what, x.has[fleet.TagCluster], x.has[fleet.TagFleet])
		case x.has[adoptedTag] != x.id:
			return nil, nil, fleet.Errorf(fleet.Conflict, op, "%s has the tags of the cluster, and was not adopted", x.what)
		}
	}
	return f.view, f.all, nil
}

// add adds a thing that is to be a part of the cluster.
func (f *finder) add(kind, id, part string, has cloud.Tags) {
	add := cloud.Tags{partTag: part, adoptedTag: id}
	maps.Copy(add, f.c.Tags())
	f.all = append(f.all, adoption{what: kind + " " + id, id: id, has: has, add: add, by: ofEC2()})
}

// theirs reports whether Cluster API's provider made something for the cluster.
func (f *finder) theirs(tags cloud.Tags) bool { return tags[f.made] == "owned" }

// machines finds the instances, and the VPC that they are in.
func (f *finder) machines(ctx context.Context, machines []providers.AdoptedMachine) error {
	var ids []string
	for _, m := range machines {
		ids = append(ids, instanceID(m.ID))
	}
	there, err := f.place.InstancesOf(ctx, ids)
	if err != nil {
		return err
	}
	all, err := driver.Adoptions(machines, func(m providers.AdoptedMachine) (x driver.Adoption[cloud.Instance], err error) {
		const op = "find its instance"
		tags, ok := providers.AdoptionTags(f.c, m)
		if !ok {
			return x, fleet.Errorf(fleet.Invalid, op, "the cluster has no pool %s", m.Pool)
		}
		id := instanceID(m.ID)
		if !strings.HasPrefix(string(m.ID), idPrefix) || !strings.HasPrefix(id, "i-") {
			return x, fleet.Errorf(fleet.Invalid, op, "its provider id %q is none of AWS, which is like %szone/i-0123", m.ID, idPrefix)
		}
		i := slices.IndexFunc(there, func(i cloud.Instance) bool { return i.ID == id })
		switch {
		case i < 0 || there[i].Ending():
			return x, fleet.Errorf(fleet.NotFound, op, "there is no instance %s in %s (name the account and region of Cluster API in identityRef and region)", id, f.spec.Region)
		case f.vpc != "" && there[i].VPC != f.vpc:
			return x, fleet.Errorf(fleet.Conflict, op, "instance %s is in %s, and others are in %s", id, there[i].VPC, f.vpc)
		case there[i].Tags[fleet.TagFleet] != "" && there[i].Tags[fleet.TagMachine] != string(m.Name):
			return x, fleet.Errorf(fleet.Conflict, op, "instance %s has the tags of machine %s", id, there[i].Tags[fleet.TagMachine])
		}
		f.vpc = there[i].VPC
		tags[adoptedTag] = id
		return driver.Adoption[cloud.Instance]{Machine: m.Name, Thing: there[i], ID: id, Where: "instance " + id, Tags: tags}, nil
	}, cloud.Wrap)
	for _, x := range all {
		f.all = append(f.all, adoption{what: x.Where, id: x.ID, has: x.Thing.Tags, add: x.Tags, by: ofEC2()})
	}
	return err
}

// network finds what the VPC consists of, if Cluster API's provider made it.
func (f *finder) network(ctx context.Context) error {
	vpc, named := f.s.VPCs.Get(f.vpc), f.spec.Network.VPC.ID
	f.own = vpc != nil && f.theirs(vpc.Tags)
	switch {
	case vpc == nil:
		return fleet.Errorf(fleet.NotFound, f.op, "there is no %s in %s, in which its machines are", f.vpc, f.spec.Region)
	case named != "" && named != f.vpc:
		return fleet.Errorf(fleet.Invalid, f.op, "network.vpc.id is %s, and its machines are in %s", named, f.vpc)
	case !f.own && named == "":
		return fleet.Errorf(fleet.Invalid, f.op, "%s has no tag %s=owned (name it in network.vpc.id)", f.vpc, f.made)
	case !f.own:
		return nil
	}
	f.add("VPC", f.vpc, "vpc", vpc.Tags)
	parts := make(map[string]cloud.Subnet)
	for _, s := range f.s.Subnets.All {
		if s.VPC != f.vpc || !f.theirs(s.Tags) {
			continue
		}
		kind := s.Tags[theirRole]
		if kind != "public" && kind != "private" {
			return fleet.Errorf(fleet.Invalid, f.op, "subnet %s has the tag %s=%s, and subnets are public or private", s.ID, theirRole, kind)
		}
		parts[s.ID] = s
		f.add("subnet", s.ID, kind, s.Tags)
	}
	for _, g := range f.s.Gateways.All {
		if g.VPC == f.vpc && f.theirs(g.Tags) {
			f.add("internet gateway", g.ID, "internet", g.Tags)
		}
	}
	for _, t := range f.s.Tables.All {
		if t.VPC != f.vpc || !f.theirs(t.Tags) {
			continue
		}
		part := "unused-routes"
		for _, a := range t.Associations {
			if s, ok := parts[a.Subnet]; ok {
				part = "public-routes"
				if s.Tags[theirRole] != "public" {
					part = "private-routes-" + s.Zone
				}
			}
		}
		f.add("route table", t.ID, part, t.Tags)
	}
	if len(vpc.Six) > 0 {
		egresses, err := f.place.Egresses(ctx, "tag:"+f.made, "owned")
		if err != nil {
			return err
		}
		for _, g := range egresses {
			if g.VPC == f.vpc {
				f.add("egress-only internet gateway", g.ID, "egress", g.Tags)
			}
		}
	}
	return f.natGateways(ctx, parts)
}

// natGateways finds NAT gateways in subnets, and their addresses.
func (f *finder) natGateways(ctx context.Context, subnets map[string]cloud.Subnet) error {
	nats, err := f.place.NATs(ctx, "tag:"+f.made, "owned")
	if err != nil {
		return err
	}
	addresses, err := f.place.Addresses(ctx, "tag:"+f.made, "owned")
	if err != nil {
		return err
	}
	for _, n := range nats {
		s, ok := subnets[n.Subnet]
		if !ok || n.State == "deleting" || n.State == "failed" {
			continue
		}
		part := "nat-" + s.Zone
		f.add("NAT gateway", n.ID, part, n.Tags)
		for _, a := range addresses {
			if a.ID == n.Address {
				f.add("address", a.ID, part, a.Tags)
			}
		}
	}
	return nil
}

// securityGroups finds those that Git does not name.
func (f *finder) securityGroups(ctx context.Context) error {
	all, err := f.place.Groups(ctx, "vpc-id", f.vpc, "tag:"+f.made, "owned")
	if err != nil {
		return err
	}
	for _, role := range f.groupRoles() {
		if f.spec.Network.SecurityGroupOverrides[role] != "" {
			continue
		}
		i := slices.IndexFunc(all, func(g cloud.Group) bool { return g.Tags[theirRole] == role })
		if i < 0 {
			return fleet.Errorf(fleet.NotFound, f.op, "%s has no security group with the tags %s=owned and %s=%s", f.vpc, f.made, theirRole, role)
		}
		f.add("security group", all[i].ID, "group-"+role, all[i].Tags)
	}
	return nil
}

// loadBalancers finds those of the API server, and what they lead to.
func (f *finder) loadBalancers(context.Context) error {
	if !f.makesBalancer() {
		return nil
	}
	for _, front := range f.fronts() {
		var found []cloud.Balancer
		for _, b := range f.s.Balancers.All {
			if b.VPC == f.vpc && f.theirs(b.Tags) && b.Classic == (front.lb.LoadBalancerType == api.Classic) && (b.Name == front.lb.Name || front.lb.Name == "") {
				found = append(found, b)
			}
		}
		if len(found) != 1 {
			return fleet.Errorf(fleet.NotFound, f.op, "%s has %d load balancers %s with the tag %s=owned, and one is expected (name it in controlPlaneLoadBalancer.name)", f.vpc, len(found), front.lb.Name, f.made)
		}
		b := found[0]
		f.add("load balancer", b.ID, front.part, b.Tags)
		f.all[len(f.all)-1].what, f.all[len(f.all)-1].by = "load balancer "+b.Name, ofBalancing()
		for _, t := range f.s.Targets.All {
			if slices.Contains(t.Balancers, b.ID) {
				f.add("target group", t.ID, fmt.Sprintf("%s%d", front.targets, t.Port), t.Tags)
				f.all[len(f.all)-1].what, f.all[len(f.all)-1].by = "target group "+t.Name, ofBalancing()
			}
		}
	}
	return nil
}

// bastion finds the bastion.
func (f *finder) bastion(ctx context.Context) error {
	if !f.wantsBastion() {
		return nil
	}
	all, err := f.place.Instances(ctx, "tag:"+f.made, "owned", "tag:"+theirRole, api.BastionRole)
	if err != nil {
		return err
	}
	for _, i := range all {
		if !i.Ending() && i.VPC == f.vpc {
			f.add("bastion", i.ID, bastionPart, i.Tags)
			return nil
		}
	}
	return fleet.Errorf(fleet.NotFound, f.op, "%s has no bastion with the tags %s=owned and %s=%s (set bastion.enabled: false)", f.vpc, f.made, theirRole, api.BastionRole)
}

// isAdopted reports whether Cluster API's provider made something that the cluster adopted.
func isAdopted(id string, tags cloud.Tags) bool { return tags[adoptedTag] == id && id != "" }

// isGiven reports whether the VPC is people's: Git names one, and it is not the cluster's.
func (v *view) isGiven() bool {
	id := v.spec.Network.VPC.ID
	return id != "" && !v.isOwn(id)
}

// isOwn reports whether a VPC has the tags of the cluster: it was adopted, and Cluster API's provider wrote its id into Git.
func (v *view) isOwn(id string) bool {
	return slices.ContainsFunc(v.vpcs, func(n cloud.VPC) bool { return n.ID == id })
}
