package decode

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"fairlead.dev/test/run/needs"
)

// TestTablesNameFields finds entries of tables that no version has: they would
// promise something that never happens.
func TestTablesNameFields(t *testing.T) {
	for gk, k := range knownKinds(nil) {
		known := func(path string) bool {
			return path == "status" || slices.ContainsFunc(k.versions, func(v string) bool {
				return hasField(reflect.TypeOf(k.new(v)), path)
			})
		}
		for name, table := range map[string]map[string]string{"refused": k.refused, "limited": k.limited, "unused": k.unused} {
			for path, why := range table {
				if !known(path) {
					t.Errorf("%s: the table of %s fields has %q, which no version has", gk, name, path)
				}
				if why == "" {
					t.Errorf("%s: the table of %s fields gives no reason for %q", gk, name, path)
				}
			}
		}
		for version, paths := range k.renamed {
			for newest, old := range paths {
				if !hasField(reflect.TypeOf(k.new(k.versions[0])), newest) {
					t.Errorf("%s: renamed has %q, which %s does not have", gk, newest, k.versions[0])
				}
				if !hasField(reflect.TypeOf(k.new(version)), old) {
					t.Errorf("%s: renamed has %q, which %s does not have", gk, old, version)
				}
			}
		}
	}
}

type property struct {
	Preserve             bool                 `json:"x-kubernetes-preserve-unknown-fields"`
	Properties           map[string]*property `json:"properties"`
	Items                *property            `json:"items"`
	AdditionalProperties any                  `json:"additionalProperties"`
	Enum                 []any                `json:"enum"`
}

// TestSchemasAndTypesAgree compares Cluster API's schemas with the Go types: a
// field that one of them lacks, and a value that only one of them takes.
func TestSchemasAndTypesAgree(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(needs.Corpus(t), "crds/capi/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, seen := knownKinds(nil), map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Group    string                `json:"group"`
				Names    struct{ Kind string } `json:"names"`
				Versions []struct {
					Name   string `json:"name"`
					Schema struct {
						OpenAPIV3Schema *property `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(data, &crd); err != nil {
			t.Fatal(err)
		}
		k := kinds[groupKind(crd.Spec.Group, crd.Spec.Names.Kind)]
		if k == nil {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if !slices.Contains(k.versions, v.Name) {
				continue
			}
			seen[k.name+" "+v.Name] = true
			compareSchema(t, k, v.Name, v.Schema.OpenAPIV3Schema.Properties["spec"],
				deref(reflect.TypeOf(k.new(v.Name))), "spec")
		}
	}
	want := []string{
		"Cluster v1beta1", "Cluster v1beta2", "ClusterClass v1beta1", "ClusterClass v1beta2",
		"ClusterResourceSet v1beta1", "ClusterResourceSet v1beta2", "KubeadmConfig v1beta1", "KubeadmConfig v1beta2",
		"KubeadmConfigTemplate v1beta1", "KubeadmConfigTemplate v1beta2",
		"KubeadmControlPlane v1beta1", "KubeadmControlPlane v1beta2",
		"KubeadmControlPlaneTemplate v1beta1", "KubeadmControlPlaneTemplate v1beta2",
		"Machine v1beta1", "Machine v1beta2", "MachineDeployment v1beta1", "MachineDeployment v1beta2",
		"MachineDrainRule v1beta1", "MachineDrainRule v1beta2", "MachineHealthCheck v1beta1", "MachineHealthCheck v1beta2",
		"MachinePool v1beta1", "MachinePool v1beta2", "MachineSet v1beta1", "MachineSet v1beta2",
	}
	if diff := gocmp.Diff(want, slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("schemas seen: -want +got:\n%s", diff)
	}
}

// compareSchema compares the property s at path with the field of that path of t.
func compareSchema(t *testing.T, k *kind, version string, s *property, parent reflect.Type, path string) {
	name := path[strings.LastIndex(path, ".")+1:]
	fields := fieldsOf(parent)
	i := slices.IndexFunc(fields, func(f structField) bool { return f.name == name })
	if i < 0 {
		t.Errorf("%s %s: the type has no %s", k.name, version, path)
		return
	}
	if k.refused[path] != "" {
		return
	}
	typ := elem(fields[i].typ)
	for s.Items != nil {
		s = s.Items
	}
	if typ.Kind() == reflect.String && len(s.Enum) > 0 {
		var want []string
		for _, e := range s.Enum {
			if e != "" {
				want = append(want, e.(string))
			}
		}
		got := slices.Clone(k.allowed(typ, path))
		slices.Sort(want)
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s: values of %s (%s): -schema +decoder:\n%s", k.name, version, path, typ, diff)
		}
	}
	if typ.Kind() != reflect.Struct || isLeaf(typ) || s.Preserve {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(s.Properties)) {
		compareSchema(t, k, version, s.Properties[p], typ, path+"."+p)
	}
	for _, f := range fieldsOf(typ) {
		below := path + "." + f.name
		if s.Properties[f.name] == nil && k.refused[below] == "" && k.unused[below] == "" {
			t.Errorf("%s %s: the schema has no %s", k.name, version, below)
		}
	}
}
