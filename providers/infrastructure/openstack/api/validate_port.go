package api

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// ports checks the ports of a machine.
func (v *validator) ports(at *field.Path, s *OpenStackMachineSpec) {
	suffixes := make(map[string]bool, len(s.Ports))
	for i := range s.Ports {
		p, at := &s.Ports[i], at.Index(i)
		v.port(at, p)
		suffix := strconv.Itoa(i)
		if p.NameSuffix != nil {
			suffix = *p.NameSuffix
		}
		if suffixes[suffix] {
			v.Invalid(at.Child("nameSuffix"), suffix, "another port of the machine has this name")
		}
		suffixes[suffix] = true
	}
}

func (v *validator) port(at *field.Path, p *PortOpts) {
	v.neutron(at.Child("network"), p.Network)
	if p.Description != nil {
		v.Text(at.Child("description"), *p.Description, MaxDescription)
	}
	if p.NameSuffix != nil {
		v.Required(at.Child("nameSuffix"), *p.NameSuffix, "or leave it out, for the index of the port")
		v.Text(at.Child("nameSuffix"), *p.NameSuffix, maxNameSuffix)
	}
	for i, f := range p.FixedIPs {
		at := at.Child("fixedIPs").Index(i)
		if f.Subnet == nil && isEmpty(f.IPAddress) {
			v.Add(field.Required(at, "give a subnet, an ipAddress, or both"))
		}
		v.subnet(at.Child("subnet"), f.Subnet)
		if !isEmpty(f.IPAddress) {
			v.IP(at.Child("ipAddress"), *f.IPAddress)
		}
	}
	v.securityGroups(at.Child("securityGroups"), p.SecurityGroups)
	p.Tags = v.tags(at.Child("tags"), p.Tags)
	v.MAC(at.Child("macAddress"), p.MACAddress)
	for i, a := range p.AllowedAddressPairs {
		at := at.Child("allowedAddressPairs").Index(i)
		v.Required(at.Child("ipAddress"), a.IPAddress, "")
		if a.IPAddress != "" {
			v.Prefix(at.Child("ipAddress"), a.IPAddress)
		}
		v.MAC(at.Child("macAddress"), a.MACAddress)
	}
	if p.EnablePortSecurity != nil && !*p.EnablePortSecurity {
		const why = "a port without port security has none"
		v.Forbidden(at.Child("securityGroups"), len(p.SecurityGroups) > 0, why)
		v.Forbidden(at.Child("allowedAddressPairs"), len(p.AllowedAddressPairs) > 0, why)
	}
	v.valueSpecs(at.Child("valueSpecs"), p)
}

// portKeys are the keys of Neutron's request for a port that the other fields of
// a port set, or that say whose it is.
func portKeys() []string {
	return []string{
		"admin_state_up", "allowed_address_pairs", "binding:host_id", "binding:profile", "binding:vnic_type",
		"description", "device_id", "device_owner", "fixed_ips", "mac_address", "name", "network_id",
		"port_security_enabled", "port_trusted_vif", "project_id", "propagate_uplink_status", "security_groups", "tags", "tenant_id",
	}
}

// valueSpecs checks more keys of Neutron's request and sorts them: their order
// says nothing.
func (v *validator) valueSpecs(at *field.Path, p *PortOpts) {
	for i, s := range p.ValueSpecs {
		at := at.Index(i)
		v.Required(at.Child("name"), s.Name, "")
		v.Required(at.Child("key"), s.Key, "")
		v.Required(at.Child("value"), s.Value, "")
		v.Forbidden(at.Child("key"), slices.Contains(portKeys(), s.Key),
			fmt.Sprintf("%s is set by Fairlead: use the port's field for it, if it has one", s.Key))
	}
	objects.Unique(v, at, p.ValueSpecs, "name", func(s ValueSpec) string { return s.Name })
	objects.Unique(v, at, p.ValueSpecs, "key", func(s ValueSpec) string { return s.Key })
	slices.SortFunc(p.ValueSpecs, func(a, b ValueSpec) int { return cmp.Compare(a.Name, b.Name) })
}
