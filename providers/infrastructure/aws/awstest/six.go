package awstest

import (
	"fmt"
	"slices"
	"strings"
)

func shownEgress(t *Thing) []node {
	return append(texts("egressOnlyInternetGatewayId", t.ID), items("attachmentSet", "item", texts("vpcId", t.Attr["vpcId"], "state", "attached")), tagSet(t.Tags))
}

func (c *Cloud) createEgress(r request) (any, error) {
	v := c.get(VPCs, r.Get("VpcId"))
	if v == nil {
		return nil, bad("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", r.Get("VpcId"))
	}
	return []node{el("egressOnlyInternetGateway", shownEgress(c.add(Egresses, map[string]string{"vpcId": v.ID}, r.tags("egress-only-internet-gateway")))...)}, nil
}

func (c *Cloud) deleteEgress(r request) (any, error) {
	g := c.get(Egresses, r.Get("EgressOnlyInternetGatewayId"))
	if g == nil {
		return nil, bad("InvalidGatewayID.NotFound", "The gateway ID '%s' does not exist", r.Get("EgressOnlyInternetGatewayId"))
	}
	delete(c.things, g.ID)
	return done, nil
}

// FailSix has the next VPCs get no range of IPv6, for a reason; empty: they get one.
func (c *Cloud) FailSix(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failingSix = reason
}

// checkSix says what is wrong with a request for an instance with addresses of IPv6.
func (c *Cloud) checkSix(r request, subnet *Thing) error {
	if r.Has("NetworkInterface.1.Ipv6AddressCount") && !c.hasSix(subnet) {
		return bad("InvalidParameterValue", "The subnet '%s' does not have an IPv6 CIDR block associated", subnet.ID)
	}
	return nil
}

// giveSix gives an instance an address of IPv6, if it asks for one or its subnet gives one.
func (c *Cloud) giveSix(r request, t, subnet *Thing) {
	if !c.hasSix(subnet) || !r.Has("NetworkInterface.1.Ipv6AddressCount") && subnet.Attr["AssignIpv6AddressOnCreation"] != "true" {
		return
	}
	t.Attr["ipv6"] = fmt.Sprintf("%s%x", strings.TrimSuffix(subnet.Attr["six"], "/64"), c.n)
	t.Attr["primaryIpv6"] = r.Get("NetworkInterface.1.PrimaryIpv6")
}

// shownAddresses6 are the network interfaces of an instance, as far as they have addresses of IPv6.
func shownAddresses6(t *Thing) node {
	if t.Attr["ipv6"] == "" {
		return items("networkInterfaceSet", "item")
	}
	return items("networkInterfaceSet", "item", []node{items("ipv6AddressesSet", "item", texts("ipv6Address", t.Attr["ipv6"], "isPrimaryIpv6", t.Attr["primaryIpv6"]))})
}

// checkFamily says why a target group takes no instance: one of IPv6 needs a primary address.
func (c *Cloud) checkFamily(g *Thing, id string) error {
	if i := c.get(Instances, id); g.Attr["family"] == "ipv6" && (i == nil || i.Attr["primaryIpv6"] != "true") {
		return bad("InvalidTarget", "The instance '%s' does not have a primary IPv6 address", id)
	}
	return nil
}

// checkDual says why a load balancer cannot have addresses of both families.
func (c *Cloud) checkDual(r request, subnets []string) error {
	if r.Get("IpAddressType") == "dualstack" && slices.ContainsFunc(subnets, func(id string) bool { return !c.hasSix(c.get(Subnets, id)) }) {
		return bad("InvalidConfigurationRequest", "You must specify subnets with an associated IPv6 CIDR block")
	}
	return nil
}

// modifySubnet has no subnet give addresses of IPv6 that has none.
func (c *Cloud) modifySubnet(r request) (any, error) {
	if s := c.get(Subnets, r.Get("SubnetId")); s != nil && r.Has("AssignIpv6AddressOnCreation.Value") && !c.hasSix(s) {
		return nil, bad("InvalidParameterValue", "The subnet '%s' does not have an IPv6 CIDR block associated", s.ID)
	}
	return c.modify(Subnets, "SubnetId", "InvalidSubnetID.NotFound", "MapPublicIpOnLaunch", "AssignIpv6AddressOnCreation")(r)
}
