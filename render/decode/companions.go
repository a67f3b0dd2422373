package decode

import (
	"encoding/json"
	"maps"
	"slices"

	"fairlead.dev/fleet"
	corev1 "k8s.io/api/core/v1"
)

// object returns o, which holds in, with the Secrets of in that the overlay has, and
// the names of the others.
func (b *builder) object(o *object, in *infrastructure) fleet.Object {
	spec, hashed := b.resolved(o, in)
	out := fleet.Object{
		GVK: o.gvk.GroupKind().WithVersion(o.kind.versions[0]), Namespace: o.namespace, Name: o.name, File: o.file,
		Labels: copied(o.labels), Annotations: copied(o.notes), Spec: spec, Hashed: hashed,
	}
	if in.kind.Identities != nil {
		out.Identities = in.kind.Identities(in.value)
	}
	if in.kind.Networks != nil {
		out.Networks = in.kind.Networks(in.value)
	}
	for _, k := range in.secrets {
		s := b.set.get("", "Secret", k.Namespace, k.Name)
		if s == nil {
			out.Stored = append(out.Stored, k)
			continue
		}
		if data, ok := s.value.(fleet.SecretData); ok {
			if out.Secrets == nil {
				out.Secrets = make(map[fleet.Key]fleet.SecretData)
			}
			out.Secrets[k] = data
		}
	}
	return out
}

// resolved returns the spec of o, which holds in, with what the companions that it
// names say, and what of it counts in hashes.
func (b *builder) resolved(o *object, in *infrastructure) (spec, hashed json.RawMessage) {
	if in.kind.Resolve == nil {
		return in.spec, in.hashed
	}
	spec, hashed, errs := written(in.kind, in.value, func(kind string) map[string]any { return b.set.specs(in.provider, kind, o.namespace) })
	for _, err := range errs {
		if !b.set.unreadable { // what is missing may be there
			b.addf(o, o.written(err.Field), "", "%s", err.ErrorBody())
		}
	}
	return spec, hashed
}

// companions returns the companions of the cluster that are of a provider.
func (b *builder) companions(provider string) []fleet.Object {
	var out []fleet.Object
	for _, o := range b.set.companions(b.key) {
		if in, ok := o.value.(*infrastructure); ok && slices.Contains(o.kind.users, provider) {
			out = append(out, b.object(o, in))
		}
	}
	slices.SortFunc(out, fleet.Object.Compare)
	return out
}

// namespaceLabels returns the labels of the cluster's namespace. Every namespace has
// the label that Kubernetes itself gives it.
func (b *builder) namespaceLabels() map[string]string {
	labels := make(map[string]string)
	if o := b.set.get("", "Namespace", "", b.key.Namespace); o != nil {
		if in, ok := o.value.(namespaceLabels); ok {
			maps.Copy(labels, in)
		}
	}
	labels[corev1.LabelMetadataName] = b.key.Namespace
	return labels
}
