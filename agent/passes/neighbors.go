package passes

import (
	"net/netip"
	"slices"

	"fairlead.dev/fleet"
)

// neighbors returns what c, which draws addresses from pools, has to know of the other clusters of
// its fleet: a provider sees the place of one cluster alone, and this agent need not have looked at
// the others yet.
func (m *Maker) neighbors(c *fleet.Cluster) (out fleet.Neighbors) {
	now := m.p.Fleet.Now()
	for _, k := range now.Keys() {
		if k == c.Key {
			continue
		}
		report, _ := m.p.Fleet.Report(k)
		hosts := []string{report.Residence.Endpoint.Host}
		shares := false
		for _, d := range now.Definitions(k) {
			hosts = append(hosts, d.NamedEndpoint().Host)
			shares = shares || c.SharesPool(d)
		}
		for _, host := range hosts {
			if _, err := netip.ParseAddr(host); err == nil { // a name takes no address
				out.Endpoints = append(out.Endpoints, host)
			}
		}
		if !shares {
			continue
		}
		for _, r := range report.Machines {
			out.Machines = append(out.Machines, r.Machine.Addresses...)
		}
	}
	slices.Sort(out.Endpoints)
	slices.Sort(out.Machines)
	out.Endpoints, out.Machines = slices.Compact(out.Endpoints), slices.Compact(out.Machines)
	return out
}
