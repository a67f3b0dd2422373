package decode

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// machineSetKind is that of MachineSets which stand alone: those of a
// MachineDeployment are never in Git.
func machineSetKind() *kind {
	plain := machineDeploymentKind()
	unused := maps.Clone(plain.unused)
	maps.Copy(unused, ownersUnused())
	delete(unused, "spec.progressDeadlineSeconds")
	delete(unused, "spec.revisionHistoryLimit")
	limited := maps.Clone(plain.limited)
	limited["metadata.ownerReferences"] = "a MachineSet of a MachineDeployment is refused: that makes it"
	limited["spec.template"] = "a change replaces no machine, as in Cluster API: new ones are made from it"
	return &kind{
		group: plain.group, name: "MachineSet",
		versions: plain.versions, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &clusterv1beta1.MachineSet{}
			}
			return &clusterv1.MachineSet{}
		},
		normalise: normaliseMachineSet,
		ours:      plain.ours,
		renamed: map[string]map[string]string{"v1beta1": {
			"spec.machineNaming":                 "spec.machineNamingStrategy",
			"spec.deletion.order":                "spec.deletePolicy",
			"spec.template.spec.minReadySeconds": "spec.minReadySeconds",
		}},
		values:  map[string][]string{"spec.deletePolicy": {"Random", "Newest", "Oldest"}},
		refused: plain.refused,
		limited: limited,
		unused:  unused,
	}
}

// normaliseMachineSet returns a MachineSet as the MachineDeployment that does the
// same: one that replaces machines only where people delete them.
func normaliseMachineSet(v any) (any, field.ErrorList) {
	s, errs := machineSetToNewest(v)
	if len(errs) > 0 {
		return nil, errs
	}
	m := &clusterv1.MachineDeployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment"},
		ObjectMeta: s.ObjectMeta,
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: s.Spec.ClusterName, Replicas: s.Spec.Replicas, Selector: s.Spec.Selector, Template: s.Spec.Template,
			MachineNaming: s.Spec.MachineNaming,
			Deletion:      clusterv1.MachineDeploymentDeletionSpec{Order: s.Spec.Deletion.Order},
			Rollout: clusterv1.MachineDeploymentRolloutSpec{
				Strategy: clusterv1.MachineDeploymentRolloutStrategy{Type: clusterv1.OnDeleteMachineDeploymentStrategyType},
			},
		},
	}
	if m.Spec.Template.Labels == nil {
		m.Spec.Template.Labels = map[string]string{}
	}
	m.Spec.Template.Labels[clusterv1.MachineSetNameLabel] = m.Name
	out, errs := normaliseMachineDeployment(m)
	return out, append(notOwned(s.OwnerReferences), errs...)
}

func machineSetToNewest(v any) (*clusterv1.MachineSet, field.ErrorList) {
	old, ok := v.(*clusterv1beta1.MachineSet)
	if !ok {
		return v.(*clusterv1.MachineSet), nil
	}
	s := &clusterv1.MachineSet{}
	if err := clusterv1beta1.Convert_v1beta1_MachineSet_To_v1beta2_MachineSet(old, s, nil); err != nil {
		return nil, cannotConvert(err)
	}
	spec := field.NewPath("spec")
	machine := &s.Spec.Template.Spec
	var errs field.ErrorList
	machine.InfrastructureRef, errs = convertRef(&old.Spec.Template.Spec.InfrastructureRef, old.Namespace, spec.Child("template", "spec", "infrastructureRef"), errs)
	machine.Bootstrap.ConfigRef, errs = convertRef(old.Spec.Template.Spec.Bootstrap.ConfigRef, old.Namespace, spec.Child("template", "spec", "bootstrap", "configRef"), errs)
	machine.MinReadySeconds = &old.Spec.MinReadySeconds
	s.Spec.Deletion.Order = clusterv1.MachineSetDeletionOrder(old.Spec.DeletePolicy)
	return s, errs
}
