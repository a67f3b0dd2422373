package adopt

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/render/substitute"
)

// clean returns the part of o that belongs into Git: its name, and what people wrote. It
// leaves out what the server, the controllers and the tools that applied o wrote.
func clean(o Object) Object {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind()}}
	out.SetName(o.GetName())
	out.SetNamespace(o.GetNamespace())
	out.SetLabels(userMetadata(o.GetLabels()))
	out.SetAnnotations(userMetadata(o.GetAnnotations()))
	for _, field := range []string{"spec", "data", "type"} {
		if v, ok := o.Object[field]; ok {
			out.Object[field] = dropServerFields(field, v)
		}
	}
	if o.GetKind() == "Namespace" {
		delete(out.Object, "spec")
	}
	return out
}

// userMetadata returns the labels or annotations that people wrote.
func userMetadata(in map[string]string) map[string]string {
	out := make(map[string]string)
	for k, v := range in {
		if !isToolMetadata(k) {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// isToolMetadata reports whether a controller or a tool writes the label or annotation.
func isToolMetadata(key string) bool {
	switch key {
	case "kubectl.kubernetes.io/last-applied-configuration", "kubernetes.io/metadata.name",
		clusterv1.ClusterNameLabel, clusterv1.MachineDeploymentNameLabel, clusterv1.MachineSetNameLabel,
		clusterv1.ClusterTopologyOwnedLabel, clusterv1.TemplateClonedFromNameAnnotation, clusterv1.TemplateClonedFromGroupKindAnnotation,
		clusterv1.RevisionAnnotation, "machinedeployment.clusters.x-k8s.io/revision-history", "cluster.x-k8s.io/conversion-data",
		"controlplane.cluster.x-k8s.io/kubeadm-cluster-configuration", adoptedBy, pausedBefore:
		return true
	}
	domain, _, _ := strings.Cut(key, "/")
	return slices.Contains([]string{"kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "argocd.argoproj.io", "clusterctl.cluster.x-k8s.io", "meta.helm.sh"}, domain)
}

// dropServerFields leaves out nulls, creation times, ids of the machines of pools, and those
// fields of references that only a server knows.
func dropServerFields(key string, v any) any {
	switch t := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		reference := strings.HasSuffix(strings.ToLower(key), "ref") && t["kind"] != nil && t["name"] != nil
		for k, below := range t {
			server := k == "uid" || k == "resourceVersion" || k == "fieldPath" || k == "namespace" && t["apiVersion"] != nil && key != "classRef"
			if below == nil || k == "creationTimestamp" || k == "providerIDList" || reference && server {
				continue
			}
			out[k] = dropServerFields(k, below)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, below := range t {
			out[i] = dropServerFields(key, below)
		}
		return out
	}
	return v
}

// A field is one that a server fills in, with the value that it fills in. A nil value
// stands for any.
type field struct {
	kind  string
	path  []string
	value any
}

// defaultedFields lists the fields that webhooks and schemas of Cluster API fill in. A
// field is left out only if the cluster stays the same without it, since Fairlead may have
// another default. Parents come after their children.
func defaultedFields() []field {
	out := []field{
		{"KubeadmControlPlane", []string{"spec", "kubeadmConfigSpec", "format"}, "cloud-config"},
		{"KubeadmControlPlane", []string{"spec", "rollout", "strategy"}, nil},
		{"KubeadmControlPlane", []string{"spec", "rollout"}, nil},
		{"KubeadmControlPlane", []string{"spec", "rolloutStrategy"}, nil},
		{"KubeadmControlPlane", []string{"spec", "machineTemplate", "metadata"}, nil},
		{"KubeadmConfigTemplate", []string{"spec", "template", "spec", "format"}, "cloud-config"},
		{"KubeadmConfigTemplate", []string{"spec", "template", "metadata"}, nil},
		{"MachineDeployment", []string{"spec", "minReadySeconds"}, int64(0)},
		{"MachineDeployment", []string{"spec", "progressDeadlineSeconds"}, nil},
		{"MachineDeployment", []string{"spec", "revisionHistoryLimit"}, nil},
		{"MachineDeployment", []string{"spec", "strategy"}, nil},
		{"MachineDeployment", []string{"spec", "rollout"}, nil},
		{"MachineDeployment", []string{"spec", "deletion"}, nil},
		{"MachineDeployment", []string{"spec", "template", "spec", "nodeDeletionTimeout"}, "10s"},
		{"MachineDeployment", []string{"spec", "template", "spec", "deletion", "nodeDeletionTimeoutSeconds"}, int64(10)},
		{"MachineDeployment", []string{"spec", "template", "spec", "deletion"}, nil},
		{"MachineDeployment", []string{"spec", "template", "metadata", "labels", clusterv1.ClusterNameLabel}, nil},
		{"MachineDeployment", []string{"spec", "template", "metadata", "labels", clusterv1.MachineDeploymentNameLabel}, nil},
		{"MachineDeployment", []string{"spec", "selector", "matchLabels", clusterv1.ClusterNameLabel}, nil},
		{"MachineDeployment", []string{"spec", "selector", "matchLabels", clusterv1.MachineDeploymentNameLabel}, nil},
		{"MachineHealthCheck", []string{"spec", "maxUnhealthy"}, "100%"},
		{"MachineHealthCheck", []string{"spec", "nodeStartupTimeout"}, "10m0s"},
		{"VSphereCluster", []string{"spec", "clusterModules"}, nil},
		{"AWSManagedCluster", []string{"spec", "controlPlaneEndpoint"}, nil},
		{"AWSManagedControlPlane", []string{"spec", "controlPlaneEndpoint"}, nil},
		{"AWSManagedControlPlane", []string{"spec", "network", "cni"}, nil},
		{"AWSManagedControlPlane", []string{"spec", "bastion"}, nil},
	}
	for _, registration := range []string{"initConfiguration", "joinConfiguration"} {
		for kind, at := range map[string][]string{
			"KubeadmControlPlane": {"spec", "kubeadmConfigSpec"}, "KubeadmConfigTemplate": {"spec", "template", "spec"},
		} {
			out = append(out, field{kind, append(slices.Clone(at), registration, "nodeRegistration", "imagePullPolicy"), "IfNotPresent"})
		}
	}
	return out
}

// dropDefaults leaves the fields of defaultedFields out of docs, as long as same says that
// the documents still make the same cluster.
func dropDefaults(docs []document, same func([]document) bool) []document {
	for _, f := range defaultedFields() {
		for i, d := range docs {
			v, ok, _ := unstructured.NestedFieldNoCopy(d.object.Object, f.path...)
			if d.object.GetKind() != f.kind || !ok || f.value != nil && v != f.value {
				continue
			}
			without := d.object.DeepCopy()
			unstructured.RemoveNestedField(without.Object, f.path...)
			tried := slices.Clone(docs)
			tried[i].object = without
			if same(tried) {
				docs = tried
			}
		}
	}
	return docs
}

// encode writes an object as people would. An object with a text that looks like a variable
// of the fleet gets the annotation that switches substitution off.
func encode(o Object) ([]byte, error) {
	data, err := yaml.Marshal(o.Object)
	if err != nil || !strings.Contains(string(data), "${") && !strings.Contains(string(data), "$$") {
		return data, err
	}
	marked := o.DeepCopy()
	notes := marked.GetAnnotations()
	if notes == nil {
		notes = make(map[string]string)
	}
	notes[substitute.Annotation] = substitute.Disabled
	marked.SetAnnotations(notes)
	return yaml.Marshal(marked.Object)
}
