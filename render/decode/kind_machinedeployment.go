package decode

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// machineAnnotations are those of a machine that do something.
const machineAnnotations = "cluster.x-k8s.io/skip-remediation, machine.cluster.x-k8s.io/exclude-node-draining and exclude-wait-for-node-volume-detach, each of them also on a Node for one machine; " +
	"pre-drain.delete.hook.machine.cluster.x-k8s.io/* and pre-terminate.delete.hook.machine.cluster.x-k8s.io/* go to the Node when it joins, where the owner of the hook removes them; others do nothing"

// nodeLabelsNote says which labels of a machine its Node has as well.
const nodeLabelsNote = "node-role.kubernetes.io/*, *.node-restriction.kubernetes.io/* and *.node.cluster.x-k8s.io/* also go to the Node"

// poolNameNote says how the pool of an object is called.
const poolNameNote = "also of the pool; where the control plane is called so too, the pool is NAME-workers"

// readinessGates says where the conditions of readiness gates are.
const readinessGates = "conditions of the Node, which is what others in the cluster can write on; InfrastructureReady, BootstrapConfigReady, NodeReady and HealthCheckSucceeded of the machine are needed anyway"

func machineDeploymentKind() *kind {
	noMeaning := "has no meaning here, as in Cluster API"
	unused := map[string]string{
		"spec.progressDeadlineSeconds": "does nothing in Cluster API either",
		"spec.revisionHistoryLimit":    "there are no MachineSets to keep: Git is the history",
	}
	for _, ref := range []string{"spec.template.spec.bootstrap.configRef", "spec.template.spec.infrastructureRef"} {
		for _, f := range []string{"fieldPath", "resourceVersion", "uid"} {
			unused[ref+"."+f] = noMeaning
		}
	}
	refused := map[string]string{
		"spec.template.spec.bootstrap.dataSecretName": "bootstrap data is made by Fairlead; use configRef with a KubeadmConfigTemplate, or that of another distribution",
		"spec.template.spec.providerID":               "remove it: Fairlead makes the machine, and the provider tells its id",
	}
	deletionBounds("spec.template.spec.deletion.", "spec.template.spec.", unused)
	return &kind{
		group: "cluster.x-k8s.io", name: "MachineDeployment",
		versions: []string{"v1beta2", "v1beta1"}, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &clusterv1beta1.MachineDeployment{}
			}
			return &clusterv1.MachineDeployment{}
		},
		normalise: normaliseMachineDeployment,
		ours:      poolAnnotations(),
		renamed: map[string]map[string]string{"v1beta1": {
			"spec.rollout.strategy":              "spec.strategy",
			"spec.rollout.after":                 "spec.rolloutAfter",
			"spec.machineNaming":                 "spec.machineNamingStrategy",
			"spec.remediation":                   "spec.strategy.remediation",
			"spec.deletion.order":                "spec.strategy.rollingUpdate.deletePolicy",
			"spec.template.spec.minReadySeconds": "spec.minReadySeconds",
		}},
		values: map[string][]string{
			"spec.strategy.rollingUpdate.deletePolicy": {"Random", "Newest", "Oldest"},
		},
		refused: metadataRefused(refused),
		limited: map[string]string{
			"metadata.name":                          poolNameNote,
			"spec.machineNaming.template":            namingNote,
			"spec.machineNamingStrategy.template":    namingNote,
			"metadata.annotations":                   "cluster.x-k8s.io/paused, fairlead.dev/replace, fairlead.dev/remediate, " + scalingNote + "; others do nothing",
			"spec.selector":                          "must match the labels of the template; machines are found by their tags",
			"spec.template.metadata.labels":          nodeLabelsNote,
			"spec.template.metadata.annotations":     machineAnnotations,
			"spec.template.spec.readinessGates":      readinessGates,
			"spec.template.spec.bootstrap.configRef": "a template of the control plane's distribution, such as a KubeadmConfigTemplate, in the same overlay",
		},
		unused: metadataUnused(unused),
	}
}

// normaliseMachineDeployment keeps the defaults and rules of Cluster API's
// webhook for MachineDeployment.
func normaliseMachineDeployment(v any) (any, field.ErrorList) {
	m, errs := machineDeploymentToNewest(v)
	if len(errs) > 0 {
		return nil, errs
	}
	scaling, errs := scalingOf(m.Annotations, m.Spec.Replicas != nil)
	if m.Spec.Replicas == nil { // one machine, or the lower bound that annotations give the autoscaler
		n := int32(1)
		if scaling != nil && scaling.Max > 0 {
			n = int32(scaling.Min)
		}
		m.Spec.Replicas = &n
	}
	errs = append(errs, validateReplicas(*m.Spec.Replicas, field.NewPath("spec", "replicas"))...)
	errs = append(errs, defaultRollout(m)...)
	defaultSelector(m)
	m.Spec.Template.Spec.Version = withV(m.Spec.Template.Spec.Version)
	return m, append(errs, validateMachineDeployment(m)...)
}

