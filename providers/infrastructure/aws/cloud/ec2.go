package cloud

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"fairlead.dev/fleet"
)

// Tags are those of a thing.
type Tags = map[string]string

// An Instance is one of EC2.
type Instance struct {
	ID, State, ReasonCode, Reason, Type, Zone, Subnet, VPC, Address, PublicAddress, Lifecycle string

	Token   string // that it was asked for with; empty: it is not known
	Profile string // the ARN of its instance profile; empty: it has none

	Launched time.Time
	Tags     Tags
}

// Ended reports whether nothing but a listing is left of the instance.
func (i *Instance) Ended() bool { return i.State == "terminated" }

type tagSet []struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func (t tagSet) tags() Tags {
	out := make(Tags, len(t))
	for _, one := range t {
		out[one.Key] = one.Value
	}
	return out
}

// A VPC is a network.
type VPC struct {
	ID   string `xml:"vpcId"`
	CIDR string `xml:"cidrBlock"`
	Set  tagSet `xml:"tagSet>item"`
	Tags Tags   `xml:"-"`
}

// A Subnet is one of a VPC.
type Subnet struct {
	ID   string `xml:"subnetId"`
	VPC  string `xml:"vpcId"`
	CIDR string `xml:"cidrBlock"`
	Zone string `xml:"availabilityZone"`
	Free int    `xml:"availableIpAddressCount"`
	Set  tagSet `xml:"tagSet>item"`
	Tags Tags   `xml:"-"`
}

// A Gateway is an internet gateway.
type Gateway struct {
	ID   string `xml:"internetGatewayId"`
	VPC  string `xml:"attachmentSet>item>vpcId"` // empty: it is not attached
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
	i := slices.IndexFunc(t.Routes, func(h Hop) bool { return h.To == to })
	if i < 0 {
		return Hop{}
	}
	return t.Routes[i]
}

// Route returns what the table sends to a range through; empty: it has no route there.
func (t *Table) Route(to string) string {
	h := t.Hop(to)
	return h.Gateway + h.NAT + h.Transit + h.Peering + h.Interface + h.Network
}

// A Group is a security group.
type Group struct {
	ID    string
	Name  string
	VPC   string
	Rules []Rule
	Tags  Tags
}

// A Rule lets in what comes from a source: a range of addresses, or a security group.
type Rule struct {
	Protocol    string
	From, To    int64
	Source      string
	Description string
}

// Same reports whether two rules let in the same.
func (r Rule) Same(o Rule) bool {
	r.Description, o.Description = "", ""
	return r == o
}

