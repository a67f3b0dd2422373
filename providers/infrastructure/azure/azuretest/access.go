package azuretest

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// The kinds of what people and machines reach others through.
const (
	bastionKind  = "bastionhosts"
	endpointKind = "privateendpoints"
)

// Of the subnet of a bastion.
// Source: Azure documentation, "About Bastion configuration settings".
const (
	bastionSubnet     = "azurebastionsubnet"
	bastionSubnetBits = 26
)

// takesAccess checks a bastion or a private endpoint that is to be made. The codes of its errors are not those of Azure.
func (c *Cloud) takesAccess(w http.ResponseWriter, kind string, body object) bool {
	p := properties(body)
	why := ""
	switch kind {
	case bastionKind:
		list, _ := p["ipConfigurations"].([]any)
		for _, x := range list {
			ref, _ := properties(x.(object))["subnet"].(object)
			s := c.res[strings.ToLower(fmt.Sprint(ref["id"]))]
			if s == nil {
				continue // as with every reference
			}
			if r, err := netip.ParsePrefix(fmt.Sprint(properties(s.body)["addressPrefix"])); !strings.EqualFold(nameOf(s.id), bastionSubnet) || err != nil || r.Bits() > bastionSubnetBits {
				why = "A bastion needs a subnet AzureBastionSubnet of /26 or larger, and not " + s.id + "."
			}
		}
		sku, _ := body["sku"].(object)
		if p["enableTunneling"] == true && sku["name"] != "Standard" {
			why = "Tunneling needs the Standard SKU."
		}
	case endpointKind:
		auto, _ := p["privateLinkServiceConnections"].([]any)
		manual, _ := p["manualPrivateLinkServiceConnections"].([]any)
		if len(auto)+len(manual) == 0 {
			why = "A private endpoint has a connection."
		}
		for _, x := range listOf(p["ipConfigurations"]) {
			a, err := netip.ParseAddr(textOf(properties(objectOf(x))["privateIPAddress"]))
			s := c.res[strings.ToLower(idIn(p, "subnet"))]
			if s == nil || err != nil || textOf(objectOf(x)["name"]) == "" || !rangeOf(s, false).Contains(a) || c.inUseAddresses()[a.String()] {
				why = "The address " + a.String() + " of a private endpoint is not one of its subnet that is free, or has no name."
			}
		}
		for _, x := range slices.Concat(auto, manual) {
			if id := fmt.Sprint(properties(x.(object))["privateLinkServiceId"]); strings.Contains(id, "missing") {
				why = "Call to " + id + " failed. It was not found."
			}
		}
	}
	if why != "" {
		refuse(w, http.StatusBadRequest, "InvalidRequestFormat", why)
	}
	return why == ""
}

// bornEndpoint gives a new private endpoint its interface, which has its tags, and says how far its connections are.
func (c *Cloud) bornEndpoint(r *resource) {
	p := properties(r.body)
	for list, status := range map[string]string{"privateLinkServiceConnections": "Approved", "manualPrivateLinkServiceConnections": "Pending"} {
		all, _ := p[list].([]any)
		for _, x := range all {
			properties(x.(object))["privateLinkServiceConnectionState"] = object{"status": status, "description": "as the double has it"}
		}
	}
	nic := nameOf(r.id) + ".nic"
	if name, ok := p["customNetworkInterfaceName"].(string); ok {
		nic = name
	}
	id := siblingID(r.id, "networkInterfaces", nic)
	c.res[strings.ToLower(id)] = &resource{id: id, kind: "networkinterfaces", made: r.made, body: object{
		"id": id, "name": nic, "location": r.body["location"], "tags": r.body["tags"],
		"properties": object{"provisioningState": "Succeeded", "privateEndpoint": object{"id": r.id}},
	}}
}

// goneEndpoint takes the interface of a private endpoint away.
func (c *Cloud) goneEndpoint(r *resource) {
	maps.DeleteFunc(c.res, func(_ string, n *resource) bool {
		of, _ := properties(n.body)["privateEndpoint"].(object)
		return n.kind == "networkinterfaces" && strings.EqualFold(fmt.Sprint(of["id"]), r.id)
	})
}

// endpointsOf returns references to the private endpoints in a subnet.
func (c *Cloud) endpointsOf(subnet string) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(c.res)) {
		in, _ := properties(c.res[k].body)["subnet"].(object)
		if r := c.res[k]; r.kind == endpointKind && strings.EqualFold(fmt.Sprint(in["id"]), subnet) {
			out = append(out, object{"id": r.id})
		}
	}
	return out
}

// siblingID returns the id of a resource of the network beside another one.
func siblingID(id, kind, name string) string {
	seg := strings.Split(id, "/")
	return strings.Join(seg[:len(seg)-2], "/") + "/" + kind + "/" + name
}
