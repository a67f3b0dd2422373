package azuretest

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// longestDescription is that of a security rule.
const longestDescription = 140

// putNetwork makes a resource that is no VM, or replaces it.
func (c *Cloud) putNetwork(w http.ResponseWriter, id, kind string, body object, r *resource) {
	if c.jammed && r != nil && (kind == "networkinterfaces" || kind == "loadbalancers") {
		refuse(w, http.StatusTooManyRequests, "RetryableError", "A retryable error occurred.")
		return
	}
	if kind == "subnets" || kind == halfKind {
		vnet := c.res[strings.ToLower(id[:strings.LastIndex(strings.ToLower(id), "/"+kind+"/")])]
		if vnet == nil {
			refuse(w, http.StatusNotFound, "ParentResourceNotFound", "Can not perform requested operation on nested resource. Parent resource not found.")
			return
		}
		for k, s := range c.res { // one at a time
			if s.then != nil && (s == vnet || (s.kind == "subnets" || s.kind == halfKind) && strings.HasPrefix(k, strings.ToLower(vnet.id)+"/") && !strings.EqualFold(s.id, id)) {
				refuse(w, http.StatusTooManyRequests, "AnotherOperationInProgress", "Another operation on this or dependent resource is in progress.")
				return
			}
		}
	}
	if kind == halfKind && r == nil && !c.takesHalf(w, &resource{id: id, kind: kind, body: body}) {
		return
	}
	if kind == "availabilitysets" && !c.takesSet(w, id, properties(body)) || r == nil && !c.takesAccess(w, kind, body) || !c.takesAddresses(w, id, kind, body) {
		return
	}
	if kind == "subnets" {
		delete(properties(body), "privateEndpoints") // which is not the caller's to say
	}
	if why, code := c.missing(id, body); why != "" {
		status := http.StatusBadRequest
		if code == "ReferencedResourceNotProvisioned" {
			status = http.StatusConflict
		}
		refuse(w, status, code, why)
		return
	}
	rules, _ := properties(body)["securityRules"].([]any)
	for _, x := range rules {
		if text, _ := properties(x.(object))["description"].(string); len(text) > longestDescription {
			refuse(w, http.StatusBadRequest, "SecurityRuleInvalidDescription", "The description of a rule is too long.")
			return
		}
	}
	if kind == "virtualnetworks" && r != nil {
		if !c.dropSubnets(w, id, body) {
			return
		}
	}
	c.name(id, body)
	status, state := http.StatusCreated, "Creating"
	now := &resource{id: id, kind: kind, body: body, made: time.Now()}
	if r != nil {
		status, state = http.StatusOK, "Updating"
		now.made = r.made
		if kind == "networkinterfaces" {
			for _, p := range []string{"virtualMachine"} { // which is not the caller's to say
				properties(body)[p] = properties(r.body)[p]
			}
		}
	}
	body["id"], body["name"] = id, nameOf(id)
	c.res[strings.ToLower(id)] = now
	c.born(now)
	if kind == halfKind {
		properties(body)["peeringState"] = "Initiated"
	}
	c.stamp(now)
	takes := c.o.Make
	if kind == "availabilitysets" {
		takes = 0
	}
	c.begin(now, state, takes, func() {
		if c.succeed(now)(); kind == halfKind {
			c.connect(now)
		}
	})
	c.accept(w, status, now)
}

// takesAddresses checks a public address, whose name no other one of the location has, and a load balancer, which has each address
// once and refers to parts that it has.
// Source: Azure documentation, "Troubleshoot common deployment errors", and issues of the SDKs.
func (c *Cloud) takesAddresses(w http.ResponseWriter, id, kind string, body object) bool {
	p := properties(body)
	why, code := "", ""
	switch kind {
	case "publicipaddresses":
		label := textOf(objectOf(p["dnsSettings"])["domainNameLabel"])
		for k, r := range c.res {
			if r.kind == kind && k != strings.ToLower(id) && label != "" && strings.EqualFold(textOf(objectOf(properties(r.body)["dnsSettings"])["domainNameLabel"]), label) {
				why, code = "DNS record "+label+"."+Location+".cloudapp.azure.com is already used by another public IP.", "DnsRecordInUse"
			}
		}
	case "loadbalancers":
		c.name(id, body)
		own, seen := &Cloud{res: map[string]*resource{strings.ToLower(id): {body: body}}}, map[string]bool{}
		refs(p, func(ref string) {
			if lower := strings.ToLower(ref); strings.HasPrefix(lower, strings.ToLower(id)+"/") && own.partOf(lower) == nil {
				why, code = "Resource "+ref+" referenced by resource "+id+" was not found.", "InvalidResourceReference"
			}
		})
		for _, x := range listOf(p["frontendIPConfigurations"]) {
			ip := strings.ToLower(idIn(properties(objectOf(x)), "publicIPAddress"))
			if ip != "" && seen[ip] {
				why, code = "Public IP address "+ip+" is referenced by multiple ip configurations.", "PublicIPReferencedByMultipleIPConfigs"
			}
			seen[ip] = true
		}
	}
	if why != "" {
		refuse(w, http.StatusBadRequest, code, why)
	}
	return why == ""
}

