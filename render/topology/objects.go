package topology

import (
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// lastApplied is what kubectl leaves in an annotation: no request.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// ours returns the labels that all objects of a topology have.
func (x *expansion) ours() map[string]string {
	return map[string]string{clusterv1.ClusterNameLabel: x.object.name(), clusterv1.ClusterTopologyOwnedLabel: ""}
}

// clonedFrom returns the annotations that tell of the template.
func clonedFrom(t Object) map[string]string {
	gk := t.gvk().GroupKind()
	return map[string]string{
		clusterv1.TemplateClonedFromNameAnnotation:      t.name(),
		clusterv1.TemplateClonedFromGroupKindAnnotation: gk.String(),
	}
}

// merged returns all of maps, of which earlier ones win; never nil.
func merged(list ...map[string]string) map[string]string {
	out := map[string]string{}
	for i := len(list) - 1; i >= 0; i-- {
		maps.Copy(out, list[i])
	}
	return out
}

// texts returns the strings of a mapping.
func texts(v any) map[string]string {
	m, _ := v.(map[string]any)
	out := make(map[string]string, len(m))
	for key, value := range m {
		if s, ok := value.(string); ok {
			out[key] = s
		}
	}
	return out
}

// metadata is metadata of an object, as JSON has it.
func metadata(name, namespace string, labels, notes map[string]string) map[string]any {
	out := map[string]any{"name": name, "namespace": namespace}
	if len(labels) > 0 {
		out["labels"] = anyMap(labels)
	}
	if len(notes) > 0 {
		out["annotations"] = anyMap(notes)
	}
	return out
}

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = value
	}
	return out
}

// setName names an object, by the reference to it where the Cluster has one.
func (x *expansion) setName(ref clusterv1.ContractVersionedObjectReference, naming, role, field string) string {
	if ref.Name != "" {
		return ref.Name
	}
	if naming == "" {
		naming = defaultName
	}
	name, err := x.engine.name(naming, x.object.key(), role, "")
	if err != nil {
		x.classProblem(field, "", "makes no name: %s", err)
	}
	return name
}

// A createdRef refers to a created object.
type createdRef struct {
	gvk  schema.GroupVersionKind
	name string
}

func (m createdRef) ref() clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: m.gvk.Group, Kind: m.gvk.Kind, Name: m.name}
}

// fields returns the reference as a version of Cluster API writes it.
func (m createdRef) fields(old bool, namespace string) map[string]any {
	if old {
		return map[string]any{"apiVersion": m.gvk.GroupVersion().String(), "kind": m.gvk.Kind, "name": m.name, "namespace": namespace}
	}
	return map[string]any{"apiGroup": m.gvk.Group, "kind": m.gvk.Kind, "name": m.name}
}

// made returns the kind of what is made from templates of a kind.
func made(template string) string { return strings.TrimSuffix(template, "Template") }

// fromTemplate creates an object from a patched template.
func (x *expansion) fromTemplate(t *patchTarget, name string) (*Expanded, createdRef) {
	gvk := t.template.gvk()
	gvk.Kind = made(gvk.Kind)
	patched := child(t.spec, "template")
	meta := child(patched, "metadata")
	spec := child(patched, "spec")
	if spec == nil {
		spec = map[string]any{}
	}
	e := &Expanded{File: t.template.File, Raw: map[string]any{
		"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, "spec": spec,
		"metadata": metadata(name, x.object.Namespace, merged(x.ours(), texts(meta["labels"])), merged(clonedFrom(t.template), texts(meta["annotations"]))),
	}}
	e.from("", t.template, "")
	e.from("spec", t.template, "spec.template.spec")
	e.from("metadata", t.template, "spec.template.metadata")
	x.trace(e, t, "spec")
	x.out = append(x.out, e)
	return e, createdRef{gvk, name}
}

