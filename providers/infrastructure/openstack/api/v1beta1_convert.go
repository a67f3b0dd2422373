package api

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// convertCluster turns the spec of a cluster of v1beta1 into that of v1beta2.
// Source: the OpenStack provider of Cluster API, api/v1beta1/conversion.go.
func (v *validator) convertCluster(at *field.Path, in *v1beta1ClusterSpec) *OpenStackClusterSpec {
	out := &OpenStackClusterSpec{
		ManagedSubnets:                   in.ManagedSubnets,
		Subnets:                          in.Subnets,
		PrimarySubnet:                    in.PrimarySubnet,
		Router:                           in.Router,
		Network:                          in.Network,
		ExternalNetwork:                  in.ExternalNetwork,
		EnableExternalNetwork:            not(in.DisableExternalNetwork),
		Tags:                             in.Tags,
		ControlPlaneEndpoint:             in.ControlPlaneEndpoint,
		ControlPlaneAvailabilityZones:    in.ControlPlaneAvailabilityZones,
		ControlPlaneOmitAvailabilityZone: in.ControlPlaneOmitAvailabilityZone,
		IdentityRef:                      in.IdentityRef,
	}
	if in.NetworkMTU != nil || in.DisablePortSecurity != nil {
		out.ManagedNetwork = &ManagedNetwork{MTU: in.NetworkMTU, EnablePortSecurity: not(in.DisablePortSecurity)}
	}
	if len(in.ExternalRouterIPs) > 0 {
		out.ManagedRouter = &ManagedRouter{ExternalIPs: in.ExternalRouterIPs}
	}
	if a := (APIServer{
		Port:                in.APIServerPort,
		FixedIP:             in.APIServerFixedIP,
		FloatingIP:          in.APIServerFloatingIP,
		EnableFloatingIP:    not(in.DisableAPIServerFloatingIP),
		ManagedLoadBalancer: in.APIServerLoadBalancer,
	}); a != (APIServer{}) {
		out.APIServer = &a
	}
	if m := in.ManagedSecurityGroups; m != nil {
		out.ManagedSecurityGroups = &ManagedSecurityGroups{
			ClusterNodesSecurityGroupRules:      m.AllNodesSecurityGroupRules,
			ControlPlaneNodesSecurityGroupRules: m.ControlPlaneNodesSecurityGroupRules,
			WorkerNodesSecurityGroupRules:       m.WorkerNodesSecurityGroupRules,
			AllowAllInClusterTraffic:            m.AllowAllInClusterTraffic,
		}
	}
	if b := in.Bastion; b != nil {
		out.Bastion = &Bastion{Enabled: b.Enabled, AvailabilityZone: b.AvailabilityZone, FloatingIP: b.FloatingIP}
		if b.Spec != nil {
			out.Bastion.Spec = v.convertMachine(at.Child("bastion", "spec"), b.Spec)
		}
	}
	return out
}

// convertMachine turns the spec of a machine of v1beta1 into that of v1beta2.
func (v *validator) convertMachine(at *field.Path, in *v1beta1MachineSpec) *OpenStackMachineSpec {
	out := &OpenStackMachineSpec{
		ProviderID:                        in.ProviderID,
		Image:                             in.Image,
		SSHKeyName:                        in.SSHKeyName,
		SecurityGroups:                    in.SecurityGroups,
		Trunk:                             in.Trunk,
		Tags:                              in.Tags,
		ServerMetadata:                    in.ServerMetadata,
		ConfigDrive:                       in.ConfigDrive,
		RootVolume:                        in.RootVolume,
		AdditionalBlockDevices:            in.AdditionalBlockDevices,
		ServerGroup:                       in.ServerGroup,
		IdentityRef:                       in.IdentityRef,
		FloatingIPPoolRef:                 in.FloatingIPPoolRef,
		SchedulerHintAdditionalProperties: in.SchedulerHintAdditionalProperties,
	}
	switch {
	case in.FlavorID != nil:
		v.Forbidden(at.Child("flavor"), in.Flavor != nil, "flavorID is given too: leave out one of the two")
		out.Flavor.ID = in.FlavorID
	case in.Flavor != nil:
		out.Flavor.Filter = &FlavorFilter{Name: in.Flavor}
	}
	for _, p := range in.Ports {
		out.Ports = append(out.Ports, PortOpts{
			Network:        p.Network,
			Description:    p.Description,
			NameSuffix:     p.NameSuffix,
			FixedIPs:       p.FixedIPs,
			SecurityGroups: p.SecurityGroups,
			Tags:           p.Tags,
			Trunk:          p.Trunk,
			ResolvedPortSpecFields: ResolvedPortSpecFields{
				AdminStateUp:          p.AdminStateUp,
				MACAddress:            p.MACAddress,
				AllowedAddressPairs:   p.AllowedAddressPairs,
				HostID:                p.HostID,
				VNICType:              p.VNICType,
				Profile:               p.Profile,
				EnablePortSecurity:    not(p.DisablePortSecurity),
				PropagateUplinkStatus: p.PropagateUplinkStatus,
				ValueSpecs:            p.ValueSpecs,
			},
		})
	}
	return out
}

// not returns the negation of b, nil of nil.
func not(b *bool) *bool {
	if b == nil {
		return nil
	}
	return new(!*b)
}

// writtenAsV1Beta1 returns errs with the paths that people wrote.
func writtenAsV1Beta1(errs field.ErrorList) field.ErrorList {
	names := strings.NewReplacer(
		"spec.apiServer.managedLoadBalancer", "spec.apiServerLoadBalancer",
		"spec.apiServer.enableFloatingIP", "spec.disableAPIServerFloatingIP",
		"spec.apiServer.floatingIP", "spec.apiServerFloatingIP",
		"spec.apiServer.fixedIP", "spec.apiServerFixedIP",
		"spec.apiServer.port", "spec.apiServerPort",
		"spec.managedNetwork.mtu", "spec.networkMTU",
		"spec.managedNetwork.enablePortSecurity", "spec.disablePortSecurity",
		"spec.managedRouter.externalIPs", "spec.externalRouterIPs",
		"spec.managedRouter", "spec.externalRouterIPs",
		".clusterNodesSecurityGroupRules", ".allNodesSecurityGroupRules",
		"spec.flavor.filter", "spec.flavor",
		"spec.flavor.id", "spec.flavorID",
	)
	for _, e := range errs {
		e.Field = names.Replace(e.Field)
	}
	return errs
}
