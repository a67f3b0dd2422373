package awstest

import (
	"fmt"
	"strings"
	"time"
)

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
	if pool := r.Get("PublicIpv4Pool"); pool != "" {
		if strings.Contains(pool, "missing") {
			return nil, bad("InvalidPublicIpv4PoolID.NotFound", "The pool ID '%s' does not exist.", pool)
		}
		if strings.Contains(pool, "empty") {
			return nil, bad("InsufficientAddressCapacity", "Not enough free addresses in the pool %s.", pool)
		}
	}
	a := c.add(Addresses, map[string]string{"pool": r.Get("PublicIpv4Pool")}, r.tags("elastic-ip"))
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
	if was, ok := c.tokens[key]; ok && r.Get("ClientToken") != "" {
		return []node{el("natGateway", c.shownNAT(was.made)...)}, nil
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
	c.tokens[key] = token{made: t}
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
