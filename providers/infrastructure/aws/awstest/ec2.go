package awstest

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// actions returns what the cloud can do, by service and action.
func (c *Cloud) actions() map[string]action {
	out := make(map[string]action)
	for service, some := range map[string]map[string]action{
		"ec2":                  c.ec2(),
		"elasticloadbalancing": c.balancing(),
		"sts":                  c.security(),
		"secretsmanager":       c.secrets(),
		"ssm":                  c.parameters(),
		"eks":                  c.eks(),
	} {
		for name, do := range some {
			out[service+" "+name] = do
		}
	}
	return out
}

func (c *Cloud) ec2() map[string]action {
	return map[string]action{
		"DescribeInstances":        c.describeInstances,
		"RunInstances":             c.runInstances,
		"TerminateInstances":       c.terminateInstances,
		"DescribeVpcs":             c.describe(listing{VPCs, "VpcId", "InvalidVpcID.NotFound", "vpcSet", shownVPC}),
		"CreateVpc":                c.createVPC,
		"ModifyVpcAttribute":       c.modify(VPCs, "VpcId", "InvalidVpcID.NotFound", "EnableDnsHostnames", "EnableDnsSupport"),
		"DeleteVpc":                c.deleteVPC,
		"DescribeSubnets":          c.describe(listing{Subnets, "SubnetId", "InvalidSubnetID.NotFound", "subnetSet", c.shownSubnet}),
		"CreateSubnet":             c.createSubnet,
		"ModifySubnetAttribute":    c.modify(Subnets, "SubnetId", "InvalidSubnetID.NotFound", "MapPublicIpOnLaunch"),
		"DeleteSubnet":             c.deleteSubnet,
		"DescribeInternetGateways": c.describe(listing{Gateways, "InternetGatewayId", "InvalidInternetGatewayID.NotFound", "internetGatewaySet", shownGateway}),
		"CreateInternetGateway":    c.createGateway,
		"AttachInternetGateway":    c.attachGateway,
		"DetachInternetGateway":    c.detachGateway,
		"DeleteInternetGateway":    c.deleteGateway,
		"DescribeAddresses":        c.describe(listing{Addresses, "AllocationId", "InvalidAllocationID.NotFound", "addressesSet", shownAddress}),
		"AllocateAddress":          c.allocateAddress,
		"ReleaseAddress":           c.releaseAddress,
		"DescribeNatGateways":      c.describe(listing{NATs, "NatGatewayId", "NatGatewayNotFound", "natGatewaySet", c.shownNAT}),
		"CreateNatGateway":         c.createNAT,
		"DeleteNatGateway":         c.deleteNAT,
		"DescribeRouteTables":      c.describe(listing{RouteTables, "RouteTableId", "InvalidRouteTableID.NotFound", "routeTableSet", shownTable}),
		"CreateRouteTable":         c.createTable,
		"CreateRoute":              c.createRoute,
		"DeleteRoute":              c.deleteRoute,
		"AssociateRouteTable":      c.associateTable,
		"DisassociateRouteTable":   c.disassociateTable,
		"DeleteRouteTable":         c.deleteTable,

		"DescribeSecurityGroups":        c.describe(listing{Groups, "GroupId", "InvalidGroup.NotFound", "securityGroupInfo", shownGroup}),
		"CreateSecurityGroup":           c.createGroup,
		"AuthorizeSecurityGroupIngress": c.authorize,
		"RevokeSecurityGroupIngress":    c.revoke,
		"DeleteSecurityGroup":           c.deleteGroup,

		"DescribeNetworkInterfaces":     c.describe(listing{Interfaces, "NetworkInterfaceId", "InvalidNetworkInterfaceID.NotFound", "networkInterfaceSet", c.shownInterface}),
		"DescribeVolumes":               c.describe(listing{Volumes, "VolumeId", "InvalidVolume.NotFound", "volumeSet", shownVolume}),
		"DeleteVolume":                  c.deleteVolume,
		"DescribeAvailabilityZones":     c.describeZones,
		"DescribeImages":                c.describe(listing{Images, "ImageId", "InvalidAMIID.NotFound", "imagesSet", shownImage}),
		"DescribeKeyPairs":              c.describeKeyPairs,
		"DescribeInstanceTypeOfferings": c.describeOfferings,
		"CreateTags":                    c.createTags,
		"DeleteTags":                    c.deleteTags,
	}
}