// cloneTemplate creates a copy of a patched template for the cluster.
func (x *expansion) cloneTemplate(t *patchTarget, name string, labels map[string]string) (*Expanded, createdRef) {
	meta := child(t.template.Raw, "metadata")
	notes := texts(meta["annotations"])
	delete(notes, lastApplied)
	e := &Expanded{File: t.template.File, Raw: map[string]any{
		"apiVersion": t.template.text("apiVersion"), "kind": t.template.text("kind"),
		"metadata": metadata(name, x.object.Namespace, merged(x.ours(), labels, texts(meta["labels"])), merged(clonedFrom(t.template), notes)),
	}}
	if t.spec != nil {
		e.Raw["spec"] = t.spec
	}
	e.from("", t.template, "")
	x.trace(e, t, "spec.template.spec")
	x.out = append(x.out, e)
	return e, createdRef{t.template.gvk(), name}
}

func (x *expansion) infrastructure() createdRef {
	class := &x.class.spec.Infrastructure
	t := &patchTarget{place: infrastructureCluster, template: x.class.templates[class.TemplateRef]}
	inner := child(t.template.Raw, "spec", "template", "metadata")
	t.labels, t.notes = merged(x.ours(), texts(inner["labels"])), merged(clonedFrom(t.template), texts(inner["annotations"]))
	name := x.setName(x.cluster.Spec.InfrastructureRef, class.Naming.Template, "infrastructure", "spec.infrastructure.naming.template")
	x.patch(t)
	e, m := x.fromTemplate(t, name)
	e.from("metadata.name", x.class.object, x.class.written("spec.infrastructure.naming.template"))
	return m
}

// root adds the Cluster itself, with its references instead of its topology.
func (x *expansion) root(infrastructure, control createdRef) {
	raw := maps.Clone(x.object.Raw)
	meta, spec := maps.Clone(child(raw, "metadata")), maps.Clone(child(raw, "spec"))
	meta["labels"] = anyMap(merged(x.ours(), texts(meta["labels"])))
	delete(spec, "topology")
	spec["infrastructureRef"] = infrastructure.fields(x.old(), x.object.Namespace)
	spec["controlPlaneRef"] = control.fields(x.old(), x.object.Namespace)
	raw["metadata"], raw["spec"] = meta, spec
	e := &Expanded{Raw: raw, File: x.object.File}
	e.from("", x.object, "")
	e.from("spec.infrastructureRef", x.class.object, x.class.written("spec.infrastructure.templateRef"))
	e.from("spec.controlPlaneRef", x.class.object, x.class.written("spec.controlPlane.templateRef"))
	if gates := x.class.spec.AvailabilityGates; gates != nil && x.cluster.Spec.AvailabilityGates == nil {
		spec["availabilityGates"] = plain(gates)
		e.from("spec.availabilityGates", x.class.object, "spec.availabilityGates")
	}
	x.out = append(x.out, e)
}

// clusterBuiltin returns builtin.cluster.
// Source: Cluster API, core/reconcilers/topology/cluster/patches/variables.
func (x *expansion) clusterBuiltin() map[string]any {
	c := &x.cluster
	notes := merged(c.Annotations)
	delete(notes, lastApplied)
	class := map[string]any{"name": x.class.Key.Name, "namespace": x.class.Key.Namespace}
	out := map[string]any{
		"name": x.object.name(), "namespace": x.object.Namespace,
		"metadata": builtinMetadata(merged(x.ours(), c.Labels), notes),
		"topology": map[string]any{
			"version": c.Spec.Topology.Version, "classRef": class, "class": class["name"], "classNamespace": class["namespace"],
		},
	}
	network := map[string]any{}
	if d := c.Spec.ClusterNetwork.ServiceDomain; d != "" {
		network["serviceDomain"] = d
	}
	if b := c.Spec.ClusterNetwork.Services.CIDRBlocks; len(b) > 0 {
		network["services"] = b
	}
	if b := c.Spec.ClusterNetwork.Pods.CIDRBlocks; len(b) > 0 {
		network["pods"] = b
	}
	if len(network) > 0 {
		out["network"] = network
	}
	return out
}

// builtinMetadata leaves out what is empty, as all builtin variables do.
func builtinMetadata(labels, notes map[string]string) map[string]any {
	out := map[string]any{}
	if len(labels) > 0 {
		out["labels"] = labels
	}
	if len(notes) > 0 {
		out["annotations"] = notes
	}
	return out
}

// duration returns seconds in the form of v1beta1.
func duration(seconds int32) string {
	return metav1.Duration{Duration: time.Duration(seconds) * time.Second}.Duration.String()
}
