package cloud

import (
	"context"
	"net/url"
	"strconv"
	"strings"
)

// A VPCRequest is for a VPC: of a range, or of one with a length that a pool of IPAM gives.
type VPCRequest struct {
	CIDR   string
	Pool   string
	Length int64
	Six    SixRequest
	Tags   Tags
}

// A SixRequest is for a range of IPv6: one of Amazon, one of people's own range from a pool, or one with a length that a pool of
// IPAM gives.
type SixRequest struct {
	Amazon bool
	CIDR   string
	Pool   string
	IPAM   string
	Length int64
}

// CreateVPC makes a VPC.
func (c *Client) CreateVPC(ctx context.Context, r VPCRequest) (VPC, error) {
	form := url.Values{"CidrBlock": {r.CIDR}}
	if r.Pool != "" {
		form = url.Values{"Ipv4IpamPoolId": {r.Pool}, "Ipv4NetmaskLength": {strconv.FormatInt(r.Length, 10)}}
	}
	switch x := r.Six; {
	case x.Amazon:
		form.Set("AmazonProvidedIpv6CidrBlock", "true")
	case x.IPAM != "":
		form.Set("Ipv6IpamPoolId", x.IPAM)
		form.Set("Ipv6NetmaskLength", strconv.FormatInt(x.Length, 10))
	case x.CIDR != "":
		form.Set("Ipv6CidrBlock", x.CIDR)
		form.Set("Ipv6Pool", x.Pool)
	}
	var got struct {
		VPC VPC `xml:"vpc"`
	}
	err := c.query(ctx, ec2, "CreateVpc", tagged(form, "vpc", r.Tags), &got)
	got.VPC.Tags = got.VPC.Set.tags()
	return got.VPC, err
}

// Pools returns the ids of the pools of IPAM with a tag Name.
func (c *Client) Pools(ctx context.Context, name string) ([]string, error) {
	var got struct {
		All []string `xml:"ipamPoolSet>item>ipamPoolId"`
	}
	err := c.query(ctx, ec2, "DescribeIpamPools", filter("tag:Name", name), &got)
	return got.All, err
}

// NameHosts has a VPC give its instances names.
func (c *Client) NameHosts(ctx context.Context, vpc string) error {
	return c.query(ctx, ec2, "ModifyVpcAttribute", url.Values{"VpcId": {vpc}, "EnableDnsHostnames.Value": {"true"}}, nil)
}

// AddRange gives a VPC a further range.
func (c *Client) AddRange(ctx context.Context, vpc, cidr string) error {
	return c.query(ctx, ec2, "AssociateVpcCidrBlock", url.Values{"VpcId": {vpc}, "CidrBlock": {cidr}}, nil)
}

// DeleteVPC deletes a VPC. One that is not there is no error; so it is with the others below.
func (c *Client) DeleteVPC(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "DeleteVpc", url.Values{"VpcId": {id}}, nil))
}

// CreateSubnet makes a subnet. Without a range of IPv6 it has none.
func (c *Client) CreateSubnet(ctx context.Context, vpc, cidr, six, zone string, tags Tags) (Subnet, error) {
	form := url.Values{"VpcId": {vpc}, "CidrBlock": {cidr}, "AvailabilityZone": {zone}}
	if six != "" {
		form.Set("Ipv6CidrBlock", six)
	}
	var got struct {
		Subnet Subnet `xml:"subnet"`
	}
	err := c.query(ctx, ec2, "CreateSubnet", tagged(form, "subnet", tags), &got)
	got.Subnet.Tags = got.Subnet.Set.tags()
	return got.Subnet, err
}

// GiveSix has a subnet give each new network interface an address of IPv6.
func (c *Client) GiveSix(ctx context.Context, subnet string) error {
	return c.query(ctx, ec2, "ModifySubnetAttribute", url.Values{"SubnetId": {subnet}, "AssignIpv6AddressOnCreation.Value": {"true"}}, nil)
}

// CreateEgress makes an egress-only internet gateway of a VPC.
func (c *Client) CreateEgress(ctx context.Context, vpc string, tags Tags) (Egress, error) {
	var got struct {
		Egress Egress `xml:"egressOnlyInternetGateway"`
	}
	err := c.query(ctx, ec2, "CreateEgressOnlyInternetGateway", tagged(url.Values{"VpcId": {vpc}}, "egress-only-internet-gateway", tags), &got)
	got.Egress.Tags, got.Egress.VPC = tags, vpc
	return got.Egress, err
}

// DeleteEgress deletes it.
func (c *Client) DeleteEgress(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "DeleteEgressOnlyInternetGateway", url.Values{"EgressOnlyInternetGatewayId": {id}}, nil))
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

// AllocateAddress makes an elastic address, of a pool of the account or, if that is empty, of Amazon.
func (c *Client) AllocateAddress(ctx context.Context, pool string, tags Tags) (Address, error) {
	form := url.Values{"Domain": {"vpc"}}
	if pool != "" {
		form.Set("PublicIpv4Pool", pool)
	}
	var got Address
	err := c.query(ctx, ec2, "AllocateAddress", tagged(form, "elastic-ip", tags), &got)
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
	by := "GatewayId"
	switch {
	case strings.HasPrefix(through, "nat-"):
		by = "NatGatewayId"
	case strings.HasPrefix(through, "eigw-"):
		by = "EgressOnlyInternetGatewayId"
	}
	form := url.Values{"RouteTableId": {table}, destination(to): {to}, by: {through}}
	return c.query(ctx, ec2, "CreateRoute", form, nil)
}

// DeleteRoute takes a route away.
func (c *Client) DeleteRoute(ctx context.Context, table, to string) error {
	return gone(c.query(ctx, ec2, "DeleteRoute", url.Values{"RouteTableId": {table}, destination(to): {to}}, nil))
}

// destination is the parameter for a range that a route leads to.
func destination(to string) string {
	if strings.Contains(to, ":") {
		return "DestinationIpv6CidrBlock"
	}
	return "DestinationCidrBlock"
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
