package cloud

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
)

// A VPC is a network.
type VPC struct {
	ID     string `xml:"vpcId"`
	CIDR   string `xml:"cidrBlock"`
	Ranges []struct {
		CIDR    string `xml:"cidrBlock"`
		State   string `xml:"cidrBlockState>state"` // associating, associated, disassociating, disassociated, failing, failed
		Message string `xml:"cidrBlockState>statusMessage"`
	} `xml:"cidrBlockAssociationSet>item"` // the first one, too
	Six  ranges6 `xml:"ipv6CidrBlockAssociationSet>item"`
	Set  tagSet  `xml:"tagSet>item"`
	Tags Tags    `xml:"-"`
}

// ranges6 are ranges of IPv6.
type ranges6 []struct {
	CIDR   string `xml:"ipv6CidrBlock"`
	State  string `xml:"ipv6CidrBlockState>state"` // associating, associated, disassociating, disassociated, failing, failed
	Reason string `xml:"ipv6CidrBlockState>statusMessage"`
}

// Range returns the first range that is there; empty: there is none.
func (r ranges6) Range() string {
	for _, one := range r {
		if one.State == "associated" {
			return one.CIDR
		}
	}
	return ""
}

// Has reports whether a range is one of them.
func (r ranges6) Has(cidr string) bool {
	for _, one := range r {
		if one.CIDR == cidr && one.State == "associated" {
			return true
		}
	}
	return false
}

// Failure says why a range could not be added; empty: none failed.
func (r ranges6) Failure() string {
	for _, one := range r {
		if one.State == "failed" {
			return cmp.Or(one.Reason, "it gives no reason")
		}
	}
	return ""
}

// Range returns the state of a range, and why it is so; empty: the VPC does not have it. What failed before counts only
// alone.
func (v *VPC) Range(cidr string) (state, why string) {
	for _, r := range v.Ranges {
		if r.CIDR == cidr && (state == "" || r.State != "failed" && r.State != "disassociated") {
			state, why = r.State, r.Message
		}
	}
	return state, why
}

// A Subnet is one of a VPC.
type Subnet struct {
	ID    string  `xml:"subnetId"`
	VPC   string  `xml:"vpcId"`
	CIDR  string  `xml:"cidrBlock"`
	Zone  string  `xml:"availabilityZone"`
	Free  int     `xml:"availableIpAddressCount"`
	Six   ranges6 `xml:"ipv6CidrBlockAssociationSet>item"`
	Gives bool    `xml:"assignIpv6AddressOnCreation"` // it gives interfaces addresses of IPv6
	Set   tagSet  `xml:"tagSet>item"`
	Tags  Tags    `xml:"-"`
}

// A Gateway is an internet gateway.
type Gateway struct {
	ID   string `xml:"internetGatewayId"`
	VPC  string `xml:"attachmentSet>item>vpcId"` // empty: it is not attached
	Set  tagSet `xml:"tagSet>item"`
	Tags Tags   `xml:"-"`
}

// An Egress is an egress-only internet gateway, for IPv6.
type Egress struct {
	ID   string `xml:"egressOnlyInternetGatewayId"`
	VPC  string `xml:"attachmentSet>item>vpcId"`
	Set  tagSet `xml:"tagSet>item"`
	Tags Tags   `xml:"-"`
}

// An Address is an elastic one.
type Address struct {
	ID          string `xml:"allocationId"`
	IP          string `xml:"publicIp"`
	Association string `xml:"associationId"`
	Set         tagSet `xml:"tagSet>item"`
	Tags        Tags   `xml:"-"`
}

// A NAT is a NAT gateway.
type NAT struct {
	ID      string `xml:"natGatewayId"`
	VPC     string `xml:"vpcId"`
	Subnet  string `xml:"subnetId"`
	State   string `xml:"state"` // pending, available, failed, deleting, deleted
	Failure string `xml:"failureMessage"`
	Address string `xml:"natGatewayAddressSet>item>allocationId"`
	IP      string `xml:"natGatewayAddressSet>item>publicIp"`
	Set     tagSet `xml:"tagSet>item"`
	Tags    Tags   `xml:"-"`
}

