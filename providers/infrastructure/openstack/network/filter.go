package network

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// matches reports whether a thing is what p asks for. Tags are compared as Neutron does.
// Source: https://docs.openstack.org/api-ref/network/v2/#filtering-by-tags
func matches(p *api.NeutronParam, id, name, description, project string, tags []string) bool {
	if asked := ptr.Deref(p.ID, ""); asked != "" {
		return asked == id
	}
	f := ptr.Deref(p.Filter, api.NeutronFilter{})
	has := func(t api.NeutronTag) bool { return slices.Contains(tags, string(t)) }
	lacks := func(t api.NeutronTag) bool { return !has(t) }
	return (f.Name == "" || f.Name == name) &&
		(f.Description == "" || f.Description == description) &&
		(f.ProjectID == "" || f.ProjectID == project) &&
		!slices.ContainsFunc(f.Tags, lacks) &&
		(len(f.TagsAny) == 0 || slices.ContainsFunc(f.TagsAny, has)) &&
		(len(f.NotTags) == 0 || slices.ContainsFunc(f.NotTags, lacks)) &&
		!slices.ContainsFunc(f.NotTagsAny, has)
}

// Only returns the one of all that match finds. What is asked for is reported as
// JSON, the way people wrote it. The error is of kind Invalid and names field.
func Only[T any](field, kind string, asked any, all []T, match func(T) bool, id func(T) string) (T, error) {
	var found []T
	var ids []string
	for _, t := range all {
		if match(t) {
			found, ids = append(found, t), append(ids, id(t))
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	words, err := json.Marshal(asked)
	if err != nil {
		words = []byte(fmt.Sprint(asked))
	}
	var zero T
	if len(found) == 0 {
		return zero, fleet.Errorf(fleet.Invalid, "look up "+field,
			"the project sees no %s like %s (make it, share it with the project, or correct %s)", kind, words, field)
	}
	slices.Sort(ids)
	return zero, fleet.Errorf(fleet.Invalid, "look up "+field,
		"%d are like %s: %s (give the id of one)", len(found), words, strings.Join(ids, ", "))
}

func networkID(n cloud.Network) string { return n.ID }
func subnetID(s subnets.Subnet) string { return s.ID }
func routerID(r routers.Router) string { return r.ID }

// FindNetwork returns the one network that p asks for, external or not. The
// error is of kind Invalid and names field.
func FindNetwork(s *cloud.Snapshot, field string, p *api.NetworkParam) (cloud.Network, error) {
	return findNetwork(field, s.Networks.All, p, nil)
}

// FindSubnet returns the one subnet that p asks for: in network where that is
// not empty. The error is of kind Invalid and names field.
func FindSubnet(s *cloud.Snapshot, field, network string, p *api.SubnetParam) (subnets.Subnet, error) {
	return findSubnet(field, s.Subnets.All, network, p)
}

// findNetwork looks among those of all that also let through, all where it is nil.
func findNetwork(field string, all []cloud.Network, p *api.NetworkParam, also func(cloud.Network) bool) (cloud.Network, error) {
	return Only(field, "network", p, all, func(n cloud.Network) bool {
		return (also == nil || also(n)) && matches(p, n.ID, n.Name, n.Description, n.ProjectID, n.Tags)
	}, networkID)
}

func findSubnet(field string, all []subnets.Subnet, network string, p *api.SubnetParam) (subnets.Subnet, error) {
	f := ptr.Deref(p.Filter, api.SubnetFilter{})
	asked := &api.NeutronParam{ID: p.ID, Filter: &api.NeutronFilter{
		Name: f.Name, Description: f.Description, ProjectID: f.ProjectID, FilterByNeutronTags: f.FilterByNeutronTags,
	}}
	return Only(field, "subnet", p, all, func(s subnets.Subnet) bool {
		return (network == "" || s.NetworkID == network) &&
			matches(asked, s.ID, s.Name, s.Description, s.ProjectID, s.Tags) &&
			(f.IPVersion == 0 || int(f.IPVersion) == s.IPVersion) &&
			(f.GatewayIP == "" || sameAddress(f.GatewayIP, s.GatewayIP)) &&
			(f.CIDR == "" || normalPrefix(f.CIDR) == normalPrefix(s.CIDR)) &&
			(f.IPv6AddressMode == "" || f.IPv6AddressMode == s.IPv6AddressMode) &&
			(f.IPv6RAMode == "" || f.IPv6RAMode == s.IPv6RAMode)
	}, subnetID)
}

func findRouter(field string, all []routers.Router, p *api.RouterParam) (routers.Router, error) {
	return Only(field, "router", p, all, func(r routers.Router) bool {
		return matches(p, r.ID, r.Name, r.Description, r.ProjectID, r.Tags)
	}, routerID)
}
