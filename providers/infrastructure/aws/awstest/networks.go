package awstest

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"time"
)

func (c *Cloud) newVPC(cidr string, tags map[string]string) *Thing {
	v := c.add(VPCs, map[string]string{"cidrBlock": cidr, "state": "available"}, tags)
	g := c.add(Groups, map[string]string{"vpcId": v.ID, "groupName": "default", "default": "true"}, nil)
	g.Sets["rules"], g.Sets["egress"] = []string{"-1\x00\x00\x00" + g.ID + "\x00"}, []string{"-1\x00\x00\x000.0.0.0/0\x00"}
	m := c.add(RouteTables, map[string]string{"vpcId": v.ID, "main": "true"}, nil)
	g.seeded, m.seeded = true, true // AWS makes them, and takes them away with the VPC
	return v
}

func (c *Cloud) shownVPC(t *Thing) []node {
	var ranges [][]node
	for _, cidr := range append([]string{t.Attr["cidrBlock"]}, t.Sets["ranges"]...) {
		ranges = append(ranges, append(texts("cidrBlock", cidr), el("cidrBlockState", texts("state", "associated")...)))
	}
	for _, other := range t.Sets["otherRanges"] { // and their states
		cidr, state, _ := strings.Cut(other, " ")
		ranges = append(ranges, append(texts("cidrBlock", cidr), el("cidrBlockState", texts("state", state, "statusMessage", "The CIDR is in use by a peering")...)))
	}
	return append(texts("vpcId", t.ID, "cidrBlock", t.Attr["cidrBlock"], "state", t.Attr["state"]), items("cidrBlockAssociationSet", "item", ranges...), c.shownSix(t), tagSet(t.Tags))
}

// shownSix are the ranges of IPv6 of a thing: it has one some time after it was made, unless that fails.
func (c *Cloud) shownSix(t *Thing) node {
	if t.Attr["six"] == "" {
		return items("ipv6CidrBlockAssociationSet", "item")
	}
	state := texts("state", "associated")
	switch {
	case t.Attr["sixFails"] != "":
		state = texts("state", "failed", "statusMessage", t.Attr["sixFails"])
	case !c.hasSix(t):
		state = texts("state", "associating")
	}
	return items("ipv6CidrBlockAssociationSet", "item", append(texts("ipv6CidrBlock", t.Attr["six"]), el("ipv6CidrBlockState", state...)))
}

// hasSix reports whether a thing has its range of IPv6.
func (c *Cloud) hasSix(t *Thing) bool {
	return t.Attr["six"] != "" && t.Attr["sixFails"] == "" && (t.seeded || time.Since(t.Made) >= 3*c.o.Delays.Lag)
}

// sixOf returns the range of IPv6 that a request has for a VPC.
func (c *Cloud) sixOf(r request) (string, error) {
	if id := r.Get("Ipv6IpamPoolId"); id != "" {
		p := c.get(Pools, id)
		if p == nil {
			return "", bad("InvalidIpamPoolId.NotFound", "The ipam-pool ID '%s' does not exist", id)
		}
		return p.Attr["next"] + "/" + r.Get("Ipv6NetmaskLength"), nil
	}
	if cidr := r.Get("Ipv6CidrBlock"); cidr != "" {
		if r.Get("Ipv6Pool") == "" {
			return "", bad("MissingParameter", "The request must contain the parameter Ipv6Pool")
		}
		return cidr, nil
	}
	if r.Get("AmazonProvidedIpv6CidrBlock") == "true" {
		return fmt.Sprintf("2a05:d014:%x:1200::/56", c.n+1), nil
	}
	return "", nil
}

// addRange refuses a range that overlaps with one that the VPC has.
func (c *Cloud) addRange(r request) (any, error) {
	v := c.get(VPCs, r.Get("VpcId"))
	if v == nil {
		return nil, bad("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", r.Get("VpcId"))
	}
	want, err := netip.ParsePrefix(r.Get("CidrBlock"))
	if err != nil {
		return nil, bad("InvalidParameterValue", "Value (%s) for parameter cidrBlock is invalid.", r.Get("CidrBlock"))
	}
	if !c.within(v, want, false) {
		return nil, bad("InvalidVpc.Range", "The CIDR '%s' overlaps with one of the VPC.", want)
	}
	v.Sets["ranges"] = append(v.Sets["ranges"], want.String())
	return texts("vpcId", v.ID), nil
}

// within reports whether a range is inside of one of a VPC, or with inside false outside of all.
func (c *Cloud) within(v *Thing, p netip.Prefix, inside bool) bool {
	for _, cidr := range append([]string{v.Attr["cidrBlock"]}, v.Sets["ranges"]...) {
		if has, err := netip.ParsePrefix(cidr); err == nil && has.Overlaps(p) {
			return inside && has.Contains(p.Addr()) && has.Bits() <= p.Bits()
		}
	}
	return !inside
}

func (c *Cloud) createVPC(r request) (any, error) {
	if c.over(VPCs) {
		return nil, bad("VpcLimitExceeded", "The maximum number of VPCs has been reached.")
	}
	cidr := r.Get("CidrBlock")
	if id := r.Get("Ipv4IpamPoolId"); id != "" {
		p := c.get(Pools, id)
		if p == nil {
			return nil, bad("InvalidIpamPoolId.NotFound", "The ipam-pool ID '%s' does not exist", id)
		}
		cidr = p.Attr["next"] + "/" + r.Get("Ipv4NetmaskLength")
	}
	six, err := c.sixOf(r)
	if err != nil {
		return nil, err
	}
	v := c.newVPC(cidr, r.tags("vpc"))
	made := c.shownVPC(v) // as AWS answers, without its range of IPv6
	v.Attr["six"], v.Attr["sixFails"] = six, c.failingSix
	return []node{el("vpc", made...)}, nil
}

// AddPool adds a pool of IPAM whose next range begins with an address.
func (c *Cloud) AddPool(name, next string) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.seed(Pools, map[string]string{"next": next})
	p.Tags["Name"] = name
	return p.ID
}

func shownPool(t *Thing) []node { return append(texts("ipamPoolId", t.ID), tagSet(t.Tags)) }

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
		"availableIpAddressCount", free, "mapPublicIpOnLaunch", t.Attr["MapPublicIpOnLaunch"], "assignIpv6AddressOnCreation", cmp.Or(t.Attr["AssignIpv6AddressOnCreation"], "false")),
		c.shownSix(t), tagSet(t.Tags))
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
	six := r.Get("Ipv6CidrBlock")
	if p, err := netip.ParsePrefix(six); six != "" {
		has, ours := netip.ParsePrefix(v.Attr["six"])
		if err != nil || p.Bits() != 64 || !c.hasSix(v) || ours != nil || !has.Contains(p.Addr()) {
			return nil, bad("InvalidSubnet.Range", "The IPv6 CIDR '%s' is invalid.", six)
		}
		if c.find(Subnets, "six", six) != nil {
			return nil, bad("InvalidSubnet.Conflict", "The IPv6 CIDR '%s' conflicts with another subnet", six)
		}
	}
	if p, err := netip.ParsePrefix(r.Get("CidrBlock")); err != nil || !c.within(v, p, true) {
		return nil, bad("InvalidSubnet.Range", "The CIDR '%s' is invalid.", r.Get("CidrBlock"))
	}
	s := c.add(Subnets, map[string]string{"vpcId": v.ID, "cidrBlock": r.Get("CidrBlock"), "zone": r.Get("AvailabilityZone"), "six": six}, r.tags("subnet"))
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