var done = []node{text("return", "true")} //nolint:gochecknoglobals // a constant that Go cannot write as one

func (c *Cloud) newVPC(cidr string, tags map[string]string) *Thing {
	v := c.add(VPCs, map[string]string{"cidrBlock": cidr, "state": "available"}, tags)
	g := c.add(Groups, map[string]string{"vpcId": v.ID, "groupName": "default", "default": "true"}, nil)
	m := c.add(RouteTables, map[string]string{"vpcId": v.ID, "main": "true"}, nil)
	g.seeded, m.seeded = true, true // AWS makes them, and takes them away with the VPC
	return v
}

func shownVPC(t *Thing) []node {
	return append(texts("vpcId", t.ID, "cidrBlock", t.Attr["cidrBlock"], "state", t.Attr["state"]), tagSet(t.Tags))
}

func (c *Cloud) createVPC(r request) (any, error) {
	if c.over(VPCs) {
		return nil, bad("VpcLimitExceeded", "The maximum number of VPCs has been reached.")
	}
	return []node{el("vpc", shownVPC(c.newVPC(r.Get("CidrBlock"), r.tags("vpc")))...)}, nil
}

// modify returns an action that sets attributes of things.
func (c *Cloud) modify(k Kind, id, absent string, attrs ...string) action {
	return func(r request) (any, error) {
		t := c.get(k, r.Get(id))
		if t == nil {
			return nil, bad(absent, "The ID '%s' does not exist", r.Get(id))
		}
		n := 0
		for _, a := range attrs {
			if r.Has(a + ".Value") {
				t.Attr[a] = r.Get(a + ".Value")
				n++
			}
		}
		if n != 1 {
			return nil, bad("InvalidParameterCombination", "Fields for multiple attribute types specified")
		}
		return done, nil
	}
}

func (c *Cloud) deleteVPC(r request) (any, error) {
	v := c.get(VPCs, r.Get("VpcId"))
	if v == nil {
		return nil, bad("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", r.Get("VpcId"))
	}
	for _, t := range c.things {
		if t.Attr["vpcId"] == v.ID && t.Attr["default"] == "" && t.Attr["main"] == "" && !t.terminated() {
			return nil, bad("DependencyViolation", "The vpc '%s' has dependencies and cannot be deleted.", v.ID)
		}
	}
	maps.DeleteFunc(c.things, func(_ string, t *Thing) bool { return t == v || t.Attr["vpcId"] == v.ID && !t.terminated() })
	return done, nil
}

func (c *Cloud) shownSubnet(t *Thing) []node {
	used := 0
	for _, i := range c.things {
		if i.Kind == Interfaces && i.Attr["subnetId"] == t.ID {
			used++
		}
	}
	free := t.Attr["free"]
	if free == "" {
		free = fmt.Sprint(251 - used)
	}
	return append(texts("subnetId", t.ID, "vpcId", t.Attr["vpcId"], "cidrBlock", t.Attr["cidrBlock"], "availabilityZone", t.Attr["zone"], "state", "available",
		"availableIpAddressCount", free, "mapPublicIpOnLaunch", t.Attr["MapPublicIpOnLaunch"]), tagSet(t.Tags))
}

func (c *Cloud) createSubnet(r request) (any, error) {
	v := c.get(VPCs, r.Get("VpcId"))
	if v == nil {
		return nil, bad("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", r.Get("VpcId"))
	}
	for _, s := range c.all(Subnets) {
		if s.Attr["vpcId"] == v.ID && s.Attr["cidrBlock"] == r.Get("CidrBlock") {
			return nil, bad("InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", r.Get("CidrBlock"))
		}
	}
	s := c.add(Subnets, map[string]string{"vpcId": v.ID, "cidrBlock": r.Get("CidrBlock"), "zone": r.Get("AvailabilityZone")}, r.tags("subnet"))
	return []node{el("subnet", c.shownSubnet(s)...)}, nil
}

