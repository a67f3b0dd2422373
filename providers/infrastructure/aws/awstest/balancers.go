package awstest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

func (c *Cloud) balancing() map[string]action {
	return map[string]action{
		"CreateLoadBalancer":                     c.createBalancer,
		"DescribeLoadBalancers":                  c.describeBalancers,
		"ModifyLoadBalancerAttributes":           c.attributes(Balancers, "LoadBalancerArn", "LoadBalancerNotFound"),
		"DeleteLoadBalancer":                     c.deleteBalancer,
		"CreateTargetGroup":                      c.createTargetGroup,
		"DescribeTargetGroups":                   c.describeTargetGroups,
		"ModifyTargetGroupAttributes":            c.attributes(TargetGroups, "TargetGroupArn", "TargetGroupNotFound"),
		"DescribeLoadBalancerAttributes":         c.shownAttributes(Balancers, "LoadBalancerArn", "LoadBalancerNotFound"),
		"DescribeTargetGroupAttributes":          c.shownAttributes(TargetGroups, "TargetGroupArn", "TargetGroupNotFound"),
		"ModifyTargetGroup":                      c.modifyTargetGroup,
		"DeleteTargetGroup":                      c.deleteTargetGroup,
		"CreateListener":                         c.createListener,
		"DescribeListeners":                      c.describeListeners,
		"RegisterTargets":                        c.registerTargets,
		"DeregisterTargets":                      c.deregisterTargets,
		"DescribeTargetHealth":                   c.describeHealth,
		"DescribeTags":                           c.describeTags,
		"AddTags":                                c.addTags,
		"RemoveTags":                             c.removeTags,
		"classic RemoveTags":                     c.removeClassicTags,
		"SetSecurityGroups":                      c.setGroups,
		"classic CreateLoadBalancer":             c.createClassic,
		"classic DescribeLoadBalancers":          c.describeClassic,
		"classic DeleteLoadBalancer":             c.deleteClassic,
		"classic ConfigureHealthCheck":           c.configureClassic,
		"classic DescribeTags":                   c.describeClassicTags,
		"classic AddTags":                        c.addClassicTags,
		"classic DescribeLoadBalancerAttributes": c.shownClassicAttributes,

		"classic ModifyLoadBalancerAttributes":        c.configureClassic,
		"classic RegisterInstancesWithLoadBalancer":   c.registerClassic,
		"classic DeregisterInstancesFromLoadBalancer": c.deregisterClassic,
	}
}

func (c *Cloud) arn(what string) string {
	return "arn:aws:elasticloadbalancing:" + c.o.Region + ":" + c.o.Account + ":" + what
}

// jammed refuses changes of load balancers, where they are jammed.
func (c *Cloud) jammed() error {
	if c.denied["jam"] {
		return failure{503, "ServiceUnavailable", "The service is temporarily unavailable."}
	}
	return nil
}

// Jam has load balancers refuse every change of their targets.
func (c *Cloud) Jam(jammed bool) { c.Deny("jam", jammed) }

func shownBalancer(t *Thing) []node {
	var zones [][]node
	for _, s := range t.Sets["subnets"] {
		zones = append(zones, texts("SubnetId", s))
	}
	var groups []node
	for _, g := range t.Sets["groups"] {
		groups = append(groups, text("member", g))
	}
	return append(texts("LoadBalancerArn", t.ID, "LoadBalancerName", t.Attr["name"], "DNSName", t.Attr["dns"], "Scheme", t.Attr["scheme"], "Type", t.Attr["type"], "IpAddressType", cmp.Or(t.Attr["family"], "ipv4"),
		"VpcId", t.Attr["vpcId"], "CreatedTime", t.Made.UTC().Format(time.RFC3339)),
		el("State", texts("Code", t.Attr["state"])...), items("AvailabilityZones", "member", zones...), node{name: "SecurityGroups", kids: groups})
}

