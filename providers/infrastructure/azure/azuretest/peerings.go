package azuretest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// halfKind are the halves of peerings.
const halfKind = "virtualnetworkpeerings"

// halvesOf returns those of a VNet.
func (c *Cloud) halvesOf(vnet *resource) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(c.res)) {
		if h := c.res[k]; h.kind == halfKind && strings.HasPrefix(k, strings.ToLower(vnet.id)+"/") {
			out = append(out, clone(h.body))
		}
	}
	return out
}

// ends returns the VNets of a half, in lower case.
func ends(h *resource) (from, to string) {
	remote, _ := properties(h.body)["remoteVirtualNetwork"].(object)
	at := strings.ToLower(h.id)
	return at[:strings.LastIndex(at, "/"+halfKind)], strings.ToLower(fmt.Sprint(remote["id"]))
}

// otherHalf returns the half that leads back; nil: there is none.
func (c *Cloud) otherHalf(h *resource) *resource {
	from, to := ends(h)
	for _, o := range c.res {
		if o.kind != halfKind {
			continue
		}
		if f, t := ends(o); f == to && t == from {
			return o
		}
	}
	return nil
}

// connect connects a new half with the other, if that waits for it.
// Source: Azure documentation, "Create, change, or delete a virtual network peering".
func (c *Cloud) connect(h *resource) {
	o := c.otherHalf(h)
	if o != nil && properties(o.body)["peeringState"] == "Initiated" {
		properties(h.body)["peeringState"], properties(o.body)["peeringState"] = "Connected", "Connected"
		c.stamp(o)
	}
}

// disconnect says of halves whose other one is gone that they are disconnected.
func (c *Cloud) disconnect() {
	for _, h := range c.res {
		if h.kind == halfKind && properties(h.body)["peeringState"] == "Connected" && c.otherHalf(h) == nil {
			properties(h.body)["peeringState"] = "Disconnected"
			c.stamp(h)
		}
	}
}
