package api

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// managedSecurityGroups checks the rules of the managed security groups and
// fills in their defaults.
func (v *validator) managedSecurityGroups(at *field.Path, s *OpenStackClusterSpec) {
	m := s.ManagedSecurityGroups
	for _, l := range []struct {
		name  string
		rules []SecurityGroupRuleSpec
	}{
		{"clusterNodesSecurityGroupRules", m.ClusterNodesSecurityGroupRules},
		{"controlPlaneNodesSecurityGroupRules", m.ControlPlaneNodesSecurityGroupRules},
		{"workerNodesSecurityGroupRules", m.WorkerNodesSecurityGroupRules},
	} {
		at := at.Child(l.name)
		for i := range l.rules {
			v.rule(at.Index(i), &l.rules[i], s.Bastion.IsEnabled())
		}
		objects.Unique(v, at, l.rules, "name", func(r SecurityGroupRuleSpec) string { return r.Name })
	}
}

func (v *validator) rule(at *field.Path, r *SecurityGroupRuleSpec, bastion bool) {
	v.Required(at.Child("name"), r.Name, "")
	if r.Description != nil {
		v.Text(at.Child("description"), *r.Description, maxName)
	}
	objects.Enum(v, at.Child("direction"), r.Direction, "ingress", "egress")
	if isEmpty(r.EtherType) {
		r.EtherType = new("IPv4")
		if r.RemoteIPPrefix != nil && strings.Contains(*r.RemoteIPPrefix, ":") {
			r.EtherType = new("IPv6")
		}
	}
	objects.Enum(v, at.Child("etherType"), *r.EtherType, "IPv4", "IPv6")
	v.protocol(at, r)
	v.remote(at, r)
	groups := at.Child("remoteManagedGroups")
	for i, g := range r.RemoteManagedGroups {
		objects.Enum(v, groups.Index(i), g, SecurityGroupBastion, SecurityGroupControlPlane, SecurityGroupWorker)
		v.Forbidden(groups.Index(i), g == SecurityGroupBastion && !bastion, "the cluster has no bastion")
	}
	r.RemoteManagedGroups = objects.Set(v, groups, r.RemoteManagedGroups)
}

// protocol checks protocol and ports, which are type and code with ICMP.
// Source: Networking API reference, "Create security group rule".
func (v *validator) protocol(at *field.Path, r *SecurityGroupRuleSpec) {
	low, high := at.Child("portRangeMin"), at.Child("portRangeMax")
	if isEmpty(r.Protocol) {
		const why = "there are no ports without a protocol"
		r.Protocol = nil
		v.Forbidden(low, r.PortRangeMin != nil, why)
		v.Forbidden(high, r.PortRangeMax != nil, why)
		return
	}
	if n, err := strconv.Atoi(*r.Protocol); err == nil && (n < 0 || n > 255) {
		v.Invalid(at.Child("protocol"), *r.Protocol, "must be the name of a protocol or a number between 0 and 255")
	}
	if slices.Contains([]string{"icmp", "icmpv6", "ipv6-icmp", "1", "58"}, *r.Protocol) {
		const why = "is type or code of ICMP: must be between 1 and 255, leave it out for all; 0 cannot be asked for alone"
		if r.PortRangeMin != nil {
			objects.Within(v, low, *r.PortRangeMin, 1, 255, why)
		}
		if r.PortRangeMax != nil {
			objects.Within(v, high, *r.PortRangeMax, 1, 255, why)
			if r.PortRangeMin == nil {
				v.Add(field.Required(low, "there is a portRangeMax"))
			}
		}
		return
	}
	switch {
	case r.PortRangeMin == nil && r.PortRangeMax == nil:
	case r.PortRangeMin == nil:
		v.Add(field.Required(low, "there is a portRangeMax"))
	case r.PortRangeMax == nil:
		v.Add(field.Required(high, "there is a portRangeMin"))
	default:
		v.portNumber(low, *r.PortRangeMin)
		v.portNumber(high, *r.PortRangeMax)
		if *r.PortRangeMin > *r.PortRangeMax {
			v.Invalid(high, *r.PortRangeMax, "must not be below portRangeMin")
		}
	}
}

// remote checks that a rule has at most one remote.
func (v *validator) remote(at *field.Path, r *SecurityGroupRuleSpec) {
	remotes := 0
	if len(r.RemoteManagedGroups) > 0 {
		remotes++
	}
	if !isEmpty(r.RemoteGroupID) {
		remotes++
	}
	if !isEmpty(r.RemoteIPPrefix) {
		remotes++
		at := at.Child("remoteIPPrefix")
		if p := v.Prefix(at, *r.RemoteIPPrefix); p.IsValid() {
			if p.Addr().Is4() != (*r.EtherType == "IPv4") {
				v.Invalid(at, *r.RemoteIPPrefix, "must be of the rule's etherType, "+*r.EtherType)
			}
			r.RemoteIPPrefix = new(p.String())
		}
	}
	v.Forbidden(at, remotes > 1, "give one of remoteManagedGroups, remoteGroupID and remoteIPPrefix")
}
