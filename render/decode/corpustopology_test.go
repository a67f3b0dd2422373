package decode_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	openstack "fairlead.dev/providers/infrastructure/openstack/api"
	vsphere "fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/needs"
)

// anyKinds are kinds of infrastructure that take everything as it is.
func anyKinds(prefixes ...string) []fleet.Kind {
	var out []fleet.Kind
	for _, p := range prefixes {
		for suffix, role := range map[string]fleet.KindRole{
			"Cluster": fleet.InfrastructureCluster, "ClusterTemplate": fleet.InfrastructureClusterTemplate,
			"MachineTemplate": fleet.InfrastructureMachineTemplate, "MachinePoolTemplate": fleet.InfrastructureMachinePoolTemplate,
			"DataTemplate": fleet.InfrastructureCompanion,
		} {
			group, name := testGroup, p
			if rest, ok := strings.CutPrefix(p, "vmware."); ok {
				group, name = "vmware."+testGroup, rest
			}
			out = append(out, fleet.Kind{
				Provider: p, Role: role, Group: group, Kind: name + suffix, Versions: []string{"v1beta2", "v1beta1"},
				New:       func(string) any { return &map[string]any{} },
				Normalise: func(v any) (any, field.ErrorList) { return (*v.(*map[string]any))["spec"], nil },
			})
		}
	}
	return out
}

// TestCorpusTopologies expands the classes that upstream projects ship with the
// clusters that they ship for them.
func TestCorpusTopologies(t *testing.T) {
	dir := needs.Corpus(t)
	const docker = "capi/test/infrastructure/docker/templates/"
	cases := map[string]struct {
		kinds []fleet.Kind
		files []string
		mend  []string // old and new text of what the example got wrong
	}{
		"InMemory": {
			kinds: inmemory.Kinds(),
			files: []string{docker + "clusterclass-in-memory.yaml", docker + "cluster-template-in-memory.yaml"},
		},
		"QuickStart": {
			kinds: anyKinds("Dev"),
			files: []string{docker + "clusterclass-quick-start.yaml", docker + "cluster-template-development.yaml"},
		},
		"OpenStack": {
			kinds: openstack.Kinds(),
			files: []string{"capo/templates/clusterclass-dev-test.yaml", "capo/templates/cluster-template-topology.yaml"},
		},
		"VSphere": {
			kinds: vsphere.Kinds(),
			files: []string{"capv/templates/clusterclass-template.yaml", "capv/templates/cluster-template-topology.yaml"},
		},
		"Supervisor": {
			kinds: anyKinds("vmware.VSphere"),
			files: []string{"capv/templates/clusterclass-template-supervisor.yaml", "capv/templates/cluster-template-topology-supervisor.yaml"},
		},
		"Metal3": {
			kinds: anyKinds("Metal3"),
			files: []string{"capm3/examples/templates/clusterclass.yaml", "capm3/examples/templates/cluster.yaml"},
			mend:  []string{"    machineHealthCheck:", "    healthCheck:"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kinds := map[string]bool{}
			for k := range inScope() {
				kinds[k] = true
			}
			for _, k := range tc.kinds {
				kinds[k.Kind] = true
			}
			var objects []render.Object
			for _, file := range tc.files {
				data, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				text := strings.NewReplacer(append(tc.mend, "$${", "${DOLLAR:=$}{", "${NAMESPACE}", "default")...).Replace(string(data))
				for _, doc := range documents(text) {
					if kinds[doc.kind] {
						objects = append(objects, render.Object{File: file, YAML: doc.yaml})
					}
				}
			}
			d := decode.New("f", tc.kinds)
			clusters, problems := d.Decode("overlay", objects)
			for _, p := range problems {
				t.Errorf("%s", p)
			}
			var got []string
			for _, c := range clusters {
				for _, p := range c.Pools() {
					got = append(got, string(p.Name)+" "+p.Version)
				}
			}
			slices.Reverse(objects)
			again, _ := d.Decode("overlay", objects)
			if diff := gocmp.Diff(digests(clusters), digests(again)); diff != "" {
				t.Errorf("the order of objects matters: -one way +the other:\n%s", diff)
			}
			want := []string{"x-kt4p5 v1.34.1", "x-md-0-28ld8 v1.34.1"}
			if name == "Metal3" {
				want[1] = "x-x-machine-fnv7j v1.34.1"
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("pools: -want +got:\n%s", diff)
			}
		})
	}
}

func digests(clusters []fleet.Cluster) []string {
	var out []string
	for _, c := range clusters {
		out = append(out, c.Digest)
	}
	return out
}
