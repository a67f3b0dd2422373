package decode

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

func clusterClassKind() *kind {
	const planes = "a template of a control plane of a distribution that is built in, or of one that is hosted, such as an AzureManagedControlPlaneTemplate"
	const extension = "it needs an extension of the Runtime SDK, which is a server, and rendering calls no server; write patches as definitions"
	refused := map[string]string{
		"spec.patches.external": extension,
		"spec.upgrade.external": extension,
	}
	unused := map[string]string{
		"spec.variables.metadata":                  "for people",
		"spec.variables.deprecatedV1Beta1Metadata": "for people",
		"spec.patches.description":                 "for people",
	}
	for _, ref := range []string{
		"spec.infrastructure.ref.", "spec.controlPlane.ref.", "spec.controlPlane.machineInfrastructure.ref.",
		"spec.workers.machineDeployments.template.bootstrap.ref.", "spec.workers.machineDeployments.template.infrastructure.ref.",
		"spec.workers.machinePools.template.bootstrap.ref.", "spec.workers.machinePools.template.infrastructure.ref.",
	} {
		for _, f := range []string{"namespace", "fieldPath", "resourceVersion", "uid"} {
			unused[ref+f] = "has no meaning here, as in Cluster API: templates are in the namespace of the class"
		}
	}
	for _, f := range []string{"description", "example", "x-metadata"} {
		unused["spec.variables.schema.openAPIV3Schema."+f] = "for people"
	}
	for _, prefix := range []string{"spec.controlPlane.", "spec.workers.machineDeployments."} {
		topologyPart(prefix, unused)
	}
	deletionBounds("spec.workers.machinePools.deletion.", "spec.workers.machinePools.", unused)
	return &kind{
		group: "cluster.x-k8s.io", name: "ClusterClass",
		versions: []string{"v1beta2", "v1beta1"}, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &clusterv1beta1.ClusterClass{}
			}
			return &clusterv1.ClusterClass{}
		},
		normalise: asItIs,
		refused:   metadataRefused(refused),
		limited: map[string]string{
			"spec.availabilityGates":                                  "of clusters that have none of their own; conditions as there",
			"spec.variables.schema.openAPIV3Schema":                   "oldSelf in rules is refused: a commit does not say what a value was",
			"spec.patches.definitions.jsonPatches.valueFrom.template": "without functions that give another result each time; bounded in work and size",
			"spec.patches.definitions.jsonPatches.valueFrom.variable": "without builtin.cluster.uid",
			"spec.kubernetesVersions":                                 "the versions that a topology may have, and the way of its upgrades: minor by minor",
			"spec.controlPlane.templateRef":                           planes,
			"spec.controlPlane.ref":                                   planes,
			"spec.controlPlane.naming.template":                       "random is a hash of the cluster that stays the same",
			"spec.workers.machineDeployments.naming.template":         "random is a hash of cluster and pool that stays the same",
			"spec.workers.machinePools.naming.template":               "random is a hash of cluster and pool that stays the same",
			"spec.workers.machinePools.infrastructure.templateRef":    "a template of machine pools of a provider; for pools that a cloud keeps, spec.template.spec of the bootstrap template is empty",
			"spec.infrastructure.naming.template":                     "random is a hash of the cluster that stays the same",
			"spec.workers.machineDeployments.healthCheck.checks":      "as in MachineHealthCheck",
			"spec.workers.machineDeployments.healthCheck.remediation": "as in MachineHealthCheck",
			"spec.controlPlane.healthCheck.checks":                    "as in MachineHealthCheck",
			"spec.controlPlane.healthCheck.remediation":               "as in MachineHealthCheck",
		},
		values: map[string][]string{
			"spec.workers.machineDeployments.strategy.rollingUpdate.deletePolicy": {"Random", "Newest", "Oldest"},
			"spec.patches.definitions.jsonPatches.op":                             {"add", "replace", "remove"},
			"spec.variables.schema.openAPIV3Schema.type":                          {"object", "array", "string", "number", "integer", "boolean"},
		},
		unused: metadataUnused(unused),
	}
}

// topologyPart adds what is not honoured of the machines that a class or a
// topology describes below prefix.
func topologyPart(prefix string, unused map[string]string) {
	joined(unused, unusedOfReference(prefix+"machineHealthCheck.remediationTemplate."))
	deletionBounds(prefix+"deletion.", prefix, unused)
}

// asItIs is for kinds that are only templates: what is made of them is checked.
func asItIs(v any) (any, field.ErrorList) { return v, nil }

// kubeadmControlPlaneTemplateKind honours what a KubeadmControlPlane honours.
func kubeadmControlPlaneTemplateKind() *kind {
	plain := kubeadmControlPlaneKind()
	below := func(in map[string]string) map[string]string {
		out := make(map[string]string, len(in))
		for path, why := range in {
			if strings.Contains(path, ".infrastructureRef.") || strings.HasSuffix(path, ".readinessGates") {
				continue // a template has neither
			}
			if rest, ok := strings.CutPrefix(path, "spec."); ok {
				path = "spec.template.spec." + rest
			}
			out[path] = why
		}
		return out
	}
	limited, unused := below(plain.limited), below(plain.unused)
	limited["spec.template.metadata.annotations"] = limited["metadata.annotations"]
	delete(limited, "metadata.annotations")
	unused["spec.template.metadata.labels"] = unused["metadata.labels"]
	return &kind{
		group: plain.group, name: "KubeadmControlPlaneTemplate",
		distribution: kubeadm, role: fleet.ControlPlaneTemplateKind, v1beta1Contract: []string{"v1beta1"},
		versions: plain.versions, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &controlplanev1beta1.KubeadmControlPlaneTemplate{}
			}
			return &controlplanev1.KubeadmControlPlaneTemplate{}
		},
		normalise: asItIs,
		values:    kubeadmConfigValues("spec.template.spec.kubeadmConfigSpec."),
		refused:   below(plain.refused),
		limited:   limited,
		unused:    unused,
	}
}
