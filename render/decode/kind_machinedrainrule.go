package decode

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func machineDrainRuleKind() *kind {
	return &kind{
		group: "cluster.x-k8s.io", name: "MachineDrainRule",
		versions: []string{"v1beta2", "v1beta1"},
		new: func(version string) any {
			if version == "v1beta1" {
				return &clusterv1beta1.MachineDrainRule{}
			}
			return &clusterv1.MachineDrainRule{}
		},
		normalise: normaliseMachineDrainRule,
		refused:   metadataRefused(nil),
		limited: map[string]string{
			"metadata.namespace": "the rule is for the clusters of this namespace in the same overlay",
		},
		unused: metadataUnused(nil),
	}
}

// maxDrainSelectors is how many selectors a list of a rule may have.
// Source: Cluster API, schema of MachineDrainRule.
const maxDrainSelectors = 32

// normaliseMachineDrainRule keeps the rules of Cluster API's webhook for
// MachineDrainRule.
func normaliseMachineDrainRule(v any) (any, field.ErrorList) {
	r, ok := v.(*clusterv1.MachineDrainRule)
	if !ok {
		r = &clusterv1.MachineDrainRule{}
		if err := clusterv1beta1.Convert_v1beta1_MachineDrainRule_To_v1beta2_MachineDrainRule(v.(*clusterv1beta1.MachineDrainRule), r, nil); err != nil {
			return nil, cannotConvert(err)
		}
	}
	r.TypeMeta = metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDrainRule"}
	r.ObjectMeta = metav1.ObjectMeta{Name: r.Name, Namespace: r.Namespace}

	spec := field.NewPath("spec")
	errs := field.ErrorList{}
	switch drain := spec.Child("drain"); {
	case r.Spec.Drain.Behavior == "":
		errs = append(errs, field.Required(drain.Child("behavior"), "Drain, Skip or WaitCompleted"))
	case r.Spec.Drain.Behavior != clusterv1.MachineDrainRuleDrainBehaviorDrain && r.Spec.Drain.Order != nil:
		errs = append(errs, field.Invalid(drain.Child("order"), *r.Spec.Drain.Order, "is only for the behavior Drain"))
	}
	for i, s := range r.Spec.Machines {
		at := spec.Child("machines").Index(i)
		if s.Selector == nil && s.ClusterSelector == nil {
			errs = append(errs, field.Required(at, "selector or clusterSelector"))
		}
		errs = append(errs, validateSelector(s.Selector, at.Child("selector"))...)
		errs = append(errs, validateSelector(s.ClusterSelector, at.Child("clusterSelector"))...)
	}
	for i, s := range r.Spec.Pods {
		at := spec.Child("pods").Index(i)
		if s.Selector == nil && s.NamespaceSelector == nil {
			errs = append(errs, field.Required(at, "selector or namespaceSelector"))
		}
		errs = append(errs, validateSelector(s.Selector, at.Child("selector"))...)
		errs = append(errs, validateSelector(s.NamespaceSelector, at.Child("namespaceSelector"))...)
	}
	for name, n := range map[string]int{"machines": len(r.Spec.Machines), "pods": len(r.Spec.Pods)} {
		if n > maxDrainSelectors {
			errs = append(errs, field.TooMany(spec.Child(name), n, maxDrainSelectors))
		}
	}
	return r, errs
}

func validateSelector(s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		return field.ErrorList{field.Invalid(path, metav1.FormatLabelSelector(s), err.Error())}
	}
	return nil
}
