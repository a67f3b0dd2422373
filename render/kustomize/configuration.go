package kustomize

import (
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	k8syaml "sigs.k8s.io/yaml"

	"fairlead.dev/fleet/documents"
)

// Paths of the built-in configuration in the file system of a build. Colons and spaces keep
// them apart from names that people use. kustomize parses the configuration again in each
// kustomization that names it, so each names only what it needs: references are fixed once,
// in the overlay; fields where they are changed.
const (
	referencesFile = ".fairlead: references.yaml"
	fieldsFile     = ".fairlead: fields.yaml"
)

// fieldSpecs is a transformer configuration, as far as Fairlead has one.
type fieldSpecs struct {
	Namespace     []types.FieldSpec `json:"namespace,omitempty"`
	NameReference []nameReference   `json:"nameReference,omitempty"`
	Replicas      []types.FieldSpec `json:"replicas,omitempty"`
}

// A nameReference says which fields hold the name of an object of a kind.
type nameReference struct {
	resid.Gvk `json:",inline"`
	Fields    []types.FieldSpec `json:"fieldSpecs"`
}

// The groups of Cluster API. The specs name no kind where the kind of any provider is
// meant.
const (
	coreGroup           = "cluster.x-k8s.io"
	bootstrapGroup      = "bootstrap.cluster.x-k8s.io"
	controlPlaneGroup   = "controlplane.cluster.x-k8s.io"
	infrastructureGroup = "infrastructure.cluster.x-k8s.io"
	addonsGroup         = "addons.cluster.x-k8s.io"
)

// fields returns the specs of paths in a kind, or in all kinds of a group.
func fields(group, kind string, paths ...string) []types.FieldSpec {
	var out []types.FieldSpec
	for _, p := range paths {
		out = append(out, types.FieldSpec{Gvk: resid.Gvk{Group: group, Kind: kind}, Path: p})
	}
	return out
}

// machineKinds are the kinds with a machine's spec in spec.template.spec.
func machineKinds() []string { return []string{"MachineDeployment", "MachineSet", "MachinePool"} }

// ofMachines returns the specs of a path in the machine's spec of each kind
// that has one.
func ofMachines(path string) []types.FieldSpec {
	out := fields(coreGroup, "Machine", "spec/"+path)
	for _, k := range machineKinds() {
		out = append(out, fields(coreGroup, k, "spec/template/spec/"+path)...)
	}
	return out
}

// clusterNames returns the specs of the fields that name a machine's cluster.
func clusterNames() []types.FieldSpec {
	const label = `cluster.x-k8s.io\/cluster-name`
	out := slices.Concat(
		fields(coreGroup, "Machine", "spec/clusterName"),
		fields(coreGroup, "MachineHealthCheck", "spec/clusterName", "spec/selector/matchLabels/"+label),
		fields("", "", "metadata/labels/"+label),
	)
	for _, k := range machineKinds() {
		out = append(out, fields(coreGroup, k, "spec/clusterName", "spec/template/spec/clusterName",
			"spec/selector/matchLabels/"+label, "spec/template/metadata/labels/"+label)...)
	}
	return out
}

// classRefs returns the specs of the references in a ClusterClass, v1beta1 and
// v1beta2, below the given path.
func classRefs(path string) []types.FieldSpec {
	return fields(coreGroup, "ClusterClass", path+"/ref/name", path+"/templateRef/name")
}

// bootstrapFiles returns the specs of the Secrets that bootstrap configurations take files
// from.
func bootstrapFiles() []types.FieldSpec {
	const file = "files/contentFrom/secret/name"
	return slices.Concat(
		fields(bootstrapGroup, "KThreesConfig", "spec/"+file),
		fields(bootstrapGroup, "KThreesConfigTemplate", "spec/template/spec/"+file),
		fields(controlPlaneGroup, "KThreesControlPlane", "spec/kthreesConfigSpec/"+file),
		fields(controlPlaneGroup, "KThreesControlPlaneTemplate", "spec/template/spec/kthreesConfigSpec/"+file),
		fields(bootstrapGroup, "RKE2Config", "spec/"+file),
		fields(bootstrapGroup, "RKE2ConfigTemplate", "spec/template/spec/"+file),
		fields(controlPlaneGroup, "RKE2ControlPlane", "spec/"+file),
		fields(controlPlaneGroup, "RKE2ControlPlaneTemplate", "spec/template/spec/"+file),
		fields(bootstrapGroup, "KubeadmConfig", "spec/"+file),
		fields(bootstrapGroup, "KubeadmConfigTemplate", "spec/template/spec/"+file),
		fields(controlPlaneGroup, "KubeadmControlPlane", "spec/kubeadmConfigSpec/"+file),
		fields(controlPlaneGroup, "KubeadmControlPlaneTemplate", "spec/template/spec/kubeadmConfigSpec/"+file),
	)
}

