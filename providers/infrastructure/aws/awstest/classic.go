package awstest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func shownClassic(t *Thing) []node {
	members := func(name string, all []string, inside string) node {
		out := el(name)
		for _, v := range all {
			if inside == "" {
				out.kids = append(out.kids, text("member", v))
			} else {
				out.kids = append(out.kids, el("member", text(inside, v)))
			}
		}
		return out
	}
	return append(texts("LoadBalancerName", t.Attr["name"], "DNSName", t.Attr["dns"], "Scheme", t.Attr["scheme"], "VPCId", t.Attr["vpcId"], "CreatedTime", t.Made.UTC().Format(time.RFC3339)),
		members("Subnets", t.Sets["subnets"], ""), members("SecurityGroups", t.Sets["groups"], ""), members("Instances", t.Sets["targets"], "InstanceId"),
		el("HealthCheck", texts("Target", t.Attr["health"], "Interval", t.Attr["Interval"], "Timeout", t.Attr["Timeout"], "HealthyThreshold", t.Attr["HealthyThreshold"], "UnhealthyThreshold", t.Attr["UnhealthyThreshold"])...))
}

func (c *Cloud) createClassic(r request) (any, error) {
	name, subnets := r.Get("LoadBalancerName"), r.list("Subnets.member")
	if len(name) > 32 {
		return nil, bad("ValidationError", "LoadBalancer name cannot be longer than 32 characters")
	}
	settings := r.Get("Scheme") + "|" + r.Get("Listeners.member.1.LoadBalancerPort") + "|" + strings.Join(subnets, " ")
	b := c.find(ClassicOnes, "name", name)
	if b != nil && b.Attr["settings"] != settings {
		return nil, bad("DuplicateLoadBalancerName", "Load Balancer named %s already exists and it is configured with different parameters.", name)
	}
	if b == nil {
		vpc, err := c.place(subnets)
		if err != nil {
			return nil, err
		}
		scheme := r.Get("Scheme")
		if scheme == "" {
			scheme = "internet-facing"
		}
		b = c.addNamed(ClassicOnes, "classic/"+name, map[string]string{
			"name": name, "dns": fmt.Sprintf("%s-%d.%s.elb.amazonaws.com", name, c.n+1, c.o.Region), "scheme": scheme, "vpcId": vpc, "settings": settings,
		}, r.pairs("Tags.member"))
		b.Sets["subnets"], b.Sets["groups"] = subnets, r.list("SecurityGroups.member")
		c.plug(b, "ELB "+name)
	}
	return texts("DNSName", b.Attr["dns"]), nil
}

func (c *Cloud) classic(r request) (*Thing, error) {
	if b := c.find(ClassicOnes, "name", r.Get("LoadBalancerName")); b != nil {
		return b, nil
	}
	return nil, bad("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", r.Get("LoadBalancerName"))
}

func (c *Cloud) describeClassic(r request) (any, error) {
	for _, b := range c.all(ClassicOnes) {
		b.Sets["targets"] = c.alive(b.Sets["targets"])
	}
	return c.described(r, ClassicOnes, "LoadBalancerDescriptions", func(*Thing) bool { return true }, shownClassic), nil
}

func (c *Cloud) deleteClassic(r request) (any, error) {
	if b, err := c.classic(r); err == nil {
		c.unplug(b)
	}
	return []node{}, nil
}

// configureClassic sets the health check of a load balancer, or attributes that nothing here depends on.
func (c *Cloud) configureClassic(r request) (any, error) {
	b, err := c.classic(r)
	if err != nil {
		return nil, err
	}
	if target := r.Get("HealthCheck.Target"); target != "" {
		b.Attr["health"] = target
		for _, key := range []string{"Interval", "Timeout", "HealthyThreshold", "UnhealthyThreshold"} {
			b.Attr[key] = r.Get("HealthCheck." + key)
		}
	}
	if cross := r.Get("LoadBalancerAttributes.CrossZoneLoadBalancing.Enabled"); cross != "" {
		b.Attr["crossZone"] = cross
	}
	return []node{}, nil
}

func (c *Cloud) shownClassicAttributes(r request) (any, error) {
	b, err := c.classic(r)
	if err != nil {
		return nil, err
	}
	return []node{el("LoadBalancerAttributes", el("CrossZoneLoadBalancing", text("Enabled", fmt.Sprint(b.Attr["crossZone"] == "true"))))}, nil
}

func (c *Cloud) addClassicTags(r request) (any, error) {
	b := c.find(ClassicOnes, "name", r.Get("LoadBalancerNames.member.1"))
	if b == nil {
		return nil, bad("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", r.Get("LoadBalancerNames.member.1"))
	}
	maps.Copy(b.Tags, r.pairs("Tags.member"))
	return []node{}, nil
}

func (c *Cloud) classicTargets(r request) (*Thing, []string, error) {
	if err := c.jammed(); err != nil {
		return nil, nil, err
	}
	b, err := c.classic(r)
	var ids []string
	for i := 1; r.Has(fmt.Sprintf("Instances.member.%d.InstanceId", i)); i++ {
		ids = append(ids, r.Get(fmt.Sprintf("Instances.member.%d.InstanceId", i)))
	}
	return b, ids, err
}

func (c *Cloud) registerClassic(r request) (any, error) {
	b, ids, err := c.classicTargets(r)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if t := c.get(Instances, id); t == nil || t.Attr["state"] == "terminated" {
			return nil, bad("InvalidInstance", "Could not find EC2 instance %s.", id)
		}
		if !slices.Contains(b.Sets["targets"], id) {
			b.Sets["targets"] = append(b.Sets["targets"], id)
		}
	}
	return []node{}, nil
}

func (c *Cloud) deregisterClassic(r request) (any, error) {
	b, ids, err := c.classicTargets(r)
	if err != nil {
		return nil, err
	}
	b.Sets["targets"] = slices.DeleteFunc(b.Sets["targets"], func(id string) bool { return slices.Contains(ids, id) })
	return []node{}, nil
}

func (c *Cloud) describeClassicTags(r request) (any, error) {
	names := r.list("LoadBalancerNames.member")
	if len(names) > 20 {
		return nil, bad("ValidationError", "The maximum number of names is 20")
	}
	var out [][]node
	for _, n := range names {
		b := c.find(ClassicOnes, "name", n)
		if b == nil {
			return nil, bad("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", n)
		}
		out = append(out, append(texts("LoadBalancerName", n), tagList(b.Tags)))
	}
	return []node{items("TagDescriptions", "member", out...)}, nil
}

func (c *Cloud) removeClassicTags(r request) (any, error) {
	b := c.find(ClassicOnes, "name", r.Get("LoadBalancerNames.member.1"))
	if b == nil {
		return nil, bad("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", r.Get("LoadBalancerNames.member.1"))
	}
	for i := 1; r.Has(fmt.Sprintf("Tags.member.%d.Key", i)); i++ {
		delete(b.Tags, r.Get(fmt.Sprintf("Tags.member.%d.Key", i)))
	}
	return []node{}, nil
}