// createBalancer repeats as ELBv2 does: a name with the same settings answers with what is there,
// whosesoever it is; with other settings it is refused.
func (c *Cloud) createBalancer(r request) (any, error) {
	name, subnets := r.Get("Name"), r.list("Subnets.member")
	if len(name) > 32 {
		return nil, bad("ValidationError", "The load balancer name '%s' cannot be longer than '32' characters", name)
	}
	settings := strings.Join([]string{r.Get("Type"), r.Get("Scheme"), strings.Join(subnets, " ")}, "|")
	if b := c.find(Balancers, "name", name); b != nil {
		if b.Attr["settings"] != settings {
			return nil, bad("DuplicateLoadBalancerName", "A load balancer with the same name '%s' exists, but with different settings", name)
		}
		return []node{items("LoadBalancers", "member", shownBalancer(b))}, nil
	}
	vpc, err := c.place(subnets)
	if err != nil {
		return nil, err
	}
	if err := c.checkDual(r, subnets); err != nil {
		return nil, err
	}
	hash := fmt.Sprintf("%016x", c.n+1)
	b := c.addNamed(Balancers, c.arn("loadbalancer/net/"+name+"/"+hash), map[string]string{
		"name": name, "dns": name + "-" + hash + ".elb." + c.o.Region + ".amazonaws.com", "scheme": r.Get("Scheme"), "type": r.Get("Type"),
		"state": "provisioning", "settings": settings, "vpcId": vpc, "family": r.Get("IpAddressType"),
	}, r.pairs("Tags.member"))
	b.Sets["subnets"], b.Sets["groups"] = subnets, r.list("SecurityGroups.member")
	c.plug(b, "ELB net/"+name+"/"+hash)
	return []node{items("LoadBalancers", "member", shownBalancer(b))}, nil
}

// place returns the VPC of subnets.
func (c *Cloud) place(subnets []string) (vpc string, err error) {
	for _, id := range subnets {
		s := c.get(Subnets, id)
		if s == nil {
			return "", bad("SubnetNotFound", "The subnet ID '%s' does not exist", id)
		}
		vpc = s.Attr["vpcId"]
	}
	if vpc == "" {
		return "", bad("ValidationError", "At least one subnet must be specified")
	}
	return vpc, nil
}

// addNamed adds a thing whose id is not made of its kind.
func (c *Cloud) addNamed(k Kind, id string, attr, tags map[string]string) *Thing {
	t := c.add(k, attr, tags)
	delete(c.things, t.ID)
	t.ID = id
	c.things[id] = t
	return t
}

// plug adds the interfaces of a load balancer.
func (c *Cloud) plug(b *Thing, description string) {
	for _, s := range b.Sets["subnets"] {
		i := c.add(Interfaces, map[string]string{"vpcId": b.Attr["vpcId"], "subnetId": s, "balancer": b.ID, "description": description}, nil)
		if b.Attr["scheme"] == "internet-facing" {
			i.Attr["public"] = "yes"
		}
		i.Sets["groups"] = b.Sets["groups"]
	}
}

// unplug takes the interfaces of a load balancer away, in time.
func (c *Cloud) unplug(b *Thing) {
	for _, i := range c.all(Interfaces) {
		if i.Attr["balancer"] == b.ID {
			i.Gone = time.Now()
		}
	}
	delete(c.things, b.ID)
}

// described returns an answer with all things of a kind, in pages.
func (c *Cloud) described(r request, k Kind, set string, ok func(*Thing) bool, shown func(*Thing) []node) []node {
	all := slices.DeleteFunc(c.all(k), func(t *Thing) bool { return c.hidden(t) || !ok(t) })
	paged := r
	paged.Values = map[string][]string{"MaxResults": {r.Get("PageSize")}, "NextToken": {r.Get("Marker")}}
	some, next, err := c.page(paged, all)
	if err != nil {
		some, next = all, ""
	}
	out := el(set)
	for _, t := range some {
		out.kids = append(out.kids, el("member", shown(t)...))
	}
	return append([]node{out}, texts("NextMarker", next)...)
}

func (c *Cloud) describeBalancers(r request) (any, error) {
	names := r.list("Names.member")
	for _, n := range names {
		if b := c.find(Balancers, "name", n); b == nil || c.hidden(b) {
			return nil, bad("LoadBalancerNotFound", "Load balancers '[%s]' not found", n)
		}
	}
	return c.described(r, Balancers, "LoadBalancers", func(t *Thing) bool { return names == nil || slices.Contains(names, t.Attr["name"]) }, shownBalancer), nil
}

