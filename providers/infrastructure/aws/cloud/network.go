package cloud

import (
	"context"
	"fmt"
	"net/url"
	"strings"
)

// CreateVPC makes a VPC.
func (c *Client) CreateVPC(ctx context.Context, cidr string, tags Tags) (VPC, error) {
	var got struct {
		VPC VPC `xml:"vpc"`
	}
	err := c.query(ctx, ec2, "CreateVpc", tagged(url.Values{"CidrBlock": {cidr}}, "vpc", tags), &got)
	got.VPC.Tags = got.VPC.Set.tags()
	return got.VPC, err
}

// NameHosts has a VPC give its instances names.
func (c *Client) NameHosts(ctx context.Context, vpc string) error {
	return c.query(ctx, ec2, "ModifyVpcAttribute", url.Values{"VpcId": {vpc}, "EnableDnsHostnames.Value": {"true"}}, nil)
}

// DeleteVPC deletes a VPC. One that is not there is no error; so it is with the others below.
func (c *Client) DeleteVPC(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "DeleteVpc", url.Values{"VpcId": {id}}, nil))
}

// CreateSubnet makes a subnet.
func (c *Client) CreateSubnet(ctx context.Context, vpc, cidr, zone string, tags Tags) (Subnet, error) {
	var got struct {
		Subnet Subnet `xml:"subnet"`
	}
	err := c.query(ctx, ec2, "CreateSubnet", tagged(url.Values{"VpcId": {vpc}, "CidrBlock": {cidr}, "AvailabilityZone": {zone}}, "subnet", tags), &got)
	got.Subnet.Tags = got.Subnet.Set.tags()
	return got.Subnet, err
}

// DeleteSubnet deletes a subnet.
func (c *Client) DeleteSubnet(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "DeleteSubnet", url.Values{"SubnetId": {id}}, nil))
}

// CreateGateway makes an internet gateway.
func (c *Client) CreateGateway(ctx context.Context, tags Tags) (Gateway, error) {
	var got struct {
		Gateway Gateway `xml:"internetGateway"`
	}
	err := c.query(ctx, ec2, "CreateInternetGateway", tagged(url.Values{}, "internet-gateway", tags), &got)
	got.Gateway.Tags = got.Gateway.Set.tags()
	return got.Gateway, err
}

// AttachGateway attaches an internet gateway to a VPC.
func (c *Client) AttachGateway(ctx context.Context, id, vpc string) error {
	return c.query(ctx, ec2, "AttachInternetGateway", url.Values{"InternetGatewayId": {id}, "VpcId": {vpc}}, nil)
}

// DetachGateway detaches it.
func (c *Client) DetachGateway(ctx context.Context, id, vpc string) error {
	return gone(c.query(ctx, ec2, "DetachInternetGateway", url.Values{"InternetGatewayId": {id}, "VpcId": {vpc}}, nil))
}

// DeleteGateway deletes an internet gateway.
func (c *Client) DeleteGateway(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "DeleteInternetGateway", url.Values{"InternetGatewayId": {id}}, nil))
}

// AllocateAddress makes an elastic address.
func (c *Client) AllocateAddress(ctx context.Context, tags Tags) (Address, error) {
	var got Address
	err := c.query(ctx, ec2, "AllocateAddress", tagged(url.Values{"Domain": {"vpc"}}, "elastic-ip", tags), &got)
	got.Tags = tags
	return got, err
}

// ReleaseAddress gives an elastic address back.
func (c *Client) ReleaseAddress(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "ReleaseAddress", url.Values{"AllocationId": {id}}, nil))
}

// CreateNAT makes a NAT gateway. An address has one at most.
func (c *Client) CreateNAT(ctx context.Context, subnet, address string, tags Tags) (NAT, error) {
	var got struct {
		NAT NAT `xml:"natGateway"`
	}
	err := c.query(ctx, ec2, "CreateNatGateway", tagged(url.Values{"SubnetId": {subnet}, "AllocationId": {address}}, "natgateway", tags), &got)
	got.NAT.Tags = got.NAT.Set.tags()
	return got.NAT, err
}

// DeleteNAT asks a NAT gateway to go.
func (c *Client) DeleteNAT(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "DeleteNatGateway", url.Values{"NatGatewayId": {id}}, nil))
}

