package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

func (v *validator) clusterIdentity(at *field.Path, s *OpenStackClusterIdentitySpec) {
	ref := at.Child("secretRef")
	v.Object(ref.Child("name"), s.SecretRef.Name, "the name of a Secret with clouds.yaml")
	v.Required(ref.Child("namespace"), s.SecretRef.Namespace, "the namespace of the Secret")
	if s.SecretRef.Namespace != "" {
		for _, msg := range validation.IsDNS1123Label(s.SecretRef.Namespace) {
			v.Invalid(ref.Child("namespace"), s.SecretRef.Namespace, msg)
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(s.NamespaceSelector); err != nil {
		v.Add(&field.Error{Type: field.ErrorTypeInvalid, Field: at.Child("namespaceSelector").String(), BadValue: field.OmitValueType{}, Detail: err.Error()})
	}
}

func (v *validator) pool(at *field.Path, s *OpenStackFloatingIPPoolSpec) {
	v.identity(at.Child("identityRef"), &s.IdentityRef)
	v.neutron(at.Child("floatingIPNetwork"), s.FloatingIPNetwork)
	objects.Enum(v, at.Child("reclaimPolicy"), s.ReclaimPolicy, ReclaimDelete, ReclaimRetain)
	if s.MaxIPs != nil && *s.MaxIPs < 0 {
		v.Invalid(at.Child("maxIPs"), *s.MaxIPs, "must not be negative")
	}
	ips := at.Child("preAllocatedFloatingIPs")
	for i, ip := range s.PreAllocatedFloatingIPs {
		v.IPv4(ips.Index(i), ip)
	}
	s.PreAllocatedFloatingIPs = objects.Set(v, ips, s.PreAllocatedFloatingIPs)
}
