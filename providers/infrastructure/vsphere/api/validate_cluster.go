package api

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/driver/objects"
)

// defaultAPIPort is the port of an endpoint that names none.
const defaultAPIPort = 6443

// cluster checks the spec of a cluster and fills in its defaults.
func (v *validator) cluster(at *field.Path, s *VSphereClusterSpec) {
	v.Required(at.Child("server"), s.Server, "the address of the vCenter")
	if s.IdentityRef == (VSphereIdentityReference{}) {
		v.Add(field.Required(at.Child("identityRef"), "name a Secret with the keys "+UsernameKey+" and "+PasswordKey+
			": there are no credentials of a controller that a cluster could do without"))
	}
	v.clusterTemplate(at, s)
	s.ControlPlaneEndpoint.Port = cmp.Or(s.ControlPlaneEndpoint.Port, defaultAPIPort)
}

// clusterTemplate checks what of a cluster's spec is there: patches of a class may add the rest.
func (v *validator) clusterTemplate(at *field.Path, s *VSphereClusterSpec) {
	s.Server = v.server(at.Child("server"), s.Server)
	s.Thumbprint = v.thumbprint(at.Child("thumbprint"), s.Thumbprint)
	if ref := at.Child("identityRef"); s.IdentityRef != (VSphereIdentityReference{}) {
		objects.Enum(v, ref.Child("kind"), s.IdentityRef.Kind, IdentitySecret, IdentityClusterIdentity)
		v.Object(ref.Child("name"), s.IdentityRef.Name, "the name of the "+string(cmp.Or(s.IdentityRef.Kind, IdentitySecret)))
	}
	v.selector(at.Child("failureDomainSelector"), s.FailureDomainSelector)
	s.ClusterModules = nil
	endpoint := at.Child("controlPlaneEndpoint")
	v.Add(s.VirtualIP.Announced().Normalise(at.Child("virtualIP"), s.ControlPlaneEndpoint.Host, endpoint.Child("host"))...)
	if s.VirtualIP != nil && s.VirtualIP.AddressFromPool != nil {
		ref := addresses.NormaliseRef(&v.Errs, at.Child("virtualIP", "addressFromPool"), *s.VirtualIP.AddressFromPool)
		s.VirtualIP.AddressFromPool = &ref
	}
	if s.ControlPlaneEndpoint.Host != "" {
		v.Address(endpoint.Child("host"), s.ControlPlaneEndpoint.Host, "")
	}
	v.Port(endpoint.Child("port"), s.ControlPlaneEndpoint.Port)
}

// serving implements fleet.Kind.
func serving(in any) field.ErrorList {
	var v validator
	if s, ok := in.(*VSphereClusterSpec); ok && s.EndpointPool() == nil {
		v.Required(specPath.Child("controlPlaneEndpoint", "host"), s.ControlPlaneEndpoint.Host,
			"vSphere makes nothing for an endpoint: give an unused address of the machines' network, which kube-vip announces "+
				"(from the files of the control plane, or with virtualIP: {}), or the address of a load balancer; "+
				"or name a pool of addresses in virtualIP.addressFromPool")
	}
	return v.Errs
}

// elsewhere implements fleet.Kind.
func elsewhere(in any) field.ErrorList {
	var v validator
	if s, ok := in.(*VSphereClusterSpec); ok {
		v.Forbidden(specPath.Child("virtualIP"), s.VirtualIP != nil, "the control plane is hosted, and its operator serves its endpoint: leave the field out")
	}
	return v.Errs
}

// identity checks the spec of an identity.
func (v *validator) identity(at *field.Path, s *VSphereClusterIdentitySpec) {
	v.Object(at.Child("secretName"), s.SecretName, "the name of a Secret with the keys "+UsernameKey+" and "+PasswordKey+" in the namespace "+IdentityNamespace)
	if s.AllowedNamespaces != nil {
		v.selector(at.Child("allowedNamespaces", "selector"), &s.AllowedNamespaces.Selector)
	}
}
