package decode_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	docker "fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/needs"
	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// TestCorpus decodes every document of every manifest that upstream projects
// ship: those of kinds in scope are read, the others are refused by name.
func TestCorpus(t *testing.T) {
	dir := needs.Corpus(t)
	scope := inScope()
	read, refused := map[string]int{}, map[string]int{}
	d := decode.New("f", devKinds())
	for _, file := range manifests(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range documents(string(data)) {
			_, problems := d.Decode("corpus", []render.Object{{File: file, YAML: doc.yaml}})
			problems = slices.DeleteFunc(problems, elsewhere)
			if !scope[doc.kind] {
				refused[doc.kind]++
				if len(problems) != 1 || !strings.Contains(problems[0].Message, doc.kind) {
					t.Errorf("%s: %s: want one problem that names the kind, got %v", file, doc.kind, problems)
				}
				continue
			}
			read[doc.kind]++
			for _, p := range problems {
				if !expected(p) {
					t.Errorf("%s", p)
				}
			}
		}
	}
	t.Logf("read %v", read)
	t.Logf("refused %v", refused)
	want := []string{
		"Cluster", "ClusterClass", "ClusterResourceSet", "ConfigMap", "DevClusterTemplate", "DevMachinePoolTemplate", "DevMachineTemplate", "DockerCluster", "DockerMachine", "DockerMachinePool", "DockerMachineTemplate",
		"KubeadmConfig", "KubeadmConfigTemplate",
		"KubeadmControlPlane", "KubeadmControlPlaneTemplate", "Machine", "MachineDeployment", "MachinePool", "Secret",
	}
	if diff := gocmp.Diff(want, slices.Sorted(maps.Keys(read))); diff != "" {
		t.Errorf("kinds that were read: -want +got:\n%s", diff)
	}
}

// TestCorpusClusters decodes each manifest of the corpus as a whole, its
// infrastructure kinds taken as they are, and wants the clusters in it.
func TestCorpusClusters(t *testing.T) {
	dir := needs.Corpus(t)
	kinds := devKinds()
	for _, provider := range []struct{ name, group string }{
		{"OpenStack", testGroup}, {"VSphere", testGroup}, {"VSphere", "vmware." + testGroup}, {"Metal3", testGroup},
	} {
		for suffix, role := range map[string]fleet.KindRole{"Cluster": fleet.InfrastructureCluster, "MachineTemplate": fleet.InfrastructureMachineTemplate} {
			kinds = append(kinds, fleet.Kind{
				Provider: provider.name, Role: role,
				Group: provider.group, Kind: provider.name + suffix, Versions: []string{"v1beta2", "v1beta1"},
				New:       func(string) any { return &map[string]any{} },
				Normalise: func(v any) (any, field.ErrorList) { return (*v.(*map[string]any))["spec"], nil },
			})
		}
	}
	d := decode.New("f", kinds)
	scope := inScope()
	for _, k := range kinds {
		scope[k.Kind] = true
	}
	got := map[string]int{}
	for _, file := range manifests(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		var objects []render.Object
		for _, doc := range documents(string(data)) {
			if scope[doc.kind] {
				objects = append(objects, render.Object{File: file, YAML: doc.yaml})
			}
		}
		clusters, problems := d.Decode(file, objects)
		if len(clusters) > 0 {
			got[file] = len(clusters)
		}
		for _, p := range problems {
			if !expected(p) && !elsewhere(p) {
				t.Errorf("%s", p)
			}
		}
	}
	want := map[string]int{
		"capi/test/infrastructure/docker/examples/machine-pool.yaml":        1,
		"capi/test/infrastructure/docker/examples/simple-cluster-ipv6.yaml": 1,
		"capi/test/infrastructure/docker/examples/simple-cluster.yaml":      1,
		"capo/kustomize/capi-v1beta1/cluster-template.yaml":                 1,
		"capo/kustomize/default/cluster-template.yaml":                      1,
		"capo/templates/cluster-template-capi-v1beta1.yaml":                 1,
		"capo/templates/cluster-template-flatcar-sysext.yaml":               1,
		"capo/templates/cluster-template-flatcar.yaml":                      1,
		"capo/templates/cluster-template-without-lb.yaml":                   1,
		"capo/templates/cluster-template.yaml":                              1,
		"capv/templates/cluster-template-external-loadbalancer.yaml":        1,
		"capv/templates/cluster-template-ignition.yaml":                     1,
		"capv/templates/cluster-template-node-ipam.yaml":                    1,
		"capv/templates/cluster-template-supervisor.yaml":                   1,
		"capv/templates/cluster-template.yaml":                              1,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("clusters by file: -want +got:\n%s", diff)
	}
}

