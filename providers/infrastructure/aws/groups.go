package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/aws/api"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// The ports that nodes listen on.
// Source: https://kubernetes.io/docs/reference/networking/ports-and-protocols/
const (
	etcdFirst, etcdLast         = 2379, 2380
	kubelet                     = 10250
	nodePortFirst, nodePortLast = 30000, 32767
)

// defaultGroup is the name of the security group that AWS gives a VPC.
const defaultGroup = "default"

// apiRule describes the rules that let in clients of API servers.
const apiRule = "Kubernetes API"

// ownRule describes those that let in the cluster's own machines.
const ownRule = "Kubernetes API, of the cluster's own machines"

// nodePortRule describes those that let in clients of Services.
const nodePortRule = "services of type NodePort"

// otherRule describes those that let them in at the other ports of a control plane.
const otherRule = "control plane"

// groupRoles are the roles of security groups that are made, in the order in which they are.
func (v *view) groupRoles() []string {
	out := []string{api.ControlPlaneRole, api.NodeRole, api.BalancerRole}
	if v.makesBalancer() {
		out = append(out, api.APIServerRole)
	}
	if v.wantsBastion() {
		out = append(out, api.BastionRole)
	}
	return out
}

// decideGroups decides about security groups, and returns their ids by role, of those that are there.
func (v *view) decideGroups(d *steps.Decision, n network) map[string]string {
	ids := make(map[string]string)
	v.shut = false
	var mine []int
	for _, role := range v.groupRoles() {
		if id := v.spec.Network.SecurityGroupOverrides[role]; id != "" {
			ids[role] = id
			continue
		}
		part := "group-" + role
		i := slices.IndexFunc(v.groups, func(g cloud.Group) bool { return g.Tags[partTag] == part && g.VPC == n.vpc })
		if i >= 0 {
			ids[role] = v.groups[i].ID
			mine = append(mine, i)
			continue
		}
		if v.awaits(part) {
			if why := "security group " + role + " was asked for, and does not show yet"; role == api.BastionRole {
				v.waitBefore(d, why)
			} else {
				d.Wait(why)
			}
			continue
		}
		tags := cloud.Tags{}
		if role == api.BalancerRole { // the controllers of Kubernetes take one group of a node for theirs
			tags[serviceTag(v.service)] = "owned"
		}
		d.Add(steps.Step{What: "create security group " + role, Essential: role != api.BastionRole || !v.started(), Do: func(ctx context.Context) error {
			return v.ask(part, func() error {
				made, err := v.place.CreateGroup(ctx, n.vpc, v.groupName(role), "Fairlead: "+role+" of "+v.c.Key.String(), v.shared(part, role, tags))
				if err == nil {
					v.groups = append(v.groups, made)
				}
				return err
			})
		}})
	}
	for _, i := range mine {
		role := v.groups[i].Tags[partTag][len("group-"):]
		if role != api.BalancerRole && !v.disabledTooLate() { // its rules are those of the controllers of Kubernetes
			v.decideRules(d, i, role, v.rules(role, n, ids, &v.groups[i]))
		}
	}
	return ids
}

// lookAtDefaultGroup finds the security group that AWS gives a VPC.
func (v *view) lookAtDefaultGroup(ctx context.Context) error {
	if !v.spec.Network.VPC.EmptyRoutesDefaultVPCSecurityGroup || len(v.vpcs) == 0 || v.c.Delete {
		return nil
	}
	found, err := v.place.Groups(ctx, "vpc-id", v.vpcs[0].ID, "group-name", defaultGroup)
	if len(found) > 0 {
		v.open = &found[0]
	}
	return err
}

// emptyDefaultGroup decides about the rules of that group.
func (v *view) emptyDefaultGroup(d *steps.Decision) {
	g := v.open
	if g == nil {
		return
	}
	if len(g.Rules) > 0 {
		d.Add(steps.Step{What: "have the default security group of " + g.VPC + " let in nothing", Do: func(ctx context.Context) error {
			err := v.place.Revoke(ctx, g.ID, g.Rules...)
			if err == nil {
				g.Rules = nil
			}
			return err
		}})
	}
	if len(g.Out) > 0 {
		d.Add(steps.Step{What: "have the default security group of " + g.VPC + " let out nothing", Do: func(ctx context.Context) error {
			err := v.place.RevokeOut(ctx, g.ID, g.Out...)
			if err == nil {
				g.Out = nil
			}
			return err
		}})
	}
}

