package decode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
)

// distributionKind wraps what a distribution says of one of its kinds.
func distributionKind(p fleet.Kind) *kind {
	k := &kind{
		distribution: p.Distribution, role: p.Role, v1beta1Contract: p.V1Beta1Contract, rotations: p.Rotations,
		group: p.Group, name: p.Kind, versions: p.Versions,
		new: p.New, nonNegative: p.NonNegative, values: p.Values, renamed: p.Renamed,
		refused: metadataRefused(p.Refused), limited: joined(map[string]string{}, p.Limited), unused: metadataUnused(p.Unused),
		union: p.Role == fleet.HostedControlPlaneKind,
	}
	switch p.Role {
	case fleet.ControlPlaneTemplateKind, fleet.HostedControlPlaneTemplateKind:
		k.normalise = asItIs
	case fleet.ControlPlaneKind:
		k.ours = poolAnnotations()
		k.limited["metadata.annotations"] = "cluster.x-k8s.io/paused, fairlead.dev/replace, fairlead.dev/remediate; others do nothing"
		k.limited["spec.machineTemplate.metadata.labels"] = nodeLabelsNote
		k.limited["spec.machineTemplate.metadata.annotations"] = machineAnnotations
		k.normalise = func(v any) (any, field.ErrorList) {
			m, errs := normalised[*fleet.ControlPlaneManifest](p, v)
			if len(errs) > 0 {
				return nil, errs
			}
			o, _ := v.(metav1.Object)
			return m, completeControlPlane(m, o)
		}
	case fleet.HostedControlPlaneKind:
		k.limited["metadata.annotations"] = "none does anything"
		k.normalise = func(v any) (any, field.ErrorList) {
			m, errs := normalised[*fleet.HostedManifest](p, v)
			if len(errs) > 0 {
				return nil, errs
			}
			if m.Version = withV(m.Version); m.Version != "" {
				errs = validateVersion(m.Version, field.NewPath("spec", "version"))
			}
			return m, errs
		}
	default:
		k.normalise = func(v any) (any, field.ErrorList) { return normalised[*fleet.BootstrapManifest](p, v) }
	}
	return k
}

// normalised returns what the distribution of p makes of v.
func normalised[M any](p fleet.Kind, v any) (M, field.ErrorList) {
	var none M
	out, errs := p.Normalise(v)
	if len(errs) > 0 {
		return none, errs
	}
	m, ok := out.(M)
	if !ok {
		return none, field.ErrorList{field.InternalError(field.NewPath("spec"), fmt.Errorf("%s is normalised to a %T", p.Kind, out))}
	}
	return m, nil
}

// completeControlPlane fills in the defaults of m, which o says, and keeps the rules that
// are the same for every control plane.
// Source: Cluster API, webhook of KubeadmControlPlane.
func completeControlPlane(m *fleet.ControlPlaneManifest, o metav1.Object) field.ErrorList {
	var errs field.ErrorList
	one := int32(1)
	if m.Replicas == nil {
		m.Replicas = &one
	}
	m.Version = withV(m.Version)
	m.MaxSurge = intstr.ValueOrDefault(m.MaxSurge, intstr.FromInt32(1))
	if n, err := strconv.Atoi(m.MaxSurge.StrVal); m.MaxSurge.Type == intstr.String && err == nil {
		*m.MaxSurge = intstr.FromInt(n) // Cluster API takes "1" as 1
	}

	spec := field.NewPath("spec")
	template := spec.Child("machineTemplate")
	at := template.Child("spec", "infrastructureRef")
	if m.OldInfrastructureRef != nil {
		m.InfrastructureRef, errs = convertRef(m.OldInfrastructureRef, o.GetNamespace(), at, errs)
	}
	for _, msg := range validation.IsValidLabelValue(o.GetName()) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), o.GetName(), msg))
	}
	n := *m.Replicas
	errs = append(errs, validateReplicas(n, spec.Child("replicas"))...)
	switch {
	case n <= 0:
		errs = append(errs, field.Invalid(spec.Child("replicas"), n, "must be at least 1; a cluster is deleted with the annotation fairlead.dev/delete"))
	case n%2 == 0 && !m.Even:
		errs = append(errs, field.Invalid(spec.Child("replicas"), n, "must be odd: etcd runs on these machines and needs a majority"))
	}
	surgePath := spec.Child("rollout", "strategy", "rollingUpdate", "maxSurge")
	switch s := m.MaxSurge; {
	case s.Type != intstr.Int || s.IntVal > 1:
		errs = append(errs, field.Invalid(surgePath, s.String(), "must be 0 or 1"))
	case s.IntVal == 0 && n < 3:
		errs = append(errs, field.Invalid(surgePath, 0, "needs at least 3 replicas: machines are removed before they are replaced"))
	}
	errs = append(errs, validateNaming(m.NameTemplate, spec.Child("machineNaming"), "kubeadmControlPlane.name")...)
	errs = append(errs, requireRef(m.InfrastructureRef, at)...)
	errs = append(errs, validateVersion(m.Version, spec.Child("version"))...)
	errs = append(errs, validateTaints(m.Taints, template.Child("spec", "taints"))...)
	return append(errs, m.Metadata.Validate(template.Child("metadata"))...)
}

// checkRotations refuses rotations that the control plane of root does not support.
func (b *builder) checkRotations(root *object, c *fleet.Cluster) {
	if b.controlPlaneKind == nil {
		return
	}
	for _, r := range fleet.Rotations() {
		if c.Rotate[r] != "" && !slices.Contains(b.controlPlaneKind.rotations, r) {
			b.addf(root, "metadata.annotations."+fleet.RotateAnnotation(r), "take it away",
				"cannot be granted: clusters with a %s have no such rotation here; use what %s itself has for it", b.controlPlaneKind.name, b.controlPlaneKind.distribution)
		}
	}
}

// kindsOf returns the names of the kinds of a role, for people, of a distribution or, where
// it is empty, of all.
func (d *Decoder) kindsOf(role fleet.KindRole, distribution string) string {
	var names []string
	for _, k := range d.sorted() {
		if k.role == role && (distribution == "" || k.distribution == distribution) {
			names = append(names, k.name)
		}
	}
	return strings.Join(names, " or ")
}

// controlPlaneKinds returns the names of the kinds that a Cluster may refer to as its control
// plane, for people.
func (d *Decoder) controlPlaneKinds() string {
	kinds := d.kindsOf(fleet.ControlPlaneKind, "")
	if hosted := d.kindsOf(fleet.HostedControlPlaneKind, ""); hosted != "" {
		kinds += " or " + hosted
	}
	return kinds
}
