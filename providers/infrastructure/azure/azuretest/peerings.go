package azuretest

import (
	"fmt"
	"maps"
	"net/http"
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

// takesHalf checks a new half.
// Source: Azure documentation, "Create, change, or delete a virtual network peering"; terraform-provider-azurerm, issue 2872.
func (c *Cloud) takesHalf(w http.ResponseWriter, h *resource) bool {
	o := c.otherHalf(h)
	switch {
	case o != nil && o.then != nil:
		refuse(w, http.StatusTooManyRequests, "AnotherOperationInProgress", "Another operation on this or dependent resource is in progress.")
	case o != nil && properties(o.body)["peeringState"] == "Disconnected":
		refuse(w, http.StatusBadRequest, "RemotePeeringIsDisconnected", "Cannot create or update peering because remote peering is in Disconnected state.")
	case properties(h.body)["useRemoteGateways"] == true && (o == nil || properties(o.body)["allowGatewayTransit"] != true):
		refuse(w, http.StatusBadRequest, "BadRequest", "Peering cannot have UseRemoteGateways flag set to true, because corresponding remote peering has AllowGatewayTransit flag set to false.")
	default:
		return true
	}
	return false
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
