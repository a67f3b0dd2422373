package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"k8s.io/utils/ptr"

	"fairlead.dev/providers/infrastructure/openstack/api"
)

const (
	ingress = "ingress"
	egress  = "egress"
	ipv4    = "IPv4"
	ipv6    = "IPv6"
	tcp     = "tcp"
	udp     = "udp"
)

// A rule is a rule of a security group in one spelling, so that two rules that
// Neutron takes for the same are equal: the description does not count, an
// address prefix of everything is none, and protocols have their names.
type rule struct {
	direction string
	family    string // IPv4 or IPv6
	protocol  string // empty: all
	min, max  int    // ports, both included; 0: all. For ICMP type and code
	group     string // id of the remote group
	prefix    string // of the remote addresses
}

// normal returns r in the one spelling.
// Source: Neutron's db/securitygroups_db.py, how it finds a duplicate.
func (r rule) normal() rule {
	r.direction = strings.ToLower(r.direction)
	r.protocol = strings.ToLower(r.protocol)
	if name, ok := protocolNames()[r.protocol]; ok {
		r.protocol = name
	}
	if r.family == ipv6 && (r.protocol == "icmp" || r.protocol == "icmpv6") {
		r.protocol = "ipv6-icmp"
	}
	if r.min == 1 && r.max == 65535 && r.protocol != "" {
		r.min, r.max = 0, 0
	}
	r.prefix = normalPrefix(r.prefix)
	return r
}

func protocolNames() map[string]string {
	return map[string]string{
		"any": "", "0": "", "1": "icmp", "2": "igmp", "4": "ipip", "6": tcp, "17": udp, "47": "gre", "50": "esp",
		"51": "ah", "58": "ipv6-icmp", "112": "vrrp", "132": "sctp", "-1": "",
		"8": "egp", "33": "dccp", "41": "ipv6-encap", "43": "ipv6-route", "44": "ipv6-frag", "46": "rsvp",
		"59": "ipv6-nonxt", "60": "ipv6-opts", "89": "ospf", "113": "pgm", "136": "udplite",
	}
}

// normalPrefix returns the network that p names, and nothing where it is all.
func normalPrefix(p string) string {
	if p = fullPrefix(p); strings.HasSuffix(p, "/0") {
		return ""
	}
	return p
}

// fullPrefix returns the network that p names; an address is one of its own.
func fullPrefix(p string) string {
	prefix, err := netip.ParsePrefix(p)
	if err != nil {
		a, err := netip.ParseAddr(p)
		if err != nil {
			return p
		}
		prefix = netip.PrefixFrom(a, a.BitLen())
	}
	return prefix.Masked().String()
}

// String describes r for people.
func (r rule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", r.direction, r.family, cmp.Or(r.protocol, "all"))
	switch {
	case r.min == 0 && r.max == 0:
	case r.min == r.max:
		fmt.Fprintf(&b, " %d", r.min)
	default:
		fmt.Fprintf(&b, " %d-%d", r.min, r.max)
	}
	word := " from "
	if r.direction == egress {
		word = " to "
	}
	switch {
	case r.group != "":
		b.WriteString(word + "group " + r.group)
	case r.prefix != "":
		b.WriteString(word + r.prefix)
	}
	return b.String()
}

// observedRule returns what Neutron has as a rule.
func observedRule(o rules.SecGroupRule) rule {
	return rule{
		direction: o.Direction, family: o.EtherType, protocol: o.Protocol,
		min: o.PortRangeMin, max: o.PortRangeMax, group: o.RemoteGroupID, prefix: o.RemoteIPPrefix,
	}.normal()
}

// A described rule is one to make.
type described struct {
	rule
	text string
}

// create returns what Neutron is asked for to make d in a group.
func (d described) create(group string) rules.CreateOpts {
	return rules.CreateOpts{
		Direction: rules.RuleDirection(d.direction), EtherType: rules.RuleEtherType(d.family),
		Protocol: rules.RuleProtocol(d.protocol), PortRangeMin: d.min, PortRangeMax: d.max,
		RemoteGroupID: d.group, RemoteIPPrefix: d.prefix, Description: d.text, SecGroupID: group,
	}
}

// asMade returns d as Neutron shows it.
func (d described) asMade(group string) rules.SecGroupRule {
	return rules.SecGroupRule{
		Direction: d.direction, EtherType: d.family, Protocol: d.protocol, PortRangeMin: d.min, PortRangeMax: d.max,
		RemoteGroupID: d.group, RemoteIPPrefix: d.prefix, Description: d.text, SecGroupID: group,
	}
}

// diffRules returns what of want is not in have, and the ids of what of have is
// not wanted. Rules with a remote address group are never ours: no field of the
// API makes one.
func diffRules(want []described, have []rules.SecGroupRule) (add []described, remove []rules.SecGroupRule) {
	wanted := map[rule]bool{}
	for _, d := range want {
		wanted[d.rule] = true
	}
	there := map[rule]bool{}
	for _, o := range have {
		r := observedRule(o)
		if !wanted[r] || o.RemoteAddressGroupID != "" {
			remove = append(remove, o)
			continue
		}
		there[r] = true
	}
	for _, d := range want {
		if !there[d.rule] {
			there[d.rule] = true
			add = append(add, d)
		}
	}
	return add, remove
}

// groupIDs are the ids of the managed security groups.
type groupIDs map[api.ManagedSecurityGroupName]string

