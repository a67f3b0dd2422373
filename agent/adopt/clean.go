package adopt

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/render/substitute"
)

// clean returns what of o belongs into Git: its name, what people wrote, and no
// trace of the server, the controllers and the tools that applied it.
func clean(o Object) Object {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind()}}
	out.SetName(o.GetName())
	out.SetNamespace(o.GetNamespace())
	out.SetLabels(theirs(o.GetLabels()))
	out.SetAnnotations(theirs(o.GetAnnotations()))
	for _, field := range []string{"spec", "data", "type"} {
		if v, ok := o.Object[field]; ok {
			out.Object[field] = tidy(field, v)
		}
	}
	if o.GetKind() == "Namespace" {
		delete(out.Object, "spec")
	}
	return out
}

// theirs returns the labels or annotations that people put there.
func theirs(in map[string]string) map[string]string {
	out := make(map[string]string)
	for k, v := range in {
		if !machinery(k) {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// machinery reports whether a label or annotation is of a controller or a tool.
func machinery(key string) bool {
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

// tidy leaves out what servers write for nothing: nulls, times of creation, and
// of references what only a server knows.
func tidy(key string, v any) any {
	switch t := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		reference := strings.HasSuffix(strings.ToLower(key), "ref") && t["kind"] != nil && t["name"] != nil
		for k, below := range t {
			server := k == "uid" || k == "resourceVersion" || k == "fieldPath" || k == "namespace" && t["apiVersion"] != nil && key != "classRef"
			if below == nil || k == "creationTimestamp" || reference && server {
				continue
			}
			out[k] = tidy(k, below)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, below := range t {
			out[i] = tidy(key, below)
		}
		return out
	}
	return v
}

// A field is one that a server fills in, and the value that it has then; nil
// stands for any.
type field struct {
	kind  string
	path  []string
	value any
}

// filled lists what webhooks and schemas of Cluster API fill in and Fairlead
// fills in alike, where that is so: each is left out only if the cluster stays
// the same without it. Parents come after what is in them.
func filled() []field {
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

// trim leaves out of the documents what filled lists, as long as same says that
// they still make the same cluster.
func trim(docs []document, same func([]document) bool) []document {
	for _, f := range filled() {
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

// encode writes an object as people would. One that has what would be taken for
// a variable of the fleet says that it has none.
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
