package api

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// A Zone is a VSphereDeploymentZone with its VSphereFailureDomain: what both set for the
// machines in it.
type Zone struct {
	Name         string // of the VSphereDeploymentZone: the failure domain of machines
	Server       string // never empty
	ControlPlane bool   // control-plane machines may be put there
	Folder       string // empty: that of the machine
	ResourcePool string // empty: that of the machine
	// Domain is where in vCenter it is, and which tags say so. Its Networks are in its
	// NetworkConfigurations.
	Domain VSphereFailureDomainSpec
}

// Zones returns the zones of c, whose spec is s, sorted by name: those on its vCenter that
// its failureDomainSelector selects. They are its failure domains. A zone whose
// VSphereFailureDomain is missing gives the kind Invalid.
// Source: CAPV, clusterReconciler.reconcileDeploymentZones.
func Zones(c *fleet.Cluster, s *VSphereClusterSpec) ([]Zone, error) {
	selector, err := metav1.LabelSelectorAsSelector(s.FailureDomainSelector) // nil selects nothing
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "find the zones of "+c.Key.String(), "failureDomainSelector: %w", err)
	}
	var out []Zone
	for _, o := range c.Companions {
		if o.GVK.Kind != deploymentZoneKind || !selector.Matches(labels.Set(o.Labels)) {
			continue
		}
		zone, err := ReadDeploymentZone(o)
		if err != nil {
			return nil, err
		}
		if !SameServer(cmp.Or(zone.Server, s.Server), s.Server) {
			continue
		}
		z, err := zoneOf(c, s, o)
		if err != nil {
			return nil, err
		}
		out = append(out, *z)
	}
	slices.SortFunc(out, func(a, b Zone) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// FindZone returns the zone that machines of c, whose spec is s, with this failure domain are
// in; nil for none. As in Cluster API, workers may name any VSphereDeploymentZone: also one
// that the cluster's failureDomainSelector does not select, or of another vCenter that takes
// the same account. One that is not there gives the kind Invalid.
func FindZone(c *fleet.Cluster, s *VSphereClusterSpec, failureDomain string) (*Zone, error) {
	if failureDomain == "" {
		return nil, nil
	}
	o := objects.Companion(c, deploymentZoneKind, failureDomain)
	if o == nil {
		return nil, fleet.Errorf(fleet.Invalid, "find the zone "+failureDomain, "Git has no %s of that name (add it to the overlay, or correct the failure domain)", deploymentZoneKind)
	}
	return zoneOf(c, s, *o)
}

func zoneOf(c *fleet.Cluster, s *VSphereClusterSpec, o fleet.Object) (*Zone, error) {
	zone, err := ReadDeploymentZone(o)
	if err != nil {
		return nil, err
	}
	d := objects.Companion(c, failureDomainKind, zone.FailureDomain)
	if d == nil {
		return nil, fleet.Errorf(fleet.Invalid, "find the zone "+o.Name, "Git has no %s %s (add it to the overlay, or correct spec.failureDomain of the zone)", failureDomainKind, zone.FailureDomain)
	}
	domain, err := ReadFailureDomain(*d)
	if err != nil {
		return nil, err
	}
	t := &domain.Topology
	for _, n := range t.Networks {
		t.NetworkConfigurations = append(t.NetworkConfigurations, NetworkConfiguration{NetworkName: n})
	}
	t.Networks = nil
	return &Zone{
		Name: o.Name, Server: cmp.Or(zone.Server, s.Server), ControlPlane: zone.ControlPlane == nil || *zone.ControlPlane,
		Folder: zone.PlacementConstraint.Folder, ResourcePool: zone.PlacementConstraint.ResourcePool, Domain: *domain,
	}, nil
}

// Place returns the spec of a machine of the cluster c in z, which is nil where it is in no
// zone: what the zone says, else the machine, else the cluster. Networks are by index; those
// of a zone with more of them are further devices. Server is never empty, and Thumbprint is
// that of Server: what the cluster says of its own vCenter is said of no other. A device that
// has no network or no addresses in z gives the kind Invalid: Cluster API waits for them for
// ever. It changes neither c nor m.
// Source: CAPV, VimMachineService.generateOverrideFunc.
func (z *Zone) Place(c *VSphereClusterSpec, m *VSphereMachineSpec) (*VSphereMachineSpec, error) {
	out := *m
	out.Server = cmp.Or(m.Server, c.Server)
	if z != nil {
		out.Server = z.Server
		out.Datacenter = z.Domain.Topology.Datacenter
		out.Folder = cmp.Or(z.Folder, m.Folder)
		out.ResourcePool = cmp.Or(z.ResourcePool, m.ResourcePool)
		out.Datastore = cmp.Or(z.Domain.Topology.Datastore, m.Datastore)
		out.Network.Devices = devices(m.Network.Devices, z.Domain.Topology.NetworkConfigurations)
	}
	if !SameServer(out.Server, cmp.Or(m.Server, c.Server)) {
		out.Thumbprint = ""
	}
	if out.Thumbprint == "" && SameServer(out.Server, c.Server) {
		out.Thumbprint = c.Thumbprint
	}
	var v validator
	v.incomplete(field.NewPath("network", "devices"), out.Network.Devices, nil)
	if len(v.Errs) > 0 {
		where := "without a failure domain"
		if z != nil {
			where = "in the failure domain " + z.Name
		}
		return nil, fleet.Errorf(fleet.Invalid, "place a machine "+where, "%w", v.Errs.ToAggregate())
	}
	return &out, nil
}

// devices returns list with what a zone says of each, by index.
func devices(list []NetworkDeviceSpec, zone []NetworkConfiguration) []NetworkDeviceSpec {
	out := slices.Clone(list)
	for i, n := range zone {
		if i == len(out) {
			out = append(out, NetworkDeviceSpec{})
		}
		d := &out[i].NetworkConfiguration
		d.NetworkName = cmp.Or(n.NetworkName, d.NetworkName)
		d.DHCP4 = cmp.Or(n.DHCP4, d.DHCP4)
		d.DHCP6 = cmp.Or(n.DHCP6, d.DHCP6)
		d.DHCP4Overrides = cmp.Or(n.DHCP4Overrides, d.DHCP4Overrides)
		d.DHCP6Overrides = cmp.Or(n.DHCP6Overrides, d.DHCP6Overrides)
		if len(n.Nameservers) > 0 {
			d.Nameservers = n.Nameservers
		}
		if len(n.SearchDomains) > 0 {
			d.SearchDomains = n.SearchDomains
		}
		if len(n.AddressesFromPools) > 0 {
			d.AddressesFromPools = n.AddressesFromPools
		}
	}
	return out
}

// SameServer reports whether two servers, normalised, are one vCenter by their names.
func SameServer(a, b string) bool {
	plain := func(s string) string { return strings.TrimSuffix(strings.ToLower(s), ":443") }
	return plain(a) == plain(b)
}
