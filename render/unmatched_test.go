package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/render"
)

// A patch whose target selects nothing is a warning.
func TestUnmatchedPatches(t *testing.T) {
	const md = "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata: {name: '${N:=a}-md-0'}\n"
	const op = "\n  patch: '[{\"op\": \"add\", \"path\": \"/spec\", \"value\": {}}]'\n"
	base := "-- base/kustomization.yaml --\nresources: [c.yaml]\n-- base/c.yaml --\n" + clusterYAML("team", "${N:=a}") + md
	overlay := func(dir, more string) string {
		return "-- clusters/" + dir + "/kustomization.yaml --\nresources: [../../base]\n" + more + "-- clusters/" + dir + "/.env --\nN=" + dir + "\n"
	}
	const message = "the target matches no object, so the patch changes nothing"
	cases := map[string]struct {
		reason, archive string
		want            []string
	}{
		"Kind": {
			reason:  "no object has the kind",
			archive: overlay("a", "patches:\n- target: {kind: MachineDeploymnt}"+op) + base,
			want:    []string{"clusters/a/kustomization.yaml: patches[0].target: " + message + " (check its group, version and kind: the overlay has no such object)"},
		},
		"FilledInName": {
			reason:  "kustomize builds before variables are filled in",
			archive: overlay("a", "patches:\n- target: {kind: MachineDeployment}"+op+"- target: {kind: MachineDeployment, name: a-md-0}"+op) + base,
			want: []string{"clusters/a/kustomization.yaml: patches[1].target: " + message + " (check its name and namespace: until variables are filled in, the objects of its kind are called ${N:=a}-md-0; " +
				"the name is a regular expression, such as .*-md-0)"},
		},
		"NameThatVariesAsWritten": {
			reason:  "a name is a regular expression, in which $ is the end",
			archive: overlay("a", "patches:\n- target: {kind: Cluster, name: '${N:=a}'}"+op) + base,
			want: []string{"clusters/a/kustomization.yaml: patches[0].target: " + message + " (check its name and namespace: until variables are filled in, the objects of its kind are called ${N:=a}; " +
				"the name is a regular expression, such as .*-md-0)"},
		},
		"Matches": {
			reason: "names, namespaces, generated objects and selectors that match, or may match, are no warning",
			archive: overlay("a", "configMapGenerator: [{name: m, literals: [a=b]}]\npatches:\n- target: {kind: Cluster, namespace: team}"+op+"- target: {kind: MachineDeployment, name: '.*-md-0'}"+op+
				"- target: {kind: ConfigMap, name: m}"+op+"- target: {labelSelector: a=b}"+op) + base,
		},
		"Prefix": {
			reason:  "a name that changes in the build may match",
			archive: overlay("a", "namePrefix: x-\npatches:\n- target: {kind: MachineDeployment, name: x-a}"+op) + base,
		},
		"ChangedKind": {
			reason:  "so may a kind",
			archive: overlay("a", "patches:\n- target: {kind: MachineDeployment}\n  patch: '[{\"op\": \"replace\", \"path\": \"/kind\", \"value\": \"Other\"}]'\n- target: {kind: Other}"+op) + base,
		},
		"SharedForOne": {
			reason: "a shared patch may be for one of the overlays that include it",
			archive: overlay("a", "components: [../../c]\n") +
				"-- clusters/b/kustomization.yaml --\nresources: [../../base, m.yaml]\ncomponents: [../../c]\n-- clusters/b/.env --\nN=b\n-- clusters/b/m.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" +
				"-- c/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {kind: Secret}" + op + base,
		},
		"SharedForNobody": {
			reason: "a shared patch that selects nothing in any of them is one warning",
			archive: overlay("a", "components: [../../c]\n") + overlay("b", "components: [../../c]\n") +
				"-- c/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {kind: Secret}" + op + base,
			want: []string{"c/kustomization.yaml: patches[0].target: " + message + " (check its group, version and kind: the overlay has no such object)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(render.Options{})
			fleetOf := tree(tc.archive)
			for _, rev := range []string{"sha1:1", "sha1:2"} { // built, and kept
				f := b.render(t, rev, fleetOf)
				if diff := cmp.Diff(tc.want, lines(f.Warnings)); diff != "" || len(f.Problems) > 0 {
					t.Errorf("%s: got problems %q; warnings -want, +got:\n%s", tc.reason, lines(f.Problems), diff)
				}
			}
		})
	}
}