// takesSet checks an availability set.
// Source: Azure documentation, "Availability sets overview", and the portal.
func (c *Cloud) takesSet(w http.ResponseWriter, id string, p object) bool {
	faults, _ := p["platformFaultDomainCount"].(float64)
	switch {
	case len(nameOf(id)) > longestSetName:
		refuse(w, http.StatusBadRequest, "InvalidParameter", "The entity name 'availabilitySetName' is longer than 80 characters.")
	case faults < 1 || int(faults) > c.o.Faults:
		refuse(w, http.StatusBadRequest, "InvalidParameter", fmt.Sprintf("The specified fault domain count %v must fall in the range 1 to %d.", faults, c.o.Faults))
	case faults == 1 && p["platformUpdateDomainCount"] != 1.0:
		refuse(w, http.StatusBadRequest, "InvalidParameter", "The update domain count must be 1 when fault domain count is 1.")
	default:
		return true
	}
	return false
}

// longestSetName is that of an availability set.
const longestSetName = 80

// dropSubnets removes the subnets that the PUT of a VNet leaves out, as Azure does.
func (c *Cloud) dropSubnets(w http.ResponseWriter, id string, body object) bool {
	list, _ := properties(body)["subnets"].([]any)
	for k, s := range c.res {
		if s.kind != "subnets" || !strings.HasPrefix(k, strings.ToLower(id)+"/") ||
			slices.ContainsFunc(list, func(x any) bool { o, ok := x.(object); return ok && o["name"] == nameOf(s.id) }) {
			continue
		}
		if why, _ := c.inUse(s); why != "" {
			refuse(w, http.StatusBadRequest, "InUseSubnetCannotBeDeleted", "Subnet "+s.id+" is in use by "+why+".")
			return false
		}
		delete(c.res, k)
	}
	return true
}

// name gives the parts of a resource their ids.
func (c *Cloud) name(id string, body object) {
	for _, part := range []string{"frontendIPConfigurations", "backendAddressPools", "loadBalancingRules", "outboundRules", "probes", "securityRules", "ipConfigurations"} {
		list, _ := properties(body)[part].([]any)
		for _, x := range list {
			if o, ok := x.(object); ok {
				o["id"] = id + "/" + part + "/" + fmt.Sprint(o["name"])
			}
		}
	}
}

// born adds what Azure adds to a new resource.
func (c *Cloud) born(r *resource) {
	p := properties(r.body)
	switch r.kind {
	case "publicipaddresses":
		if p["ipAddress"] == nil {
			c.n++
			p["ipAddress"] = fmt.Sprintf("20.0.%d.%d", c.n/250, c.n%250+1)
		}
		if dns, ok := p["dnsSettings"].(object); ok {
			dns["fqdn"] = fmt.Sprintf("%v.%v.cloudapp.azure.com", dns["domainNameLabel"], r.body["location"])
		}
	case endpointKind:
		c.bornEndpoint(r)
	case "networkinterfaces":
		list, _ := p["ipConfigurations"].([]any)
		for _, x := range list {
			conf := properties(x.(object))
			subnet, _ := conf["subnet"].(object)
			if conf["privateIPAddress"] == nil {
				conf["privateIPAddress"] = c.address(fmt.Sprint(subnet["id"]), conf["privateIPAddressVersion"] == "IPv6")
			}
		}
	}
}

// address returns a free address of a subnet, of IPv6 or of IPv4; empty: it has no such range.
func (c *Cloud) address(subnet string, six bool) string {
	s := c.res[strings.ToLower(subnet)]
	if s == nil {
		return ""
	}
	p := rangeOf(s, six)
	if !p.IsValid() {
		return ""
	}
	used := c.inUseAddresses()
	a := p.Addr()
	for range 4 { // Azure keeps the first ones
		a = a.Next()
	}
	for used[a.String()] {
		a = a.Next()
	}
	return a.String()
}

