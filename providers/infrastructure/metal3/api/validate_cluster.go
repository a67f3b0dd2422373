package api

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/providers/driver/objects"
)

// defaultAPIPort is the port of an endpoint that names none.
const defaultAPIPort = 6443

// cluster checks the spec of a cluster and fills in its defaults.
func (v *validator) cluster(at *field.Path, s *Metal3ClusterSpec) {
	v.clusterTemplate(at, s)
	s.ControlPlaneEndpoint.Port = cmp.Or(s.ControlPlaneEndpoint.Port, defaultAPIPort)
	s.CloudProviderEnabled = cmp.Or(s.CloudProviderEnabled, new(bool))
}

// clusterTemplate checks what of a cluster's spec is there: patches of a class may add the rest.
func (v *validator) clusterTemplate(at *field.Path, s *Metal3ClusterSpec) {
	endpoint := at.Child("controlPlaneEndpoint")
	v.Add(s.VirtualIP.Normalise(at.Child("virtualIP"), s.ControlPlaneEndpoint.Host, endpoint.Child("host"))...)
	if s.ControlPlaneEndpoint.Host != "" {
		v.Address(endpoint.Child("host"), s.ControlPlaneEndpoint.Host, "")
	}
	v.Port(endpoint.Child("port"), s.ControlPlaneEndpoint.Port)
	domains := at.Child("failureDomains")
	for i, d := range s.FailureDomains {
		if v.Required(domains.Index(i).Child("name"), d.Name, "what hosts have in the label "+FailureDomainLabel) {
			v.label(domains.Index(i).Child("name"), d.Name)
		}
	}
	objects.Unique(v, domains, s.FailureDomains, "name", func(d clusterv1.FailureDomain) string { return d.Name })
}

// serving implements fleet.Kind.
func serving(in any) field.ErrorList {
	var v validator
	if s, ok := in.(*Metal3ClusterSpec); ok {
		v.Required(specPath.Child("controlPlaneEndpoint", "host"), s.ControlPlaneEndpoint.Host,
			"nothing is made for an endpoint on bare metal: give an unused address of the machines' network, which keepalived or kube-vip announces "+
				"(from the files of the control plane, or with virtualIP: {}), or the address of a load balancer")
	}
	return v.Errs
}

// elsewhere implements fleet.Kind.
func elsewhere(in any) field.ErrorList {
	var v validator
	if s, ok := in.(*Metal3ClusterSpec); ok {
		v.Forbidden(specPath.Child("virtualIP"), s.VirtualIP != nil, "the control plane is hosted, and its operator serves its endpoint: leave the field out")
	}
	return v.Errs
}