// A variable that no object has is a warning.
func TestUnusedVariables(t *testing.T) {
	base := "-- base/kustomization.yaml --\nresources: [c.yaml]\n-- base/c.yaml --\n" + clusterYAML("team", "${N}-${M:=x}")
	overlay := func(dir, resources, env string) string {
		return "-- clusters/" + dir + "/kustomization.yaml --\nresources: [../../base" + resources + "]\n-- clusters/" + dir + "/.env --\n" + env
	}
	values := func(file, data string) string {
		return "-- " + file + " --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: values\n  annotations: {fairlead.dev/substitute: 'true'}\ndata: {" + data + "}\n"
	}
	replacement := func(source, field string) string {
		return "- source: {" + source + ", fieldPath: " + field + "}\n  targets: [{select: {kind: Cluster}, fieldPaths: [metadata.labels.x], options: {create: true}}]\n"
	}
	const shared = "-- shared/kustomization.yaml --\nresources: [values.yaml]\n"
	const why = "the variable is not used: no object has "
	cases := map[string]struct {
		reason, archive string
		want            []string
		problems        int
	}{
		"Used": {
			reason:  "one with a default counts as well",
			archive: overlay("a", "", "N=a\nM=b\n") + base,
		},
		"Env": {
			reason:  "a mistyped name",
			archive: overlay("a", "", "N=a\nMM=b\n") + base,
			want:    []string{"clusters/a/.env: MM: " + why + "${MM} (remove it, or correct its name)"},
		},
		"ConfigMap": {
			reason:  "its file and field are named",
			archive: overlay("a", ", values.yaml", "") + values("clusters/a/values.yaml", "N: a, X: b") + base,
			want:    []string{"clusters/a/values.yaml: data.X: " + why + "${X} (remove it, or correct its name)"},
		},
		"Replacement": {
			reason: "a replacement reads a value: of this one kind, or of any",
			archive: overlay("a", ", values.yaml]\nreplacements:\n"+replacement("kind: ConfigMap", "data.X")+replacement("name: values", "data.Y")+"images: [", "M=x\n") +
				values("clusters/a/values.yaml", "N: a, X: b, Y: c, Z: d") + base,
			want: []string{"clusters/a/values.yaml: data.Z: " + why + "${Z} (remove it, or correct its name)"},
		},
		"Generator": {
			reason:  "a generator reads the same file",
			archive: overlay("a", "]\nconfigMapGenerator: [{name: settings, envs: [.env]}", "N=a\nX=b\n") + base,
		},
		"SharedForOne": {
			reason: "shared values may be for one of the overlays",
			archive: overlay("a", ", ../../shared", "N=a\n") + overlay("b", ", ../../shared, m.yaml", "N=b\n") +
				"-- clusters/b/m.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: '${X}'}\n" + shared + values("shared/values.yaml", "X: b") + base,
		},
		"SharedForNobody": {
			reason:  "shared values that no overlay uses are one warning",
			archive: overlay("a", ", ../../shared", "N=a\n") + overlay("b", ", ../../shared", "N=b\n") + shared + values("shared/values.yaml", "X: b") + base,
			want:    []string{"shared/values.yaml: data.X: " + why + "${X} (remove it, or correct its name)"},
		},
		"Problem": {
			reason:   "an object with a problem is not read to its end",
			archive:  overlay("a", "", "MM=b\n") + base,
			problems: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(render.Options{})
			fleetOf := tree(tc.archive)
			for _, rev := range []string{"sha1:1", "sha1:2"} { // built, and kept
				f := b.render(t, rev, fleetOf)
				if diff := cmp.Diff(tc.want, lines(f.Warnings)); diff != "" || len(f.Problems) != tc.problems {
					t.Errorf("%s: got problems %q; warnings -want, +got:\n%s", tc.reason, lines(f.Problems), diff)
				}
			}
		})
	}
}