func machineDeploymentToNewest(v any) (*clusterv1.MachineDeployment, field.ErrorList) {
	old, ok := v.(*clusterv1beta1.MachineDeployment)
	if !ok {
		return v.(*clusterv1.MachineDeployment), nil
	}
	m := &clusterv1.MachineDeployment{}
	if err := clusterv1beta1.Convert_v1beta1_MachineDeployment_To_v1beta2_MachineDeployment(old, m, nil); err != nil {
		return nil, cannotConvert(err)
	}
	spec := field.NewPath("spec", "template", "spec")
	machine := &m.Spec.Template.Spec
	var errs field.ErrorList
	machine.InfrastructureRef, errs = convertRef(&old.Spec.Template.Spec.InfrastructureRef, old.Namespace, spec.Child("infrastructureRef"), errs)
	machine.Bootstrap.ConfigRef, errs = convertRef(old.Spec.Template.Spec.Bootstrap.ConfigRef, old.Namespace, spec.Child("bootstrap", "configRef"), errs)
	machine.MinReadySeconds = old.Spec.MinReadySeconds
	return m, errs
}

// defaultRollout fills in the strategy.
func defaultRollout(m *clusterv1.MachineDeployment) field.ErrorList {
	strategy := &m.Spec.Rollout.Strategy
	if strategy.Type == "" {
		strategy.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
	}
	if m.Spec.Deletion.Order == "" {
		m.Spec.Deletion.Order = clusterv1.RandomMachineSetDeletionOrder
	}
	if strategy.Type != clusterv1.RollingUpdateMachineDeploymentStrategyType {
		return nil
	}
	u := &strategy.RollingUpdate
	zero := intstr.FromInt32(0)
	if u.MaxSurge != nil && u.MaxUnavailable != nil && *u.MaxSurge == zero && *u.MaxUnavailable == zero {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "rollout", "strategy", "rollingUpdate"), "0 and 0",
			"maxSurge and maxUnavailable must not both be 0: no machine could ever be replaced")}
	}
	one := intstr.FromInt32(1)
	u.MaxSurge = intstr.ValueOrDefault(u.MaxSurge, one)
	u.MaxUnavailable = intstr.ValueOrDefault(u.MaxUnavailable, zero)
	return nil
}

// defaultSelector fills in selector and labels that tie machines to the
// deployment and the cluster.
func defaultSelector(m *clusterv1.MachineDeployment) {
	selector, template := &m.Spec.Selector, &m.Spec.Template
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	if len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		selector.MatchLabels[clusterv1.MachineDeploymentNameLabel] = m.Name
	}
	selector.MatchLabels[clusterv1.ClusterNameLabel] = m.Spec.ClusterName
	template.Labels[clusterv1.ClusterNameLabel] = m.Spec.ClusterName
	template.Labels[clusterv1.MachineDeploymentNameLabel] = m.Name
}

func validateMachineDeployment(m *clusterv1.MachineDeployment) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	for _, msg := range validation.IsValidLabelValue(m.Name) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), m.Name, msg))
	}
	machine, path := m.Spec.Template.Spec, spec.Child("template", "spec")
	errs = append(errs, sameClusterName(m.Spec.ClusterName, machine.ClusterName, spec)...)
	selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
	if err != nil {
		errs = append(errs, field.Invalid(spec.Child("selector"), "", err.Error()))
	} else if !selector.Matches(labels.Set(m.Spec.Template.Labels)) {
		errs = append(errs, field.Invalid(spec.Child("template", "metadata", "labels"),
			labels.Set(m.Spec.Template.Labels).String(), "must match spec.selector "+strconv.Quote(selector.String())))
	}
	errs = append(errs, validateNaming(m.Spec.MachineNaming.Template, spec.Child("machineNaming"), "machineSet.name")...)
	errs = append(errs, validateWorker(&machine, path)...)
	return append(errs, m.Spec.Template.ObjectMeta.Validate(spec.Child("template", "metadata"))...)
}

// sameClusterName checks the names of the cluster in a spec, which is at the path spec, and in its template.
func sameClusterName(name, inTemplate string, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	if name == "" {
		errs = append(errs, field.Required(spec.Child("clusterName"), ""))
	}
	at := spec.Child("template", "spec", "clusterName")
	switch inTemplate {
	case name:
	case "":
		errs = append(errs, field.Required(at, ""))
	default:
		errs = append(errs, field.Invalid(at, inTemplate, "must be the same as spec.clusterName"))
	}
	return errs
}
