package rke2

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/rancher"
)

// Default time limits of drains and of waiting for volumes.
// Source: cluster-api-provider-rke2, webhook of RKE2ControlPlane.
const (
	drainSeconds  = 120
	detachSeconds = 300
)

// normaliseControlPlane is a kinds.Normaliser.
func normaliseControlPlane(o metav1.Object, at *field.Path, s *controlPlaneSpec) (any, field.ErrorList) {
	template := &s.MachineTemplate
	m := &fleet.ControlPlaneManifest{
		Object: o, Replicas: s.Replicas, Version: s.Version, Metadata: template.ObjectMeta, InfrastructureRef: template.Spec.InfrastructureRef,
		Deletion: clusterv1.MachineDeletionSpec{
			NodeDrainTimeoutSeconds:        template.Spec.Deletion.NodeDrainTimeoutSeconds,
			NodeVolumeDetachTimeoutSeconds: template.Spec.Deletion.NodeVolumeDetachTimeoutSeconds,
		},
	}
	return m, completeServers(m, s.planeSpec, o.GetNamespace(), at)
}

// normaliseOldControlPlane is normaliseControlPlane for the older version.
func normaliseOldControlPlane(o metav1.Object, at *field.Path, s *oldControlPlaneSpec) (any, field.ErrorList) {
	template := &s.MachineTemplate
	ref := &template.InfrastructureRef
	if ref.Name == "" {
		ref = &s.InfrastructureRef
	}
	deletion := *template
	deletion.NodeDrainTimeout = cmp.Or(template.NodeDrainTimeout, s.NodeDrainTimeout)
	m := &fleet.ControlPlaneManifest{
		Object: o, Replicas: s.Replicas, Version: s.Version, Metadata: template.ObjectMeta, OldInfrastructureRef: ref,
		Deletion: deletion.Deletion(),
	}
	return m, completeServers(m, s.planeSpec, o.GetNamespace(), at)
}

// completeServers fills into m what s says, which is at path in an object in namespace, and says
// what is wrong with it.
func completeServers(m *fleet.ControlPlaneManifest, s planeSpec, namespace string, path *field.Path) field.ErrorList {
	m.Ports = []int32{joinPort}
	drain, detach := int32(drainSeconds), int32(detachSeconds)
	if m.Deletion.NodeDrainTimeoutSeconds == nil {
		m.Deletion.NodeDrainTimeoutSeconds = &drain
	}
	if m.Deletion.NodeVolumeDetachTimeoutSeconds == nil {
		m.Deletion.NodeVolumeDetachTimeoutSeconds = &detach
	}
	if r := s.RolloutStrategy; r != nil && r.RollingUpdate != nil {
		m.MaxSurge = r.RollingUpdate.MaxSurge
	}
	m.Remediation = s.RemediationStrategy.Limits()
	errs := validate(&s.configSpec, namespace, path)
	errs = append(errs, rancher.ValidateVersion(m.Version, "+rke2r", path.Child("version"))...)
	if s.ServerConfig.CNIMultusEnable && s.ServerConfig.CNI == "" {
		errs = append(errs, field.Required(path.Child("serverConfig", "cni"), "with cniMultusEnable"))
	}
	switch address := path.Child("registrationAddress"); {
	case s.RegistrationMethod == "address" && s.RegistrationAddress == "":
		errs = append(errs, field.Required(address, "with registrationMethod address"))
	case s.RegistrationMethod != "address" && s.RegistrationAddress != "":
		errs = append(errs, field.Forbidden(address, "needs registrationMethod address"))
	}
	spec := s.serverSpec
	spec.configSpec = settled(spec.configSpec)
	m.Bootstrap = fleet.BootstrapManifest{Kind: controlPlaneKind, Path: path.String(), Spec: spec, Settled: alikeServers(spec), Secrets: rancher.Secrets(spec.Files, path.Child("files"))}
	return errs
}

// normaliseConfig is a kinds.Normaliser.
func normaliseConfig(o metav1.Object, path *field.Path, s *configSpec) (any, field.ErrorList) {
	return &fleet.BootstrapManifest{Kind: configKind, Path: path.String(), Spec: settled(*s), Settled: alike(settled(*s)), Secrets: rancher.Secrets(s.Files, path.Child("files"))}, validate(s, o.GetNamespace(), path)
}

// settled returns s without fields that have no effect or have their default.
func settled(s configSpec) configSpec {
	s.GzipUserData, s.AgentConfig.Format = nil, ""
	return s
}

// alikeServers returns s in one form for all that gives the same user data.
func alikeServers(s serverSpec) serverSpec {
	s.configSpec = alike(s.configSpec)
	c := &s.ServerConfig
	for _, program := range []**component{&c.KubeAPIServer, &c.KubeControllerManager, &c.KubeScheduler, &c.CloudControllerManager, &c.Etcd.CustomConfig} {
		*program = orNil(*program)
	}
	disabled := slices.Clone(c.DisableComponents.KubernetesComponents)
	slices.Sort(disabled)
	c.DisableComponents.KubernetesComponents = slices.Compact(disabled)
	if off := &c.Etcd.BackupConfig.DisableAutomaticSnapshots; *off != nil && !**off {
		*off = nil
	}
	rancher.WithoutEmptyLists(reflect.ValueOf(&s).Elem())
	return s
}

// alike returns s in one form for all that gives the same user data.
func alike(s configSpec) configSpec {
	a := &s.AgentConfig
	a.Kubelet, a.KubeProxy = orNil(a.Kubelet), orNil(a.KubeProxy)
	s.Files = rancher.Settled(s.Files)
	rancher.WithoutEmptyLists(reflect.ValueOf(&s).Elem())
	return s
}

// orNil returns c, or nil if it says nothing.
func orNil(c *component) *component {
	if c == nil || len(c.ExtraEnv)+len(c.ExtraArgs)+len(c.ExtraMounts) == 0 && c.OverrideImage == "" {
		return nil
	}
	return c
}

func validate(s *configSpec, namespace string, path *field.Path) field.ErrorList {
	errs := rancher.ValidateFiles(rancher.Files(s.Files), path.Child("files"))
	for i, f := range s.Files {
		if f.ContentFrom != nil && f.ContentFrom.Secret != nil && f.ContentFrom.Secret.Namespace != "" && f.ContentFrom.Secret.Namespace != namespace {
			errs = append(errs, field.Invalid(path.Child("files").Index(i).Child("contentFrom", "secret", "namespace"), f.ContentFrom.Secret.Namespace,
				"must be the namespace of the object itself, "+namespace+"; references do not leave it"))
		}
	}
	if sum := s.AgentConfig.AirGappedChecksum; strings.Trim(sum, "0123456789abcdef") != "" {
		errs = append(errs, field.Invalid(path.Child("agentConfig", "airGappedChecksum"), sum, "must be a sha256 in hexadecimal"))
	}
	errs = append(errs, rancher.ValidateLabels(s.AgentConfig.NodeLabels, path.Child("agentConfig", "nodeLabels"))...)
	return append(errs, rancher.ValidateTaints(s.AgentConfig.NodeTaints, path.Child("agentConfig", "nodeTaints"))...)
}