func (v *view) groupName(role string) string {
	return v.c.Key.Name + "-" + role + "-" + digest(string(v.owner.Fleet), v.owner.Cluster.String())[:8]
}

// isCopy reports whether a security group has the tags of a part, and another name: people copied it.
func (v *view) isCopy(g cloud.Group) bool {
	return g.Name != v.groupName(strings.TrimPrefix(g.Tags[partTag], "group-")) && g.Tags[adoptedTag] != g.ID
}

// decideRules decides about the rules of the group at i: those that are missing are added, and others are
// revoked.
func (v *view) decideRules(d *steps.Decision, i int, role string, want []cloud.Rule) {
	g := &v.groups[i]
	has := func(list []cloud.Rule, r cloud.Rule) bool { return slices.ContainsFunc(list, r.Same) }
	missing := slices.DeleteFunc(slices.Clone(want), func(r cloud.Rule) bool { return has(g.Rules, r) })
	if len(missing) > 0 {
		v.shut = v.shut || role == api.ControlPlaneRole
		d.Add(steps.Step{What: "add to security group " + role + ": " + describe(missing), Essential: !v.started(), Do: func(ctx context.Context) error {
			err := v.place.Authorize(ctx, g.ID, missing...)
			if err == nil {
				g.Rules = slices.Concat(g.Rules, missing)
			}
			return err
		}})
	}
	if extra := slices.DeleteFunc(slices.Clone(g.Rules), func(r cloud.Rule) bool { return has(want, r) }); len(extra) > 0 {
		d.Add(steps.Step{What: "revoke from security group " + role + ": " + describe(extra), Do: func(ctx context.Context) error {
			err := v.place.Revoke(ctx, g.ID, extra...)
			if err == nil {
				g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(r cloud.Rule) bool { return has(extra, r) })
			}
			return err
		}})
	}
}

// describe describes rules for people.
func describe(rules []cloud.Rule) string {
	var out []string
	for _, r := range rules {
		ports := fmt.Sprintf(" %d-%d", r.From, r.To)
		switch {
		case r.From == -1:
			ports = ""
		case r.From == r.To:
			ports = fmt.Sprintf(" %d", r.From)
		}
		out = append(out, fmt.Sprintf("%s%s from %s", r.Protocol, ports, r.Source))
	}
	return strings.Join(out, ", ")
}

