package api

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/providers/driver/objects"
)

// cluster checks the spec of a cluster and fills in its defaults.
func (v *validator) cluster(at *field.Path, s *OpenStackClusterSpec) {
	v.identity(at.Child("identityRef"), &s.IdentityRef)
	v.networks(at, s)
	v.external(at, s)
	v.apiServer(at.Child("apiServer"), s)
	if s.ManagedSecurityGroups != nil {
		v.managedSecurityGroups(at.Child("managedSecurityGroups"), s)
	}
	s.Tags = v.serverTags(at.Child("tags"), s.Tags)
	s.ControlPlaneEndpoint = v.endpoint(at.Child("controlPlaneEndpoint"), s.ControlPlaneEndpoint)
	zones := at.Child("controlPlaneAvailabilityZones")
	for i, z := range s.ControlPlaneAvailabilityZones {
		v.Required(zones.Index(i), z, "the name of an availability zone")
	}
	s.ControlPlaneAvailabilityZones = objects.Set(v, zones, s.ControlPlaneAvailabilityZones)
	v.Forbidden(at.Child("controlPlaneOmitAvailabilityZone"), isTrue(s.ControlPlaneOmitAvailabilityZone) && len(s.ControlPlaneAvailabilityZones) > 0,
		"controlPlaneAvailabilityZones names zones: leave out one of the two")
	v.bastion(at.Child("bastion"), s)
}

// networks checks what is made and what exists.
func (v *validator) networks(at *field.Path, s *OpenStackClusterSpec) {
	v.neutron(at.Child("network"), s.Network)
	v.subnets(at.Child("subnets"), s.Subnets)
	v.subnet(at.Child("primarySubnet"), s.PrimarySubnet)
	v.neutron(at.Child("router"), s.Router)
	managed := at.Child("managedSubnets")
	if len(s.ManagedSubnets) > 1 {
		v.Add(field.TooMany(managed, len(s.ManagedSubnets), 1))
	}
	for i := range s.ManagedSubnets {
		v.managedSubnet(managed.Index(i), &s.ManagedSubnets[i])
	}
	if m := s.ManagedNetwork; m != nil {
		at := at.Child("managedNetwork")
		if m.MTU == nil && m.EnablePortSecurity == nil {
			v.Add(field.Required(at, "it is empty: leave it out"))
		}
		if m.MTU != nil {
			objects.Within(v, at.Child("mtu"), *m.MTU, 68, 65536, "must be between 68 and 65536")
		}
	}
	if m := s.ManagedRouter; m != nil {
		at := at.Child("managedRouter", "externalIPs")
		if len(m.ExternalIPs) == 0 {
			v.Add(field.Required(at, "it is empty: leave out managedRouter"))
		}
		for i, e := range m.ExternalIPs {
			if e.FixedIP != "" {
				v.IP(at.Index(i).Child("fixedIP"), e.FixedIP)
			}
			v.subnet(at.Index(i).Child("subnet"), &e.Subnet)
		}
	}
	if len(s.ManagedSubnets) > 0 {
		const why = "managedSubnets makes the network: leave out one of the two"
		v.Forbidden(at.Child("network"), s.Network != nil, why)
		v.Forbidden(at.Child("subnets"), len(s.Subnets) > 0, why)
		v.Forbidden(at.Child("primarySubnet"), s.PrimarySubnet != nil, why)
		v.Forbidden(at.Child("managedRouter"), s.ManagedRouter != nil && s.Router != nil, "router names one that exists: leave out one of the two")
		return
	}
	if s.Network == nil && len(s.Subnets) == 0 {
		v.Add(field.Required(managed, "or name the network and subnets that exist in network and subnets"))
	}
	const why = "it says how to make what managedSubnets asks for, and there are none"
	if m := s.ManagedNetwork; m != nil {
		v.Forbidden(at.Child("managedNetwork", "mtu"), m.MTU != nil, why)
		v.Forbidden(at.Child("managedNetwork", "enablePortSecurity"), m.EnablePortSecurity != nil, why)
	}
	v.Forbidden(at.Child("managedRouter"), s.ManagedRouter != nil, why)
}

