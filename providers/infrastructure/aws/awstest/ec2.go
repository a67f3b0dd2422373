package awstest

import "fmt"

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
		"s3":                   c.s3(),
		"iam":                  c.iam(),
	} {
		for name, do := range some {
			out[service+" "+name] = do
		}
	}
	return out
}

func (c *Cloud) ec2() map[string]action {
	return map[string]action{
		"DescribeInstances":                  c.describeInstances,
		"RunInstances":                       c.runInstances,
		"TerminateInstances":                 c.terminateInstances,
		"DescribeVpcs":                       c.describe(listing{VPCs, "VpcId", "InvalidVpcID.NotFound", "vpcSet", c.shownVPC}),
		"CreateVpc":                          c.createVPC,
		"DescribeIpamPools":                  c.describe(listing{Pools, "IpamPoolId", "InvalidIpamPoolId.NotFound", "ipamPoolSet", shownPool}),
		"ModifyVpcAttribute":                 c.modify(VPCs, "VpcId", "InvalidVpcID.NotFound", "EnableDnsHostnames", "EnableDnsSupport"),
		"AssociateVpcCidrBlock":              c.addRange,
		"DeleteVpc":                          c.deleteVPC,
		"DescribeSubnets":                    c.describe(listing{Subnets, "SubnetId", "InvalidSubnetID.NotFound", "subnetSet", c.shownSubnet}),
		"CreateSubnet":                       c.createSubnet,
		"ModifySubnetAttribute":              c.modifySubnet,
		"DescribeEgressOnlyInternetGateways": c.describe(listing{Egresses, "EgressOnlyInternetGatewayId", "InvalidEgressOnlyInternetGatewayId.NotFound", "egressOnlyInternetGatewaySet", shownEgress}),
		"CreateEgressOnlyInternetGateway":    c.createEgress,
		"DeleteEgressOnlyInternetGateway":    c.deleteEgress,
		"DeleteSubnet":                       c.deleteSubnet,
		"DescribeInternetGateways":           c.describe(listing{Gateways, "InternetGatewayId", "InvalidInternetGatewayID.NotFound", "internetGatewaySet", shownGateway}),
		"CreateInternetGateway":              c.createGateway,
		"AttachInternetGateway":              c.attachGateway,
		"DetachInternetGateway":              c.detachGateway,
		"DeleteInternetGateway":              c.deleteGateway,
		"DescribeAddresses":                  c.describe(listing{Addresses, "AllocationId", "InvalidAllocationID.NotFound", "addressesSet", shownAddress}),
		"AllocateAddress":                    c.allocateAddress,
		"ReleaseAddress":                     c.releaseAddress,
		"DescribeNatGateways":                c.describe(listing{NATs, "NatGatewayId", "NatGatewayNotFound", "natGatewaySet", c.shownNAT}),
		"CreateNatGateway":                   c.createNAT,
		"DeleteNatGateway":                   c.deleteNAT,
		"DescribeRouteTables":                c.describe(listing{RouteTables, "RouteTableId", "InvalidRouteTableID.NotFound", "routeTableSet", shownTable}),
		"CreateRouteTable":                   c.createTable,
		"CreateRoute":                        c.createRoute,
		"DeleteRoute":                        c.deleteRoute,
		"AssociateRouteTable":                c.associateTable,
		"DisassociateRouteTable":             c.disassociateTable,
		"DeleteRouteTable":                   c.deleteTable,

		"DescribeSecurityGroups":        c.describe(listing{Groups, "GroupId", "InvalidGroup.NotFound", "securityGroupInfo", shownGroup}),
		"CreateSecurityGroup":           c.createGroup,
		"AuthorizeSecurityGroupIngress": c.authorize,
		"RevokeSecurityGroupIngress":    c.revoke("rules"),
		"RevokeSecurityGroupEgress":     c.revoke("egress"),
		"DeleteSecurityGroup":           c.deleteGroup,

		"DescribeNetworkInterfaces":       c.describe(listing{Interfaces, "NetworkInterfaceId", "InvalidNetworkInterfaceID.NotFound", "networkInterfaceSet", c.shownInterface}),
		"ModifyNetworkInterfaceAttribute": c.modifyInterface,
		"DescribeVolumes":                 c.describe(listing{Volumes, "VolumeId", "InvalidVolume.NotFound", "volumeSet", shownVolume}),
		"DeleteVolume":                    c.deleteVolume,
		"DescribeAvailabilityZones":       c.describeZones,
		"DescribeImages":                  c.describe(listing{Images, "ImageId", "InvalidAMIID.NotFound", "imagesSet", shownImage}),
		"DescribeKeyPairs":                c.describeKeyPairs,
		"DescribeInstanceTypeOfferings":   c.describeOfferings,
		"DescribeLaunchTemplates":         c.describe(listing{LaunchTemplates, "LaunchTemplateId", "InvalidLaunchTemplateId.NotFound", "launchTemplates", c.shownTemplate}),
		"CreateLaunchTemplate":            c.createTemplate,
		"DescribeLaunchTemplateVersions":  c.describeTemplateVersions,
		"CreateLaunchTemplateVersion":     c.createTemplateVersion,
		"DeleteLaunchTemplateVersions":    c.deleteTemplateVersions,
		"DeleteLaunchTemplate":            c.deleteTemplate,
		"CreateTags":                      c.createTags,
		"DeleteTags":                      c.deleteTags,
	}
}

var done = []node{text("return", "true")} //nolint:gochecknoglobals // a constant that Go cannot write as one

func (c *Cloud) shownInterface(t *Thing) []node {
	out := append(texts("networkInterfaceId", t.ID, "vpcId", t.Attr["vpcId"], "subnetId", t.Attr["subnetId"], "availabilityZone", t.Attr["zone"], "description", t.Attr["description"],
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