// A Table is a route table.
type Table struct {
	ID           string        `xml:"routeTableId"`
	VPC          string        `xml:"vpcId"`
	Routes       []Hop         `xml:"routeSet>item"`
	Associations []Association `xml:"associationSet>item"`
	Set          tagSet        `xml:"tagSet>item"`
	Tags         Tags          `xml:"-"`
}

// An Association is that of a subnet with a route table.
type Association struct {
	ID     string `xml:"routeTableAssociationId"`
	Subnet string `xml:"subnetId"`
	Main   bool   `xml:"main"`
}

// A Hop is what a table sends to a range through: a gateway, or a network interface of an appliance.
type Hop struct {
	To        string `xml:"destinationCidrBlock"`
	To6       string `xml:"destinationIpv6CidrBlock"`
	Egress    string `xml:"egressOnlyInternetGatewayId"`
	Gateway   string `xml:"gatewayId"`
	NAT       string `xml:"natGatewayId"`
	Transit   string `xml:"transitGatewayId"`
	Peering   string `xml:"vpcPeeringConnectionId"`
	Interface string `xml:"networkInterfaceId"`
	Network   string `xml:"coreNetworkArn"`
	State     string `xml:"state"` // active, blackhole
}

// Others reports whether people lead the range elsewhere than through a gateway to the internet, and that is there.
func (h Hop) Others() bool {
	return h.State != "blackhole" && h.Transit+h.Peering+h.Interface+h.Network != ""
}

// Hop returns the route to a range; without a To: there is none.
func (t *Table) Hop(to string) Hop {
	i := slices.IndexFunc(t.Routes, func(h Hop) bool { return h.To == to || h.To6 == to })
	if i < 0 {
		return Hop{}
	}
	return t.Routes[i]
}

// Route returns what the table sends to a range through; empty: it has no route there.
func (t *Table) Route(to string) string {
	h := t.Hop(to)
	return h.Gateway + h.Egress + h.NAT + h.Transit + h.Peering + h.Interface + h.Network
}

// An Interface is a network interface.
type Interface struct {
	ID          string   `xml:"networkInterfaceId"`
	VPC         string   `xml:"vpcId"`
	Subnet      string   `xml:"subnetId"`
	Zone        string   `xml:"availabilityZone"`
	Description string   `xml:"description"`
	Instance    string   `xml:"attachment>instanceId"`
	Groups      []string `xml:"groupSet>item>groupId"`
}

// filter returns the parameters of filters, pairs of a name and a value. A thing passes if it has one of the values
// of each name.
func filter(pairs ...string) url.Values {
	out := url.Values{}
	at, values := make(map[string]int), make(map[string]int)
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i]
		if at[name] == 0 {
			at[name] = len(at) + 1
			out.Set(fmt.Sprintf("Filter.%d.Name", at[name]), name)
		}
		values[name]++
		out.Set(fmt.Sprintf("Filter.%d.Value.%d", at[name], values[name]), pairs[i+1])
	}
	return out
}

// page is how many results a page has.
const page = 1000

// mostEgresses is how many a page of egress-only internet gateways has.
// Source: EC2 API reference, DescribeEgressOnlyInternetGateways.
const mostEgresses = 255

// A listed is a page of things T, in the element that Describe puts them in.
type listed[T any] interface {
	items() []T
	next() string
}