// A ruleSet is what the rules of the managed groups follow from.
type ruleSet struct {
	spec     *api.ManagedSecurityGroups
	ids      groupIDs
	families []string // of the cluster's subnets: IPv4, IPv6
	cidrs    []string // of the cluster's subnets
	apiPort  int
	ports    []int32 // more ports of the load balancer
	bastion  bool
}

// wanted returns the rules of the managed groups: what kubeadm, kubelet and
// etcd need, what Cluster API's provider for OpenStack opens besides, and what
// Git says.
// Source: https://kubernetes.io/docs/reference/networking/ports-and-protocols/
func (s ruleSet) wanted() (map[api.ManagedSecurityGroupName][]described, error) {
	cp, worker, bastion := api.SecurityGroupControlPlane, api.SecurityGroupWorker, api.SecurityGroupBastion
	out := map[api.ManagedSecurityGroupName][]described{cp: s.open(), worker: s.open()}
	from := func(to api.ManagedSecurityGroupName, text, protocol string, low, high int, sources ...api.ManagedSecurityGroupName) {
		for _, f := range s.families {
			for _, g := range sources {
				out[to] = append(out[to], described{rule{ingress, f, protocol, low, high, s.ids[g], ""}.normal(), text})
			}
		}
	}
	anywhere := func(to api.ManagedSecurityGroupName, text string, port int) {
		for _, f := range s.families {
			out[to] = append(out[to], described{rule{ingress, f, tcp, port, port, "", ""}.normal(), text})
		}
	}
	anywhere(cp, "Kubernetes API", s.apiPort)
	for _, p := range s.ports {
		anywhere(cp, "additional port of the load balancer", int(p))
	}
	for _, protocol := range []string{tcp, udp} {
		from(worker, "node ports of services", protocol, 30000, 32767, worker, cp)
		for _, c := range s.cidrs {
			out[worker] = append(out[worker], described{rule{ingress, familyOf(c), protocol, 30000, 32767, "", c}.normal(), "node ports of services"})
		}
	}
	if s.spec.AllowAllInClusterTraffic {
		from(cp, "traffic in the cluster", "", 0, 0, cp, worker)
		from(worker, "traffic in the cluster", "", 0, 0, worker, cp)
	} else {
		from(cp, "etcd", tcp, 2379, 2380, cp)
		from(cp, "kubelet API", tcp, 10250, 10250, cp, worker)
		from(worker, "kubelet API", tcp, 10250, 10250, worker, cp)
	}
	if s.bastion {
		out[bastion] = s.open()
		anywhere(bastion, "SSH", 22)
		from(cp, "SSH from the bastion", tcp, 22, 22, bastion)
		from(worker, "SSH from the bastion", tcp, 22, 22, bastion)
	}
	return out, s.custom(out)
}

// open lets everything out, as Neutron's own new groups do.
func (s ruleSet) open() []described {
	return []described{{rule{direction: egress, family: ipv4}, "everything"}, {rule{direction: egress, family: ipv6}, "everything"}}
}

// custom adds the rules of Git to out.
func (s ruleSet) custom(out map[api.ManagedSecurityGroupName][]described) error {
	for _, l := range []struct {
		field string
		rules []api.SecurityGroupRuleSpec
		to    []api.ManagedSecurityGroupName
	}{
		{"clusterNodesSecurityGroupRules", s.spec.ClusterNodesSecurityGroupRules, []api.ManagedSecurityGroupName{api.SecurityGroupControlPlane, api.SecurityGroupWorker}},
		{"controlPlaneNodesSecurityGroupRules", s.spec.ControlPlaneNodesSecurityGroupRules, []api.ManagedSecurityGroupName{api.SecurityGroupControlPlane}},
		{"workerNodesSecurityGroupRules", s.spec.WorkerNodesSecurityGroupRules, []api.ManagedSecurityGroupName{api.SecurityGroupWorker}},
	} {
		for _, r := range l.rules {
			made, err := s.resolve(r)
			if err != nil {
				return fmt.Errorf("managedSecurityGroups.%s[%s]: %w", l.field, r.Name, err)
			}
			for _, to := range l.to {
				out[to] = append(out[to], made...)
			}
		}
	}
	return nil
}

// resolve returns the rules that one of Git's stands for: one for each of the
// managed groups that it names.
func (s ruleSet) resolve(r api.SecurityGroupRuleSpec) ([]described, error) {
	base := described{
		rule{
			direction: r.Direction, family: ptr.Deref(r.EtherType, ""), protocol: ptr.Deref(r.Protocol, ""),
			min: int(ptr.Deref(r.PortRangeMin, 0)), max: int(ptr.Deref(r.PortRangeMax, 0)),
			group: ptr.Deref(r.RemoteGroupID, ""), prefix: ptr.Deref(r.RemoteIPPrefix, ""),
		}, ptr.Deref(r.Description, ""),
	}
	if base.family == "" {
		base.family = ipv4
		if base.prefix != "" {
			base.family = familyOf(base.prefix)
		}
	}
	if len(r.RemoteManagedGroups) == 0 {
		base.rule = base.normal()
		return []described{base}, nil
	}
	var out []described
	for _, g := range r.RemoteManagedGroups {
		if s.ids[g] == "" {
			return nil, fmt.Errorf("remoteManagedGroups names %q, and the cluster has no such group (enable the bastion, or take it out)", g)
		}
		d := base
		d.group = s.ids[g]
		d.rule = d.normal()
		out = append(out, d)
	}
	return out, nil
}

// familyOf returns the family of an address or prefix.
func familyOf(s string) string {
	if strings.Contains(s, ":") {
		return ipv6
	}
	return ipv4
}
