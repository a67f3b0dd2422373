package kustomize

import (
	"strings"
	"sync"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"fairlead.dev/fleet/documents"
)

// LoadSchema has kustomize parse its OpenAPI schema, which a process has once: the first call takes
// much of the time and the memory of a small build, later ones nothing. Nothing may change the
// schema: the scan refuses overlays that would.
func LoadSchema() {
	openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"})
}

// mergeKeys maps lists, by their path, to the fields that identify an item. In these lists
// a strategic merge patch finds the item to change; kubectl kustomize replaces them. Other
// lists are replaced here too, as ordered lists such as commands must be. Source: the
// listMapKey markers of Cluster API's types; for files and users, which have none, the field
// that cloud-init identifies them by. A key in parentheses tells apart the values of one
// argument: a patch that names the argument sets all its values.
type mergeKeys map[string]string

// kubeadmLists are the lists in a KubeadmConfigSpec.
func kubeadmLists() mergeKeys {
	m := mergeKeys{"files": "path", "users": "name"}
	for _, c := range []string{"apiServer", "controllerManager", "scheduler", "etcd.local"} {
		m["clusterConfiguration."+c+".extraArgs"] = "name,(value)"
		m["clusterConfiguration."+c+".extraVolumes"] = "name"
		m["clusterConfiguration."+c+".extraEnvs"] = "name"
	}
	for _, c := range []string{"initConfiguration", "joinConfiguration"} {
		m[c+".nodeRegistration.kubeletExtraArgs"] = "name,(value)"
		m[c+".nodeRegistration.taints"] = "key,effect"
	}
	return m
}

// files are the lists in the configurations of K3s and RKE2.
func files() mergeKeys { return mergeKeys{"files": "path"} }

// machineLists are the lists in a machine's spec.
func machineLists() mergeKeys {
	return mergeKeys{"taints": "key,effect", "readinessGates": "conditionType"}
}

// clusterLists are the lists in a Cluster's spec.
func clusterLists() mergeKeys {
	m := mergeKeys{
		"availabilityGates":                         "conditionType",
		"topology.variables":                        "name",
		"topology.controlPlane.taints":              "key,effect",
		"topology.controlPlane.readinessGates":      "conditionType",
		"topology.controlPlane.variables.overrides": "name",
	}
	for _, pools := range []string{"machineDeployments", "machinePools"} {
		at := "topology.workers." + pools
		m[at] = "name"
		m[at+".variables.overrides"] = "name"
		m[at+".taints"] = "key,effect"
		m[at+".readinessGates"] = "conditionType"
	}
	return m
}

// classLists are the lists in a ClusterClass's spec.
func classLists() mergeKeys {
	return mergeKeys{
		"variables": "name", "patches": "name",
		"workers.machineDeployments": "class", "workers.machinePools": "class",
	}
}

// healthLists are the lists in a MachineHealthCheck's spec.
func healthLists() mergeKeys {
	return mergeKeys{
		"unhealthyConditions": "type,status", "checks.unhealthyNodeConditions": "type,status",
		"checks.unhealthyMachineConditions": "type,status",
	}
}

// below returns m with every path under root.
func (m mergeKeys) below(root string) mergeKeys {
	out := mergeKeys{}
	for p, k := range m {
		out[root+"."+p] = k
	}
	return out
}

