package awstest

import "strings"

func shownTable(t *Thing) []node {
	var routes, associations [][]node
	for _, route := range t.Sets["routes"] {
		to, by, _ := strings.Cut(route, " ")
		name := "gatewayId"
		if strings.HasPrefix(by, string(NATs)) {
			name = "natGatewayId"
		}
		if strings.HasPrefix(by, string(Egresses)) {
			name = "egressOnlyInternetGatewayId"
		}
		routes = append(routes, texts(destination(to), to, name, by, "state", "active"))
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
	to, by := r.Get("DestinationCidrBlock")+r.Get("DestinationIpv6CidrBlock"), r.Get("GatewayId")+r.Get("NatGatewayId")+r.Get("EgressOnlyInternetGatewayId")
	if strings.HasPrefix(by, string(Egresses)) && r.Has("DestinationCidrBlock") {
		return nil, bad("InvalidParameterValue", "An egress-only internet gateway takes IPv6 alone")
	}
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
		if !strings.HasPrefix(route, r.Get("DestinationCidrBlock")+r.Get("DestinationIpv6CidrBlock")+" ") {
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

// destination is the name of the range that a route leads to.
func destination(to string) string {
	if strings.Contains(to, ":") {
		return "destinationIpv6CidrBlock"
	}
	return "destinationCidrBlock"
}
