package decode

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

func kubeadmControlPlaneKind() *kind {
	refused := map[string]string{}
	limited := map[string]string{
		"spec.machineNaming.template":                  namingNote,
		"spec.machineNamingStrategy.template":          namingNote,
		"metadata.annotations":                         "cluster.x-k8s.io/paused, fairlead.dev/replace, fairlead.dev/remediate, controlplane.cluster.x-k8s.io/skip-kube-proxy and skip-coredns; others do nothing",
		"spec.machineTemplate.metadata.labels":         nodeLabelsNote,
		"spec.machineTemplate.metadata.annotations":    machineAnnotations,
		"spec.machineTemplate.readinessGates":          readinessGates,
		"spec.machineTemplate.spec.readinessGates":     readinessGates,
		"spec.rollout.strategy.rollingUpdate.maxSurge": "0 or 1",
		"spec.rolloutStrategy.rollingUpdate.maxSurge":  "0 or 1",
	}
	for _, path := range []string{"spec.rollout.before.certificatesExpiryDays", "spec.rolloutBefore.certificatesExpiryDays"} {
		limited[path] = "at least 7, and less than certificates live; what the API server of a machine shows, or its Node says in machine.cluster.x-k8s.io/certificates-expiry"
	}
	unused := map[string]string{}
	for _, f := range []string{"fieldPath", "resourceVersion", "uid"} {
		unused["spec.machineTemplate.infrastructureRef."+f] = "has no meaning here, as in Cluster API"
	}
	deletionBounds("spec.machineTemplate.spec.deletion.", "spec.machineTemplate.", unused)
	addKubeadmConfig("spec.kubeadmConfigSpec.", refused, limited, unused)
	return &kind{
		group: "controlplane.cluster.x-k8s.io", name: "KubeadmControlPlane",
		distribution: kubeadm, role: fleet.ControlPlaneKind, rotations: fleet.Rotations(),
		versions: []string{"v1beta2", "v1beta1"}, nonNegative: true,
		new: func(version string) any {
			if version == "v1beta1" {
				return &controlplanev1beta1.KubeadmControlPlane{}
			}
			return &controlplanev1.KubeadmControlPlane{}
		},
		normalise: normaliseKubeadmControlPlane,
		ours:      poolAnnotations(),
		renamed: map[string]map[string]string{"v1beta1": {
			"spec.machineTemplate.spec":          "spec.machineTemplate",
			"spec.machineTemplate.spec.deletion": "spec.machineTemplate",
			"spec.rollout.strategy":              "spec.rolloutStrategy",
			"spec.rollout.after":                 "spec.rolloutAfter",
			"spec.rollout.before":                "spec.rolloutBefore",
			"spec.remediation":                   "spec.remediationStrategy",
			"spec.machineNaming":                 "spec.machineNamingStrategy",
		}},
		values:  kubeadmConfigValues("spec.kubeadmConfigSpec."),
		refused: metadataRefused(refused),
		limited: limited,
		unused:  metadataUnused(unused),
	}
}

// normaliseKubeadmControlPlane keeps the defaults and rules of Cluster API's
// webhook for KubeadmControlPlane.
func normaliseKubeadmControlPlane(v any) (any, field.ErrorList) {
	k, errs := kubeadmControlPlaneToNewest(v)
	if len(errs) > 0 {
		return nil, errs
	}
	one := int32(1)
	if k.Spec.Replicas == nil {
		k.Spec.Replicas = &one
	}
	k.Spec.Version = withV(k.Spec.Version)
	k.Spec.Rollout.Strategy.Type = controlplanev1.RollingUpdateStrategyType
	surge := &k.Spec.Rollout.Strategy.RollingUpdate.MaxSurge
	*surge = intstr.ValueOrDefault(*surge, intstr.FromInt32(1))

	spec := field.NewPath("spec")
	m := kubeadmControlPlaneManifest(k, spec.Child("kubeadmConfigSpec"))
	errs = completeControlPlane(m, k)
	errs = append(errs, validateExpiry(k, spec)...)
	errs = append(errs, validateKubeadmConfig(&k.Spec.KubeadmConfigSpec, spec.Child("kubeadmConfigSpec"))...)
	errs = append(errs, validateControlPlaneConfig(&k.Spec.KubeadmConfigSpec, spec.Child("kubeadmConfigSpec"))...)
	return m, errs
}

