package awstest

import (
	"fmt"
	"slices"
	"strings"
)

// maxRules is how many rules a security group has at most.
// Source: Amazon VPC quotas.
const maxRules = 60

// A rule of a security group is written "protocol from to source description"; a source is a range
// of addresses or a group.
func permissions(r request) []string {
	var out []string
	for i := 1; r.Has(fmt.Sprintf("IpPermissions.%d.IpProtocol", i)); i++ {
		at := fmt.Sprintf("IpPermissions.%d.", i)
		head := r.Get(at+"IpProtocol") + "\x00" + r.Get(at+"FromPort") + "\x00" + r.Get(at+"ToPort") + "\x00"
		for _, source := range []struct{ list, field string }{{"IpRanges", "CidrIp"}, {"Ipv6Ranges", "CidrIpv6"}, {"Groups", "GroupId"}} {
			for j := 1; r.Has(fmt.Sprintf("%s%s.%d.%s", at, source.list, j, source.field)); j++ {
				one := fmt.Sprintf("%s%s.%d.", at, source.list, j)
				out = append(out, head+r.Get(one+source.field)+"\x00"+r.Get(one+"Description"))
			}
		}
	}
	return out
}

// bare is a rule without its description.
func bare(rule string) string { return rule[:strings.LastIndexByte(rule, 0)] }

func shownRules(name string, all []string) node {
	var rules [][]node
	for _, rule := range all {
		p := strings.Split(rule, "\x00")
		out := texts("ipProtocol", p[0], "fromPort", p[1], "toPort", p[2])
		switch {
		case strings.HasPrefix(p[3], "sg-"):
			out = append(out, items("groups", "item", texts("groupId", p[3], "description", p[4])))
		case strings.Contains(p[3], ":"):
			out = append(out, items("ipv6Ranges", "item", texts("cidrIpv6", p[3], "description", p[4])))
		default:
			out = append(out, items("ipRanges", "item", texts("cidrIp", p[3], "description", p[4])))
		}
		rules = append(rules, out)
	}
	return items(name, "item", rules...)
}

func shownGroup(t *Thing) []node {
	return append(texts("groupId", t.ID, "groupName", t.Attr["groupName"], "vpcId", t.Attr["vpcId"]), shownRules("ipPermissions", t.Sets["rules"]), shownRules("ipPermissionsEgress", t.Sets["egress"]), tagSet(t.Tags))
}

func (c *Cloud) createGroup(r request) (any, error) {
	v := c.get(VPCs, r.Get("VpcId"))
	if v == nil {
		return nil, bad("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", r.Get("VpcId"))
	}
	for _, g := range c.all(Groups) {
		if g.Attr["vpcId"] == v.ID && g.Attr["groupName"] == r.Get("GroupName") {
			return nil, bad("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", r.Get("GroupName"), v.ID)
		}
	}
	g := c.add(Groups, map[string]string{"vpcId": v.ID, "groupName": r.Get("GroupName"), "description": r.Get("GroupDescription")}, r.tags("security-group"))
	return append(done, text("groupId", g.ID)), nil
}

func (c *Cloud) group(r request) (*Thing, error) {
	if g := c.get(Groups, r.Get("GroupId")); g != nil {
		return g, nil
	}
	return nil, bad("InvalidGroup.NotFound", "The security group '%s' does not exist", r.Get("GroupId"))
}

func (c *Cloud) authorize(r request) (any, error) {
	g, err := c.group(r)
	if err != nil {
		return nil, err
	}
	add := permissions(r)
	for _, rule := range add {
		source := strings.Split(rule, "\x00")[3]
		if strings.HasPrefix(source, "sg-") && c.get(Groups, source) == nil {
			return nil, bad("InvalidGroup.NotFound", "The security group '%s' does not exist", source)
		}
		if slices.ContainsFunc(g.Sets["rules"], func(o string) bool { return bare(o) == bare(rule) }) {
			return nil, bad("InvalidPermission.Duplicate", "the specified rule already exists")
		}
	}
	if len(add) == 0 {
		return nil, bad("InvalidParameterValue", "no rules")
	}
	if len(g.Sets["rules"])+len(add) > maxRules {
		return nil, bad("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
	}
	g.Sets["rules"] = append(g.Sets["rules"], add...)
	return done, nil
}

// revoke returns an action that takes rules off a set.
func (c *Cloud) revoke(set string) action {
	return func(r request) (any, error) {
		g, err := c.group(r)
		if err != nil {
			return nil, err
		}
		for _, rule := range permissions(r) {
			i := slices.IndexFunc(g.Sets[set], func(o string) bool { return bare(o) == bare(rule) })
			if i < 0 {
				return nil, bad("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
			}
			g.Sets[set] = slices.Delete(g.Sets[set], i, i+1)
		}
		return done, nil
	}
}

func (c *Cloud) deleteGroup(r request) (any, error) {
	g, err := c.group(r)
	if err != nil {
		return nil, err
	}
	for _, o := range c.things {
		used := o.Kind == Interfaces && slices.Contains(o.Sets["groups"], g.ID) ||
			o.Kind == Groups && o != g && slices.ContainsFunc(o.Sets["rules"], func(rule string) bool { return strings.Contains(rule, "\x00"+g.ID+"\x00") })
		if used {
			return nil, bad("DependencyViolation", "resource %s has a dependent object", g.ID)
		}
	}
	delete(c.things, g.ID)
	return done, nil
}
