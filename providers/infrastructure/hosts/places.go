package hosts

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
)

// placeOf is the id of a HostPool among the places of a cluster.
func placeOf(c *fleet.Cluster, pool string) string { return "HostPool " + c.Key.Namespace + "/" + pool }

// at is where h is reached.
func (h *machineHost) at() string {
	return net.JoinHostPort(h.Address, strconv.Itoa(cmp.Or(int(h.ssh.Port), 22)))
}

// places tells which pools have machines of c, of list, and on which hosts. What
// machines share is noted on the hosts of all pools of the namespace.
func (r roster) places(c *fleet.Cluster, list []hostMachine) []fleet.PlaceSeen {
	on := make(map[string][]string)
	for _, f := range list {
		if f.host != nil {
			on[f.host.Pool] = append(on[f.host.Pool], f.host.at())
		}
	}
	out := []fleet.PlaceSeen{{Place: fleet.Place{ID: "hosts of namespace " + c.Key.Namespace}, Used: len(r.shared(c)) > 0, Named: true}}
	for i, s := range r {
		if i > 0 && s.host.Pool == r[i-1].host.Pool || len(on[s.host.Pool]) == 0 {
			continue
		}
		addresses := on[s.host.Pool]
		slices.Sort(addresses)
		at := fleet.Place{ID: placeOf(c, s.host.Pool), Access: strings.Join(slices.Compact(addresses), ",")}
		out = append(out, fleet.PlaceSeen{Place: at, Used: true, Named: true})
	}
	return out
}

// checkFormerPools returns an error where machines of c were on hosts of a pool that left Git,
// and Git has those hosts in no other pool. How they are reached, with which keys of
// theirs, is in Git alone.
func (r roster) checkFormerPools(c *fleet.Cluster) error {
	for _, p := range c.OtherPlaces() {
		here := func(at string) bool {
			return slices.ContainsFunc(r, func(s *observedHost) bool { return s.host.at() == at })
		}
		gone := slices.DeleteFunc(strings.Split(p.Access, ","), here)
		known := slices.ContainsFunc(r, func(s *observedHost) bool { return placeOf(c, s.host.Pool) == p.ID })
		if known || len(gone) == 0 {
			continue // of a host that leaves its pool, the others of the pool tell
		}
		return fleet.Errorf(fleet.Invalid, "look at the hosts of "+p.ID, "Git no longer has it, and machines of the cluster were on its hosts %s (bring it back until they are removed, with lost: true for hosts that are gone; if all of it is gone permanently, annotate the Cluster with %s: %s)",
			strings.Join(gone, ", "), fleet.ForgetPlaceAnnotation, p.ID)
	}
	return nil
}