// builtin returns what kustomize has to know of Cluster API so that namePrefix,
// nameSuffix, namespace and replicas do what people expect.
func builtin() fieldSpecs {
	infrastructure := slices.Concat(
		fields(coreGroup, "Cluster", "spec/infrastructureRef/name"),
		ofMachines("infrastructureRef/name"),
		fields(controlPlaneGroup, "", "spec/machineTemplate/infrastructureRef/name", "spec/machineTemplate/spec/infrastructureRef/name",
			"spec/infrastructureTemplate/name", "spec/infrastructureRef/name"), // v1beta1 of KThreesControlPlane and RKE2ControlPlane
		fields(coreGroup, "MachineHealthCheck", "spec/remediationTemplate/name", "spec/remediation/templateRef/name"),
		classRefs("spec/infrastructure"), classRefs("spec/controlPlane/machineInfrastructure"),
	)
	bootstrap := ofMachines("bootstrap/configRef/name")
	for _, pools := range []string{"machineDeployments", "machinePools"} {
		for _, template := range []string{"", "/template"} {
			at := "spec/workers/" + pools + template
			infrastructure = append(infrastructure, classRefs(at+"/infrastructure")...)
			bootstrap = append(bootstrap, classRefs(at+"/bootstrap")...)
		}
	}
	objects := fields(addonsGroup, "ClusterResourceSet", "spec/resources/name")
	secrets := slices.Concat(objects, bootstrapFiles(), fields(infrastructureGroup, "",
		"spec/identityRef/name", "spec/template/spec/identityRef/name", "spec/userData/name"))
	replicas := slices.Concat(
		fields(coreGroup, "MachineDeployment", "spec/replicas"), fields(coreGroup, "MachineSet", "spec/replicas"),
		fields(coreGroup, "MachinePool", "spec/replicas"), fields(controlPlaneGroup, "", "spec/replicas"),
	)
	for i := range replicas {
		replicas[i].CreateIfNotPresent = true
	}
	return fieldSpecs{
		Namespace: slices.Concat(
			fields(coreGroup, "Cluster", "spec/infrastructureRef/namespace", "spec/controlPlaneRef/namespace"),
			ofMachines("infrastructureRef/namespace"), ofMachines("bootstrap/configRef/namespace"),
			fields(controlPlaneGroup, "", "spec/machineTemplate/infrastructureRef/namespace"),
		),
		NameReference: []nameReference{
			{resid.Gvk{Group: infrastructureGroup}, infrastructure},
			{resid.Gvk{Group: bootstrapGroup}, bootstrap},
			{resid.Gvk{Group: controlPlaneGroup}, slices.Concat(fields(coreGroup, "Cluster", "spec/controlPlaneRef/name"), classRefs("spec/controlPlane"))},
			{resid.Gvk{Group: coreGroup, Kind: "Cluster"}, clusterNames()},
			{resid.Gvk{Group: coreGroup, Kind: "ClusterClass"}, fields(coreGroup, "Cluster", "spec/topology/class", "spec/topology/classRef/name")},
			{resid.Gvk{Version: "v1", Kind: "Secret"}, secrets},
			{resid.Gvk{Version: "v1", Kind: "ConfigMap"}, objects},
		},
		Replicas: replicas,
	}
}

// configurations admits the configuration files that a kustomization brings and
// adds the built-in one.
func (v *visit) configurations() error {
	for i, ref := range v.k.Configurations {
		at := v.at("configurations[%d]", i)
		file, err := v.localFile(ref, at)
		if err != nil {
			return err
		}
		v.k.Configurations[i] = relative(v.dir, file)
		if err := v.yamlFile(file, at, false); err != nil {
			return err
		}
		v.weight.transforming += int64(len(v.files[file])) // paths that objects lack are created
		var own fieldSpecs
		if err := documents.Unmarshal(v.files[file], &own, documents.BuiltLimits()); err != nil {
			return place{file: file}.refuse("see kustomize's transformer configurations", "%s", documents.OneLine(err))
		}
		v.configs = append(v.configs, own)
	}
	if v.dir == v.overlay {
		v.k.Configurations = append(v.k.Configurations, relative(v.dir, referencesFile))
	}
	if v.k.Namespace != "" || len(v.k.Replicas) > 0 {
		v.k.Configurations = append(v.k.Configurations, relative(v.dir, fieldsFile))
	}
	return nil
}

// addConfiguration stores the built-in configuration without fields that the overlay
// configures itself: kustomize refuses two different ones.
func (s *scanner) addConfiguration() {
	if len(s.configs) == 0 {
		s.files[referencesFile], s.files[fieldsFile] = s.builtin.references, s.builtin.fields
		return
	}
	out := builtin()
	for _, own := range s.configs {
		out.Namespace = without(out.Namespace, own.Namespace)
		out.Replicas = without(out.Replicas, own.Replicas)
		for _, o := range own.NameReference {
			for i, b := range out.NameReference {
				if b.Gvk == o.Gvk {
					out.NameReference[i].Fields = without(b.Fields, o.Fields)
				}
			}
		}
	}
	c := out.marshal()
	s.files[referencesFile], s.files[fieldsFile] = c.references, c.fields
}

// A configuration is the content of the two files.
type configuration struct{ references, fields []byte }

func (f fieldSpecs) marshal() configuration {
	references, err := k8syaml.Marshal(fieldSpecs{NameReference: f.NameReference})
	if err != nil {
		panic(err) // it is made of strings
	}
	fields, err := k8syaml.Marshal(fieldSpecs{Namespace: f.Namespace, Replicas: f.Replicas})
	if err != nil {
		panic(err)
	}
	return configuration{references, fields}
}

// without returns the specs that select other fields than all specs in own.
func without(specs, own []types.FieldSpec) []types.FieldSpec {
	return slices.DeleteFunc(specs, func(f types.FieldSpec) bool {
		return slices.ContainsFunc(own, func(o types.FieldSpec) bool {
			return o.Path == f.Path && (o.IsSelected(&f.Gvk) || f.IsSelected(&o.Gvk))
		})
	})
}