func (c *Cloud) deleteSubnet(r request) (any, error) {
	s := c.get(Subnets, r.Get("SubnetId"))
	if s == nil {
		return nil, bad("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", r.Get("SubnetId"))
	}
	for _, i := range c.all(Interfaces) {
		if i.Attr["subnetId"] == s.ID {
			return nil, bad("DependencyViolation", "The subnet '%s' has dependencies and cannot be deleted.", s.ID)
		}
	}
	for _, t := range c.all(RouteTables) {
		t.Sets["associations"] = without(t.Sets["associations"], " "+s.ID)
	}
	delete(c.things, s.ID)
	return done, nil
}

func without(list []string, suffix string) []string {
	var out []string
	for _, s := range list {
		if !strings.HasSuffix(s, suffix) {
			out = append(out, s)
		}
	}
	return out
}

func shownGateway(t *Thing) []node {
	out := texts("internetGatewayId", t.ID)
	if v := t.Attr["vpcId"]; v != "" {
		out = append(out, items("attachmentSet", "item", texts("vpcId", v, "state", "available")))
	}
	return append(out, tagSet(t.Tags))
}

func (c *Cloud) createGateway(r request) (any, error) {
	return []node{el("internetGateway", shownGateway(c.add(Gateways, nil, r.tags("internet-gateway")))...)}, nil
}

func (c *Cloud) attachGateway(r request) (any, error) {
	g, v := c.get(Gateways, r.Get("InternetGatewayId")), c.get(VPCs, r.Get("VpcId"))
	switch {
	case g == nil:
		return nil, bad("InvalidInternetGatewayID.NotFound", "The internetGateway ID '%s' does not exist", r.Get("InternetGatewayId"))
	case v == nil:
		return nil, bad("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", r.Get("VpcId"))
	case g.Attr["vpcId"] != "":
		return nil, bad("Resource.AlreadyAssociated", "resource %s is already attached to network %s", g.ID, g.Attr["vpcId"])
	}
	for _, o := range c.all(Gateways) {
		if o.Attr["vpcId"] == v.ID {
			return nil, bad("InvalidParameterValue", "Network %s already has an internet gateway attached", v.ID)
		}
	}
	g.Attr["vpcId"] = v.ID
	return done, nil
}

func (c *Cloud) detachGateway(r request) (any, error) {
	g := c.get(Gateways, r.Get("InternetGatewayId"))
	switch {
	case g == nil:
		return nil, bad("InvalidInternetGatewayID.NotFound", "The internetGateway ID '%s' does not exist", r.Get("InternetGatewayId"))
	case g.Attr["vpcId"] == "" || g.Attr["vpcId"] != r.Get("VpcId"):
		return nil, bad("Gateway.NotAttached", "resource %s is not attached to network %s", g.ID, r.Get("VpcId"))
	}
	for _, i := range c.all(Interfaces) {
		if i.Attr["vpcId"] == g.Attr["vpcId"] && i.Attr["public"] != "" {
			return nil, bad("DependencyViolation", "Network %s has some mapped public address(es). Please unmap those public address(es) before detaching the gateway.", g.Attr["vpcId"])
		}
	}
	g.Attr["vpcId"] = ""
	return done, nil
}

func (c *Cloud) deleteGateway(r request) (any, error) {
	g := c.get(Gateways, r.Get("InternetGatewayId"))
	switch {
	case g == nil:
		return nil, bad("InvalidInternetGatewayID.NotFound", "The internetGateway ID '%s' does not exist", r.Get("InternetGatewayId"))
	case g.Attr["vpcId"] != "":
		return nil, bad("DependencyViolation", "The internetGateway '%s' has dependencies and cannot be deleted.", g.ID)
	}
	delete(c.things, g.ID)
	return done, nil
}

