package openstacktest

import (
	"net/http"
	"slices"
	"strings"
)

func securityGroupSpec() *spec {
	return &spec{
		kind: SecurityGroups, one: "security_group", label: "Security group", typ: "SecurityGroup", ending: "does not exist",
		required: []string{"name"},
		defaults: Object{"description": "", "stateful": true},
		wide:     []string{"shared", "security_group_rules"},
		create: func(k *call, o Object) error {
			if o.String("name") == "default" {
				return refuse(http.StatusConflict, "SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
			}
			k.addEgress(k.r, o.String("project_id"), o.ID())
			return nil
		},
		remove: func(k *call, o Object) error {
			used := k.r.tables[Ports].all(func(p Object) bool { return slices.Contains(p.Strings("security_groups"), o.ID()) })
			if len(used) > 0 {
				return refuse(http.StatusConflict, "SecurityGroupInUse", "Security Group %s in use.", o.ID())
			}
			if o.String("name") == "default" && !k.admin() {
				return refuse(http.StatusConflict, "SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
			}
			for _, r := range k.r.tables[SecurityGroupRules].all(func(r Object) bool {
				return r.String("security_group_id") == o.ID() || r.String("remote_group_id") == o.ID()
			}) {
				k.drop(SecurityGroupRules, r.ID())
			}
			return nil
		},
		show: func(k *call, o Object) Object {
			v := o.without()
			v["shared"] = false
			v["security_group_rules"] = append([]Object{}, k.r.tables[SecurityGroupRules].where("security_group_id", o.ID())...)
			return v
		},
	}
}

// defaultGroup returns the default security group of a project.
func (k *call) defaultGroup(project string) Object {
	i := slices.IndexFunc(k.r.tables[SecurityGroups].where("project_id", project), func(g Object) bool { return g.String("name") == "default" })
	return k.r.tables[SecurityGroups].where("project_id", project)[i]
}

// addDefaultGroup makes the group that every project has.
func (c *Cloud) addDefaultGroup(r *region, project string) {
	id := c.put(r, SecurityGroups, project, Object{"name": "default", "description": "Default security group"})
	c.addEgress(r, project, id)
	for _, family := range []string{"IPv4", "IPv6"} {
		c.put(r, SecurityGroupRules, project, Object{
			"security_group_id": id, "direction": "ingress", "ethertype": family, "remote_group_id": id,
		})
	}
}

// addEgress gives a group the rules that every new one has.
func (c *Cloud) addEgress(r *region, project, group string) {
	for _, family := range []string{"IPv4", "IPv6"} {
		c.put(r, SecurityGroupRules, project, Object{"security_group_id": group, "direction": "egress", "ethertype": family})
	}
}

func securityGroupRuleSpec() *spec {
	return &spec{
		kind: SecurityGroupRules, one: "security_group_rule", label: "Security group rule", typ: "SecurityGroupRule", ending: "does not exist",
		required: []string{"security_group_id", "direction"},
		defaults: Object{
			"description": "", "ethertype": "IPv4", "protocol": nil, "port_range_min": nil, "port_range_max": nil,
			"remote_group_id": nil, "remote_ip_prefix": nil, "remote_address_group_id": nil,
		},
		wide:   []string{"normalized_cidr"},
		create: createRule,
		update: func(*call, Object, Object) error {
			return refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
		},
	}
}

func createRule(k *call, o Object) error {
	g := k.find(SecurityGroups, o.String("security_group_id"))
	if g == nil {
		return k.kinds[SecurityGroups].missing(o.String("security_group_id"))
	}
	if id := o.String("remote_group_id"); id != "" && k.find(SecurityGroups, id) == nil {
		return k.kinds[SecurityGroups].missing(id)
	}
	o["protocol"] = lower(o["protocol"])
	ports := o.has("port_range_min") || o.has("port_range_max")
	switch {
	case !o.has("protocol") && ports:
		return refuse(http.StatusBadRequest, "SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given.")
	case o.has("remote_group_id") && o.has("remote_ip_prefix"):
		return refuse(http.StatusBadRequest, "SecurityGroupMultipleRemoteEntites", "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.")
	case o.has("remote_ip_prefix") && strings.Contains(o.String("remote_ip_prefix"), ":") != (o.String("ethertype") == "IPv6"):
		return refuse(http.StatusBadRequest, "SecurityGroupRuleParameterConflict", "Conflicting value ethertype %s for CIDR %s", o.String("ethertype"), o.String("remote_ip_prefix"))
	case ports && o.Int("port_range_min") > o.Int("port_range_max") && !strings.HasPrefix(o.String("protocol"), "icmp") && !strings.HasPrefix(o.String("protocol"), "ipv6-icmp"):
		return refuse(http.StatusBadRequest, "SecurityGroupInvalidPortRange", "For TCP/UDP protocols, port_range_min must be <= port_range_max")
	}
	for _, r := range k.r.tables[SecurityGroupRules].where("security_group_id", g.ID()) {
		if r.ID() != o.ID() && sameRule(r, o) {
			return refuse(http.StatusConflict, "SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", r.ID())
		}
	}
	return nil
}

func lower(v any) any {
	if s, ok := v.(string); ok {
		return strings.ToLower(s)
	}
	return v
}

// sameRule reports whether two rules allow the same: descriptions do not count.
func sameRule(a, b Object) bool {
	for _, key := range []string{"direction", "ethertype", "protocol", "remote_group_id", "remote_address_group_id"} {
		if a.String(key) != b.String(key) {
			return false
		}
	}
	for _, key := range []string{"port_range_min", "port_range_max"} {
		if a.has(key) != b.has(key) || a.Int(key) != b.Int(key) {
			return false
		}
	}
	return anywhere(a) == anywhere(b)
}

// anywhere returns the prefix of a rule; no prefix and all addresses are one.
func anywhere(r Object) string {
	p := r.String("remote_ip_prefix")
	if p == "0.0.0.0/0" || p == "::/0" {
		return ""
	}
	return p
}
