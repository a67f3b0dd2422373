package hostile

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/providers/all"
	"fairlead.dev/render"
)

const (
	overlay   = "clusters/x/x/"
	values    = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, annotations: {fairlead.dev/substitute: 'true'}}\ndata: {CLUSTER_NAME: x, KUBERNETES_VERSION: v1.33.5, CONTROL_PLANE_MACHINE_COUNT: '1', WORKER_MACHINE_COUNT: '1'}\n"
	resources = "namespace: x\nlabels: [{pairs: {addons: x}}]\nresources: [../../../bases/cluster, values.yaml"
)

// fleetDoors are the places of a fleet's repository that YAML may be at. Each returns the
// files that bring it there, beside the example fleet.
func fleetDoors() map[string]func(b bomb) map[string]string {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	withAddon := func(kind, text string) map[string]string {
		set := "apiVersion: addons.cluster.x-k8s.io/v1beta2\nkind: ClusterResourceSet\nmetadata: {name: addons}\nspec:\n  clusterSelector: {matchLabels: {addons: x}}\n  resources: [{kind: " + kind + ", name: addons}]\n"
		return map[string]string{overlay + "kustomization.yaml": resources + ", addons.yaml]\n", overlay + "addons.yaml": set + "---\n" + text}
	}
	return map[string]func(b bomb) map[string]string{
		"manifest of a pinned source": func(b bomb) map[string]string {
			return pinning(map[string]string{pinnedAt + "kustomization.yaml": "resources: [a.yaml]\n", pinnedAt + "a.yaml": object + b.text})
		},
		"kustomization of a pinned source": func(b bomb) map[string]string {
			return pinning(map[string]string{pinnedAt + "kustomization.yaml": "resources: []\n" + b.text})
		},
		"manifest": func(b bomb) map[string]string {
			return map[string]string{overlay + "kustomization.yaml": resources + ", a.yaml]\n", overlay + "a.yaml": object + b.text}
		},
		"kustomization": func(b bomb) map[string]string {
			return map[string]string{overlay + "kustomization.yaml": resources + "]\n" + b.text}
		},
		"patch": func(b bomb) map[string]string {
			return map[string]string{overlay + "kustomization.yaml": resources + "]\npatches: [{path: p.yaml}]\n", overlay + "p.yaml": object + b.text}
		},
		"inline patch": func(b bomb) map[string]string {
			if !b.literal {
				return nil
			}
			return map[string]string{overlay + "kustomization.yaml": resources + "]\npatches:\n- patch: |\n" + indented(object+b.text, "    ")}
		},
		"values": func(b bomb) map[string]string {
			return map[string]string{overlay + "kustomization.yaml": resources + "]\n", overlay + "values.yaml": values + "---\n" + b.text}
		},
		"transformer configuration": func(b bomb) map[string]string {
			return map[string]string{overlay + "kustomization.yaml": resources + "]\nconfigurations: [c.yaml]\n", overlay + "c.yaml": b.text}
		},
		"sops": func(b bomb) map[string]string {
			return map[string]string{overlay + "kustomization.yaml": resources + ", s.yaml]\n", overlay + "s.yaml": "sops: {mac: 'ENC[AES256_GCM,'}\n" + b.text}
		},
		"addon": func(b bomb) map[string]string {
			if !b.literal {
				return nil
			}
			return withAddon("ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: addons}\ndata:\n  a.yaml: |\n"+indented(object+b.text, "    "))
		},
		"addon of a generator": func(b bomb) map[string]string {
			files := withAddon("ConfigMap", "")
			files[overlay+"kustomization.yaml"] += "configMapGenerator: [{name: addons, files: [a.yaml]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n"
			files[overlay+"a.yaml"] = object + b.text
			if !b.literal {
				return nil // it becomes binaryData
			}
			return files
		},
		"addon in a Secret": func(b bomb) map[string]string {
			if !b.literal {
				return nil
			}
			return withAddon("Secret", "apiVersion: v1\nkind: Secret\ntype: addons.cluster.x-k8s.io/resource-set\nmetadata: {name: addons}\nstringData:\n  a.yaml: |\n"+indented(object+b.text, "    "))
		},
	}
}

// pinnedAt is where the pinned source of pinning is.
const pinnedAt = fleet.SourcesFolder + "/base/"

// pinning returns files of a source that the fleet pins, and those of the fleet that use it.
func pinning(files map[string]string) map[string]string {
	files["fleet.yaml"] = header + "Fleet\nmetadata: {name: a}\nspec: {sources: [{name: base, url: 'https://git.example.com/base', commit: '" + strings.Repeat("a", 40) + "'}]}\n"
	files[overlay+"kustomization.yaml"] = resources + ", ../../../" + strings.TrimSuffix(pinnedAt, "/") + "]\n"
	return files
}

// pinned is the content of the only source that a fleet pins.
type pinned struct{ tree }

func (p pinned) Open(context.Context, []fleet.PinnedSource) map[string]render.Content {
	return map[string]render.Content{"base": {Tree: p.tree}}
}

func (pinned) Due() bool { return false }

// builtIn is what fairlead is built with.
func builtIn() wiring.Built {
	return wiring.Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm}
}

// rendered returns the clusters of the example fleet with files in it, and its problems.
func rendered(t *testing.T, files map[string]string) (clusters []string, problems []fleet.Problem) {
	t.Helper()
	all := map[string]string{overlay + "values.yaml": values}
	example := inmemory.Files()
	err := fs.WalkDir(example, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := example.ReadFile(name)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := map[string]string{}
	for name, text := range files {
		if in, ok := strings.CutPrefix(name, pinnedAt); ok {
			elsewhere[in] = text
			continue
		}
		all[name] = text
	}
	b, err := wiring.Settings{Built: builtIn(), FleetID: "hostile"}.NewRenderer(wiring.RenderOptions{Pinned: pinned{treeOf(elsewhere)}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := b.Render(t.Context(), fleet.Revision{}, treeOf(all))
	if c, ok := errors.AsType[*render.ConfigError](err); ok {
		return nil, c.Problems
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Clusters {
		clusters = append(clusters, c.Key.String())
	}
	return clusters, f.Problems
}