func shownAddress(t *Thing) []node {
	out := texts("allocationId", t.ID, "publicIp", t.Attr["publicIp"], "domain", "vpc")
	if t.Attr["natGateway"] != "" {
		out = append(out, text("associationId", "eipassoc-"+t.ID))
	}
	return append(out, tagSet(t.Tags))
}

func (c *Cloud) allocateAddress(r request) (any, error) {
	if c.over(Addresses) {
		return nil, bad("AddressLimitExceeded", "The maximum number of addresses has been reached.")
	}
	a := c.add(Addresses, nil, r.tags("elastic-ip"))
	a.Attr["publicIp"] = fmt.Sprintf("198.51.100.%d", c.n%250+1)
	return shownAddress(a), nil
}

func (c *Cloud) releaseAddress(r request) (any, error) {
	a := c.get(Addresses, r.Get("AllocationId"))
	switch {
	case a == nil:
		return nil, bad("InvalidAllocationID.NotFound", "The allocation ID '%s' does not exist", r.Get("AllocationId"))
	case a.Attr["natGateway"] != "":
		return nil, bad("InvalidIPAddress.InUse", "Address %s is in use.", a.Attr["publicIp"])
	}
	delete(c.things, a.ID)
	return done, nil
}

func (c *Cloud) shownNAT(t *Thing) []node {
	public := ""
	if a := c.things[t.Attr["allocationId"]]; a != nil {
		public = a.Attr["publicIp"]
	}
	return append(texts("natGatewayId", t.ID, "vpcId", t.Attr["vpcId"], "subnetId", t.Attr["subnetId"], "state", t.Attr["state"],
		"failureCode", t.Attr["failureCode"], "failureMessage", t.Attr["failureMessage"]),
		items("natGatewayAddressSet", "item", texts("allocationId", t.Attr["allocationId"], "publicIp", public)), tagSet(t.Tags))
}

func (c *Cloud) createNAT(r request) (any, error) {
	s, a := c.get(Subnets, r.Get("SubnetId")), c.get(Addresses, r.Get("AllocationId"))
	key := "nat " + r.Get("ClientToken")
	if made, ok := c.tokens[key]; ok && r.Get("ClientToken") != "" {
		if t := c.things[made.instance]; t != nil {
			return []node{el("natGateway", c.shownNAT(t)...)}, nil
		}
	}
	switch {
	case s == nil:
		return nil, bad("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", r.Get("SubnetId"))
	case a == nil:
		return nil, bad("InvalidAllocationID.NotFound", "The allocation ID '%s' does not exist", r.Get("AllocationId"))
	case a.Attr["natGateway"] != "":
		return nil, bad("InvalidIPAddress.InUse", "Address %s is in use.", a.Attr["publicIp"])
	}
	t := c.add(NATs, map[string]string{"vpcId": s.Attr["vpcId"], "subnetId": s.ID, "state": "pending", "allocationId": a.ID}, r.tags("natgateway"))
	a.Attr["natGateway"] = t.ID
	c.add(Interfaces, map[string]string{
		"vpcId": s.Attr["vpcId"], "subnetId": s.ID, "natGateway": t.ID, "description": "Interface for NAT Gateway " + t.ID, "public": "yes",
	}, nil)
	c.tokens[key] = token{instance: t.ID}
	return []node{el("natGateway", c.shownNAT(t)...)}, nil
}

func (c *Cloud) deleteNAT(r request) (any, error) {
	t := c.get(NATs, r.Get("NatGatewayId"))
	if t == nil {
		return nil, bad("NatGatewayNotFound", "The Nat Gateway %s was not found", r.Get("NatGatewayId"))
	}
	if t.Gone.IsZero() {
		t.Gone, t.Attr["state"] = time.Now(), "deleting"
	}
	return texts("natGatewayId", t.ID), nil
}

