package decode

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// machinePoolKind is that of pools that a cloud keeps, and of pools whose machines Fairlead creates.
func machinePoolKind() *kind {
	noMeaning := "has no meaning here, as in Cluster API"
	unused := map[string]string{
		"spec.providerIDList":                         "written by controllers: the cloud tells the ids of its machines",
		"spec.template.spec.bootstrap.dataSecretName": "no bootstrap data is taken from a Secret; only the empty name is allowed",
	}
	for _, ref := range []string{"spec.template.spec.bootstrap.configRef", "spec.template.spec.infrastructureRef"} {
		for _, f := range []string{"fieldPath", "resourceVersion", "uid"} {
			unused[ref+"."+f] = noMeaning
		}
	}
	deletionBounds("spec.template.spec.deletion.", "spec.template.spec.", unused)
	const own = "only for machines that Fairlead creates, such as those of an AWSMachinePool, of an AzureMachinePool or of a DevMachinePool with backend.docker"
	return &kind{
		group: "cluster.x-k8s.io", name: "MachinePool",
		versions: []string{"v1beta2", "v1beta1"}, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &clusterv1beta1.MachinePool{}
			}
			return &clusterv1.MachinePool{}
		},
		normalise: normaliseMachinePool,
		renamed: map[string]map[string]string{"v1beta1": {
			"spec.template.spec.minReadySeconds":                         "spec.minReadySeconds",
			"spec.template.spec.deletion.nodeDrainTimeoutSeconds":        "spec.template.spec.nodeDrainTimeout",
			"spec.template.spec.deletion.nodeVolumeDetachTimeoutSeconds": "spec.template.spec.nodeVolumeDetachTimeout",
		}},
		refused: metadataRefused(map[string]string{
			"spec.template.spec.failureDomain": "a pool has a list of them: use spec.failureDomains",
			"spec.template.spec.providerID":    "remove it: the provider tells the ids of the machines",
		}),
		limited: map[string]string{
			"metadata.annotations":                   "cluster.x-k8s.io/paused, cluster.x-k8s.io/replicas-managed-by and the size annotations of cluster-autoscaler, for machines that Fairlead creates also its capacity and option annotations; others do nothing",
			"spec.replicas":                          "if others decide the number, the number that a new pool begins with",
			"spec.failureDomains":                    "of a pool that a cloud keeps, those that it was created with; new machines that Fairlead creates are spread over them",
			"spec.template.metadata.annotations":     own + ": " + machineAnnotations,
			"spec.template.metadata.labels":          nodeLabelsNote + "; of a pool that a cloud keeps others do nothing",
			"spec.template.spec.bootstrap.configRef": own + ", which need it: a KubeadmConfig, or that of another distribution, in the same overlay; and of node groups of EKS with an image of your own",
			"spec.template.spec.infrastructureRef":   "a pool that a provider's cloud keeps, such as an AWSManagedMachinePool or a DevMachinePool with backend.inMemory, or what Fairlead creates machines from, such as one with backend.docker, in the same overlay",
			"spec.template.spec.readinessGates":      own + ": " + readinessGates,
			"spec.template.spec.version":             "default: the version of the control plane",

			"spec.template.spec.deletion.nodeDrainTimeoutSeconds":        own,
			"spec.template.spec.deletion.nodeVolumeDetachTimeoutSeconds": own,
			"spec.template.spec.nodeDrainTimeout":                        own,
			"spec.template.spec.nodeVolumeDetachTimeout":                 own,
		},
		unused: metadataUnused(unused),
	}
}

// A machinePool is a decoded MachinePool, and the range in which others decide its number of machines.
type machinePool struct {
	*clusterv1.MachinePool
	between *fleet.PoolRange // nil: Git decides
}

// normaliseMachinePool keeps the defaults and rules of Cluster API's webhook for MachinePool.
func normaliseMachinePool(v any) (any, field.ErrorList) {
	m, errs := machinePoolToNewest(v)
	if len(errs) > 0 {
		return nil, errs
	}
	spec, machine := field.NewPath("spec"), &m.Spec.Template.Spec
	path := spec.Child("template", "spec")
	out := &machinePool{MachinePool: m}
	scaling, errs := scalingOf(m.Annotations, m.Spec.Replicas != nil)
	if scaling != nil {
		out.between = &fleet.PoolRange{Min: scaling.Min, Max: scaling.Max}
	}
	if m.Spec.Replicas == nil {
		n := int32(1)
		if scaling != nil && scaling.Max > 0 {
			n = int32(scaling.Min)
		}
		m.Spec.Replicas = &n
	}
	for _, msg := range validation.IsValidLabelValue(m.Name) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), m.Name, msg))
	}
	errs = append(errs, validateReplicas(*m.Spec.Replicas, spec.Child("replicas"))...)
	errs = append(errs, sameClusterName(m.Spec.ClusterName, machine.ClusterName, spec)...)
	if b := machine.Bootstrap.DataSecretName; b != nil && *b != "" {
		errs = append(errs, field.Forbidden(path.Child("bootstrap", "dataSecretName"), "no bootstrap data is taken from a Secret: set it to the empty name"))
	}
	errs = append(errs, requireRef(machine.InfrastructureRef, path.Child("infrastructureRef"))...)
	if machine.Version = withV(machine.Version); machine.Version != "" {
		errs = append(errs, validateVersion(machine.Version, path.Child("version"))...)
	}
	errs = append(errs, validateWorkerTaints(machine.Taints, path.Child("taints"))...)
	return out, append(errs, m.Spec.Template.ObjectMeta.Validate(spec.Child("template", "metadata"))...)
}

func machinePoolToNewest(v any) (*clusterv1.MachinePool, field.ErrorList) {
	old, ok := v.(*clusterv1beta1.MachinePool)
	if !ok {
		return v.(*clusterv1.MachinePool), nil
	}
	m := &clusterv1.MachinePool{}
	if err := clusterv1beta1.Convert_v1beta1_MachinePool_To_v1beta2_MachinePool(old, m, nil); err != nil {
		return nil, cannotConvert(err)
	}
	var errs field.ErrorList
	machine := &m.Spec.Template.Spec
	machine.InfrastructureRef, errs = convertRef(&old.Spec.Template.Spec.InfrastructureRef, old.Namespace, field.NewPath("spec", "template", "spec", "infrastructureRef"), errs)
	machine.Bootstrap.ConfigRef, errs = convertRef(old.Spec.Template.Spec.Bootstrap.ConfigRef, old.Namespace, field.NewPath("spec", "template", "spec", "bootstrap", "configRef"), errs)
	machine.MinReadySeconds = old.Spec.MinReadySeconds
	return m, errs
}