// attributes returns an action that sets attributes of things.
func (c *Cloud) attributes(k Kind, id, absent string) action {
	return func(r request) (any, error) {
		t := c.get(k, r.Get(id))
		if t == nil {
			return nil, bad(absent, "'%s' not found", r.Get(id))
		}
		for key, v := range r.pairs("Attributes.member") {
			if !slices.Contains(attributesOf(k), key) {
				return nil, bad("InvalidConfigurationRequest", "The attribute %s is not valid", key)
			}
			t.Attr[key] = v
		}
		return []node{}, nil
	}
}

func attributesOf(k Kind) []string {
	if k == Balancers {
		return []string{"load_balancing.cross_zone.enabled", "deletion_protection.enabled"}
	}
	return []string{"preserve_client_ip.enabled", "target_health_state.unhealthy.connection_termination.enabled"}
}

// shownAttributes returns an action that lists them. Those that were not set have AWS's defaults.
func (c *Cloud) shownAttributes(k Kind, id, absent string) action {
	return func(r request) (any, error) {
		t := c.get(k, r.Get(id))
		if t == nil || c.hidden(t) {
			return nil, bad(absent, "'%s' not found", r.Get(id))
		}
		var out [][]node
		for _, key := range attributesOf(k) {
			value := t.Attr[key]
			if value == "" {
				value = fmt.Sprint(k == TargetGroups)
			}
			out = append(out, texts("Key", key, "Value", value))
		}
		return []node{items("Attributes", "member", out...)}, nil
	}
}

func (c *Cloud) setGroups(r request) (any, error) {
	b := c.get(Balancers, r.Get("LoadBalancerArn"))
	if b == nil {
		return nil, bad("LoadBalancerNotFound", "'%s' not found", r.Get("LoadBalancerArn"))
	}
	b.Sets["groups"] = r.list("SecurityGroups.member")
	for _, i := range c.all(Interfaces) {
		if i.Attr["balancer"] == b.ID {
			i.Sets["groups"] = b.Sets["groups"]
		}
	}
	return []node{}, nil
}

func (c *Cloud) deleteBalancer(r request) (any, error) {
	if b := c.get(Balancers, r.Get("LoadBalancerArn")); b != nil {
		for _, l := range c.all(Listeners) {
			if l.Attr["balancer"] == b.ID {
				delete(c.things, l.ID)
			}
		}
		c.unplug(b)
	}
	return []node{}, nil
}

// health are the settings of a health check.
func health() []string {
	return []string{
		"HealthCheckProtocol", "HealthCheckPort", "HealthCheckPath", "HealthCheckIntervalSeconds", "HealthCheckTimeoutSeconds", "HealthyThresholdCount", "UnhealthyThresholdCount",
	}
}

// fillPath has a check by HTTP have a path.
func (t *Thing) fillPath() {
	if strings.HasPrefix(t.Attr["HealthCheckProtocol"], "HTTP") && t.Attr["HealthCheckPath"] == "" {
		t.Attr["HealthCheckPath"] = "/"
	}
}

// modifyTargetGroup changes the settings that a request has.
func (c *Cloud) modifyTargetGroup(r request) (any, error) {
	t := c.get(TargetGroups, r.Get("TargetGroupArn"))
	if t == nil {
		return nil, bad("TargetGroupNotFound", "One or more target groups not found")
	}
	for _, key := range health() {
		if r.Has(key) {
			t.Attr[key] = r.Get(key)
		}
	}
	t.fillPath()
	return []node{items("TargetGroups", "member", shownTargetGroup(t))}, nil
}

func shownTargetGroup(t *Thing) []node {
	out := texts("TargetGroupArn", t.ID, "TargetGroupName", t.Attr["name"], "Protocol", t.Attr["protocol"], "Port", t.Attr["port"], "VpcId", t.Attr["vpcid"], "TargetType", "instance", "IpAddressType", cmp.Or(t.Attr["family"], "ipv4"))
	for _, key := range health() {
		out = append(out, texts(key, t.Attr[key])...)
	}
	var lbs []node
	for _, b := range t.Sets["balancers"] {
		lbs = append(lbs, text("member", b))
	}
	return append(out, node{name: "LoadBalancerArns", kids: lbs})
}