func shownTable(t *Thing) []node {
	var routes, associations [][]node
	for _, route := range t.Sets["routes"] {
		to, by, _ := strings.Cut(route, " ")
		name := "gatewayId"
		if strings.HasPrefix(by, string(NATs)) {
			name = "natGatewayId"
		}
		routes = append(routes, texts("destinationCidrBlock", to, name, by, "state", "active"))
	}
	for _, a := range t.Sets["associations"] {
		id, subnet, _ := strings.Cut(a, " ")
		associations = append(associations, texts("routeTableAssociationId", id, "routeTableId", t.ID, "subnetId", subnet, "main", "false"))
	}
	if t.Attr["main"] != "" {
		associations = append(associations, texts("routeTableAssociationId", "rtbassoc-"+t.ID, "routeTableId", t.ID, "main", "true"))
	}
	return append(texts("routeTableId", t.ID, "vpcId", t.Attr["vpcId"]), items("routeSet", "item", routes...), items("associationSet", "item", associations...), tagSet(t.Tags))
}

func (c *Cloud) createTable(r request) (any, error) {
	v := c.get(VPCs, r.Get("VpcId"))
	if v == nil {
		return nil, bad("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", r.Get("VpcId"))
	}
	return []node{el("routeTable", shownTable(c.add(RouteTables, map[string]string{"vpcId": v.ID}, r.tags("route-table")))...)}, nil
}

func (c *Cloud) table(r request) (*Thing, error) {
	if t := c.get(RouteTables, r.Get("RouteTableId")); t != nil {
		return t, nil
	}
	return nil, bad("InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist", r.Get("RouteTableId"))
}

func (c *Cloud) createRoute(r request) (any, error) {
	t, err := c.table(r)
	if err != nil {
		return nil, err
	}
	to, by := r.Get("DestinationCidrBlock"), r.Get("GatewayId")+r.Get("NatGatewayId")
	for _, route := range t.Sets["routes"] {
		if strings.HasPrefix(route, to+" ") && route != to+" "+by {
			return nil, bad("RouteAlreadyExists", "The route identified by %s already exists.", to)
		}
		if route == to+" "+by {
			return done, nil
		}
	}
	if c.things[by] == nil || c.things[by].terminated() {
		return nil, bad("InvalidGatewayID.NotFound", "The gateway ID '%s' does not exist", by)
	}
	t.Sets["routes"] = append(t.Sets["routes"], to+" "+by)
	return done, nil
}

func (c *Cloud) deleteRoute(r request) (any, error) {
	t, err := c.table(r)
	if err != nil {
		return nil, err
	}
	var left []string
	for _, route := range t.Sets["routes"] {
		if !strings.HasPrefix(route, r.Get("DestinationCidrBlock")+" ") {
			left = append(left, route)
		}
	}
	if len(left) == len(t.Sets["routes"]) {
		return nil, bad("InvalidRoute.NotFound", "no route with destination %s in route table %s", r.Get("DestinationCidrBlock"), t.ID)
	}
	t.Sets["routes"] = left
	return done, nil
}

func (c *Cloud) associateTable(r request) (any, error) {
	t, err := c.table(r)
	if err != nil {
		return nil, err
	}
	s := c.get(Subnets, r.Get("SubnetId"))
	if s == nil {
		return nil, bad("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", r.Get("SubnetId"))
	}
	for _, o := range c.all(RouteTables) {
		for _, a := range o.Sets["associations"] {
			if id, subnet, _ := strings.Cut(a, " "); subnet == s.ID {
				if o == t {
					return texts("associationId", id), nil
				}
				return nil, bad("Resource.AlreadyAssociated", "the specified association for route table %s conflicts with an existing association", t.ID)
			}
		}
	}
	id := c.id("rtbassoc")
	t.Sets["associations"] = append(t.Sets["associations"], id+" "+s.ID)
	return texts("associationId", id), nil
}

func (c *Cloud) disassociateTable(r request) (any, error) {
	for _, t := range c.all(RouteTables) {
		for i, a := range t.Sets["associations"] {
			if id, _, _ := strings.Cut(a, " "); id == r.Get("AssociationId") {
				t.Sets["associations"] = append(t.Sets["associations"][:i:i], t.Sets["associations"][i+1:]...)
				return done, nil
			}
		}
	}
	return nil, bad("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", r.Get("AssociationId"))
}

