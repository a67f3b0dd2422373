package kustomize

import (
	"encoding/json"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// teachSchema adds the merge keys below to kustomize's process-global schema, once. It is a
// variable because that schema is one.
var teachSchema = sync.OnceFunc(func() { //nolint:gochecknoglobals // as global as the schema that it changes
	data, err := json.Marshal(map[string]any{"definitions": definitions()})
	if err == nil {
		err = openapi.AddSchema(data)
	}
	if err != nil {
		panic("the merge keys of Cluster API's lists are no OpenAPI schema: " + err.Error())
	}
	// The first read loads the rest, which is not safe for concurrent use.
	openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"})
})

// mergeKeys maps lists, by their path, to the fields that identify an item. In these lists
// a strategic merge patch finds the item to change. Other lists are replaced, as ordered
// lists such as commands must be. Source: the listMapKey markers of Cluster API's types;
// where there is none, the field that kubeadm or cloud-init use as identity.
type mergeKeys map[string]string

// kubeadmLists are the lists in a KubeadmConfigSpec.
func kubeadmLists() mergeKeys {
	m := mergeKeys{"files": "path", "users": "name"}
	for _, c := range []string{"apiServer", "controllerManager", "scheduler", "etcd.local"} {
		m["clusterConfiguration."+c+".extraArgs"] = "name"
		m["clusterConfiguration."+c+".extraVolumes"] = "name"
		m["clusterConfiguration."+c+".extraEnvs"] = "name"
	}
	for _, c := range []string{"initConfiguration", "joinConfiguration"} {
		m[c+".nodeRegistration.kubeletExtraArgs"] = "name"
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

// definitions returns the OpenAPI definitions of the kinds with merge keys.
func definitions() map[string]any {
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
	defs := map[string]any{}
	for _, k := range kinds {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			root := &schema{}
			for _, lists := range k.lists {
				for p, keys := range lists {
					root.list(strings.Split(p, "."), strings.Split(keys, ","))
				}
			}
			def := root.openAPI()
			def["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": k.group, "version": version, "kind": k.kind}}
			defs["fairlead."+k.group+"."+version+"."+k.kind] = def
		}
	}
	return defs
}

// A schema is a tree of fields. One with keys is a list of objects.
type schema struct {
	fields map[string]*schema
	keys   []string
}

// list makes the field at path a list whose items are identified by keys.
func (s *schema) list(path, keys []string) {
	for _, name := range path {
		if s.fields == nil {
			s.fields = map[string]*schema{}
		}
		if s.fields[name] == nil {
			s.fields[name] = &schema{}
		}
		s = s.fields[name]
	}
	s.keys = keys
}

// openAPI returns s in OpenAPI's form.
func (s *schema) openAPI() map[string]any {
	object := map[string]any{"type": "object"}
	if len(s.fields) > 0 {
		props := map[string]any{}
		for name, f := range s.fields {
			props[name] = f.openAPI()
		}
		object["properties"] = props
	}
	if s.keys == nil {
		return object
	}
	list := map[string]any{
		"type": "array", "items": object,
		"x-kubernetes-patch-strategy":  "merge",
		"x-kubernetes-patch-merge-key": s.keys[0],
	}
	if len(s.keys) > 1 {
		keys := make([]any, len(s.keys))
		for i, k := range s.keys {
			keys[i] = k
		}
		list["x-kubernetes-list-map-keys"] = keys
	}
	return list
}