// inUseAddresses returns the private addresses that something has.
func (c *Cloud) inUseAddresses() map[string]bool {
	used := map[string]bool{}
	for _, r := range c.res {
		list, _ := properties(r.body)["ipConfigurations"].([]any)
		for _, x := range list {
			used[fmt.Sprint(properties(x.(object))["privateIPAddress"])] = true
		}
	}
	return used
}

// rangeOf returns the range of a subnet of IPv6 or of IPv4.
func rangeOf(s *resource, six bool) netip.Prefix {
	p := properties(s.body)
	list, _ := p["addressPrefixes"].([]any)
	for _, x := range append(slices.Clone(list), p["addressPrefix"]) {
		if r, err := netip.ParsePrefix(fmt.Sprint(x)); err == nil && r.Addr().Is6() == six {
			return r
		}
	}
	return netip.Prefix{}
}

// missing says what a body refers to that is not there, or not ready.
func (c *Cloud) missing(id string, body object) (why, code string) {
	refs(properties(body), func(ref string) {
		lower := strings.ToLower(ref)
		if lower == strings.ToLower(id) || strings.HasPrefix(lower, strings.ToLower(id)+"/") || strings.Contains(lower, "/microsoft.managedidentity/") || strings.Contains(lower, "/images/") {
			return
		}
		r := c.res[lower]
		if r == nil {
			r = c.partOf(lower)
		}
		switch {
		case r == nil:
			why, code = "Resource "+ref+" referenced by resource "+id+" was not found.", "InvalidResourceReference"
		case r.state() == "Creating" || r.state() == "Deleting" || r.state() == "Failed":
			why, code = "Cannot proceed with operation because resource "+ref+" used by resource "+id+" is not in Succeeded state.", "ReferencedResourceNotProvisioned"
		}
	})
	return why, code
}

// partOf returns the resource of which an id is a part that exists: a pool of a load balancer.
func (c *Cloud) partOf(lower string) *resource {
	seg := strings.Split(lower, "/")
	if len(seg) < 3 {
		return nil
	}
	r := c.res[strings.Join(seg[:len(seg)-2], "/")]
	if r == nil {
		return nil
	}
	for name, list := range properties(r.body) {
		parts, _ := list.([]any)
		for _, x := range parts {
			if o, ok := x.(object); ok && strings.EqualFold(name, seg[len(seg)-2]) && strings.EqualFold(fmt.Sprint(o["name"]), seg[len(seg)-1]) {
				return r
			}
		}
	}
	return nil
}

// inUse says what keeps a resource from being deleted.
func (c *Cloud) inUse(r *resource) (why, code string) {
	at := strings.ToLower(r.id)
	codes := map[string]string{
		"networksecuritygroups": "InUseNetworkSecurityGroupCannotBeDeleted", "routetables": "InUseRouteTableCannotBeDeleted", "availabilitysets": "OperationNotAllowed", "natgateways": "NatGatewayInUseBySubnetCannotBeDeleted",
		"publicipaddresses": "PublicIPAddressCannotBeDeleted", "subnets": "InUseSubnetCannotBeDeleted", "virtualnetworks": "InUseSubnetCannotBeDeleted",
		"networkinterfaces": "NicInUse", "disks": "OperationNotAllowed", "privatednszones": "CannotDeleteResource",
	}
	code, ok := codes[r.kind]
	if !ok {
		return "", ""
	}
	for _, k := range slices.Sorted(maps.Keys(c.res)) {
		o := c.res[k]
		if o.kind == halfKind {
			continue
		}
		if k == at || strings.HasPrefix(k, at+"/") {
			if r.kind == "privatednszones" && o.kind == "virtualnetworklinks" {
				return o.id, code
			}
			continue
		}
		refs(properties(o.body), func(ref string) {
			lower := strings.ToLower(ref)
			if (lower == at || r.kind == "virtualnetworks" && strings.HasPrefix(lower, at+"/")) && o.kind != "virtualnetworklinks" && o.kind != "subnets" ||
				lower == at && o.kind == "subnets" {
				why = o.id
			}
		})
	}
	if why == "" {
		return "", ""
	}
	return why, code
}