// devKinds are those of Cluster API's providers for development.
func devKinds() []fleet.Kind { return append(docker.Kinds(), inmemory.Kinds()...) }

// inScope are the kinds that are to be read.
func inScope() map[string]bool {
	return map[string]bool{
		"Cluster": true, "MachineDeployment": true, "MachineHealthCheck": true, "KubeadmConfigTemplate": true,
		"Machine": true, "MachinePool": true, "KubeadmConfig": true,
		"ClusterClass": true, "KubeadmControlPlaneTemplate": true, "DevClusterTemplate": true,
		"DockerCluster": true, "DockerMachine": true, "DockerMachinePool": true, "DockerMachineTemplate": true,
		"KubeadmControlPlane": true, "DevCluster": true, "DevMachineTemplate": true, "DevMachinePoolTemplate": true, "Secret": true, "ConfigMap": true, "ClusterResourceSet": true,
	}
}

type document struct {
	kind string
	yaml []byte
}

// documents returns the objects in a manifest, variables substituted. What is
// no object by itself, configuration or patch of kustomize, is left out.
func documents(manifest string) []document {
	var out []document
	for doc := range strings.SplitSeq("\n"+substituted(manifest), "\n---") {
		var head struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		if yaml.Unmarshal([]byte(doc), &head) != nil || head.Kind == "" || head.Metadata.Name == "" {
			continue
		}
		out = append(out, document{head.Kind, []byte(doc)})
	}
	return out
}

// elsewhere reports whether a problem is only that an object is decoded without
// those that it refers to.
func elsewhere(p fleet.Problem) bool {
	return strings.Contains(p.Message, "which the overlay does not hold") || strings.Contains(p.Message, "neither in the overlay nor in another folder")
}

// expected reports whether a problem is a field that the corpus uses and
// Fairlead does not honour yet.
func expected(p fleet.Problem) bool {
	for field, why := range map[string]string{
		"machineHealthCheck": "unknown field",  // a slip of the example
		"controlPlaneRef":    "Required value", // an example of a cluster without a KubeadmControlPlane

		"metadata.labels[cluster.x-k8s.io/control-plane]": "only a KubeadmControlPlane keeps", // the same
	} {
		if strings.HasSuffix(p.Field, field) && strings.Contains(p.Message, why) {
			return true
		}
	}
	return false
}

// manifests lists the manifests below dir, sorted.
func manifests(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	for _, project := range []string{"capi", "capo", "capv", "capm3"} {
		err := fs.WalkDir(os.DirFS(dir), project, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && strings.HasSuffix(path, ".yaml") && !strings.HasPrefix(e.Name(), "patch-") {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// substituted puts defaults, or values that make sense, in the place of variables.
func substituted(s string) string {
	variable := regexp.MustCompile(`\$\{([A-Za-z0-9_]+)(?::?[=-]([^}]*))?\}`)
	return variable.ReplaceAllStringFunc(s, func(m string) string {
		parts := variable.FindStringSubmatch(m)
		name, value := strings.ToUpper(parts[1]), parts[2]
		switch {
		case value != "":
			return value
		case strings.HasSuffix(name, "VERSION"):
			return "v1.34.1"
		case strings.HasSuffix(name, "COUNT"), strings.HasSuffix(name, "REPLICAS"):
			return "1"
		case strings.HasSuffix(name, "_B64"):
			return "eA=="
		case strings.HasSuffix(name, "PORT"):
			return "6443"
		case strings.HasSuffix(name, "CIDR"):
			return "10.0.0.0/16"
		case strings.HasSuffix(name, "THUMBPRINT"):
			return "" // as of a vCenter whose certificate an authority signed
		}
		return "x"
	})
}