// An Interface is a network interface.
type Interface struct {
	ID          string `xml:"networkInterfaceId"`
	VPC         string `xml:"vpcId"`
	Subnet      string `xml:"subnetId"`
	Description string `xml:"description"`
	Instance    string `xml:"attachment>instanceId"`
	Groups      []struct {
		ID string `xml:"groupId"`
	} `xml:"groupSet>item"`
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

// tagged returns the parameters of tags that a thing of a type is made with. They are sorted: the same
// request has the same bytes.
func tagged(form url.Values, resource string, tags Tags) url.Values {
	i := 1
	for form.Has(fmt.Sprintf("TagSpecification.%d.ResourceType", i)) {
		i++
	}
	form.Set(fmt.Sprintf("TagSpecification.%d.ResourceType", i), resource)
	for j, k := range slices.Sorted(maps.Keys(tags)) {
		form.Set(fmt.Sprintf("TagSpecification.%d.Tag.%d.Key", i, j+1), k)
		form.Set(fmt.Sprintf("TagSpecification.%d.Tag.%d.Value", i, j+1), tags[k])
	}
	return form
}

// page is how many results a page has.
const page = 1000

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
	form.Set("MaxResults", strconv.Itoa(page))
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

// A permission is rules as EC2 lists them: of one protocol and range of ports, from several sources.
type permission struct {
	Protocol string `xml:"ipProtocol"`
	From     *int64 `xml:"fromPort"`
	To       *int64 `xml:"toPort"`
	Ranges   []struct {
		CIDR        string `xml:"cidrIp"`
		Description string `xml:"description"`
	} `xml:"ipRanges>item"`
	Ranges6 []struct {
		CIDR        string `xml:"cidrIpv6"`
		Description string `xml:"description"`
	} `xml:"ipv6Ranges>item"`
	Groups []struct {
		ID          string `xml:"groupId"`
		Description string `xml:"description"`
	} `xml:"groups>item"`
}

func (p permission) rules() []Rule {
	var out []Rule
	r := Rule{Protocol: p.Protocol, From: -1, To: -1}
	if p.From != nil {
		r.From = *p.From
	}
	if p.To != nil {
		r.To = *p.To
	}
	add := func(source, description string) {
		r.Source, r.Description = source, description
		out = append(out, r)
	}
	for _, s := range p.Ranges {
		add(s.CIDR, s.Description)
	}
	for _, s := range p.Ranges6 {
		add(s.CIDR, s.Description)
	}
	for _, s := range p.Groups {
		add(s.ID, s.Description)
	}
	return out
}

type groups struct {
	more
	All []struct {
		ID    string       `xml:"groupId"`
		Name  string       `xml:"groupName"`
		VPC   string       `xml:"vpcId"`
		Rules []permission `xml:"ipPermissions>item"`
		Set   tagSet       `xml:"tagSet>item"`
	} `xml:"securityGroupInfo>item"`
}

func (l *groups) items() []Group {
	var out []Group
	for _, g := range l.All {
		x := Group{ID: g.ID, Name: g.Name, VPC: g.VPC, Tags: g.Set.tags()}
		for _, p := range g.Rules {
			x.Rules = append(x.Rules, p.rules()...)
		}
		out = append(out, x)
	}
	return out
}

// Groups returns the security groups that pass filters, pairs of a name and a value.
func (c *Client) Groups(ctx context.Context, filters ...string) ([]Group, error) {
	return list[Group, groups](ctx, c, "DescribeSecurityGroups", filter(filters...))
}

// Subnets returns the subnets that pass filters.
func (c *Client) Subnets(ctx context.Context, filters ...string) ([]Subnet, error) {
	return list[Subnet, subnets](ctx, c, "DescribeSubnets", filter(filters...))
}

// Interfaces returns the network interfaces that pass filters.
func (c *Client) Interfaces(ctx context.Context, filters ...string) ([]Interface, error) {
	return list[Interface, interfaces](ctx, c, "DescribeNetworkInterfaces", filter(filters...))
}

// InstancesOf returns those of instances that there are, by their ids.
func (c *Client) InstancesOf(ctx context.Context, ids []string) ([]Instance, error) {
	const most = 200 // values of a filter
	var out []Instance
	for some := range slices.Chunk(ids, most) {
		form := url.Values{"Filter.1.Name": {"instance-id"}}
		for i, id := range some {
			form.Set(fmt.Sprintf("Filter.1.Value.%d", i+1), id)
		}
		got, err := c.instances(ctx, form)
		if err != nil {
			return nil, err
		}
		out = append(out, got...)
	}
	return out, nil
}

func (c *Client) instances(ctx context.Context, form url.Values) ([]Instance, error) {
	form.Set("MaxResults", strconv.Itoa(page))
	var out []Instance
	for {
		var data []byte
		if err := c.query(ctx, ec2, "DescribeInstances", form, &data); err != nil {
			return nil, err
		}
		some, next, whole := readInstances(data)
		if !whole {
			return nil, &Error{Service: ec2.name, Action: "DescribeInstances", Status: http.StatusOK, Message: "its answer broke off"}
		}
		out = append(out, some...)
		if next == "" {
			return out, nil
		}
		form.Set("NextToken", next)
	}
}

// Run asks for an instance, with the parameters of RunInstances.
func (c *Client) Run(ctx context.Context, form url.Values) (Instance, error) {
	var data []byte
	form.Set("MinCount", "1")
	form.Set("MaxCount", "1")
	if err := c.query(ctx, ec2, "RunInstances", form, &data); err != nil {
		return Instance{}, err
	}
	all, _, whole := readInstances(data)
	if !whole || len(all) != 1 {
		return Instance{}, &Error{Service: ec2.name, Action: "RunInstances", Err: fmt.Errorf("its answer has %d instances", len(all))}
	}
	return all[0], nil
}

// MayRun reports whether an instance with these parameters might be made, by a dry run.
func (c *Client) MayRun(ctx context.Context, form url.Values) error {
	form = maps.Clone(form)
	form.Set("DryRun", "true")
	form.Del("ClientToken")
	_, err := c.Run(ctx, form)
	if Is(err, "DryRunOperation") {
		return nil
	}
	return err
}

// Terminate asks an instance to end. One that is not there is no error.
func (c *Client) Terminate(ctx context.Context, id string) error {
	return gone(c.query(ctx, ec2, "TerminateInstances", url.Values{"InstanceId.1": {id}}, nil))
}

// gone returns err, unless it says that the thing is not there.
func gone(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return err
}

// An Image is an AMI.
type Image struct {
	ID      string    `xml:"imageId"`
	Name    string    `xml:"name"`
	Root    string    `xml:"rootDeviceName"`
	Created time.Time `xml:"creationDate"`
}

// Images returns the images that pass filters.
func (c *Client) Images(ctx context.Context, filters ...string) ([]Image, error) {
	var got struct {
		All []Image `xml:"imagesSet>item"`
	}
	err := c.query(ctx, ec2, "DescribeImages", filter(filters...), &got)
	return got.All, err
}

// Image returns the image with an id. An error says that it is not there, too.
func (c *Client) Image(ctx context.Context, id string) (Image, error) {
	var got struct {
		All []Image `xml:"imagesSet>item"`
	}
	if err := c.query(ctx, ec2, "DescribeImages", url.Values{"ImageId.1": {id}}, &got); err != nil {
		return Image{}, err
	}
	if len(got.All) != 1 {
		return Image{}, &Error{Service: ec2.name, Action: "DescribeImages", Status: http.StatusBadRequest, Code: "InvalidAMIID.NotFound", Message: "The image id '[" + id + "]' does not exist"}
	}
	return got.All[0], nil
}

// Zones returns the availability zones of the region, sorted.
func (c *Client) Zones(ctx context.Context) ([]string, error) {
	var got struct {
		All []struct {
			Name string `xml:"zoneName"`
			Type string `xml:"zoneType"`
		} `xml:"availabilityZoneInfo>item"`
	}
	if err := c.query(ctx, ec2, "DescribeAvailabilityZones", nil, &got); err != nil {
		return nil, err
	}
	var out []string
	for _, z := range got.All {
		if z.Type == "availability-zone" || z.Type == "" {
			out = append(out, z.Name)
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return nil, fleet.Errorf(fleet.Unavailable, "list availability zones", "the region has none that is available")
	}
	return out, nil
}

// Offered returns the zones that have a type of instances.
func (c *Client) Offered(ctx context.Context, kind string) ([]string, error) {
	var got struct {
		All []struct {
			Zone string `xml:"location"`
		} `xml:"instanceTypeOfferingSet>item"`
	}
	form := filter("instance-type", kind)
	form.Set("LocationType", "availability-zone")
	if err := c.query(ctx, ec2, "DescribeInstanceTypeOfferings", form, &got); err != nil {
		return nil, err
	}
	var out []string
	for _, z := range got.All {
		out = append(out, z.Zone)
	}
	slices.Sort(out)
	return out, nil
}

// KeyPair returns an error if there is no key pair of that name.
func (c *Client) KeyPair(ctx context.Context, name string) error {
	return c.query(ctx, ec2, "DescribeKeyPairs", url.Values{"KeyName.1": {name}}, nil)
}