// kubeadmControlPlaneManifest returns k, whose configuration is at path, as a control plane.
func kubeadmControlPlaneManifest(k *controlplanev1.KubeadmControlPlane, path *field.Path) *fleet.ControlPlaneManifest {
	template := &k.Spec.MachineTemplate
	m := &fleet.ControlPlaneManifest{
		Object:   k,
		Replicas: k.Spec.Replicas, Version: k.Spec.Version,
		InfrastructureRef: template.Spec.InfrastructureRef,
		Metadata:          template.ObjectMeta,
		Deletion: clusterv1.MachineDeletionSpec{
			NodeDrainTimeoutSeconds:        template.Spec.Deletion.NodeDrainTimeoutSeconds,
			NodeVolumeDetachTimeoutSeconds: template.Spec.Deletion.NodeVolumeDetachTimeoutSeconds,
		},
		Taints: template.Spec.Taints, ReadinessGates: template.Spec.ReadinessGates,
		NameTemplate: k.Spec.MachineNaming.Template,
		RolloutAfter: k.Spec.Rollout.After, CertificatesExpiryDays: int(k.Spec.Rollout.Before.CertificatesExpiryDays),
		MaxSurge: k.Spec.Rollout.Strategy.RollingUpdate.MaxSurge, Remediation: fleet.RemediationLimits(k.Spec.Remediation),
		Even:      k.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.External.IsDefined(),
		APIPort:   k.Spec.KubeadmConfigSpec.InitConfiguration.LocalAPIEndpoint.BindPort,
		Bootstrap: *kubeadmManifest(&k.Spec.KubeadmConfigSpec, path),
	}
	if join := k.Spec.KubeadmConfigSpec.JoinConfiguration.ControlPlane; join != nil {
		m.JoinedAPIPort = join.LocalAPIEndpoint.BindPort
	}
	_, m.SkipKubeProxy = k.Annotations[controlplanev1.SkipKubeProxyAnnotation]
	_, m.SkipCoreDNS = k.Annotations[controlplanev1.SkipCoreDNSAnnotation]
	return m
}

// leastExpiryDays and certificateDays bound the time at which certificates are replaced: the minimum
// of Cluster API, and their default lifetime.
const (
	leastExpiryDays = 7
	certificateDays = 365
)

// validateExpiry checks how long before their certificates expire machines are
// replaced: a new machine has to be better off.
func validateExpiry(k *controlplanev1.KubeadmControlPlane, spec *field.Path) field.ErrorList {
	days := k.Spec.Rollout.Before.CertificatesExpiryDays
	live := k.Spec.KubeadmConfigSpec.ClusterConfiguration.CertificateValidityPeriodDays
	if live == 0 {
		live = certificateDays
	}
	path := spec.Child("rollout", "before", "certificatesExpiryDays")
	switch {
	case days == 0:
	case days < leastExpiryDays:
		return field.ErrorList{field.Invalid(path, days, fmt.Sprintf("must be at least %d", leastExpiryDays))}
	case days >= live:
		return field.ErrorList{field.Invalid(path, days,
			fmt.Sprintf("must be less than certificateValidityPeriodDays, which is %d: every machine would be replaced again and again", live))}
	}
	return nil
}

func kubeadmControlPlaneToNewest(v any) (*controlplanev1.KubeadmControlPlane, field.ErrorList) {
	old, ok := v.(*controlplanev1beta1.KubeadmControlPlane)
	if !ok {
		return v.(*controlplanev1.KubeadmControlPlane), nil
	}
	k := &controlplanev1.KubeadmControlPlane{}
	if err := controlplanev1beta1.Convert_v1beta1_KubeadmControlPlane_To_v1beta2_KubeadmControlPlane(old, k, nil); err != nil {
		return nil, cannotConvert(err)
	}
	convertTimeouts(&old.Spec.KubeadmConfigSpec, &k.Spec.KubeadmConfigSpec)
	var errs field.ErrorList
	k.Spec.MachineTemplate.Spec.InfrastructureRef, errs = convertRef(&old.Spec.MachineTemplate.InfrastructureRef, old.Namespace,
		field.NewPath("spec", "machineTemplate", "spec", "infrastructureRef"), errs)
	return k, errs
}