func (c *Cloud) createTargetGroup(r request) (any, error) {
	name := r.Get("Name")
	if len(name) > 32 {
		return nil, bad("ValidationError", "Target group name '%s' cannot be longer than '32' characters", name)
	}
	settings := r.Get("Protocol") + " " + r.Get("Port") + " " + r.Get("VpcId")
	if t := c.find(TargetGroups, "name", name); t != nil {
		if t.Attr["settings"] != settings {
			return nil, bad("DuplicateTargetGroupName", "A target group with the same name '%s' exists, but with different settings", name)
		}
		return []node{items("TargetGroups", "member", shownTargetGroup(t))}, nil
	}
	t := c.addNamed(TargetGroups, c.arn(fmt.Sprintf("targetgroup/%s/%016x", name, c.n+1)), map[string]string{
		"name": name, "settings": settings, "protocol": r.Get("Protocol"), "port": r.Get("Port"), "vpcid": r.Get("VpcId"), "family": cmp.Or(r.Get("IpAddressType"), "ipv4"),
	}, r.pairs("Tags.member"))
	for _, key := range health() {
		t.Attr[key] = r.Get(key)
	}
	t.fillPath()
	return []node{items("TargetGroups", "member", shownTargetGroup(t))}, nil
}

func (c *Cloud) describeTargetGroups(r request) (any, error) {
	for _, t := range c.all(TargetGroups) {
		t.Sets["balancers"] = nil
		for _, l := range c.all(Listeners) {
			if l.Attr["group"] == t.ID {
				t.Sets["balancers"] = append(t.Sets["balancers"], l.Attr["balancer"])
			}
		}
	}
	return c.described(r, TargetGroups, "TargetGroups", func(*Thing) bool { return true }, shownTargetGroup), nil
}

func (c *Cloud) deleteTargetGroup(r request) (any, error) {
	for _, l := range c.all(Listeners) {
		if l.Attr["group"] == r.Get("TargetGroupArn") {
			return nil, bad("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule", r.Get("TargetGroupArn"))
		}
	}
	if t := c.get(TargetGroups, r.Get("TargetGroupArn")); t != nil {
		delete(c.things, t.ID)
	}
	return []node{}, nil
}

func shownListener(t *Thing) []node {
	return append(texts("ListenerArn", t.ID, "LoadBalancerArn", t.Attr["balancer"], "Port", t.Attr["port"], "Protocol", t.Attr["protocol"]),
		items("DefaultActions", "member", texts("Type", "forward", "TargetGroupArn", t.Attr["group"])))
}

func (c *Cloud) createListener(r request) (any, error) {
	b, g := c.get(Balancers, r.Get("LoadBalancerArn")), c.get(TargetGroups, r.Get("DefaultActions.member.1.TargetGroupArn"))
	switch {
	case b == nil:
		return nil, bad("LoadBalancerNotFound", "'%s' not found", r.Get("LoadBalancerArn"))
	case g == nil:
		return nil, bad("TargetGroupNotFound", "'%s' not found", r.Get("DefaultActions.member.1.TargetGroupArn"))
	}
	if g.Attr["family"] == "ipv6" && b.Attr["family"] != "dualstack" {
		return nil, bad("InvalidConfigurationRequest", "You cannot associate an IPv6 target group with a load balancer of IPv4")
	}
	for _, l := range c.all(Listeners) {
		if l.Attr["balancer"] == b.ID && l.Attr["port"] == r.Get("Port") {
			if l.Attr["group"] != g.ID {
				return nil, bad("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", b.ID)
			}
			return []node{items("Listeners", "member", shownListener(l))}, nil
		}
	}
	id := strings.Replace(b.ID, ":loadbalancer/", ":listener/", 1) + fmt.Sprintf("/%016x", c.n+1)
	l := c.addNamed(Listeners, id, map[string]string{"balancer": b.ID, "group": g.ID, "port": r.Get("Port"), "protocol": r.Get("Protocol")}, r.pairs("Tags.member"))
	return []node{items("Listeners", "member", shownListener(l))}, nil
}

