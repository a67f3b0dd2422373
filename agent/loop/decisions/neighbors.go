package decisions

import (
	"cmp"
	"net/netip"
	"slices"
	"sort"
	"strings"

	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
)

// Neighbors returns what c, which draws addresses from pools, has to know of the other clusters of
// its fleet: a provider sees the place of one cluster alone, and this agent need not have looked at
// the others yet.
func (d *Decisions) Neighbors(c *fleet.Cluster) (out fleet.Neighbors) {
	pools := c.AddressPools()
	if len(pools) == 0 {
		return out
	}
	x := d.index()
	out.Endpoints = x.endpointsIn(pools, c.Key)
	for _, k := range x.sharing(pools) {
		if k == c.Key {
			continue
		}
		report, _ := d.reports.Last(k)
		for _, r := range report.Machines {
			out.Machines = append(out.Machines, r.Machine.Addresses...)
		}
	}
	slices.Sort(out.Machines)
	out.Machines = slices.Compact(out.Machines)
	return out
}

// index returns the pools and endpoints of the fleet. It is made once after each change.
func (d *Decisions) index() *neighbors {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.neighbors == nil {
		d.neighbors = newNeighbors(d.state, d.reports)
	}
	return d.neighbors
}

// Neighbors are the pools and the endpoints of all clusters of a fleet. They are not changed
// once they are made.
type neighbors struct {
	pools     map[fleet.AddressPool][]fleet.Key // the clusters that have each of them
	endpoints []endpoint                        // by address
}

type endpoint struct {
	addr netip.Addr
	host string // in the spelling of its manifest
	of   fleet.Key
}

func newNeighbors(s rollout.State, r *reports.Store) *neighbors {
	x := &neighbors{pools: map[fleet.AddressPool][]fleet.Key{}}
	for _, k := range s.Keys() {
		report, _ := r.Last(k)
		hosts := []string{report.Residence.Endpoint.Host}
		for _, c := range s.Definitions(k) {
			hosts = append(hosts, c.NamedEndpoint().Host)
			for _, o := range c.AddressPools() {
				p := o.AddressPool()
				x.pools[p] = append(x.pools[p], k)
			}
		}
		for _, host := range hosts {
			if addr, err := netip.ParseAddr(host); err == nil { // a name takes no address
				x.endpoints = append(x.endpoints, endpoint{addr, host, k})
			}
		}
	}
	slices.SortFunc(x.endpoints, func(a, b endpoint) int { return cmp.Or(a.addr.Compare(b.addr), strings.Compare(a.host, b.host)) })
	return x
}

// sharing returns the clusters that have one of pools, sorted.
func (x *neighbors) sharing(pools []fleet.Object) []fleet.Key {
	var out []fleet.Key
	for _, o := range pools {
		out = append(out, x.pools[o.AddressPool()]...)
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return slices.Compact(out)
}

// endpointsIn returns the hosts of the endpoints that pools could give, but for those of k alone:
// all endpoints if the addresses of a pool are not known. They are sorted.
func (x *neighbors) endpointsIn(pools []fleet.Object, k fleet.Key) []string {
	var out []string
	add := func(list []endpoint) {
		for _, e := range list {
			if e.of != k {
				out = append(out, e.host)
			}
		}
	}
	for _, o := range pools {
		if len(o.Networks) == 0 {
			out = nil
			add(x.endpoints)
			break
		}
		for _, text := range o.Networks {
			add(x.between(text))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// between returns the endpoints in addresses that are spelt as those of fleet.Kind.Networks.
func (x *neighbors) between(text string) []endpoint {
	from, to, _ := strings.Cut(text, "-")
	first, errFirst := netip.ParseAddr(from)
	last, errLast := netip.ParseAddr(cmp.Or(to, from))
	if errFirst != nil || errLast != nil {
		return x.endpoints
	}
	start := sort.Search(len(x.endpoints), func(i int) bool { return x.endpoints[i].addr.Compare(first) >= 0 })
	end := sort.Search(len(x.endpoints), func(i int) bool { return x.endpoints[i].addr.Compare(last) > 0 })
	return x.endpoints[start:max(start, end)]
}
