package kustomize_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v3"
)

// indented returns text with each line after spaces.
func indented(text, spaces string) string {
	return spaces + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+spaces) + "\n"
}

// controlPlane is a KubeadmControlPlane with a spec of kubeadm.
func controlPlane(spec string) string {
	return "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nmetadata: {name: cp}\nspec:\n  kubeadmConfigSpec:\n" + indented(spec, "    ")
}

// built returns the specs of kubeadm of the KubeadmControlPlanes that the overlay o of an
// archive renders.
func built(t *testing.T, tree fstest.MapFS) []any {
	t.Helper()
	text, problem := build(tree, "o")
	if problem != nil {
		t.Fatal(problem)
	}
	var out []any
	for dec := yaml.NewDecoder(strings.NewReader(strings.ReplaceAll(text, "\n# ", "\n---\n# "))); ; {
		var o struct {
			Kind string
			Spec struct {
				KubeadmConfigSpec any `yaml:"kubeadmConfigSpec"`
			}
		}
		if dec.Decode(&o) != nil {
			return out
		}
		if o.Kind == "KubeadmControlPlane" {
			out = append(out, o.Spec.KubeadmConfigSpec)
		}
	}
}

// A patch merges a keyed list into the list of the base.
func TestKeyedLists(t *testing.T) {
	cases := map[string]struct{ reason, base, patch, want string }{
		"OrderStays": {
			reason: "items of the base keep their places; new ones go to the end in the order of the patch",
			base:   `users: [{name: a}, {name: b}, {name: c}]`,
			patch:  `users: [{name: z}, {name: c, shell: s}, {name: y}, {name: a, shell: s}]`,
			want:   `users: [{name: a, shell: s}, {name: b}, {name: c, shell: s}, {name: z}, {name: y}]`,
		},
		"EmptyListEmpties": {
			reason: "an empty list in a patch is an empty list",
			base:   `{files: [{path: /a}], joinConfiguration: {nodeRegistration: {taints: [{key: k, effect: e}]}}}`,
			patch:  `{files: [], joinConfiguration: {nodeRegistration: {taints: []}}}`,
			want:   `{files: [], joinConfiguration: {nodeRegistration: {taints: []}}}`,
		},
		"EmptyListOfNothing": {
			reason: "an empty list says something where the base has none: no taints, not those of kubeadm",
			base:   `joinConfiguration: {nodeRegistration: {name: n}}`,
			patch:  `joinConfiguration: {nodeRegistration: {taints: []}}`,
			want:   `joinConfiguration: {nodeRegistration: {name: n, taints: []}}`,
		},
		"NullRemoves": {
			reason: "null removes the list",
			base:   `{files: [{path: /a}], users: [{name: a}]}`,
			patch:  `files: null`,
			want:   `users: [{name: a}]`,
		},
		"RepeatedArgumentStays": {
			reason: "an argument with two values keeps both while the patch changes something else",
			base:   `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: new}, {name: i, value: old}, {name: v, value: "1"}]}}`,
			patch:  `clusterConfiguration: {apiServer: {extraArgs: [{name: v, value: "2"}]}}`,
			want:   `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: new}, {name: i, value: old}, {name: v, value: "2"}]}}`,
		},
		"RepeatedArgumentIsSet": {
			reason: "a patch that names an argument sets all its values",
			base:   `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: new}, {name: v, value: "1"}, {name: i, value: old}]}}`,
			patch:  `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: only}]}}`,
			want:   `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: only}, {name: v, value: "1"}]}}`,
		},
		"ArgumentIsRepeatedByPatch": {
			reason: "the values of an argument stand together in the order of the patch: the first issuer signs",
			base:   `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: old}, {name: v, value: "1"}]}}`,
			patch:  `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: new}, {name: i, value: old}]}}`,
			want:   `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: new}, {name: i, value: old}, {name: v, value: "1"}]}}`,
		},
		"OneValueIsDeleted": {
			reason: "a deletion that names the value leaves the other ones",
			base:   `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: new}, {name: i, value: old}]}}`,
			patch:  `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: old, $patch: delete}]}}`,
			want:   `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: new}]}}`,
		},
		"ArgumentIsDeleted": {
			reason: "a deletion that names no value deletes all values",
			base:   `clusterConfiguration: {apiServer: {extraArgs: [{name: i, value: new}, {name: v, value: "1"}, {name: i, value: old}]}}`,
			patch:  `clusterConfiguration: {apiServer: {extraArgs: [{name: i, $patch: delete}]}}`,
			want:   `clusterConfiguration: {apiServer: {extraArgs: [{name: v, value: "1"}]}}`,
		},
		"DoubledFilesStay": {
			reason: "two files of one path stay two, so that they can be refused",
			base:   `files: [{path: /a, content: "1"}, {path: /a, content: "2"}, {path: /b}]`,
			patch:  `files: [{path: /a, owner: o}]`,
			want:   `files: [{path: /a, content: "1", owner: o}, {path: /a, content: "2"}, {path: /b}]`,
		},
		"DoubledFilesOfPatchStay": {
			reason: "two files of one path in a patch stay two",
			base:   `files: [{path: /a, content: "1"}, {path: /b}]`,
			patch:  `files: [{path: /a, content: "2"}, {path: /a, content: "3"}]`,
			want:   `files: [{path: /a, content: "2"}, {path: /a, content: "3"}, {path: /b}]`,
		},
		"AllKeysCount": {
			reason: "taints are identified by key and effect",
			base:   `joinConfiguration: {nodeRegistration: {taints: [{key: k, effect: NoExecute}, {key: k, effect: NoSchedule}]}}`,
			patch:  `joinConfiguration: {nodeRegistration: {taints: [{key: k, effect: NoSchedule, value: v}, {key: k, effect: PreferNoSchedule}]}}`,
			want:   `joinConfiguration: {nodeRegistration: {taints: [{key: k, effect: NoExecute}, {key: k, effect: NoSchedule, value: v}, {key: k, effect: PreferNoSchedule}]}}`,
		},
		"OneKeyOfTwo": {
			reason: "an item with one of two keys means each item that has it",
			base:   `joinConfiguration: {nodeRegistration: {taints: [{key: k, effect: NoExecute}, {key: l, effect: NoSchedule}, {key: k, effect: NoSchedule}]}}`,
			patch:  `joinConfiguration: {nodeRegistration: {taints: [{key: k, $patch: delete}]}}`,
			want:   `joinConfiguration: {nodeRegistration: {taints: [{key: l, effect: NoSchedule}]}}`,
		},
		"ItemIsDeleted": {
			reason: "$patch: delete removes an item, and nothing if it is not there",
			base:   `files: [{path: /a}, {path: /b}]`,
			patch:  `files: [{path: /a, $patch: delete}, {path: /c, $patch: delete}]`,
			want:   `files: [{path: /b}]`,
		},
		"ItemIsReplaced": {
			reason: "$patch: replace in an item leaves nothing of the old one",
			base:   `files: [{path: /a, content: a}, {path: /b, content: b, owner: root}]`,
			patch:  `files: [{path: /b, content: c, $patch: replace}]`,
			want:   `files: [{path: /a, content: a}, {path: /b, content: c}]`,
		},
		"ListIsReplaced": {
			reason: "$patch: replace as an item replaces the list",
			base:   `files: [{path: /a}, {path: /b}]`,
			patch:  `files: [{path: /c}, {$patch: replace}]`,
			want:   `files: [{path: /c}]`,
		},
		"ListIsDeleted": {
			reason: "$patch: delete as an item removes the list",
			base:   `{files: [{path: /a}, {path: /b}], users: [{name: a}]}`,
			patch:  `files: [{$patch: delete}]`,
			want:   `users: [{name: a}]`,
		},
		"MappingIsReplaced": {
			reason: "$patch: replace in a mapping replaces the lists in it",
			base:   `clusterConfiguration: {apiServer: {extraArgs: [{name: v, value: "1"}]}, featureGates: {A: true}}`,
			patch:  `{clusterConfiguration: {$patch: replace, apiServer: {extraArgs: [{name: w, value: "2"}]}}, files: [{path: /a}]}`,
			want:   `{clusterConfiguration: {apiServer: {extraArgs: [{name: w, value: "2"}]}}, files: [{path: /a}]}`,
		},
		"FieldsOfItems": {
			reason: "an item is merged as a mapping: null removes a field, lists in it are replaced",
			base:   `users: [{name: a, shell: s, sshAuthorizedKeys: [x, y], passwdFrom: {secret: {name: n, key: k}}}]`,
			patch:  `users: [{name: a, shell: null, sshAuthorizedKeys: [z], passwdFrom: {secret: {key: l}}}]`,
			want:   `users: [{name: a, sshAuthorizedKeys: [z], passwdFrom: {secret: {name: n, key: l}}}]`,
		},
		"VariableItems": {
			reason: "an item that is a variable stays where it is, and is added once",
			base:   `users: ["${ONE}", {name: a}]`,
			patch:  `users: ["${ONE}", "${TWO}", {name: a, shell: s}]`,
			want:   `users: ["${ONE}", {name: a, shell: s}, "${TWO}"]`,
		},
		"NothingBelow": {
			reason: "a list that the base has not is that of the patch",
			base:   `preKubeadmCommands: [a]`,
			patch:  `{files: [{path: /b}, {path: /a}], clusterConfiguration: {etcd: {local: {extraArgs: [{name: a, value: b}]}}}}`,
			want:   `{preKubeadmCommands: [a], files: [{path: /b}, {path: /a}], clusterConfiguration: {etcd: {local: {extraArgs: [{name: a, value: b}]}}}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := built(t, fstest.MapFS{
				"o/kustomization.yaml": {Data: []byte("resources: [cp.yaml]\npatches: [{path: p.yaml}]\n")},
				"o/cp.yaml":            {Data: []byte(controlPlane(tc.base))},
				"o/p.yaml":             {Data: []byte(controlPlane(tc.patch))},
			})
			var want any
			if err := yaml.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{want}, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Keyed lists are merged wherever kustomizations have patches.
func TestWhereKeyedListsAreMerged(t *testing.T) {
	const base = `
-- base/kustomization.yaml --
resources: [cp.yaml]
-- base/cp.yaml --
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp}
spec: {kubeadmConfigSpec: {files: [{path: /a}, {path: /b}]}}
`
	patch := func(name, files string) string {
		return "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\n    kind: KubeadmControlPlane\n    metadata: {name: " + name + "}\n    spec:\n      kubeadmConfigSpec:\n        files: " + files + "\n"
	}
	cases := map[string]struct {
		reason, archive string
		want            []string // the files of each control plane
	}{
		"Levels": {
			reason: "each level merges into what the levels below made",
			archive: "-- o/kustomization.yaml --\nresources: [../m]\npatches:\n- patch: |\n    " + patch("cp", "[{path: /b, owner: o}, {path: /d}]") +
				"-- m/kustomization.yaml --\nresources: [../base]\npatches:\n- patch: |\n    " + patch("cp", "[{path: /b, owner: m, content: m}, {path: /c}]") + base,
			want: []string{`[{path: /a}, {path: /b, owner: o, content: m}, {path: /c}, {path: /d}]`},
		},
		"Sequence": {
			reason: "patches of one kustomization come one after the other, JSON patches between them",
			archive: "-- o/kustomization.yaml --\nresources: [../base]\npatches:\n- patch: |\n    " + patch("cp", "[{path: /c}, {path: /b, $patch: delete}]") +
				"- target: {kind: KubeadmControlPlane}\n  patch: '[{\"op\": \"add\", \"path\": \"/spec/kubeadmConfigSpec/files/0\", \"value\": {\"path\": \"/z\"}}]'\n" +
				"- patch: |\n    " + patch("cp", "[{path: /z, owner: z}, {path: /b}]") + "    ---\n    " + patch("cp", "[{path: /b, owner: b}]") + base,
			want: []string{`[{path: /z, owner: z}, {path: /a}, {path: /c}, {path: /b, owner: b}]`},
		},
		"FormerNames": {
			reason: "a patch finds an object by the name that it had before a prefix and a namespace",
			archive: "-- o/kustomization.yaml --\nresources: [../m]\npatches:\n- patch: |\n    " + patch("cp", "[{path: /c}]") +
				"- target: {kind: KubeadmControlPlane, name: cp}\n  patch: |\n    " + patch("any", "[{path: /d}]") +
				"- target: {kind: KubeadmControlPlane, name: x-cp, namespace: ns}\n  patch: |\n    " + patch("any", "[{path: /e}]") +
				"-- m/kustomization.yaml --\nresources: [../base]\nnamePrefix: x-\nnamespace: ns\n" + base,
			want: []string{`[{path: /a}, {path: /b}, {path: /c}, {path: /d}, {path: /e}]`},
		},
		"Targets": {
			reason: "a patch with a target is merged into each object that it selects, whatever the patch is called",
			archive: "-- o/kustomization.yaml --\nresources: [../base, other.yaml]\npatches:\n- target: {group: controlplane.cluster.x-k8s.io}\n  patch: |\n" +
				"    apiVersion: v1\n    kind: Any\n    metadata: {name: any, labels: {l: v}}\n    spec: {kubeadmConfigSpec: {files: [{path: /b, owner: o}]}}\n" +
				"-- o/other.yaml --\n" + strings.ReplaceAll(controlPlane("files: [{path: /b, content: c}, {path: /z}]"), "name: cp", "name: other") + base,
			want: []string{`[{path: /a}, {path: /b, owner: o}]`, `[{path: /b, content: c, owner: o}, {path: /z}]`},
		},
		"Components": {
			reason: "a component merges into the objects of the kustomization that includes it, after those before it, and before its patches",
			archive: "-- o/kustomization.yaml --\nresources: [one, two]\npatches:\n- target: {kind: KubeadmControlPlane}\n  patch: |\n    " + patch("any", "[{path: /a, group: o}]") +
				"-- o/one/kustomization.yaml --\nresources: [../../base]\nnamePrefix: one-\ncomponents: [../../c, ../../d]\npatches:\n- patch: |\n    " + patch("cp", "[{path: /c, owner: one}]") +
				"-- o/two/kustomization.yaml --\nresources: [../../base]\nnamePrefix: two-\ncomponents: [../../d]\n" +
				"-- c/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: p.yaml\n-- c/p.yaml --\n" +
				strings.ReplaceAll(patch("cp", "[{path: /c, owner: c}, {path: /b, $patch: delete}]"), "\n    ", "\n") +
				"-- d/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nconfigMapGenerator: [{name: m, files: [k=f.txt]}]\ncomponents: [../e]\npatches:\n- patch: |\n    " + patch("cp", "[{path: /d}, {path: /e, owner: d}]") +
				"-- d/f.txt --\ntext\n" +
				"-- e/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -e\npatches:\n- patch: |\n    " + patch("cp", "[{path: /e}]") + base,
			want: []string{
				`[{path: /a, group: o}, {path: /c, owner: one}, {path: /e, owner: d}, {path: /d}]`,
				`[{path: /a, group: o}, {path: /b}, {path: /e, owner: d}, {path: /d}]`,
			},
		},
		"EmptyFile": {
			reason: "a resource without objects is a file",
			archive: "-- o/kustomization.yaml --\nresources: [../base, none.yaml]\npatches:\n- patch: |\n    " + patch("cp", "[{path: /c}]") +
				"-- o/none.yaml --\n" + base,
			want: []string{`[{path: /a}, {path: /b}, {path: /c}]`},
		},
		"EmptyComponent": {
			reason: "a component that has nothing but an empty list changes nothing, as with kubectl kustomize",
			archive: "-- o/kustomization.yaml --\nresources: [../base]\ncomponents: [../none]\npatches:\n- patch: |\n    " + patch("cp", "[{path: /c}]") +
				"-- none/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: []\n" + base,
			want: []string{`[{path: /a}, {path: /b}, {path: /c}]`},
		},
		"LastLineBreak": {
			reason: "a text at the end of a patch keeps its line break in a file, and loses it in a kustomization, as kustomize has it",
			archive: "-- o/kustomization.yaml --\nresources: [../base]\npatches:\n- path: f.yaml\n- patch: |\n    " + patch("cp", "\n        - path: /d\n          content: |\n            text") +
				"-- o/f.yaml --\n" + strings.ReplaceAll(patch("cp", "\n        - path: /c\n          content: |\n            text"), "\n    ", "\n") + base,
			want: []string{`[{path: /a}, {path: /b}, {path: /c, content: "text\n"}, {path: /d, content: text}]`},
		},
		"References": {
			reason: "names in merged lists follow those of their objects, once",
			archive: "-- o/kustomization.yaml --\nresources: [../base]\nnamePrefix: x-\nsecretGenerator: [{name: s, literals: [a=b]}]\npatches:\n- patch: |\n    " +
				patch("cp", "[{path: /c, contentFrom: {secret: {name: s, key: a}}}]") + base,
			want: []string{`[{path: /a}, {path: /b}, {path: /c, contentFrom: {secret: {name: x-s-k695gkmbtk, key: a}}}]`},
		},
		"ReferencesOfTheBase": {
			reason: "a name in the list of the base follows too, with a transformer configuration of one's own",
			archive: "-- o/kustomization.yaml --\nresources: [../base]\nnamePrefix: x-\npatches:\n- patch: |\n    " + patch("cp", "[{path: /c, of: m}]") +
				"-- base/kustomization.yaml --\nresources: [cp.yaml]\nconfigurations: [c.yaml]\nconfigMapGenerator: [{name: m, literals: [a=b]}]\n" +
				"-- base/c.yaml --\nnameReference:\n- kind: ConfigMap\n  fieldSpecs: [{kind: KubeadmControlPlane, path: spec/kubeadmConfigSpec/files/of}]\n-- base/cp.yaml --\n" +
				controlPlane("files: [{path: /a, of: m}]"),
			want: []string{`[{path: /a, of: x-m-4h2mbtbbt6}, {path: /c, of: x-m-4h2mbtbbt6}]`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var want []any
			for _, w := range tc.want {
				var files any
				if err := yaml.Unmarshal([]byte(w), &files); err != nil {
					t.Fatal(err)
				}
				want = append(want, map[string]any{"files": files})
			}
			if diff := cmp.Diff(want, built(t, files(tc.archive))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
