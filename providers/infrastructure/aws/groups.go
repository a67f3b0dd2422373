package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fleet"
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

// groupRoles are the roles of security groups that are made, in the order in which they are.
func (v *view) groupRoles() []string {
	out := []string{api.ControlPlaneRole, api.NodeRole, api.BalancerRole}
	if v.makesBalancer() {
		out = append(out, api.APIServerRole)
	}
	return out
}

// decideGroups decides about security groups, and returns their ids by role, of those that are there.
func (v *view) decideGroups(d *decision, n network) map[string]string {
	ids := make(map[string]string)
	var mine []int
	for _, role := range v.groupRoles() {
		if id := v.spec.Network.SecurityGroupOverrides[role]; id != "" {
			ids[role] = id
			continue
		}
		part := "group-" + role
		i := slices.IndexFunc(v.groups, func(g cloud.Group) bool { return g.Tags[partTag] == part })
		if i >= 0 {
			ids[role] = v.groups[i].ID
			mine = append(mine, i)
			continue
		}
		if v.awaits(part) {
			d.wait("security group " + role + " was asked for, and does not show yet")
			continue
		}
		tags := cloud.Tags{}
		if role == api.BalancerRole { // the controllers of Kubernetes take one group of a node for theirs
			tags[serviceTag(v.service)] = "owned"
		}
		d.add(step{what: "create security group " + role, essential: true, do: func(ctx context.Context) error {
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
			v.decideRules(d, i, role, v.rules(role, n, ids))
		}
	}
	return ids
}

func (v *view) groupName(role string) string {
	return v.c.Key.Name + "-" + role + "-" + digest(string(v.owner.Fleet), v.owner.Cluster.String())[:8]
}

// decideRules decides about the rules of the group at i: those that are missing are added, and others are
// revoked.
func (v *view) decideRules(d *decision, i int, role string, want []cloud.Rule) {
	g := &v.groups[i]
	has := func(list []cloud.Rule, r cloud.Rule) bool { return slices.ContainsFunc(list, r.Same) }
	missing := slices.DeleteFunc(slices.Clone(want), func(r cloud.Rule) bool { return has(g.Rules, r) })
	if len(missing) > 0 {
		d.add(step{what: "add to security group " + role + ": " + describe(missing), essential: !v.started(), do: func(ctx context.Context) error {
			err := v.place.Authorize(ctx, g.ID, missing...)
			if err == nil {
				g.Rules = append(g.Rules, missing...)
			}
			return err
		}})
	}
	if extra := slices.DeleteFunc(slices.Clone(g.Rules), func(r cloud.Rule) bool { return has(want, r) }); len(extra) > 0 {
		d.add(step{what: "revoke from security group " + role + ": " + describe(extra), do: func(ctx context.Context) error {
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

// rules returns what the group of a role lets in. Groups that are not there yet are left out.
func (v *view) rules(role string, n network, ids map[string]string) []cloud.Rule {
	var out []cloud.Rule
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
		if len(lb.IngressRules) == 0 {
			add("tcp", port, port, "Kubernetes API", everywhere)
		} else {
			extra(lb.IngressRules)
			add("tcp", port, port, "Kubernetes API, of the cluster's own machines", append([]string{n.cidr}, ranges(n.egress)...)...)
		}
		for _, l := range lb.AdditionalListeners {
			add("tcp", l.Port, l.Port, "additional listener", everywhere)
		}
	case api.ControlPlaneRole:
		port := int64(v.targetPort())
		add("tcp", port, port, "Kubernetes API", balancer, control, node)
		if lb.PreserveClientIP && v.makesBalancer() {
			for _, r := range v.rules(api.APIServerRole, n, ids) {
				add(r.Protocol, port, port, "Kubernetes API, of clients", r.Source)
			}
		}
		for _, l := range lb.AdditionalListeners {
			add("tcp", l.Port, l.Port, "additional listener", balancer)
		}
		add("tcp", etcdFirst, etcdLast, "etcd", control)
		add("tcp", kubelet, kubelet, "kubelet", control, node)
		extra(v.spec.Network.AdditionalControlPlaneIngressRules)
	case api.NodeRole:
		from := v.spec.Network.NodePortIngressRuleCIDRBlocks
		if len(from) == 0 {
			from = []string{everywhere}
		}
		add("tcp", nodePortFirst, nodePortLast, "services of type NodePort", from...)
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

func (v *view) targetPort() int32 { return cmp.Or(v.c.ControlPlane.APIPort, 6443) }