// list asks for all pages of a listing of EC2.
func list[T any, P any, L interface {
	*P
	listed[T]
}](ctx context.Context, c *Client, action string, in url.Values) ([]T, error) {
	var out []T
	form := maps.Clone(in)
	if form == nil {
		form = url.Values{}
	}
	if !form.Has("MaxResults") {
		form.Set("MaxResults", strconv.Itoa(page))
	}
	if action == "DescribeAddresses" || action == "DescribeAvailabilityZones" {
		form.Del("MaxResults") // they have no pages
	}
	for {
		got := L(new(P))
		if err := c.query(ctx, ec2, action, form, got); err != nil {
			return nil, err
		}
		out = append(out, got.items()...)
		if got.next() == "" {
			return out, nil
		}
		form.Set("NextToken", got.next())
	}
}

type more struct {
	Next string `xml:"nextToken"`
}

func (m *more) next() string { return m.Next }

type vpcs struct {
	more
	All []VPC `xml:"vpcSet>item"`
}

func (l *vpcs) items() []VPC {
	for i := range l.All {
		l.All[i].Tags = l.All[i].Set.tags()
	}
	return l.All
}

type subnets struct {
	more
	All []Subnet `xml:"subnetSet>item"`
}

func (l *subnets) items() []Subnet {
	for i := range l.All {
		l.All[i].Tags = l.All[i].Set.tags()
	}
	return l.All
}

type gateways struct {
	more
	All []Gateway `xml:"internetGatewaySet>item"`
}

func (l *gateways) items() []Gateway {
	for i := range l.All {
		l.All[i].Tags = l.All[i].Set.tags()
	}
	return l.All
}

type addresses struct {
	more
	All []Address `xml:"addressesSet>item"`
}

func (l *addresses) items() []Address {
	for i := range l.All {
		l.All[i].Tags = l.All[i].Set.tags()
	}
	return l.All
}

type nats struct {
	more
	All []NAT `xml:"natGatewaySet>item"`
}

func (l *nats) items() []NAT {
	for i := range l.All {
		l.All[i].Tags = l.All[i].Set.tags()
	}
	return slices.DeleteFunc(l.All, func(n NAT) bool { return n.State == "deleted" })
}

type egresses struct {
	more
	All []Egress `xml:"egressOnlyInternetGatewaySet>item"`
}

func (l *egresses) items() []Egress {
	for i := range l.All {
		l.All[i].Tags = l.All[i].Set.tags()
	}
	return l.All
}

type tables struct {
	more
	All []Table `xml:"routeTableSet>item"`
}

func (l *tables) items() []Table {
	for i := range l.All {
		l.All[i].Tags = l.All[i].Set.tags()
	}
	return l.All
}

type interfaces struct {
	more
	All []Interface `xml:"networkInterfaceSet>item"`
}

func (l *interfaces) items() []Interface { return l.All }

// Subnets returns the subnets that pass filters.
func (c *Client) Subnets(ctx context.Context, filters ...string) ([]Subnet, error) {
	return list[Subnet, subnets](ctx, c, "DescribeSubnets", filter(filters...))
}

// NATs returns the NAT gateways that pass filters.
func (c *Client) NATs(ctx context.Context, filters ...string) ([]NAT, error) {
	return list[NAT, nats](ctx, c, "DescribeNatGateways", filter(filters...))
}

// Addresses returns the addresses that pass filters.
func (c *Client) Addresses(ctx context.Context, filters ...string) ([]Address, error) {
	return list[Address, addresses](ctx, c, "DescribeAddresses", filter(filters...))
}

// Egresses returns the egress-only internet gateways that pass filters.
func (c *Client) Egresses(ctx context.Context, filters ...string) ([]Egress, error) {
	form := filter(filters...)
	form.Set("MaxResults", strconv.Itoa(mostEgresses))
	return list[Egress, egresses](ctx, c, "DescribeEgressOnlyInternetGateways", form)
}

// Interfaces returns the network interfaces that pass filters.
func (c *Client) Interfaces(ctx context.Context, filters ...string) ([]Interface, error) {
	return list[Interface, interfaces](ctx, c, "DescribeNetworkInterfaces", filter(filters...))
}

// gone returns err, unless it says that the thing is not there.
func gone(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return err
}