// rules returns what the group of a role lets in; now is that group. Groups that are not there yet are left out. One that was
// adopted lets in what Cluster API's provider had it let in.
// Source: CAPA, pkg/cloud/services/securitygroup/securitygroups.go.
func (v *view) rules(role string, n network, ids map[string]string, now *cloud.Group) []cloud.Rule {
	var out []cloud.Rule
	theirs := isAdopted(now.ID, now.Tags)
	add := func(protocol string, from, to int64, description string, sources ...string) {
		for _, s := range sources {
			r := cloud.Rule{Protocol: protocol, From: from, To: to, Source: s, Description: description}
			if protocol == "-1" || protocol == "4" || protocol == "50" { // EC2 keeps no ports of these
				r.From, r.To = -1, -1
			}
			if s != "" && !slices.ContainsFunc(out, r.Same) {
				out = append(out, r)
			}
		}
	}
	extra := func(rules []api.IngressRule) {
		for _, r := range rules {
			sources := slices.Concat(r.CIDRBlocks, r.IPv6CIDRBlocks, r.SourceSecurityGroupIDs)
			for _, role := range r.SourceSecurityGroupRoles {
				sources = append(sources, ids[role])
			}
			if theirs && len(sources) == 0 && !r.NATGatewaysIPsSource {
				sources = append(sources, ids[api.ControlPlaneRole])
			}
			if r.NATGatewaysIPsSource {
				for _, ip := range n.egress {
					sources = append(sources, ip+"/32")
				}
			}
			add(r.Protocol, r.FromPort, r.ToPort, r.Description, sources...)
		}
	}
	control, node, balancer := ids[api.ControlPlaneRole], ids[api.NodeRole], ids[api.APIServerRole]
	lb := v.spec.ControlPlaneLoadBalancer
	switch role {
	case api.APIServerRole:
		port := int64(v.apiPort())
		if theirs {
			v.theirAPIRules(n, port, add, extra)
			break
		}
		if len(lb.IngressRules) == 0 {
			add("tcp", port, port, apiRule, n.all()...)
		} else {
			extra(lb.IngressRules)
			add("tcp", port, port, ownRule, append([]string{n.cidr, n.six}, ranges(n.egress)...)...)
		}
		for _, r := range slices.Clone(out) { // the others are reached from wherever the API server is
			for _, p := range v.c.ControlPlane.Ports {
				if r.Protocol == "tcp" && r.From <= port && port <= r.To {
					add("tcp", int64(p), int64(p), otherRule, r.Source)
				}
			}
		}
		for _, l := range lb.AdditionalListeners {
			add("tcp", l.Port, l.Port, "additional listener", n.all()...)
		}
		if second := v.second().lb; second != nil { // of which clients are in the VPC, or as its rules say
			extra(second.IngressRules)
			add("tcp", port, port, apiRule, n.cidr, n.six)
			for _, l := range second.AdditionalListeners {
				add("tcp", l.Port, l.Port, "additional listener", n.cidr, n.six)
			}
		}
	case api.ControlPlaneRole:
		for _, p := range v.ports(now.Rules) {
			add("tcp", int64(p), int64(p), apiRule, balancer, control, node)
		}
		for _, p := range v.c.ControlPlane.Ports {
			add("tcp", int64(p), int64(p), otherRule, balancer, control, node)
		}
		if !theirs && v.makesBalancer() && (slices.ContainsFunc(v.fronts(), func(f front) bool { return f.lb.PreserveClientIP }) || v.preserves()) {
			for _, r := range v.rules(api.APIServerRole, n, ids, new(cloud.Group)) {
				if r.Description != otherRule {
					r.From, r.To = int64(v.targetPort()), int64(v.targetPort())
				}
				add(r.Protocol, r.From, r.To, "Kubernetes API, of clients", r.Source)
			}
		}
		for _, f := range v.fronts() {
			for _, l := range f.lb.AdditionalListeners {
				if !theirs { // which is in the group of load balancers
					add("tcp", l.Port, l.Port, "additional listener", balancer)
				}
			}
		}
		add("tcp", ssh, ssh, "SSH", ids[api.BastionRole])
		if theirs {
			add("tcp", etcdFirst, etcdFirst, "etcd", control)
			add("tcp", etcdLast, etcdLast, "etcd peer", control)
		} else {
			add("tcp", etcdFirst, etcdLast, "etcd", control)
			add("tcp", kubelet, kubelet, "kubelet", control, node)
		}
		extra(v.spec.Network.AdditionalControlPlaneIngressRules)
	case api.BastionRole:
		from := v.spec.Bastion.AllowedCIDRBlocks
		if len(from) == 0 && !v.spec.Bastion.DisableIngressRules {
			from = []string{everywhere}
		}
		add("tcp", ssh, ssh, "SSH", from...)
	case api.NodeRole:
		from := v.spec.Network.NodePortIngressRuleCIDRBlocks
		isSix := func(r string) bool { return strings.Contains(r, ":") }
		switch {
		case len(from) == 0:
			from = n.all()
		case theirs && n.six != "" && !slices.ContainsFunc(from, isSix): // which has no ranges of IPv6 in Git
			from = append(slices.Clip(from), everywhere6)
		}
		add("tcp", nodePortFirst, nodePortLast, nodePortRule, from...)
		add("tcp", ssh, ssh, "SSH", ids[api.BastionRole])
		add("tcp", kubelet, kubelet, "kubelet", control, node)
		extra(v.spec.Network.AdditionalNodeIngressRules)
	}
	if role == api.ControlPlaneRole || role == api.NodeRole {
		for _, r := range v.spec.Network.CNI.CNIIngressRules {
			add(r.Protocol, r.FromPort, r.ToPort, r.Description, control, node)
		}
	}
	return out
}

