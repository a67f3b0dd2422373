package decode

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// withV puts the v before a version that lacks it, as Cluster API does.
func withV(v string) string {
	if v == "" || strings.HasPrefix(v, "v") {
		return v
	}
	return "v" + v
}

// validateReplicas refuses more than a pool may have.
func validateReplicas(n int32, path *field.Path) field.ErrorList {
	if n > fleet.MaxReplicas {
		return field.ErrorList{field.Invalid(path, n, fmt.Sprintf("must be at most %d", fleet.MaxReplicas))}
	}
	return nil
}

// validateVersion checks a version of Kubernetes.
func validateVersion(v string, path *field.Path) field.ErrorList {
	if v == "" {
		return field.ErrorList{field.Required(path, "the version of Kubernetes")}
	}
	if _, err := version.ParseSemantic(v); err != nil {
		return field.ErrorList{field.Invalid(path, v, `must be a version of Kubernetes such as "v1.34.1"`)}
	}
	return nil
}

// validateSkew checks the version of workers against that of their control
// plane. Versions that are no versions are left to validateVersion.
func validateSkew(worker, controlPlane string) string {
	w, err := version.ParseSemantic(worker)
	if err != nil {
		return ""
	}
	c, err := version.ParseSemantic(controlPlane)
	if err != nil {
		return ""
	}
	switch {
	case c.LessThan(w):
		return "must not be newer than the control plane, which has " + controlPlane
	case fleet.KubeletTooOld(worker, controlPlane):
		return "must be within 3 minor versions of the control plane, which has " + controlPlane
	}
	return ""
}

// skew is validateSkew for machines that Fairlead creates. Of a hosted control plane the minor version counts: its keeper
// decides about patches.
func (b *builder) skew(worker, controlPlane string) string {
	w, errWorker := version.ParseSemantic(worker)
	c, errServer := version.ParseSemantic(controlPlane)
	hosted := b.controlPlaneKind != nil && b.controlPlaneKind.role == fleet.HostedControlPlaneKind
	if hosted && errWorker == nil && errServer == nil && w.Major() == c.Major() && w.Minor() == c.Minor() {
		return ""
	}
	return validateSkew(worker, controlPlane)
}

// validateTaints keeps Cluster API's rules for taints of machines: keys that
// Kubernetes or Cluster API manage themselves are refused.
func validateTaints(taints []clusterv1.MachineTaint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, t := range taints {
		p := path.Index(i)
		key := p.Child("key")
		switch {
		case t.Key == clusterv1.NodeUninitializedTaint.Key, t.Key == clusterv1.NodeOutdatedRevisionTaint.Key:
			errs = append(errs, field.Invalid(key, t.Key, "is set and removed by Fairlead itself"))
		case strings.HasPrefix(t.Key, "node.kubernetes.io/") && t.Key != "node.kubernetes.io/out-of-service":
			errs = append(errs, field.Invalid(key, t.Key, "is reserved for Kubernetes"))
		case strings.HasPrefix(t.Key, "node.cloudprovider.kubernetes.io/"):
			errs = append(errs, field.Invalid(key, t.Key, "is reserved for cloud providers"))
		case t.Key == "node-role.kubernetes.io/master":
			errs = append(errs, field.Invalid(key, t.Key, "is gone since Kubernetes 1.24; use node-role.kubernetes.io/control-plane"))
		}
		for _, msg := range validation.IsQualifiedName(t.Key) {
			errs = append(errs, field.Invalid(key, t.Key, msg))
		}
		if t.Effect == "" {
			errs = append(errs, field.Required(p.Child("effect"), ""))
		}
		if t.Propagation == "" {
			errs = append(errs, field.Required(p.Child("propagation"), `"Always" or "OnInitialization"`))
		}
	}
	return errs
}