func (c *Cloud) describeListeners(r request) (any, error) {
	if b := c.get(Balancers, r.Get("LoadBalancerArn")); b == nil || c.hidden(b) {
		return nil, bad("LoadBalancerNotFound", "'%s' not found", r.Get("LoadBalancerArn"))
	}
	return c.described(r, Listeners, "Listeners", func(t *Thing) bool { return t.Attr["balancer"] == r.Get("LoadBalancerArn") }, shownListener), nil
}

func (c *Cloud) targets(r request) (*Thing, []string, error) {
	if err := c.jammed(); err != nil {
		return nil, nil, err
	}
	g := c.get(TargetGroups, r.Get("TargetGroupArn"))
	if g == nil {
		return nil, nil, bad("TargetGroupNotFound", "One or more target groups not found")
	}
	var out []string
	for i := 1; r.Has(fmt.Sprintf("Targets.member.%d.Id", i)); i++ {
		out = append(out, r.Get(fmt.Sprintf("Targets.member.%d.Id", i)))
	}
	return g, out, nil
}

// registerTargets refuses what does not run; what is registered may be registered again.
func (c *Cloud) registerTargets(r request) (any, error) {
	g, ids, err := c.targets(r)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if t := c.get(Instances, id); t == nil || t.Attr["state"] != "running" {
			return nil, bad("InvalidTarget", "The following targets are not in a running state and cannot be registered: '%s'", id)
		}
		if err := c.checkFamily(g, id); err != nil {
			return nil, err
		}
		if !slices.Contains(g.Sets["targets"], id) {
			g.Sets["targets"] = append(g.Sets["targets"], id)
		}
	}
	return []node{}, nil
}

func (c *Cloud) deregisterTargets(r request) (any, error) {
	g, ids, err := c.targets(r)
	if err != nil {
		return nil, err
	}
	g.Sets["targets"] = slices.DeleteFunc(g.Sets["targets"], func(id string) bool { return slices.Contains(ids, id) })
	return []node{}, nil
}

// shown returns those of ids that are not terminated: those AWS takes off by itself.
func (c *Cloud) alive(ids []string) []string {
	var out []string
	for _, id := range ids {
		if t := c.get(Instances, id); t != nil && t.Attr["state"] != "terminated" {
			out = append(out, id)
		}
	}
	return out
}

func (c *Cloud) describeHealth(r request) (any, error) {
	g := c.get(TargetGroups, r.Get("TargetGroupArn"))
	if g == nil || c.hidden(g) {
		return nil, bad("TargetGroupNotFound", "One or more target groups not found")
	}
	g.Sets["targets"] = c.alive(g.Sets["targets"])
	out := el("TargetHealthDescriptions")
	for _, id := range g.Sets["targets"] {
		out.kids = append(out.kids, el("member", el("Target", texts("Id", id, "Port", g.Attr["port"])...), el("TargetHealth", texts("State", "healthy")...)))
	}
	return []node{out}, nil
}

func (c *Cloud) describeTags(r request) (any, error) {
	ids := r.list("ResourceArns.member")
	if len(ids) > 20 {
		return nil, bad("ValidationError", "The maximum number of ARNs is 20")
	}
	var out [][]node
	for _, id := range ids {
		t := c.things[id]
		if t == nil {
			return nil, bad("LoadBalancerNotFound", "'%s' not found", id)
		}
		out = append(out, append(texts("ResourceArn", id), tagList(t.Tags)))
	}
	return []node{items("TagDescriptions", "member", out...)}, nil
}

func (c *Cloud) addTags(r request) (any, error) {
	for _, id := range r.list("ResourceArns.member") {
		t := c.things[id]
		if t == nil {
			return nil, bad("LoadBalancerNotFound", "'%s' not found", id)
		}
		for k, v := range r.pairs("Tags.member") {
			t.Tags[k] = v
		}
	}
	return []node{}, nil
}

func (c *Cloud) removeTags(r request) (any, error) {
	for _, id := range r.list("ResourceArns.member") {
		t := c.things[id]
		if t == nil {
			return nil, bad("LoadBalancerNotFound", "'%s' not found", id)
		}
		for _, k := range r.list("TagKeys.member") {
			delete(t.Tags, k)
		}
	}
	return []node{}, nil
}
