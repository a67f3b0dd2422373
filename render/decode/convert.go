package decode

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// The conversions of Cluster API's api module leave out what moved between
// structs and every reference to another object. What is here completes them.

func cannotConvert(err error) field.ErrorList {
	return field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
}

// convertRef turns a v1beta1 reference of an object in namespace into that of
// v1beta2, and appends to errs what is wrong with it.
func convertRef(ref *corev1.ObjectReference, namespace string, path *field.Path, errs field.ErrorList) (clusterv1.ContractVersionedObjectReference, field.ErrorList) {
	if ref == nil || *ref == (corev1.ObjectReference{}) {
		return clusterv1.ContractVersionedObjectReference{}, errs
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || ref.APIVersion == "" {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), ref.APIVersion, "must be GROUP/VERSION"))
	}
	if ref.Namespace != "" && ref.Namespace != namespace {
		errs = append(errs, field.Invalid(path.Child("namespace"), ref.Namespace,
			"must be the namespace of the object itself, "+namespace+"; references do not leave it"))
	}
	return clusterv1.ContractVersionedObjectReference{APIGroup: gv.Group, Kind: ref.Kind, Name: ref.Name}, errs
}

// requireRef says what is missing of a reference.
func requireRef(ref clusterv1.ContractVersionedObjectReference, path *field.Path) field.ErrorList {
	if !ref.IsDefined() {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	for _, part := range []struct{ name, value string }{
		{"apiGroup", ref.APIGroup}, {"kind", ref.Kind}, {"name", ref.Name},
	} {
		if part.value == "" {
			errs = append(errs, field.Required(path.Child(part.name), ""))
		}
	}
	return errs
}

// convertTimeouts carries over the timeouts that v1beta1 has in other structs.
func convertTimeouts(old *bootstrapv1beta1.KubeadmConfigSpec, out *bootstrapv1.KubeadmConfigSpec) {
	if old.ClusterConfiguration != nil && old.ClusterConfiguration.APIServer.TimeoutForControlPlane != nil {
		seconds := clusterv1.ConvertToSeconds(old.ClusterConfiguration.APIServer.TimeoutForControlPlane)
		out.InitConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = seconds
		out.JoinConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = seconds
	}
	if old.JoinConfiguration != nil && old.JoinConfiguration.Discovery.Timeout != nil {
		out.JoinConfiguration.Timeouts.TLSBootstrapSeconds = clusterv1.ConvertToSeconds(old.JoinConfiguration.Discovery.Timeout)
	}
}
