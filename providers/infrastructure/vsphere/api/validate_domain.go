package api

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// failureDomain checks the spec of a failure domain.
// Source: CAPV, internal/webhooks/vspherefailuredomain.go.
func (v *validator) failureDomain(at *field.Path, s *VSphereFailureDomainSpec) {
	t, topology := &s.Topology, at.Child("topology")
	v.Forbidden(at.Child("region", "type"), s.Region.Type == HostGroupFailureDomain, "a region is a Datacenter or a ComputeCluster: hosts of a group are a zone")
	for _, d := range []struct {
		name string
		FailureDomain
	}{{"region", s.Region}, {"zone", s.Zone}} {
		at := at.Child(d.name)
		v.Required(at.Child("name"), d.Name, "the tag that the objects of vCenter have")
		v.Required(at.Child("tagCategory"), d.TagCategory, "the category of that tag")
		objects.Enum(v, at.Child("type"), d.Type, DatacenterFailureDomain, ComputeClusterFailureDomain, HostGroupFailureDomain)
		if d.Type == ComputeClusterFailureDomain && t.ComputeCluster == "" {
			v.Add(field.Required(topology.Child("computeCluster"), "the "+d.name+" is one: name it"))
		}
	}
	v.Required(topology.Child("datacenter"), t.Datacenter, "the data center of the failure domain")
	switch hosts := topology.Child("hosts"); {
	case !t.Hosts.IsZero():
		v.Required(hosts.Child("hostGroupName"), t.Hosts.HostGroupName, "the group of hosts that machines are to be on")
		v.Required(hosts.Child("vmGroupName"), t.Hosts.VMGroupName, "the group of virtual machines that a rule holds to the host group")
		v.Required(topology.Child("computeCluster"), t.ComputeCluster, "the compute cluster that the groups of hosts are of")
	case s.Zone.Type == HostGroupFailureDomain:
		v.Add(field.Required(hosts, "the zone is a HostGroup: name it, and the group of virtual machines"))
	}
	v.Forbidden(topology.Child("networks"), len(t.Networks) > 0 && len(t.NetworkConfigurations) > 0, "networkConfigurations name the networks: leave one of them out")
	for i, n := range t.Networks {
		v.Required(topology.Child("networks").Index(i), n, "the name of a network")
	}
	for i := range t.NetworkConfigurations {
		n, at := &t.NetworkConfigurations[i], topology.Child("networkConfigurations").Index(i)
		v.Required(at.Child("networkName"), n.NetworkName, "the name of a network")
		v.configuration(at, n)
	}
	objects.Unique(v, topology.Child("networkConfigurations"), t.NetworkConfigurations, "networkName", func(n NetworkConfiguration) string { return n.NetworkName })
}

// deploymentZone checks the spec of a deployment zone and fills in its default.
func (v *validator) deploymentZone(at *field.Path, s *VSphereDeploymentZoneSpec) {
	s.Server = v.server(at.Child("server"), s.Server)
	v.Required(at.Child("failureDomain"), s.FailureDomain, "the name of a "+failureDomainKind)
	if s.ControlPlane == nil {
		yes := true
		s.ControlPlane = &yes
	}
}
