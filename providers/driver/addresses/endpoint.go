package addresses

import (
	"net/netip"

	"fairlead.dev/fleet"
)

// EndpointTag is the tag of all machines of a cluster whose endpoint is an address of a pool. Its
// value is that of Format for one claim. Each machine has it from its creation, so that the cluster
// keeps the address while one of them exists.
const EndpointTag = "fairlead.dev/endpoint-address"

// EndpointClaimName is the name of the claim of the endpoint of c.
func EndpointClaimName(c *fleet.Cluster) string {
	return string(c.Fleet) + " " + c.Key.String() + " endpoint"
}

// EndpointHolder names the endpoint of the cluster of a machine with these tags, among Holders: all
// machines of the cluster are one holder.
func EndpointHolder(tags map[string]string) string {
	return "the endpoint of cluster " + tags[fleet.TagCluster] + " of fleet " + tags[fleet.TagFleet]
}

// EndpointOf returns the claim of the endpoint in the tags of a machine; the zero Claim if there is
// none.
func EndpointOf(tags map[string]string) (Claim, error) {
	claims, err := Parse(tags[EndpointTag])
	if err != nil || len(claims) == 0 {
		return Claim{}, err
	}
	return claims[0], nil
}

// AddEndpoint adds the cluster of a machine with these tags, where its endpoint is of a pool. It
// returns the name of the holder; empty: it is none.
func (h Holders) AddEndpoint(tags map[string]string) (holder string, err error) {
	c, err := EndpointOf(tags)
	if err != nil || c == (Claim{}) {
		return "", err
	}
	holder = EndpointHolder(tags)
	for _, id := range h[c] {
		if id == holder {
			return holder, nil
		}
	}
	h[c] = append(h[c], holder)
	return holder, nil
}

// HolderOf returns the holder of an address of any pool, except own; empty if there is none.
func (h Holders) HolderOf(a netip.Addr, own string) string {
	out := ""
	for c, ids := range h {
		for _, id := range ids {
			if c.Address == a && id != own && (out == "" || id < out) {
				out = id
			}
		}
	}
	return out
}