// theirAPIRules adds what the group of the API server's load balancer lets in that Cluster API's provider made.
func (v *view) theirAPIRules(n network, port int64, add func(protocol string, from, to int64, description string, sources ...string), extra func([]api.IngressRule)) {
	own, all, vpc := ranges(n.egress), everywhere, n.cidr
	if n.six != "" { // of which it lets in IPv6 alone
		all, vpc = everywhere6, n.six
	}
	if v.spec.ControlPlaneLoadBalancer.Scheme == api.Internal {
		own = []string{vpc}
	}
	named := false
	for _, f := range v.fronts() {
		named = named || len(f.lb.IngressRules) > 0
		extra(f.lb.IngressRules)
	}
	if !named || len(own) == 0 {
		own = append(own, all)
	}
	add("tcp", port, port, apiRule, own...)
}

// all returns the ranges of everything, of the families that the network has.
func (n network) all() []string {
	if n.six == "" {
		return []string{everywhere}
	}
	return []string{everywhere, everywhere6}
}

func ranges(ips []string) []string {
	var out []string
	for _, ip := range ips {
		out = append(out, ip+"/32")
	}
	return out
}

// apiPort is where the API server is reached, and targetPort where it listens. The port of a load balancer stays
// once machines know it.
func (v *view) apiPort() int32 {
	if known := v.c.Residence; known.ControlPlane == fleet.InitializedOnce && known.Endpoint.Port != 0 && v.makesBalancer() {
		return known.Endpoint.Port
	}
	return v.askedPort()
}

// askedPort is the port of the API server in Git.
func (v *view) askedPort() int32 {
	return cmp.Or(v.c.NamedEndpoint().Port, v.c.Network.APIServerPort, 6443)
}

// targetPort is where the API servers listen: where the load balancer leads, which is one port of all of them and stays,
// or where those that are there listen.
func (v *view) targetPort() int32 {
	if b := v.balancer(); b != nil && b.Target != 0 {
		return b.Target
	}
	if t := v.targetsOf(lead{port: int64(v.apiPort())}.part(v.first())); t != nil {
		return int32(t.Port) //nolint:gosec // a port
	}
	for _, i := range v.servers() {
		if p := listensAt(i); p != 0 {
			return p
		}
	}
	return v.c.ControlPlane.ListensAt(fleet.JoinInit)
}

// servers returns the instances of the control plane.
func (v *view) servers() []cloud.Instance {
	return slices.DeleteFunc(slices.Clone(v.instances), func(i cloud.Instance) bool {
		return i.Tags[fleet.TagRole] != string(fleet.RoleControlPlane) || isCopied(i)
	})
}

// listensAt returns where the API server of an instance listens; 0: it has no tag that says so.
func listensAt(i cloud.Instance) int32 {
	p, _ := strconv.ParseInt(i.Tags[portTag], 10, 32) // what cannot be read is none
	return int32(p)
}

// ports returns where the control plane has to be let in at for its API servers, as its security group has it now. Without a
// load balancer each of them may listen elsewhere.
func (v *view) ports(now []cloud.Rule) []int32 {
	if v.makesBalancer() {
		return []int32{v.targetPort()}
	}
	out := []int32{v.c.ControlPlane.ListensAt(fleet.JoinInit), v.c.ControlPlane.ListensAt(fleet.JoinControlPlane)}
	for _, i := range v.servers() {
		if p := listensAt(i); p != 0 {
			out = append(out, p)
			continue
		}
		for _, r := range now { // it was made before the tag, and listens at a port that is let in
			if r.Description == apiRule {
				out = append(out, int32(r.From)) //nolint:gosec // a port
			}
		}
	}
	return out
}