func (v *validator) managedSubnet(at *field.Path, s *SubnetSpec) {
	v.Required(at.Child("cidr"), s.CIDR, `a range of addresses such as "10.6.0.0/24"`)
	p, err := netip.ParsePrefix(s.CIDR)
	switch {
	case s.CIDR == "":
	case err != nil:
		v.Invalid(at.Child("cidr"), s.CIDR, `must be a range of addresses such as "10.6.0.0/24"`)
		return
	case p != p.Masked():
		v.Invalid(at.Child("cidr"), s.CIDR, "is an address in the range: write "+p.Masked().String())
		return
	}
	for i, d := range s.DNSNameservers {
		at := at.Child("dnsNameservers").Index(i)
		if a := v.IP(at, d); a.IsValid() && p.IsValid() && a.Is4() != p.Addr().Is4() {
			v.Invalid(at, d, "must be of the same IP version as cidr")
		}
	}
	for i, pool := range s.AllocationPools {
		at := at.Child("allocationPools").Index(i)
		start, end := v.IP(at.Child("start"), pool.Start), v.IP(at.Child("end"), pool.End)
		if !start.IsValid() || !end.IsValid() || !p.IsValid() {
			continue
		}
		if !p.Contains(start) {
			v.Invalid(at.Child("start"), pool.Start, "must be in cidr")
		}
		if !p.Contains(end) {
			v.Invalid(at.Child("end"), pool.End, "must be in cidr")
		}
		if end.Less(start) {
			v.Invalid(at.Child("end"), pool.End, "must not be below start")
		}
	}
}

// external checks what is on the external network.
func (v *validator) external(at *field.Path, s *OpenStackClusterSpec) {
	v.neutron(at.Child("externalNetwork"), s.ExternalNetwork)
	if s.EnableExternalNetwork == nil || *s.EnableExternalNetwork {
		return
	}
	const why = "the external network is switched off"
	v.Forbidden(at.Child("externalNetwork"), s.ExternalNetwork != nil, why)
	v.Forbidden(at.Child("bastion", "floatingIP"), s.Bastion != nil && s.Bastion.FloatingIP != nil, why)
	v.Forbidden(at.Child("managedRouter"), s.ManagedRouter != nil, why)
	if s.APIServer == nil || s.APIServer.EnableFloatingIP == nil || *s.APIServer.EnableFloatingIP {
		v.Add(field.Required(at.Child("apiServer", "enableFloatingIP"), "the external network is switched off: switch the floating IP of the API server off too"))
	}
}

// endpoint checks an endpoint. One that says nothing is none.
func (v *validator) endpoint(at *field.Path, e *clusterv1.APIEndpoint) *clusterv1.APIEndpoint {
	if e == nil || *e == (clusterv1.APIEndpoint{}) {
		return nil
	}
	v.Required(at.Child("host"), e.Host, "there is a port")
	v.Text(at.Child("host"), e.Host, 512)
	if e.Port != 0 {
		v.portNumber(at.Child("port"), e.Port)
	}
	return e
}

func (v *validator) portNumber(at *field.Path, n int32) {
	objects.Within(v, at, n, 1, 65535, "must be between 1 and 65535")
}

// bastion checks the bastion and fills in its defaults.
func (v *validator) bastion(at *field.Path, s *OpenStackClusterSpec) {
	b := s.Bastion
	if b == nil {
		return
	}
	if b.Enabled == nil {
		b.Enabled = new(true)
	}
	if *b.Enabled && b.Spec == nil {
		v.Add(field.Required(at.Child("spec"), "flavor and image of the bastion"))
	}
	if !isEmpty(b.FloatingIP) {
		v.IPv4(at.Child("floatingIP"), *b.FloatingIP)
	}
	if b.Spec != nil {
		v.machine(at.Child("spec"), b.Spec)
	}
}

func isTrue(b *bool) bool { return b != nil && *b }
