package decode

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func machineHealthCheckKind() *kind {
	machines := "BootstrapConfigReady, Deleting, InfrastructureReady, NodeHealthy, NodeReady, Paused and UpToDate as status shows them; any other is the condition of that type of the Node, which is what others in the cluster can write on"
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
			"spec.remediation.templateRef":                          "spec.remediationTemplate",
		}},
		refused: metadataRefused(nil),
		limited: map[string]string{
			"spec.remediation.templateRef.kind":      remediationTemplates,
			"spec.remediationTemplate.kind":          remediationTemplates,
			"metadata.annotations":                   "cluster.x-k8s.io/paused; others do nothing",
			"spec.checks.unhealthyMachineConditions": machines,
			"spec.unhealthyMachineConditions":        machines,
		},
		unused: metadataUnused(unusedOfReference("spec.remediationTemplate.")),
	}
}

// remediationTemplates says which templates of a remediation are honoured.
const remediationTemplates = "a Metal3RemediationTemplate: a machine is rebooted before it is replaced; other remediations have controllers of their own, and are refused"

// unusedOfReference are the fields of a reference at prefix that have no meaning in Git.
func unusedOfReference(prefix string) map[string]string {
	out := make(map[string]string)
	for _, f := range []string{"namespace", "fieldPath", "resourceVersion", "uid"} {
		out[prefix+f] = "has no meaning here, as in Cluster API: the template is in the namespace of the cluster"
	}
	return out
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
	errs = append(errs, machineConditions(&h.Spec.Checks, checks.Child("unhealthyMachineConditions"))...)
	if r := h.Spec.Remediation.TriggerIf.UnhealthyInRange; r != "" {
		var low, high int
		if n, err := fmt.Sscanf(r, "[%d-%d]", &low, &high); n != 2 || err != nil || r != fmt.Sprintf("[%d-%d]", low, high) || low < 0 || high < low {
			errs = append(errs, field.Invalid(spec.Child("remediation", "triggerIf", "unhealthyInRange"), r, `must be a range such as "[1-3]"`))
		}
	}
	return h, errs
}

// machineConditions checks the conditions of machines in c. It refuses the types that Cluster API
// refuses, and those that neither Fairlead reports nor Nodes have.
// Source: Cluster API, api/core/v1beta2, UnhealthyMachineCondition.
func machineConditions(c *clusterv1.MachineHealthCheckChecks, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, m := range c.UnhealthyMachineConditions {
		at := path.Index(i)
		switch m.Type {
		case "":
			errs = append(errs, field.Required(at.Child("type"), ""))
		case clusterv1.MachineReadyCondition, clusterv1.MachineAvailableCondition, clusterv1.MachineHealthCheckSucceededCondition,
			clusterv1.MachineOwnerRemediatedCondition, clusterv1.MachineExternallyRemediatedCondition:
			errs = append(errs, field.Forbidden(at.Child("type"), m.Type+" follows from health checks themselves"))
		case controlplanev1.KubeadmControlPlaneMachineAPIServerPodHealthyCondition, controlplanev1.KubeadmControlPlaneMachineControllerManagerPodHealthyCondition,
			controlplanev1.KubeadmControlPlaneMachineSchedulerPodHealthyCondition, controlplanev1.KubeadmControlPlaneMachineEtcdPodHealthyCondition,
			controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition:
			errs = append(errs, field.Forbidden(at.Child("type"), "Fairlead tells of static pods and etcd members of the control plane as a whole, not of each machine; use NodeReady"))
		default:
			for _, msg := range validation.IsQualifiedName(m.Type) {
				errs = append(errs, field.Invalid(at.Child("type"), m.Type, msg))
			}
		}
		switch m.Status {
		case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
		case "":
			errs = append(errs, field.Required(at.Child("status"), ""))
		default:
			errs = append(errs, field.NotSupported(at.Child("status"), m.Status, []string{"True", "False", "Unknown"}))
		}
		if m.TimeoutSeconds == nil {
			errs = append(errs, field.Required(at.Child("timeoutSeconds"), ""))
		}
	}
	return errs
}
