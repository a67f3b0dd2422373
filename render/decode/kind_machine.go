package decode

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// machineKind is that of Machines which stand alone: those of a MachineDeployment,
// MachineSet or KubeadmControlPlane are never in Git.
func machineKind() *kind {
	noMeaning := "has no meaning here, as in Cluster API"
	unused := map[string]string{}
	for _, ref := range []string{"spec.bootstrap.configRef", "spec.infrastructureRef"} {
		for _, f := range []string{"fieldPath", "resourceVersion", "uid"} {
			unused[ref+"."+f] = noMeaning
		}
	}
	deletionBounds("spec.deletion.", "spec.", unused)
	unused = metadataUnused(unused)
	delete(unused, "metadata.labels")
	maps.Copy(unused, ownersUnused())
	return &kind{
		group: "cluster.x-k8s.io", name: "Machine",
		versions: []string{"v1beta2", "v1beta1"}, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &clusterv1beta1.Machine{}
			}
			return &clusterv1.Machine{}
		},
		normalise: normaliseMachine,
		ours:      poolAnnotations(),
		refused: metadataRefused(map[string]string{
			"spec.bootstrap.dataSecretName": "bootstrap data is made by Fairlead; use configRef with a KubeadmConfig, or that of another distribution",
			"spec.providerID":               "remove it: Fairlead makes the machine, and the provider tells its id",
		}),
		limited: map[string]string{
			"spec":                     "a change does not touch the machine that is there, as in Cluster API, but for deletion, minReadySeconds, readinessGates and taints: have it replaced",
			"metadata.labels":          nodeLabelsNote,
			"metadata.annotations":     "cluster.x-k8s.io/paused, fairlead.dev/replace, fairlead.dev/remediate, " + machineAnnotations,
			"metadata.ownerReferences": "a Machine of another object is refused: that object makes it",
			"spec.readinessGates":      readinessGates,
			"spec.bootstrap.configRef": "a configuration of the control plane's distribution, such as a KubeadmConfig, in the same overlay",
			"spec.infrastructureRef":   "a machine of a provider, such as a DevMachine, in the same overlay",
		},
		unused: unused,
	}
}

// normaliseMachine keeps the defaults and rules of Cluster API's webhook for
// Machine, and those for what may stand alone.
func normaliseMachine(v any) (any, field.ErrorList) {
	m, errs := machineToNewest(v)
	if len(errs) > 0 {
		return nil, errs
	}
	meta, spec := field.NewPath("metadata"), field.NewPath("spec")
	errs = append(errs, notOwned(m.OwnerReferences)...)
	if _, ok := m.Labels[clusterv1.MachineControlPlaneLabel]; ok {
		errs = append(errs, field.Forbidden(meta.Child("labels").Key(clusterv1.MachineControlPlaneLabel),
			"a control-plane machine joins etcd and leaves it in an order that only a KubeadmControlPlane keeps: it cannot stand alone"))
	}
	for _, msg := range validation.IsDNS1123Label(m.Name) {
		errs = append(errs, field.Invalid(meta.Child("name"), m.Name, "is also the name of the Node: "+msg))
	}
	if m.Spec.ClusterName == "" {
		errs = append(errs, field.Required(spec.Child("clusterName"), ""))
	}
	m.Spec.Version = withV(m.Spec.Version)
	if m.Labels == nil {
		m.Labels = map[string]string{}
	}
	m.Labels[clusterv1.ClusterNameLabel] = m.Spec.ClusterName
	object := clusterv1.ObjectMeta{Labels: m.Labels, Annotations: m.Annotations}
	errs = append(errs, object.Validate(meta)...)
	return m, append(errs, validateWorker(&m.Spec, spec)...)
}

func machineToNewest(v any) (*clusterv1.Machine, field.ErrorList) {
	old, ok := v.(*clusterv1beta1.Machine)
	if !ok {
		return v.(*clusterv1.Machine), nil
	}
	m := &clusterv1.Machine{}
	if err := clusterv1beta1.Convert_v1beta1_Machine_To_v1beta2_Machine(old, m, nil); err != nil {
		return nil, cannotConvert(err)
	}
	spec := field.NewPath("spec")
	var errs field.ErrorList
	m.Spec.InfrastructureRef, errs = convertRef(&old.Spec.InfrastructureRef, old.Namespace, spec.Child("infrastructureRef"), errs)
	m.Spec.Bootstrap.ConfigRef, errs = convertRef(old.Spec.Bootstrap.ConfigRef, old.Namespace, spec.Child("bootstrap", "configRef"), errs)
	return m, errs
}

// validateWorker checks what every worker needs.
func validateWorker(m *clusterv1.MachineSpec, path *field.Path) field.ErrorList {
	errs := requireRef(m.Bootstrap.ConfigRef, path.Child("bootstrap", "configRef"))
	errs = append(errs, requireRef(m.InfrastructureRef, path.Child("infrastructureRef"))...)
	errs = append(errs, validateVersion(m.Version, path.Child("version"))...)
	return append(errs, validateWorkerTaints(m.Taints, path.Child("taints"))...)
}

// validateWorkerTaints checks the taints of workers.
func validateWorkerTaints(taints []clusterv1.MachineTaint, path *field.Path) field.ErrorList {
	errs := validateTaints(taints, path)
	for i, t := range taints {
		if strings.HasPrefix(t.Key, "node-role.kubernetes.io/control-plane") {
			errs = append(errs, field.Invalid(path.Index(i).Child("key"), t.Key, "is for control-plane machines"))
		}
	}
	return errs
}

// ownersUnused are the fields of owners but for the one by which notOwned knows
// who controls an object.
func ownersUnused() map[string]string {
	unused := map[string]string{}
	for _, f := range []string{"apiVersion", "kind", "name", "uid", "blockOwnerDeletion"} {
		unused["metadata.ownerReferences."+f] = "ownership follows from the references in spec"
	}
	return unused
}

// notOwned refuses an object that another one makes: with it in Git as well,
// its machines would be there twice.
func notOwned(refs []metav1.OwnerReference) field.ErrorList {
	for i, r := range refs {
		if r.Controller != nil && *r.Controller {
			return field.ErrorList{field.Forbidden(field.NewPath("metadata", "ownerReferences").Index(i),
				"it is made by "+r.Kind+" "+r.Name+": remove it from the overlay and keep that")}
		}
	}
	return nil
}
