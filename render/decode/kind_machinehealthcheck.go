package decode

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func machineHealthCheckKind() *kind {
	external := "remediation by another controller is not supported; Fairlead replaces unhealthy machines itself"
	machines := "NodeReady and NodeHealthy, which follow from the conditions of the Node; when any other became what it is, is not known"
	return &kind{
		group: "cluster.x-k8s.io", name: "MachineHealthCheck",
		versions: []string{"v1beta2", "v1beta1"}, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &clusterv1beta1.MachineHealthCheck{}
			}
			return &clusterv1.MachineHealthCheck{}
		},
		normalise: normaliseMachineHealthCheck,
		renamed: map[string]map[string]string{"v1beta1": {
			"spec.checks.nodeStartupTimeoutSeconds":                 "spec.nodeStartupTimeout",
			"spec.checks.unhealthyNodeConditions":                   "spec.unhealthyConditions",
			"spec.checks.unhealthyMachineConditions":                "spec.unhealthyMachineConditions",
			"spec.remediation.triggerIf.unhealthyLessThanOrEqualTo": "spec.maxUnhealthy",
			"spec.remediation.triggerIf.unhealthyInRange":           "spec.unhealthyRange",
		}},
		refused: metadataRefused(map[string]string{
			"spec.remediation.templateRef": external,
			"spec.remediationTemplate":     external,
		}),
		limited: map[string]string{
			"metadata.annotations":                   "cluster.x-k8s.io/paused; others do nothing",
			"spec.checks.unhealthyMachineConditions": machines,
			"spec.unhealthyMachineConditions":        machines,
		},
		unused: metadataUnused(nil),
	}
}

// minNodeStartupTimeout is the shortest time in seconds that Cluster API lets a
// machine have to become a node; 0 switches the check off.
const minNodeStartupTimeout = 30

// normaliseMachineHealthCheck keeps the defaults and rules of Cluster API's
// webhook for MachineHealthCheck.
func normaliseMachineHealthCheck(v any) (any, field.ErrorList) {
	h, ok := v.(*clusterv1.MachineHealthCheck)
	if !ok {
		h = &clusterv1.MachineHealthCheck{}
		if err := clusterv1beta1.Convert_v1beta1_MachineHealthCheck_To_v1beta2_MachineHealthCheck(v.(*clusterv1beta1.MachineHealthCheck), h, nil); err != nil {
			return nil, cannotConvert(err)
		}
	}
	h.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineHealthCheck"}
	h.ObjectMeta = metav1.ObjectMeta{Name: h.Name, Namespace: h.Namespace, Labels: h.Labels, Annotations: h.Annotations}
	h.Status = clusterv1.MachineHealthCheckStatus{}
	if h.Spec.Checks.NodeStartupTimeoutSeconds == nil {
		seconds := clusterv1.DefaultNodeStartupTimeoutSeconds
		h.Spec.Checks.NodeStartupTimeoutSeconds = &seconds
	}

	var errs field.ErrorList
	spec := field.NewPath("spec")
	if h.Spec.ClusterName == "" {
		errs = append(errs, field.Required(spec.Child("clusterName"), ""))
	}
	selector, err := metav1.LabelSelectorAsSelector(&h.Spec.Selector)
	switch {
	case err != nil:
		errs = append(errs, field.Invalid(spec.Child("selector"), "", err.Error()))
	case selector.Empty():
		errs = append(errs, field.Required(spec.Child("selector"), "an empty selector would select every machine"))
	}
	if name, ok := h.Spec.Selector.MatchLabels[clusterv1.ClusterNameLabel]; ok && name != h.Spec.ClusterName {
		errs = append(errs, field.Invalid(spec.Child("selector"), name, "must not select another cluster than spec.clusterName"))
	}
	checks := spec.Child("checks")
	if s := *h.Spec.Checks.NodeStartupTimeoutSeconds; s != 0 && s < minNodeStartupTimeout {
		errs = append(errs, field.Invalid(checks.Child("nodeStartupTimeoutSeconds"), s, "must be at least 30 seconds, or 0 to switch the check off"))
	}
	for i, c := range h.Spec.Checks.UnhealthyNodeConditions {
		path := checks.Child("unhealthyNodeConditions").Index(i)
		if c.Type == "" {
			errs = append(errs, field.Required(path.Child("type"), ""))
		}
		if c.Status == "" {
			errs = append(errs, field.Required(path.Child("status"), ""))
		}
		if c.TimeoutSeconds == nil {
			errs = append(errs, field.Required(path.Child("timeoutSeconds"), ""))
		}
	}
	errs = append(errs, nodeConditions(&h.Spec.Checks, checks.Child("unhealthyMachineConditions"))...)
	if r := h.Spec.Remediation.TriggerIf.UnhealthyInRange; r != "" {
		var low, high int
		if n, err := fmt.Sscanf(r, "[%d-%d]", &low, &high); n != 2 || err != nil || r != fmt.Sprintf("[%d-%d]", low, high) || low < 0 || high < low {
			errs = append(errs, field.Invalid(spec.Child("remediation", "triggerIf", "unhealthyInRange"), r, `must be a range such as "[1-3]"`))
		}
	}
	return h, errs
}

// nodeConditions turns what c says of the conditions of machines into what it
// says of those of nodes: of NodeReady and NodeHealthy, which follow from them.
// Others are refused.
// Source: Cluster API, api/core/v1beta2, conditions of Machines.
func nodeConditions(c *clusterv1.MachineHealthCheckChecks, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, m := range c.UnhealthyMachineConditions {
		at := path.Index(i)
		of, known := map[string][]corev1.NodeConditionType{
			clusterv1.MachineNodeReadyCondition:   {corev1.NodeReady},
			clusterv1.MachineNodeHealthyCondition: {corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure},
		}[m.Type]
		if !known {
			errs = append(errs, field.NotSupported(at.Child("type"), m.Type, []string{clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition}))
		}
		if m.Status == "" {
			errs = append(errs, field.Required(at.Child("status"), ""))
		}
		if m.TimeoutSeconds == nil {
			errs = append(errs, field.Required(at.Child("timeoutSeconds"), ""))
		}
		if m.Type == clusterv1.MachineNodeHealthyCondition && m.Status == metav1.ConditionTrue {
			errs = append(errs, field.NotSupported(at.Child("status"), m.Status, []string{"False", "Unknown"}))
		}
		for _, t := range of {
			n := clusterv1.UnhealthyNodeCondition{Type: t, Status: nodeStatus(t, m.Status), TimeoutSeconds: m.TimeoutSeconds}
			if !slices.ContainsFunc(c.UnhealthyNodeConditions, func(o clusterv1.UnhealthyNodeCondition) bool { return reflect.DeepEqual(o, n) }) {
				c.UnhealthyNodeConditions = append(c.UnhealthyNodeConditions, n)
			}
		}
	}
	c.UnhealthyMachineConditions = nil
	return errs
}

// nodeStatus returns which status of a node's condition makes that of its machine
// status. Pressure is bad where it is true.
func nodeStatus(t corev1.NodeConditionType, status metav1.ConditionStatus) corev1.ConditionStatus {
	if t != corev1.NodeReady && status == metav1.ConditionFalse {
		return corev1.ConditionTrue
	}
	return corev1.ConditionStatus(status)
}
