package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// classFiles are a class of the in-memory infrastructure in folder.
func classFiles(folder string) string {
	return strings.ReplaceAll(`-- FOLDER/kustomization.yaml --
resources: [class.yaml, templates.yaml]
-- FOLDER/class.yaml --
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: dev}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: dev}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: dev}
    machineInfrastructure:
      templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: dev}
  workers:
    machineDeployments:
    - class: worker
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: dev}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: dev}
  variables:
  - name: startup
    schema: {openAPIV3Schema: {type: string, default: 10s}}
  patches:
  - name: startup
    definitions:
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: DevMachineTemplate
        matchResources: {controlPlane: true, machineDeploymentClass: {names: [worker]}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/backend/inMemory/vm/provisioning/startupDuration, valueFrom: {variable: startup}}
-- FOLDER/templates.yaml --
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: dev}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: dev}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupJitter: "0.2"}}}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: dev}
spec: {template: {spec: {kubeadmConfigSpec: {preKubeadmCommands: [echo first]}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: dev}
spec: {template: {spec: {preKubeadmCommands: [echo first]}}}
`, "FOLDER", folder)
}

// classCluster is the manifest of a cluster of class dev.
func classCluster(name string) string {
	return fmt.Sprintf(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: %s}
spec:
  topology:
    classRef: {name: dev}
    version: v1.34.1
    controlPlane: {replicas: 1}
    workers: {machineDeployments: [{class: worker, name: md-0, replicas: 1}]}
`, name)
}

func overlayFiles(dir, cluster string) string {
	return fmt.Sprintf("-- %s/kustomization.yaml --\nresources: [cluster.yaml]\n-- %s/cluster.yaml --\n%s", dir, dir, cluster)
}

func classFleet() string {
	return "-- fleet.yaml --\napiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n" +
		"spec: {clusters: {include: [\"clusters/**\", \"classes/**\"]}}\n" +
		classFiles("classes/dev") + overlayFiles("clusters/a", classCluster("a")) + overlayFiles("clusters/b", classCluster("b")) +
		overlayFiles("clusters/own", classCluster("own")) + strings.ReplaceAll(classFiles("clusters/own/class"), "clusters/own/class/kustomization", "clusters/own/class/unused")
}

// classBuilder decodes what it renders.
func classBuilder() *rendered {
	r := &rendered{}
	r.Builder = render.New(render.Options{
		Decoder: decode.New("f", inmemory.Kinds()), Observe: func(s render.Stats) { r.stats = s },
	})
	return r
}

// A change of a class reaches the clusters that are made from it, in every
// folder, and no others.
func TestLibrary(t *testing.T) {
	first := classFleet()
	own := strings.Replace(first, "resources: [cluster.yaml]\n-- clusters/own/cluster.yaml", "resources: [cluster.yaml, class/class.yaml, class/templates.yaml]\n-- clusters/own/cluster.yaml", 1)
	b := classBuilder()
	before := b.render(t, "sha1:1", tree(own))
	if diff := cmp.Diff([]string(nil), lines(before.Problems)); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"default/a", "default/b", "default/own"}, keys(before)); diff != "" {
		t.Fatal(diff)
	}
	cases := []struct {
		name    string
		change  []string
		built   int
		rolled  []string // clusters with other templates
		remains []string // clusters of the first revision
	}{
		{"comment", []string{"-- classes/dev/class.yaml --\n", "-- classes/dev/class.yaml --\n# the class\n"}, 1, nil, []string{"default/a", "default/b", "default/own"}},
		{
			"default of a variable",
			[]string{"default: 10s}}\n  patches:\n", "default: 20s}}\n  patches:\n"},
			3,
			[]string{"default/a", "default/b"},
			[]string{"default/own"},
		},
		{"nothing", nil, 0, nil, []string{"default/a", "default/b", "default/own"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := classBuilder()
			b.render(t, "sha1:1", tree(own))
			changed := own
			if tc.change != nil {
				changed = strings.Replace(own, tc.change[0], tc.change[1], 1)
			}
			after := b.render(t, "sha1:2", tree(changed))
			if b.stats.Built != tc.built {
				t.Errorf("built %d overlays, want %d", b.stats.Built, tc.built)
			}
			var rolled, remains []string
			for i, c := range after.Clusters {
				if c.ControlPlane.Template != before.Clusters[i].ControlPlane.Template && c.Workers[0].Template != before.Clusters[i].Workers[0].Template {
					rolled = append(rolled, c.Key.String())
				}
				if c.Revision.Digest == "sha1:1" {
					remains = append(remains, c.Key.String())
				}
			}
			if diff := cmp.Diff(tc.rolled, rolled); diff != "" {
				t.Errorf("clusters with other templates: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.remains, remains); diff != "" {
				t.Errorf("clusters of the first revision: -want +got:\n%s", diff)
			}
			fresh := classBuilder().render(t, "sha1:2", tree(changed))
			for i := range fresh.Clusters {
				if fresh.Clusters[i].Digest != after.Clusters[i].Digest {
					t.Errorf("%s differs from what a new builder makes", fresh.Clusters[i].Key)
				}
			}
		})
	}
}

// What is wrong with a class holds back the clusters that use it, each with one
// problem, and is said once of the class.
func TestLibraryProblems(t *testing.T) {
	good := classFleet() + overlayFiles("clusters/plain", clusterYAML("default", "plain"))
	cases := map[string]struct {
		change []string
		want   []string // parts of problems
	}{
		"gone": {
			[]string{"-- classes/dev/kustomization.yaml --", "-- classes/dev/other.yaml --"},
			[]string{
				"clusters/a/cluster.yaml: Cluster default/a: spec.topology.classRef.name: ClusterClass default/dev is neither in the overlay nor in another folder (folders that hold classes and no cluster are looked in, those that spec.clusters of fleet.yaml selects; there is none)",
			},
		},
		"twice": {
			[]string{"-- clusters/own/class/unused.yaml --", "-- clusters/own/class/kustomization.yaml --"},
			[]string{"clusters/a/cluster.yaml: Cluster default/a: spec.topology.classRef.name: ClusterClass default/dev is in classes/dev and in clusters/own/class (keep one of them; a folder that is only a part of another one may be a Component"},
		},
		"unreadable": {
			[]string{"resources: [class.yaml, templates.yaml]", "resources: [class.yaml, template.yaml]"},
			[]string{
				"classes/dev/kustomization.yaml: ",
				"clusters/a/cluster.yaml: Cluster default/a: spec.topology.classRef.name: ClusterClass default/dev is neither in the overlay nor in another folder (folders that hold classes and no cluster are looked in, those that spec.clusters of fleet.yaml selects; there is none; it may be in what cannot be read because of problems: classes/dev)",
			},
		},
		"broken class": {
			[]string{"default: 10s}}\n  patches:\n", "default: 10}}\n  patches:\n"},
			[]string{
				`classes/dev/class.yaml: ClusterClass default/dev: spec.variables[0].schema.openAPIV3Schema.default: Invalid value:`,
				"clusters/a/cluster.yaml: Cluster default/a: spec.topology.classRef.name: ClusterClass default/dev is refused: classes/dev/class.yaml: ClusterClass default/dev: spec.variables[0].schema",
			},
		},
		"broken template": {
			[]string{"{kubeadmConfigSpec: {preKubeadmCommands:", "{kubeadmConfigSpec: {preKubeadmCommand:"},
			[]string{
				"classes/dev/templates.yaml: KubeadmControlPlaneTemplate default/dev: spec.template.spec.kubeadmConfigSpec.preKubeadmCommand: unknown field",
				"clusters/a/cluster.yaml: Cluster default/a: spec.topology.classRef.name: ClusterClass default/dev is refused: classes/dev/templates.yaml: KubeadmControlPlaneTemplate",
			},
		},
		"patch that makes it wrong": {
			[]string{"default: 10s}}\n  patches:\n", "default: soon}}\n  patches:\n"},
			[]string{
				`classes/dev/class.yaml: ClusterClass default/dev: spec.patches[0].definitions[0].jsonPatches[0]: patch "startup" sets spec.template.spec.backend.inMemory.vm.provisioning.startupDuration: Invalid value: "soon"`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(good, tc.change[0], tc.change[1], 1)
			if changed == good {
				t.Fatal("nothing is changed")
			}
			b := classBuilder()
			b.render(t, "sha1:1", tree(good))
			f := b.render(t, "sha1:2", tree(changed))
			all := strings.Join(lines(f.Problems), "\n")
			for _, part := range tc.want {
				if !strings.Contains(all, part) {
					t.Errorf("no problem has %q; there are\n%s", part, all)
				}
			}
			held := map[fleet.Key]int{}
			for _, p := range f.Problems {
				held[p.Cluster]++
			}
			for _, c := range f.Clusters {
				if c.Key.Name == "a" || c.Key.Name == "b" {
					t.Errorf("%s is there", c.Key)
				}
			}
			for _, name := range []string{"a", "b"} {
				if held[fleet.Key{Namespace: "default", Name: name}] == 0 {
					t.Errorf("cluster %s has no problem: it would seem to be gone", name)
				}
			}
		})
	}
}

// What is said of a class that is nowhere tells of the folders as they are now.
func TestLibraryMissing(t *testing.T) {
	gone := strings.Replace(classFleet(), "-- classes/dev/kustomization.yaml --", "-- classes/dev/other.yaml --", 1)
	b := classBuilder()
	b.render(t, "sha1:1", tree(gone))
	next := tree(gone + strings.ReplaceAll(classFiles("classes/gold"), "name: dev}", "name: gold}"))
	again := b.render(t, "sha1:2", next)
	fresh := classBuilder().render(t, "sha1:2", next)
	if diff := cmp.Diff(lines(fresh.Problems), lines(again.Problems)); diff != "" {
		t.Errorf("problems differ from those of a new builder: -want +got:\n%s", diff)
	}
}