func (c *Cloud) deleteTable(r request) (any, error) {
	t, err := c.table(r)
	if err != nil {
		return nil, err
	}
	if len(t.Sets["associations"]) > 0 || t.Attr["main"] != "" {
		return nil, bad("DependencyViolation", "The routeTable '%s' has dependencies and cannot be deleted.", t.ID)
	}
	delete(c.things, t.ID)
	return done, nil
}

func (c *Cloud) shownInterface(t *Thing) []node {
	out := append(texts("networkInterfaceId", t.ID, "vpcId", t.Attr["vpcId"], "subnetId", t.Attr["subnetId"], "description", t.Attr["description"],
		"status", "in-use"), tagSet(t.Tags))
	if i := t.Attr["instanceId"]; i != "" {
		out = append(out, el("attachment", texts("instanceId", i)...))
	}
	var groups [][]node
	for _, g := range t.Sets["groups"] {
		groups = append(groups, texts("groupId", g))
	}
	return append(out, items("groupSet", "item", groups...))
}

func shownVolume(t *Thing) []node {
	return append(texts("volumeId", t.ID, "status", t.Attr["state"], "availabilityZone", t.Attr["zone"], "size", t.Attr["size"]), tagSet(t.Tags))
}

// AddVolume adds a volume that a driver of Kubernetes made.
func (c *Cloud) AddVolume(tags map[string]string) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(Volumes, map[string]string{"state": "available", "size": "8", "zone": c.o.Zones[0]}, tags).ID
}

func (c *Cloud) deleteVolume(r request) (any, error) {
	v := c.get(Volumes, r.Get("VolumeId"))
	switch {
	case v == nil:
		return nil, bad("InvalidVolume.NotFound", "The volume '%s' does not exist.", r.Get("VolumeId"))
	case v.Attr["instanceId"] != "":
		return nil, bad("VolumeInUse", "Volume %s is currently attached to %s", v.ID, v.Attr["instanceId"])
	}
	delete(c.things, v.ID)
	return done, nil
}

func (c *Cloud) describeZones(request) (any, error) {
	var out [][]node
	for _, z := range c.o.Zones {
		out = append(out, texts("zoneName", z, "zoneState", "available", "zoneType", "availability-zone", "regionName", c.o.Region))
	}
	return []node{items("availabilityZoneInfo", "item", out...)}, nil
}

func shownImage(t *Thing) []node {
	return texts("imageId", t.ID, "name", t.Attr["name"], "imageOwnerId", t.Attr["ownerId"], "architecture", t.Attr["architecture"],
		"imageState", t.Attr["imageState"], "creationDate", t.Attr["creationDate"], "rootDeviceName", t.Attr["rootDeviceName"])
}

func (c *Cloud) describeKeyPairs(r request) (any, error) {
	var out [][]node
	for _, name := range r.list("KeyName") {
		if c.find(KeyPairs, "keyName", name) == nil {
			return nil, bad("InvalidKeyPair.NotFound", "The key pair '%s' does not exist", name)
		}
		out = append(out, texts("keyName", name))
	}
	return []node{items("keySet", "item", out...)}, nil
}

func (c *Cloud) createTags(r request) (any, error) {
	for _, id := range r.list("ResourceId") {
		t := c.things[id]
		if t == nil {
			return nil, bad("InvalidID", "The ID '%s' is not valid", id)
		}
		for k, v := range r.pairs("Tag") {
			if _, has := t.Tags[k]; !has && len(t.Tags) >= 50 {
				return nil, bad("TagLimitExceeded", "Maximum number of tags exceeded.")
			}
			t.Tags[k] = v
		}
	}
	return done, nil
}

func (c *Cloud) deleteTags(r request) (any, error) {
	for _, id := range r.list("ResourceId") {
		t := c.things[id]
		if t == nil {
			return nil, bad("InvalidID", "The ID '%s' is not valid", id)
		}
		for i := 1; r.Has(fmt.Sprintf("Tag.%d.Key", i)); i++ {
			delete(t.Tags, r.Get(fmt.Sprintf("Tag.%d.Key", i)))
		}
	}
	return done, nil
}
