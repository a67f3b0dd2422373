package azuretest

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

// Allow gives the service principal a role with these actions, which may have a * each, in the subscription; none: it may do all.
// One that begins with ! is among those that the role does not have.
func (c *Cloud) Allow(actions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.role = actions
}

// Used returns the actions that requests needed, each once, sorted.
func (c *Cloud) Used() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Clone(c.used)
	slices.Sort(out)
	return slices.Compact(out)
}

// may reports whether the role has an action, which it notes.
func (c *Cloud) may(action string) bool {
	if !slices.Contains(c.used, action) {
		c.used = append(c.used, action)
	}
	matches := func(pattern string) bool {
		ok, err := path.Match(strings.ReplaceAll(strings.ToLower(pattern), "/", "."), strings.ReplaceAll(strings.ToLower(action), "/", "."))
		return err == nil && ok
	}
	actions, not := c.permissions()
	return c.role == nil || slices.ContainsFunc(actions, matches) && !slices.ContainsFunc(not, matches)
}

// permissions returns the actions of the role, and those that it does not have.
func (c *Cloud) permissions() (actions, not []string) {
	actions, not = []string{}, []string{}
	for _, a := range c.role {
		if out, ok := strings.CutPrefix(a, "!"); ok {
			not = append(not, out)
			continue
		}
		actions = append(actions, a)
	}
	if c.role == nil {
		actions = append(actions, "*")
	}
	return actions, not
}

// authorised checks the role for a request.
// Source: Azure documentation, "Azure permissions", and "Troubleshoot Azure RBAC", which has both texts.
func (c *Cloud) authorised(w http.ResponseWriter, q *http.Request, call Call) bool {
	const who = "The client '" + ClientID + "' with object id '00000000-0000-0000-0000-000000000001' "
	own, linked := actionsOf(q.Method, call)
	if !c.may(own) {
		refuse(w, http.StatusForbidden, "AuthorizationFailed", who+"does not have authorization to perform action '"+own+"' over scope '"+call.ID+"' or the scope is invalid.")
		return false
	}
	for _, action := range linked {
		if !c.may(action) {
			refuse(w, http.StatusForbidden, "LinkedAuthorizationFailed", who+"has permission to perform action '"+own+"' on scope '"+call.ID+"'; however, it does not have permission to perform action(s) '"+action+"' on the linked scope(s) '' (respectively) or the linked scope(s) are invalid.")
			return false
		}
	}
	return true
}

// typeOf returns the type of a resource, or of a listing, with its namespace.
func typeOf(id string) string {
	at := strings.Trim(id, "/")
	i := strings.LastIndex(strings.ToLower(at), "/providers/")
	if i < 0 {
		switch seg := strings.Split(at, "/"); {
		case strings.EqualFold(seg[len(seg)-1], "resources") && len(seg) > 3:
			return "Microsoft.Resources/subscriptions/resourceGroups/resources"
		case strings.EqualFold(seg[len(seg)-1], "resources"):
			return "Microsoft.Resources/subscriptions/resources"
		}
		return "Microsoft.Resources/subscriptions/resourceGroups"
	}
	seg := strings.Split(at[i+len("/providers/"):], "/")
	out := seg[0]
	for j := 1; j < len(seg); j += 2 {
		out += "/" + seg[j]
	}
	return out
}

// actionsOf returns the action of a request, and those that it needs on what its body refers to.
func actionsOf(method string, call Call) (own string, linked []string) {
	of := typeOf(call.ID)
	switch method {
	case http.MethodGet:
		return of + "/read", nil
	case http.MethodDelete:
		return of + "/delete", nil
	case http.MethodPost:
		return of + "/action", nil
	case http.MethodPatch:
		return of + "/write", nil
	}
	joins := []string{
		"Microsoft.Network/virtualNetworks", "Microsoft.Network/virtualNetworks/subnets", "Microsoft.Network/networkSecurityGroups", "Microsoft.Network/natGateways", "Microsoft.Network/routeTables",
		"Microsoft.Network/publicIPAddresses", "Microsoft.Network/loadBalancers/backendAddressPools", "Microsoft.Network/loadBalancers/inboundNatRules",
	}
	refs(properties(call.Body), func(id string) {
		if strings.HasPrefix(strings.ToLower(id), strings.ToLower(call.ID)+"/") {
			return
		}
		switch id = ofPart(id); {
		case slices.Contains(joins, id):
			linked = append(linked, id+"/join/action")
		case id == "Microsoft.Network/applicationSecurityGroups":
			linked = append(linked, id+"/joinIpConfiguration/action")
		}
	})
	identity, _ := call.Body["identity"].(object)
	if ids, _ := identity["userAssignedIdentities"].(object); len(ids) > 0 {
		linked = append(linked, "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action")
	}
	if of == "Microsoft.Compute/virtualMachines" { // it is made with an interface and disks
		linked = append(linked, "Microsoft.Network/networkInterfaces/write", "Microsoft.Compute/disks/write")
		if strings.Contains(fmt.Sprint(call.Body), "publicIPAddressConfiguration") {
			linked = append(linked, "Microsoft.Network/publicIPAddresses/write", "Microsoft.Network/publicIPAddresses/join/action")
		}
		if r := properties(call.Body)["capacityReservation"]; r != nil {
			linked = append(linked, "Microsoft.Compute/capacityReservationGroups/deploy/action")
		}
	}
	if of == "Microsoft.Network/virtualNetworks/virtualNetworkPeerings" {
		linked = []string{"Microsoft.Network/virtualNetworks/peer/action"}
	}
	slices.Sort(linked)
	return of + "/write", slices.Compact(linked)
}

// ofPart returns the type of a resource with the case that Azure's documentation has.
func ofPart(id string) string { return typeOf(fmt.Sprint(id)) }
