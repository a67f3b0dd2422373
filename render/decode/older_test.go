package decode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
)

// aged is classy with versions, and a file that tells them.
func aged() string {
	return strings.NewReplacer(
		"metadata: {name: dev}\nspec:\n  infrastructure:", "metadata: {name: dev}\nspec:\n  kubernetesVersions: [v1.32.4, v1.33.2, v1.34.1]\n  infrastructure:",
		"value: {path: /etc/b, content: b}", `valueFrom: {template: "{path: /etc/b, content: '{{ .builtin.machineDeployment.version }}'}"}`,
	).Replace(classy)
}

func clustersOf(t *testing.T, file, manifests string) ([]fleet.Cluster, []string) {
	t.Helper()
	var objects []render.Object
	for _, doc := range strings.Split(manifests, "\n---\n") {
		objects = append(objects, render.Object{File: file, YAML: []byte(doc)})
	}
	clusters, problems := decode.New("f", inmemory.Kinds()).Decode("o", objects)
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return clusters, out
}

// A cluster of a class knows what its pools are at the older versions of the
// class, as if it asked for those.
func TestOlderVersionsOfPools(t *testing.T) {
	clusters, problems := clustersOf(t, "a.yaml", aged())
	if len(problems) > 0 || len(clusters) != 1 || clusters[0].Topology == nil || len(clusters[0].Topology.Older) != 2 {
		t.Fatal(problems, clusters)
	}
	now := clusters[0]
	for _, older := range now.Topology.Older {
		then, problems := clustersOf(t, "a.yaml", strings.ReplaceAll(aged(), "    version: v1.34.1", "    version: "+older.Version))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, p := range then[0].Pools() {
			b, ok := older.Pools[p.Name]
			pool, _ := now.Pool(p.Name)
			if !ok || b.Template != p.Template || b.Template == pool.Template || pool.At(older.Version, b).Template != p.Template {
				t.Errorf("pool %s at %s is %+v", p.Name, older.Version, b)
			}
		}
	}
	if now.Topology.Class != (fleet.Key{Namespace: "default", Name: "dev"}) || !now.Topology.Listed || len(now.Topology.Order) != 1 || now.Topology.Concurrency != 1 {
		t.Errorf("topology %+v", now.Topology)
	}
	moved, _ := clustersOf(t, "b.yaml", aged())
	if moved[0].Digest != now.Digest {
		t.Error("the file that a class is in changes its clusters")
	}
	other, _ := clustersOf(t, "a.yaml", strings.Replace(aged(), "v1.32.4, v1.33.2", "v1.32.5, v1.33.2", 1))
	if other[0].Digest == now.Digest {
		t.Error("the versions of a class make no difference")
	}
}

// What is wrong with an older version alone holds its cluster back: an upgrade
// would stop there.
func TestProblemOfOlderVersion(t *testing.T) {
	bad := strings.Replace(aged(), "{path: /etc/b, content:", `{path: {{ if eq .builtin.machineDeployment.version \"v1.33.2\" }}[]{{ else }}/etc/b{{ end }}, content:`, 1)
	clusters, problems := clustersOf(t, "a.yaml", bad)
	if len(clusters) > 0 || len(problems) != 1 || !strings.Contains(problems[0], "at version v1.33.2: ") {
		t.Errorf("clusters %v, problems %q", clusters, problems)
	}
}

// TestDraftsOfOlderVersions: user data is made for machines of older versions, too, which only join:
// a cluster begins at its own version. Machines of clusters that are to go are not made.
func TestDraftsOfOlderVersions(t *testing.T) {
	var seen []string
	failing := ""
	decoder := decode.New("f", inmemory.Kinds()).WithDraft(func(_ *fleet.Cluster, p fleet.Pool, join fleet.Join) error {
		seen = append(seen, fmt.Sprintf("%s %s", p.Version, join))
		if p.Version == failing && p.Role == fleet.RoleWorker {
			return fmt.Errorf("no kubeadm")
		}
		return nil
	})
	if clusters, problems := decoder.Decode("o", objects(aged())); len(clusters) != 1 {
		t.Fatal(problems)
	}
	slices.Sort(seen)
	want := []string{
		"v1.32.4 ControlPlane", "v1.32.4 Worker", "v1.33.2 ControlPlane", "v1.33.2 Worker",
		"v1.34.1 ControlPlane", "v1.34.1 Init", "v1.34.1 Worker",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("drafts: -want +got:\n%s", diff)
	}
	failing = "v1.33.2"
	if _, problems := decoder.Decode("o", objects(aged())); len(problems) != 1 || !strings.Contains(problems[0].Message, "at version v1.33.2: no machine can be made from this: no kubeadm") {
		t.Errorf("problems %v", problems)
	}
	for _, how := range []string{"true", fleet.Abandon} {
		seen = nil
		clusters, _ := decoder.Decode("o", objects(strings.Replace(aged(), "metadata: {name: eu-1}", "metadata: {name: eu-1, annotations: {fairlead.dev/delete: '"+how+"'}}", 1)))
		if len(seen) > 0 || len(clusters) != 1 {
			t.Errorf("delete: %s: drafts %v, %d clusters", how, seen, len(clusters))
		}
	}
}
