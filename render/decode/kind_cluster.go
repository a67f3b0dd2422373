package decode

import (
	"net"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func clusterKind() *kind {
	unused := map[string]string{
		"spec.topology.rolloutAfter": "does nothing in Cluster API either; with v1beta2 set rollout.after of the control plane and of machineDeployments",
	}
	for _, prefix := range []string{"spec.topology.controlPlane.", "spec.topology.workers.machineDeployments."} {
		topologyPart(prefix, unused)
	}
	deletionBounds("spec.topology.workers.machinePools.deletion.", "spec.topology.workers.machinePools.", unused)
	for _, prefix := range []string{"spec.topology.controlPlane.", "spec.topology.workers.machineDeployments.", "spec.topology.workers.machinePools."} {
		unused[prefix+"variables.overrides.definitionFrom"] = "variables are those of the class"
	}
	unused["spec.topology.variables.definitionFrom"] = "variables are those of the class"
	for _, ref := range []string{"spec.controlPlaneRef", "spec.infrastructureRef"} {
		for _, f := range []string{"fieldPath", "resourceVersion", "uid"} {
			unused[ref+"."+f] = "has no meaning here, as in Cluster API"
		}
	}
	return &kind{
		group: "cluster.x-k8s.io", name: "Cluster",
		versions: []string{"v1beta2", "v1beta1"}, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &clusterv1beta1.Cluster{}
			}
			return &clusterv1.Cluster{}
		},
		normalise: normaliseCluster,
		ours: map[string]func(string) string{
			fleet.DeleteAnnotation: deletion, fleet.ProtectAnnotation: yesOrNo, fleet.DriftAnnotation: drift,
			fleet.ExternalResourcesAnnotation: external,
			fleet.SuspendAnnotation:           timeOrNone, fleet.SuspendReasonAnnotation: anything,
			fleet.RecreateAnnotation: anything, fleet.ForgetPlaceAnnotation: anything, fleet.ReleaseAnnotation: release,
			fleet.AllowVersionAnnotation:                     kubernetesVersion,
			fleet.RotateAnnotation(fleet.RotateCertificates): anything, fleet.RotateAnnotation(fleet.RotateServiceAccount): anything,
			fleet.RotateAnnotation(fleet.RotateEtcdCA): anything,
			fleet.RotateAnnotation(fleet.RotateCA):     anything,
		},
		refused: metadataRefused(nil),
		values:  map[string][]string{"spec.topology.workers.machineDeployments.strategy.rollingUpdate.deletePolicy": {"Random", "Newest", "Oldest"}},
		limited: map[string]string{
			"metadata.annotations":   "fairlead.dev/delete, fairlead.dev/external-resources, fairlead.dev/protect, fairlead.dev/drift, fairlead.dev/suspend-until, fairlead.dev/suspend-reason, fairlead.dev/recreate, fairlead.dev/forget-place, fairlead.dev/release, fairlead.dev/allow-version, fairlead.dev/rotate-certificates, fairlead.dev/rotate-service-account, fairlead.dev/rotate-etcd-ca, fairlead.dev/rotate-ca, cluster.x-k8s.io/paused; others do nothing",
			"spec.availabilityGates": "conditions that Fairlead itself sets on the Cluster: " + strings.Join(gateConditions(), ", "),
			"spec.infrastructureRef": "objects for clusters of other providers with the same name and namespace make these sites of workers",
			"metadata.labels":        "MachineDrainRules and ClusterResourceSets select clusters by them",
			"spec.controlPlaneRef":   "a control plane of a distribution that is built in, in the same overlay; beside a topology, the name of what the class makes",
			"spec.topology":          "a class of the overlay, or of a folder that holds classes and no cluster",
		},
		unused: metadataUnused(unused),
	}
}

// normaliseCluster keeps the rules of Cluster API's webhook for Cluster, and
// that a cluster has an infrastructure and a control plane.
func normaliseCluster(v any) (any, field.ErrorList) {
	c, errs := clusterToNewest(v)
	if len(errs) > 0 {
		return nil, errs
	}
	spec := field.NewPath("spec")
	for _, msg := range validation.IsValidLabelValue(c.Name) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), c.Name, msg))
	}
	errs = append(errs, requireRef(c.Spec.InfrastructureRef, spec.Child("infrastructureRef"))...)
	errs = append(errs, requireRef(c.Spec.ControlPlaneRef, spec.Child("controlPlaneRef"))...)

	network := spec.Child("clusterNetwork")
	errs = append(errs, validateCIDRs(c.Spec.ClusterNetwork.Pods.CIDRBlocks, network.Child("pods", "cidrBlocks"))...)
	errs = append(errs, validateCIDRs(c.Spec.ClusterNetwork.Services.CIDRBlocks, network.Child("services", "cidrBlocks"))...)
	if p := c.Spec.ClusterNetwork.APIServerPort; p > 65535 {
		errs = append(errs, field.Invalid(network.Child("apiServerPort"), p, "must be a port, at most 65535"))
	}
	endpoint := c.Spec.ControlPlaneEndpoint
	if (endpoint.Host == "") != (endpoint.Port == 0) || endpoint.Port > 65535 {
		errs = append(errs, field.Invalid(spec.Child("controlPlaneEndpoint"), endpoint.String(), "must have both a host and a port of 1 to 65535"))
	}
	for i, g := range c.Spec.AvailabilityGates {
		if !slices.Contains(gateConditions(), g.ConditionType) {
			errs = append(errs, field.NotSupported(spec.Child("availabilityGates").Index(i).Child("conditionType"), g.ConditionType, gateConditions()))
		}
	}
	return c, errs
}

// gateConditions returns the conditions of a Cluster that Fairlead sets, but for
// Available and those that Available needs anyway.
func gateConditions() []string {
	return []string{
		controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition, clusterv1.ClusterControlPlaneInitializedCondition,
		clusterv1.ClusterControlPlaneMachinesReadyCondition, clusterv1.ClusterControlPlaneMachinesUpToDateCondition,
		controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition, clusterv1.PausedCondition,
		clusterv1.ClusterRemediatingCondition, addonsv1.ClusterResourceSetResourcesAppliedCondition, clusterv1.ClusterRollingOutCondition, clusterv1.ClusterScalingDownCondition, clusterv1.ClusterScalingUpCondition,
		clusterv1.ClusterWorkerMachinesReadyCondition, clusterv1.ClusterWorkerMachinesUpToDateCondition,
	}
}

func clusterToNewest(v any) (*clusterv1.Cluster, field.ErrorList) {
	old, ok := v.(*clusterv1beta1.Cluster)
	if !ok {
		return v.(*clusterv1.Cluster), nil
	}
	c := &clusterv1.Cluster{}
	if err := clusterv1beta1.Convert_v1beta1_Cluster_To_v1beta2_Cluster(old, c, nil); err != nil {
		return nil, cannotConvert(err)
	}
	spec := field.NewPath("spec")
	var errs field.ErrorList
	c.Spec.InfrastructureRef, errs = convertRef(old.Spec.InfrastructureRef, old.Namespace, spec.Child("infrastructureRef"), errs)
	c.Spec.ControlPlaneRef, errs = convertRef(old.Spec.ControlPlaneRef, old.Namespace, spec.Child("controlPlaneRef"), errs)
	return c, errs
}

func validateCIDRs(cidrs []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, cidr := range cidrs {
		if _, _, err := net.ParseCIDR(cidr); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), cidr, `must be an address range such as "10.128.0.0/12"`))
		}
	}
	return errs
}
