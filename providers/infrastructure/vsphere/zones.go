package vsphere

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
)

// A placement is where machines of a pool may be put.
type placement struct {
	*api.VSphereMachineSpec           // with what the zone says
	zone                    *api.Zone // nil: none
}

// placements returns those of pool: servers are in the failure domains of the cluster, workers
// in that of their pool.
func placements(c *fleet.Cluster, spec *api.VSphereClusterSpec, pool *fleet.Pool) ([]placement, error) {
	domains := []string{pool.FailureDomain}
	if pool.Role == fleet.RoleControlPlane {
		zones, err := api.Zones(c, spec)
		if err != nil {
			return nil, err
		}
		if len(zones) > 0 {
			domains = nil
		}
		for _, z := range zones {
			if z.ControlPlane {
				domains = append(domains, z.Name)
			}
		}
	}
	var out []placement
	for _, domain := range domains {
		at, err := place(c, spec, pool, domain)
		if err != nil {
			return nil, err
		}
		out = append(out, at)
	}
	return out, nil
}

// place returns where machines of pool are in a failure domain; empty: in none.
func place(c *fleet.Cluster, spec *api.VSphereClusterSpec, pool *fleet.Pool, domain string) (placement, error) {
	m, err := api.ReadMachine(pool.Infrastructure)
	if err != nil {
		return placement{}, err
	}
	zone, err := api.FindZone(c, spec, domain)
	if err != nil {
		return placement{}, err
	}
	placed, err := zone.Place(spec, m)
	return placement{placed, zone}, err
}

// access leads to the vCenter of p.
func (p placement) access() access { return access{Server: p.Server, Thumbprint: p.Thumbprint} }

// hosts returns the groups of hosts and VMs that a zone of p names.
func (p placement) hosts() api.FailureDomainHosts {
	if p.zone == nil {
		return api.FailureDomainHosts{}
	}
	return p.zone.Domain.Topology.Hosts
}

// failureDomains returns the deployment zones of c.
func failureDomains(c *fleet.Cluster, spec *api.VSphereClusterSpec) ([]fleet.FailureDomain, error) {
	zones, err := api.Zones(c, spec)
	if err != nil {
		return nil, err
	}
	var out []fleet.FailureDomain
	for _, z := range zones {
		out = append(out, fleet.FailureDomain{Name: z.Name, ControlPlane: z.ControlPlane})
	}
	return out, nil
}
