package awstest

import "fmt"

// AddNetworkInterface adds a network interface that people made in a subnet, in security groups.
func (c *Cloud) AddNetworkInterface(subnet string, groups ...string) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.get(Subnets, subnet)
	x := c.add(Interfaces, map[string]string{"vpcId": s.Attr["vpcId"], "subnetId": s.ID, "zone": s.Attr["zone"], "description": "of people"}, nil)
	x.Sets["groups"] = groups
	return x.ID
}

// AddGroup adds a security group of somebody else to a VPC.
func (c *Cloud) AddGroup(vpc, name string) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(Groups, map[string]string{"vpcId": vpc, "groupName": name}, nil).ID
}

// given returns the network interfaces that a request gives an instance.
func (c *Cloud) given(r request) []*Thing {
	var out []*Thing
	for _, id := range givenIDs(r) {
		out = append(out, c.get(Interfaces, id))
	}
	return out
}

func givenIDs(r request) []string {
	var out []string
	for i := 1; r.Has(fmt.Sprintf("NetworkInterface.%d.NetworkInterfaceId", i)); i++ {
		out = append(out, r.Get(fmt.Sprintf("NetworkInterface.%d.NetworkInterfaceId", i)))
	}
	return out
}

// checkGiven returns what is wrong with those, and the subnet of the first one.
func (c *Cloud) checkGiven(r request) (subnet *Thing, err error) {
	for _, id := range givenIDs(r) {
		x := c.get(Interfaces, id)
		if x == nil {
			return nil, bad("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", id)
		}
		if subnet == nil {
			subnet = c.get(Subnets, x.Attr["subnetId"])
		}
		if subnet.Attr["zone"] != x.Attr["zone"] {
			return nil, bad("InvalidParameterCombination", "Network interfaces must be in the same availability zone")
		}
	}
	switch {
	case r.Has("SubnetId") || r.Has("NetworkInterface.1.SubnetId"):
		return nil, bad("InvalidParameterCombination", "A network interface may not specify both a network interface ID and a subnet")
	case r.Has("SecurityGroupId.1") || r.Has("NetworkInterface.1.SecurityGroupId.1"):
		return nil, bad("InvalidParameterCombination", "A network interface may not specify both a network interface ID and security groups")
	case r.Has("NetworkInterface.1.AssociatePublicIpAddress"):
		return nil, bad("InvalidParameterCombination", "The associatePublicIPAddress parameter cannot be specified when launching with an existing network interface.")
	case len(r.tags("network-interface")) > 0:
		return nil, bad("InvalidParameterValue", "You cannot specify tags for network interfaces if there are no network interfaces being created by the request.")
	}
	return subnet, nil
}

// maxGroups is how many security groups a network interface is in at most.
// Source: Amazon VPC quotas.
const maxGroups = 5

func (c *Cloud) modifyInterface(r request) (any, error) {
	x, groups := c.get(Interfaces, r.Get("NetworkInterfaceId")), r.list("SecurityGroupId")
	switch {
	case x == nil:
		return nil, bad("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", r.Get("NetworkInterfaceId"))
	case x.Attr["balancer"]+x.Attr["natGateway"] != "":
		return nil, bad("AuthFailure", "You do not have permission to access the specified resource.")
	case len(groups) == 0:
		return nil, bad("InvalidParameterValue", "You must specify at least one security group.")
	case len(groups) > maxGroups:
		return nil, bad("SecurityGroupsPerInterfaceLimitExceeded", "The maximum number of security groups per interface has been reached.")
	}
	for _, id := range groups {
		if g := c.get(Groups, id); g == nil || g.Attr["vpcId"] != x.Attr["vpcId"] {
			return nil, bad("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
	}
	x.Sets["groups"] = groups
	return done, nil
}

// AddSubnet adds a subnet of somebody else to a VPC.
func (c *Cloud) AddSubnet(vpc, zone, cidr string) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(Subnets, map[string]string{"vpcId": vpc, "zone": zone, "cidrBlock": cidr}, nil).ID
}