// CreateTable makes a route table.
func (c *Client) CreateTable(ctx context.Context, vpc string, tags Tags) (Table, error) {
	var got struct {
		Table Table `xml:"routeTable"`
	}
	err := c.query(ctx, ec2, "CreateRouteTable", tagged(url.Values{"VpcId": {vpc}}, "route-table", tags), &got)
	got.Table.Tags = got.Table.Set.tags()
	return got.Table, err
}

// CreateRoute has a table send to a range through a gateway or a NAT gateway. A route that is there is no
// error.
func (c *Client) CreateRoute(ctx context.Context, table, to, through string) error {
	form := url.Values{"RouteTableId": {table}, "DestinationCidrBlock": {to}, "GatewayId": {through}}
	if strings.HasPrefix(through, "nat-") {
		form.Del("GatewayId")
		form.Set("NatGatewayId", through)
	}
	return c.query(ctx, ec2, "CreateRoute", form, nil)
}

// DeleteRoute takes a route away.
func (c *Client) DeleteRoute(ctx context.Context, table, to string) error {
	return gone(c.query(ctx, ec2, "DeleteRoute", url.Values{"RouteTableId": {table}, "DestinationCidrBlock": {to}}, nil))
}

// Associate has a subnet use a route table.
func (c *Client) Associate(ctx context.Context, table, subnet string) (Association, error) {
	var got struct {
		ID string `xml:"associationId"`
	}
	err := c.query(ctx, ec2, "AssociateRouteTable", url.Values{"RouteTableId": {table}, "SubnetId": {subnet}}, &got)
	return Association{ID: got.ID, Subnet: subnet}, err
}

// DeleteTable deletes a route table.
func (c *Client) DeleteTable(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "DeleteRouteTable", url.Values{"RouteTableId": {id}}, nil))
}

// CreateGroup makes a security group, which lets nothing in.
func (c *Client) CreateGroup(ctx context.Context, vpc, name, description string, tags Tags) (Group, error) {
	var got struct {
		ID string `xml:"groupId"`
	}
	err := c.query(ctx, ec2, "CreateSecurityGroup", tagged(url.Values{"VpcId": {vpc}, "GroupName": {name}, "GroupDescription": {description}}, "security-group", tags), &got)
	return Group{ID: got.ID, Name: name, VPC: vpc, Tags: tags}, err
}

// DeleteGroup deletes a security group.
func (c *Client) DeleteGroup(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "DeleteSecurityGroup", url.Values{"GroupId": {id}}, nil))
}

// permissions returns rules as parameters.
func permissions(group string, rules []Rule) url.Values {
	out := url.Values{"GroupId": {group}}
	for i, r := range rules {
		at := fmt.Sprintf("IpPermissions.%d.", i+1)
		out.Set(at+"IpProtocol", r.Protocol)
		if r.Protocol != "-1" {
			out.Set(at+"FromPort", fmt.Sprint(r.From))
			out.Set(at+"ToPort", fmt.Sprint(r.To))
		}
		list, field := "IpRanges", "CidrIp"
		switch {
		case strings.HasPrefix(r.Source, "sg-"):
			list, field = "Groups", "GroupId"
		case strings.Contains(r.Source, ":"):
			list, field = "Ipv6Ranges", "CidrIpv6"
		}
		out.Set(at+list+".1."+field, r.Source)
		if r.Description != "" {
			out.Set(at+list+".1.Description", r.Description)
		}
	}
	return out
}

// Authorize adds rules to a security group. Rules that are there are no error.
func (c *Client) Authorize(ctx context.Context, group string, rules ...Rule) error {
	err := c.query(ctx, ec2, "AuthorizeSecurityGroupIngress", permissions(group, rules), nil)
	if !Is(err, "InvalidPermission.Duplicate") || len(rules) == 1 {
		return unless(err, "InvalidPermission.Duplicate")
	}
	for _, r := range rules { // one that is there fails all
		if err := c.Authorize(ctx, group, r); err != nil {
			return err
		}
	}
	return nil
}

// unless returns err, unless it has a code.
func unless(err error, code string) error {
	if Is(err, code) {
		return nil
	}
	return err
}

// Revoke takes rules off a security group. Rules that are not there are no error.
func (c *Client) Revoke(ctx context.Context, group string, rules ...Rule) error {
	err := c.query(ctx, ec2, "RevokeSecurityGroupIngress", permissions(group, rules), nil)
	if !Is(err, "InvalidPermission.NotFound") || len(rules) == 1 {
		return gone(err)
	}
	for _, r := range rules { // one that is missing fails all
		if err := c.Revoke(ctx, group, r); err != nil {
			return err
		}
	}
	return nil
}