// keyedLists returns the tree of the keyed lists of each kind, and one of all kinds.
var keyedLists = sync.OnceValues(func() (map[kind]*field, *field) { //nolint:gochecknoglobals // a constant
	kinds := []struct {
		group, kind string
		lists       []mergeKeys
	}{
		{coreGroup, "Cluster", []mergeKeys{clusterLists().below("spec")}},
		{coreGroup, "ClusterClass", []mergeKeys{classLists().below("spec")}},
		{coreGroup, "Machine", []mergeKeys{machineLists().below("spec")}},
		{coreGroup, "MachineDeployment", []mergeKeys{machineLists().below("spec.template.spec")}},
		{coreGroup, "MachineSet", []mergeKeys{machineLists().below("spec.template.spec")}},
		{coreGroup, "MachinePool", []mergeKeys{machineLists().below("spec.template.spec")}},
		{coreGroup, "MachineHealthCheck", []mergeKeys{healthLists().below("spec")}},
		{bootstrapGroup, "KubeadmConfig", []mergeKeys{kubeadmLists().below("spec")}},
		{bootstrapGroup, "KubeadmConfigTemplate", []mergeKeys{kubeadmLists().below("spec.template.spec")}},
		{controlPlaneGroup, "KubeadmControlPlane", []mergeKeys{
			kubeadmLists().below("spec.kubeadmConfigSpec"), machineLists().below("spec.machineTemplate.spec"),
		}},
		{controlPlaneGroup, "KubeadmControlPlaneTemplate", []mergeKeys{
			kubeadmLists().below("spec.template.spec.kubeadmConfigSpec"), machineLists().below("spec.template.spec.machineTemplate.spec"),
		}},
		{bootstrapGroup, "KThreesConfig", []mergeKeys{files().below("spec")}},
		{bootstrapGroup, "KThreesConfigTemplate", []mergeKeys{files().below("spec.template.spec")}},
		{controlPlaneGroup, "KThreesControlPlane", []mergeKeys{files().below("spec.kthreesConfigSpec")}},
		{controlPlaneGroup, "KThreesControlPlaneTemplate", []mergeKeys{files().below("spec.template.spec.kthreesConfigSpec")}},
		{bootstrapGroup, "RKE2Config", []mergeKeys{files().below("spec")}},
		{bootstrapGroup, "RKE2ConfigTemplate", []mergeKeys{files().below("spec.template.spec")}},
		{controlPlaneGroup, "RKE2ControlPlane", []mergeKeys{files().below("spec")}},
		{controlPlaneGroup, "RKE2ControlPlaneTemplate", []mergeKeys{files().below("spec.template.spec")}},
	}
	trees, all := map[kind]*field{}, &field{}
	for _, k := range kinds {
		tree := &field{}
		for _, lists := range k.lists {
			for p, keys := range lists {
				tree.add(strings.Split(p, "."), keys)
				all.add(strings.Split(p, "."), keys)
			}
		}
		trees[kind{k.group, k.kind}] = tree
	}
	return trees, all
})

// A kind is a kind in any version.
type kind struct{ group, name string }

// A field is a field of an object that is or contains keyed lists. Its fields are, if it is
// a list, those of its items.
type field struct {
	fields map[string]*field
	keys   []string // empty: no keyed list
	value  string   // the key in parentheses
}

// add makes the field at path a keyed list.
func (f *field) add(path []string, keys string) {
	for _, name := range path {
		if f.fields == nil {
			f.fields = map[string]*field{}
		}
		if f.fields[name] == nil {
			f.fields[name] = &field{}
		}
		f = f.fields[name]
	}
	f.keys = nil
	for _, k := range strings.Split(keys, ",") {
		if value, ok := strings.CutPrefix(k, "("); ok {
			f.value = strings.TrimSuffix(value, ")")
			continue
		}
		f.keys = append(f.keys, k)
	}
}

// cut removes the lists at the places of keyed lists from the mapping patch, with mappings
// that are empty then, and returns them in a mapping of their own, or nil. What a directive
// of the patch replaces or deletes stays.
func (f *field) cut(patch *yaml.Node) *yaml.Node {
	if patch.Kind != yaml.MappingNode || documents.Child(patch, directive) != nil {
		return nil
	}
	var out *yaml.Node
	for i := 0; i+1 < len(patch.Content); {
		key, value := patch.Content[i], patch.Content[i+1]
		part, gone := value, true
		switch below := f.fields[key.Value]; {
		case below == nil:
			part = nil
		case len(below.keys) > 0 && value.Kind == yaml.SequenceNode:
		default:
			part = below.cut(value)
			gone = len(value.Content) == 0
		}
		if part == nil {
			i += 2
			continue
		}
		if out == nil {
			out = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		out.Content = append(out.Content, key, part)
		if gone {
			patch.Content = append(patch.Content[:i:i], patch.Content[i+2:]...)
			continue
		}
		i += 2
	}
	return out
}

// has reports whether cut would return something.
func (f *field) has(patch *yaml.Node) bool {
	if patch.Kind != yaml.MappingNode || documents.Child(patch, directive) != nil {
		return false
	}
	for name, below := range f.fields {
		value := documents.Child(patch, name)
		if value != nil && (len(below.keys) > 0 && value.Kind == yaml.SequenceNode || below.has(value)) {
			return true
		}
	}
	return false
}
